//! More than there is room for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{join_all, select};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;
use switchboard_server::auth::{Access, Alternative, Authenticator, Scheme};
use switchboard_server::http::Limits;
use switchboard_server::limit::Queue;
use switchboard_server::shutdown::Tasks;
use switchboard_testkit::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::house::{Books, House, serve_with};
use crate::schemes::Bearer;
use crate::wire::{Answer, WAYS};

/// `desk` answers at once, `stall` never; both want a bearer.
async fn open(limits: Limits) -> House {
    let scheme: Arc<dyn Scheme> = Arc::new(Bearer("bearer".into()));
    let closed = || Access::by(vec![Alternative(vec![Arc::clone(&scheme)])]);
    let agents = vec![("desk".into(), closed()), ("stall".into(), closed())];
    let authenticator = Authenticator::new(vec![Arc::clone(&scheme)]);
    let tasks = Tasks::default();
    let books = Books::unread(&tasks);
    serve_with(agents, authenticator, books, tasks, |parts| {
        parts.limits = limits;
    })
    .await
}

/// Asks the stall, in JSON-RPC 1.0. What is dropped is given up.
async fn begin(house: &House, token: &str, method: &str) -> Response<Incoming> {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"message": message}});
    let request = Request::post(format!("http://{}/a2a/stall", house.address))
        .header("a2a-version", "1.0")
        .header("authorization", format!("Bearer {token}"))
        .body(Full::new(Bytes::from(call.to_string())))
        .unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    client.request(request).await.unwrap()
}

/// Says something to the desk, which answers at once.
async fn say(house: &House, token: &str) -> Answer {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let params = json!({"message": message});
    house.rpc("/a2a/desk", token, "SendMessage", params).await
}

/// Waits until so many tasks of ann's are at work at the stall.
async fn at_work(house: &House, count: u64) {
    eventually("tasks at work", async || {
        let listed = house.rpc("/a2a/stall", "ann", "ListTasks", json!({})).await;
        listed.json()["result"]["totalSize"] == count
    })
    .await;
}

/// Says something until the answer has that status.
async fn until(house: &House, status: u16) {
    let what = format!("status {status}");
    eventually(&what, async || say(house, "ann").await.status == status).await;
}

#[tokio::test]
async fn without_room_and_without_a_line_one_is_told_at_once() {
    let house = open(Limits {
        requests: 1,
        queue: Queue {
            length: 0,
            wait: Duration::from_secs(60),
        },
        ..Limits::default()
    })
    .await;
    let working = begin(&house, "ann", "SendMessage");
    let crowd = async {
        at_work(&house, 1).await;
        let begun = Instant::now();
        let answer = say(&house, "bob").await;
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(
            answer
                .error()
                .contains("at its limit of 1 concurrent request;")
        );
        assert!(begun.elapsed() < Duration::from_secs(5));
        // Whoever only looks does not wait for those who work.
        for way in WAYS {
            let answer = house.read(way, "desk", "bob", "x").await;
            way.expect(&answer, 404, 5, false);
        }
        // What is no call needs no room.
        assert_eq!(house.ask("GET", "/readyz", &[], "").await.status, 200);
    };
    tokio::select! {
        answer = working => panic!("{answer:?}"),
        () = crowd => {}
    }
    // Given up: there is room again.
    until(&house, 200).await;
}

#[tokio::test]
async fn who_waits_gets_in_when_there_is_room() {
    let house = open(Limits {
        requests: 1,
        queue: Queue {
            length: 2,
            wait: Duration::from_secs(60),
        },
        ..Limits::default()
    })
    .await;
    let working = begin(&house, "ann", "SendMessage");
    // Of two that come at once one waits, and the other is told that it is one too many.
    let crowd = async {
        at_work(&house, 1).await;
        loop {
            let ask = || Box::pin(say(&house, "ann"));
            let (answer, other) = select(ask(), ask()).await.factor_first();
            if answer.status == 429 {
                return (other,);
            }
        }
    };
    let waiting = tokio::select! {
        answer = working => panic!("{answer:?}"),
        (waiting,) = crowd => waiting,
    };
    assert_eq!(waiting.await.status, 200);
}

