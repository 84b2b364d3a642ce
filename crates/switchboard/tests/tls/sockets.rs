//! Those who say nothing, too little or something else.

use std::time::Duration;

use switchboard_testkit::{Server, eventually};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::world::{How, PATIENCE, Safe, ask, socket};

/// Everything until the server closes the connection. A reset is an end like any other.
async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    assert!(read.is_ok(), "still open");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn healthy(safe: &Safe) {
    let client = safe.client().build().expect("a client");
    let answer = client.get(safe.server.url("/readyz")).send().await;
    assert_eq!(answer.expect("an answer").status(), 200);
}

/// 10,000 sockets, or as many as this process may have, and some left for the rest.
fn many() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux");
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = files.and_then(|line| line.split_whitespace().nth(3));
    let soft = soft.and_then(|soft| soft.parse().ok()).unwrap_or(1024);
    (soft * 3 / 4).min(10_000_usize)
}

/// How many connections the server has accepted and not closed.
fn open_sockets(server: &Server) -> usize {
    let fds = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("Linux");
    let links = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    links
        .filter(|to| to.to_string_lossy().starts_with("socket:"))
        .count()
}

#[tokio::test]
async fn half_open_handshakes_end_by_themselves_and_others_are_served_meanwhile() {
    // Long enough that all of them are there at once.
    let settings = "limits: { header_timeout: 15s, connections: 12000 }";
    let safe = Safe::open(settings, "").await;
    healthy(&safe).await;
    let (many, before) = (many(), open_sockets(&safe.server));
    let mut silent = Vec::with_capacity(many);
    for n in 0..many {
        let mut socket = socket(&safe.server).await;
        if n % 3 == 1 {
            // The length of a record, and nothing of it.
            socket.write_all(&[0x16, 3, 1, 1, 0]).await.expect("bytes");
        }
        silent.push(socket);
        if n % 100 == 99 || n == many - 1 {
            // No more than wait to be accepted: what does not fit there is tried again a second later.
            let taken = async || open_sockets(&safe.server) > n;
            eventually(&format!("{n} connections"), taken).await;
        }
    }
    let begun = Instant::now();
    for _ in 0..20 {
        let asked = Instant::now();
        healthy(&safe).await;
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    for socket in &mut silent {
        assert_eq!(rest(socket).await, "");
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    eventually("closed sockets", async || {
        open_sockets(&safe.server) <= before + 5
    })
    .await;
    healthy(&safe).await;
}

#[tokio::test]
async fn plain_http_is_told_to_come_by_https() {
    let safe = Safe::open("", "").await;
    for request in [
        "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        format!(
            "POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n{}",
            "x".repeat(5000)
        ),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
    ] {
        let mut socket = socket(&safe.server).await;
        socket.write_all(request.as_bytes()).await.expect("bytes");
        let answer = rest(&mut socket).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{answer}"
        );
        assert!(
            answer.contains("connections are encrypted here: use https"),
            "{answer}"
        );
    }
    let garbage = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &[0; 100],
        &[0xff; 20_000],
        &[0x16; 20_000],
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x03\x00\x04\x01\x00\x00\x00",
        b"\x80\x2e\x01\x00\x02",
    ];
    for bytes in garbage {
        let mut socket = socket(&safe.server).await;
        drop(socket.write_all(bytes).await);
        drop(socket.shutdown().await);
        rest(&mut socket).await;
    }
    healthy(&safe).await;
}

#[tokio::test]
async fn slow_clients_lose_their_connection() {
    let safe = Safe::open(
        "limits: { header_timeout: 1500ms, body_timeout: 500ms }",
        "",
    )
    .await;
    let open = async || safe.connect(How::default()).await.expect("a connection");
    let mut idle = open().await;
    let mut head = open().await;
    head.write_all(b"POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nX: ")
        .await
        .expect("bytes");
    let mut again = open().await;
    ask(&mut again).await.expect("an answer");
    let mut preface = open().await;
    preface
        .write_all(b"PRI * HTTP/2.0\r\n")
        .await
        .expect("bytes");
    for stream in [&mut idle, &mut head, &mut again, &mut preface] {
        let left = rest(stream).await;
        assert!(!left.contains("HTTP/"), "{left}");
    }
    let mut body = open().await;
    let half = b"POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{";
    body.write_all(half).await.expect("bytes");
    let answer = rest(&mut body).await;
    assert!(answer.contains("did not arrive within 500ms"), "{answer}");

    let mut drips = open().await;
    let dripped = async {
        while drips.write_all(b"X").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, dripped).await.expect("cut off");
    healthy(&safe).await;
}

/// A call whose answer is as long as what is said.
fn long_call(length: usize) -> Vec<u8> {
    let text = "x".repeat(length);
    let body = format!(
        r#"{{"message":{{"messageId":"1","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#
    );
    let length = body.len();
    let head = format!(
        "POST /a2a/echo/message:send HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// Writes all of it: what is encrypted may still wait for room in the socket.
async fn say(stream: &mut (impl AsyncWrite + Unpin), text: &[u8]) {
    stream.write_all(text).await.expect("bytes");
    stream.flush().await.expect("room");
}

#[tokio::test]
async fn who_reads_slowly_gets_all_of_the_answer() {
    let safe = Safe::open("limits: { header_timeout: 1s }", "").await;
    let mut stream = safe.connect(How::default()).await.expect("a connection");
    let length = 6 << 20;
    say(&mut stream, &long_call(length)).await;
    let mut read = 0;
    let mut piece = vec![0; 64 << 10];
    for _ in 0..2 {
        // Longer than connections may be silent: two that say nothing are cut off meanwhile, one after the other.
        for _ in 0..2 {
            let mut silent = safe.connect(How::default()).await.expect("a connection");
            assert_eq!(rest(&mut silent).await, "");
        }
        let got = stream.read(&mut piece).await.expect("more");
        assert_ne!(got, 0, "cut off after {read}");
        read += got;
    }
    while read < length {
        let got = timeout(PATIENCE, stream.read(&mut piece)).await;
        let got = got.expect("in time").expect("more");
        assert_ne!(got, 0, "cut off after {read}");
        read += got;
    }
}

#[tokio::test]
async fn who_never_reads_loses_the_connection() {
    let safe = Safe::open("limits: { header_timeout: 600ms }", "").await;
    let before = open_sockets(&safe.server);
    let mut stream = safe.connect(How::default()).await.expect("a connection");
    say(&mut stream, &long_call(6 << 20)).await;
    eventually("the end of the connection", async || {
        open_sockets(&safe.server) <= before
    })
    .await;
    drop(stream);
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_welcome_later() {
    let safe = Safe::open("limits: { connections: 3, header_timeout: 30s }", "").await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = safe.connect(How::default()).await.expect("a connection");
        ask(&mut stream).await.expect("an answer");
        open.push(stream);
    }
    assert!(safe.connect(How::default()).await.is_err());
    drop(open);
    eventually("room for a connection", async || {
        safe.connect(How::default()).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn handshakes_under_way_do_not_keep_the_process_from_ending() {
    let settings = "limits: { header_timeout: 60s }\nshutdown: { grace: 30s }";
    let safe = Safe::open(settings, "").await;
    let mut silent: TcpStream = socket(&safe.server).await;
    let mut idle = safe.connect(How::default()).await.expect("a connection");
    ask(&mut idle).await.expect("an answer");
    let begun = Instant::now();
    let pid = safe.server.pid().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().await;
    assert!(sent.expect("kill").success());
    assert_eq!(rest(&mut silent).await, "");
    assert_eq!(rest(&mut idle).await, "");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}