#[tokio::test]
async fn one_caller_does_not_take_all_the_room() {
    let house = open(Limits {
        requests: 4,
        queue: Queue {
            length: 0,
            wait: Duration::ZERO,
        },
        ..Limits::default()
    })
    .await;
    let three = std::iter::repeat_with(|| begin(&house, "ann", "SendMessage")).take(3);
    let working = join_all(three);
    let crowd = async {
        at_work(&house, 3).await;
        let refused = say(&house, "ann").await;
        assert_eq!(refused.status, 429);
        assert!(
            refused
                .error()
                .contains("your share of concurrent requests")
        );
        assert_eq!(say(&house, "bob").await.status, 200);
    };
    tokio::select! {
        answer = working => panic!("{answer:?}"),
        () = crowd => {}
    }
    until(&house, 200).await;
}

/// An agent may take its time to let go of a task, and meanwhile others can cancel theirs.
#[tokio::test]
async fn one_caller_does_not_take_all_the_room_by_canceling() {
    let house = open(Limits {
        requests: 4,
        queue: Queue {
            length: 0,
            wait: Duration::ZERO,
        },
        ..Limits::default()
    })
    .await;
    let stall = |token: &'static str| {
        let house = &house;
        async move {
            let stream = begin(house, token, "SendStreamingMessage").await;
            assert_eq!(stream.status(), 200);
            let listed = house.rpc("/a2a/stall", token, "ListTasks", json!({})).await;
            let task = listed.json()["result"]["tasks"][0]["id"].clone();
            (stream, json!({ "id": task }))
        }
    };
    let (_stream, of_ann) = stall("ann").await;
    let cancel = || house.rpc("/a2a/stall", "ann", "CancelTask", of_ann.clone());
    let mut canceling = std::pin::pin!(join_all(std::iter::repeat_with(cancel).take(3)));
    let crowd = async {
        loop {
            let refused = cancel().await;
            if refused.status == 429 {
                assert!(
                    refused
                        .error()
                        .contains("your share of concurrent requests")
                );
                break;
            }
        }
        let read = house.rpc("/a2a/stall", "bob", "ListTasks", json!({})).await;
        assert_eq!(read.status, 200, "{read:?}");
    };
    tokio::select! {
        biased;
        answers = &mut canceling => panic!("{answers:?}"),
        () = crowd => {}
    }
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let house = open(Limits {
        requests: 1,
        queue: Queue {
            length: 2,
            wait: Duration::from_millis(200),
        },
        ..Limits::default()
    })
    .await;
    let working = begin(&house, "ann", "SendMessage");
    let crowd = async {
        at_work(&house, 1).await;
        let begun = Instant::now();
        let late = say(&house, "bob").await;
        assert_eq!(late.status, 429);
        assert!(
            begun.elapsed() >= Duration::from_millis(200),
            "it has waited"
        );
    };
    tokio::select! {
        answer = working => panic!("{answer:?}"),
        () = crowd => {}
    }
    until(&house, 200).await;
}

#[tokio::test]
async fn a_stream_takes_no_room_once_it_has_begun() {
    let house = open(Limits {
        requests: 1,
        queue: Queue {
            length: 0,
            wait: Duration::ZERO,
        },
        ..Limits::default()
    })
    .await;
    let stream = begin(&house, "ann", "SendStreamingMessage").await;
    assert_eq!(stream.status(), 200);
    assert_eq!(say(&house, "ann").await.status, 200);
}

#[tokio::test]
async fn one_caller_has_so_many_streams_and_others_have_theirs() {
    let house = open(Limits {
        streams: 8,
        ..Limits::default()
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let stream = begin(&house, "ann", "SendStreamingMessage").await;
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        open.push(stream);
    }
    let refused = begin(&house, "ann", "SendStreamingMessage").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    let body = refused.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(
        body.contains("at your limit of 2 open event streams"),
        "{body}"
    );
    let others = begin(&house, "bob", "SendStreamingMessage").await;
    assert_eq!(others.status(), 200);
    open.pop();
    eventually("room for a stream", async || {
        begin(&house, "ann", "SendStreamingMessage").await.status() == 200
    })
    .await;
}

#[tokio::test]
async fn one_address_has_so_many_connections_and_others_have_theirs() {
    let house = open(Limits {
        connections_per_address: Some(2),
        ..Limits::default()
    })
    .await;
    let ask = async |mut socket: TcpStream| {
        let request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
        // Who is turned away may hear it before it has asked.
        drop(socket.write_all(request).await);
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).await.unwrap();
        let status = std::str::from_utf8(&answer[9..]).unwrap().to_owned();
        (status, socket)
    };
    let connect = || TcpStream::connect(house.address);
    let (first, kept) = ask(connect().await.unwrap()).await;
    let (second, also_kept) = ask(connect().await.unwrap()).await;
    let (third, _) = ask(connect().await.unwrap()).await;
    assert_eq!([first, second, third], ["200", "200", "503"]);
    let elsewhere = TcpSocket::new_v4().unwrap();
    elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let (other, _) = ask(elsewhere.connect(house.address).await.unwrap()).await;
    assert_eq!(other, "200");
    drop(kept);
    eventually("room for a connection", async || {
        ask(connect().await.unwrap()).await.0 == "200"
    })
    .await;
    drop(also_kept);
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// A head in HPACK: GET / of http at localhost.
const HEAD: &[u8] = b"\x82\x84\x86\x41\x09localhost";

async fn hello(house: &House) -> TcpStream {
    let mut socket = TcpStream::connect(house.address).await.unwrap();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    socket.write_all(preface).await.unwrap();
    socket.write_all(&frame(4, 0, 0, b"")).await.unwrap();
    socket
}

/// The kinds of the frames that come until the connection ends, and the last payload of a GOAWAY.
async fn goodbye(mut socket: TcpStream) -> Option<u32> {
    let mut all = Vec::new();
    let read = socket.read_to_end(&mut all);
    // Whoever is cut off may lose what it has not read.
    drop(
        tokio::time::timeout(Duration::from_secs(20), read)
            .await
            .unwrap(),
    );
    let mut rest = &all[..];
    let mut code = None;
    while let Some((head, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        if head[3] == 7 && after.len() >= 8 {
            code = Some(u32::from_be_bytes(after[4..8].try_into().unwrap()));
        }
        rest = after.get(length..).unwrap_or_default();
    }
    code
}

#[tokio::test]
async fn requests_that_are_taken_back_at_once_end_the_connection() {
    let house = open(Limits::default()).await;
    let mut socket = hello(&house).await;
    let mut flood = Vec::new();
    for n in 0..2_000_u32 {
        let stream = 2 * n + 1;
        flood.extend(frame(1, 5, stream, HEAD));
        flood.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    drop(socket.write_all(&flood).await);
    // ENHANCE_YOUR_CALM
    assert_eq!(goodbye(socket).await, Some(11));
    assert_eq!(house.ask("GET", "/livez", &[], "").await.status, 200);
}

#[tokio::test]
async fn a_head_of_http_2_has_a_largest_size() {
    let house = open(Limits::default()).await;
    let client = |size: usize| {
        let request = Request::get(format!("http://{}/livez", house.address));
        let many = (0..size / 1_000).map(|n| (format!("x-{n}"), "x".repeat(960)));
        let request = many.fold(request, |r, (name, value)| r.header(name, value));
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let mut client = Client::builder(TokioExecutor::new());
        let client = client.http2_only(true).build_http::<Full<Bytes>>();
        async move { client.request(request).await.map(|answer| answer.status()) }
    };
    assert_eq!(client(50_000).await.unwrap(), 200);
    let refused = client(80_000).await;
    assert!(refused.as_ref().is_ok_and(|s| *s == 431), "{refused:?}");
}
