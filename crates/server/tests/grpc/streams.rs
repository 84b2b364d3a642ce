//! Streams on bad days: slow readers, many readers, deadlines, shutdown.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use switchboard_proto::v1_0 as wire;
use switchboard_server::http::Limits;
use switchboard_testkit::eventually;
use tokio::net::TcpStream;
use tonic::Code;
use wire::stream_response::Payload as Item;

use crate::peer::{Caller, NEW, all, reason, says, serve, serve_with};

fn rpc(name: &str) -> String {
    format!("{NEW}/{name}")
}

fn chunks(seen: &[wire::StreamResponse]) -> Vec<u64> {
    let texts = seen.iter().filter_map(|item| match &item.payload {
        Some(Item::ArtifactUpdate(update)) => {
            let part = &update.artifact.as_ref()?.parts[0];
            match part.content.as_ref()? {
                wire::part::Content::Text(text) => text.split(' ').next()?.parse().ok(),
                _ => None,
            }
        }
        _ => None,
    });
    texts.collect()
}

/// Far more than windows and buffers hold: the agent runs ahead, the reader loses nothing.
#[tokio::test]
async fn a_slow_reader_gets_everything_in_order() {
    let server = serve().await;
    let caller = server.caller();
    let mut slow = caller
        .stream(rpc("SendStreamingMessage"), &says("burst 2000 4000"))
        .await
        .unwrap();
    let first = slow.message().await.unwrap().unwrap();
    let first = <wire::StreamResponse as prost::Message>::decode(first).unwrap();
    let Some(Item::Task(task)) = first.payload else {
        panic!("no task");
    };
    // The task is over while the reader still has almost everything before it.
    let over = wire::ListTasksRequest {
        context_id: task.context_id,
        status: wire::TaskState::Completed.into(),
        ..Default::default()
    };
    eventually("the end of the task", async || {
        let page: wire::ListTasksResponse = caller.call(rpc("ListTasks"), &over).await.unwrap();
        page.total_size == 1
    })
    .await;
    let seen: Vec<wire::StreamResponse> = all(slow).await;
    assert_eq!(chunks(&seen), (0..2000).collect::<Vec<u64>>());
    server.drain().await;
}

#[tokio::test]
async fn many_readers_see_the_same() {
    let server = serve().await;
    let caller = server.caller();
    let send = wire::SendMessageRequest {
        configuration: Some(wire::SendMessageConfiguration {
            return_immediately: true,
            ..Default::default()
        }),
        ..says("wait")
    };
    let answer: wire::SendMessageResponse = caller.call(rpc("SendMessage"), &send).await.unwrap();
    let Some(wire::send_message_response::Payload::Task(task)) = answer.payload else {
        panic!("no task");
    };
    let subscribe = wire::SubscribeToTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let mut readers = Vec::new();
    for _ in 0..20 {
        let stream = caller.stream(rpc("SubscribeToTask"), &subscribe).await;
        readers.push(stream.unwrap());
    }
    let cancel = wire::CancelTaskRequest {
        id: task.id,
        ..Default::default()
    };
    caller.respond(rpc("CancelTask"), &cancel).await.unwrap();
    for seen in join_all(readers.into_iter().map(all::<wire::StreamResponse>)).await {
        let Some(Item::StatusUpdate(last)) = &seen[seen.len() - 1].payload else {
            panic!("no status last");
        };
        let state = last.status.as_ref().unwrap().state();
        assert_eq!(state, wire::TaskState::Canceled);
    }
    server.drain().await;
}

#[tokio::test]
async fn a_deadline_ends_a_call_and_a_stream() {
    let server = serve().await;
    let hasty = server.caller().with("grpc-timeout", "200m");
    let late = hasty.respond(rpc("SendMessage"), &says("wait")).await;
    assert_eq!(late.unwrap_err().code(), Code::DeadlineExceeded);
    let mut stream = hasty
        .stream(rpc("SendStreamingMessage"), &says("wait"))
        .await
        .unwrap();
    let ended = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended well"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::DeadlineExceeded);
    let odd = server.caller().with("grpc-timeout", "soon");
    let odd = odd.respond(rpc("SendMessage"), &says("x")).await;
    assert_eq!(odd.unwrap_err().code(), Code::InvalidArgument);
    server.drain().await;
}

#[tokio::test]
async fn shutdown_ends_streams_and_says_so() {
    let server = serve().await;
    let caller = server.caller();
    let mut stream = caller
        .stream(rpc("SendStreamingMessage"), &says("wait"))
        .await
        .unwrap();
    assert!(stream.message().await.unwrap().is_some());
    let tasks = server.tasks.clone();
    tasks.stop();
    let ended = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended well"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::Unavailable);
    assert_eq!(reason(&ended), "UNAVAILABLE");
    assert!(tasks.drain(Duration::from_secs(10)).await);
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused_and_start_nothing() {
    let server = serve_with(Limits {
        streams: 1,
        ..Limits::default()
    })
    .await;
    let caller = server.caller();
    let open = caller
        .stream(rpc("SendStreamingMessage"), &says("wait"))
        .await
        .unwrap();
    let refused = caller
        .stream(rpc("SendStreamingMessage"), &says("hello"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let list = wire::ListTasksRequest::default();
    let page: wire::ListTasksResponse = caller.call(rpc("ListTasks"), &list).await.unwrap();
    assert_eq!(page.total_size, 1);
    drop(open);
    server.drain().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused() {
    let server = serve_with(Limits {
        body: 1024,
        ..Limits::default()
    })
    .await;
    let refused = server
        .caller()
        .respond(rpc("SendMessage"), &says(&"x".repeat(4096)))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "PAYLOAD_TOO_LARGE");
    server.drain().await;
}

/// Two of these do not fit into the room that large messages share.
const LARGE: &str = "burst 1 40000000";

async fn begin(caller: &Caller, text: &str) -> wire::Task {
    let answer: wire::SendMessageResponse =
        caller.call(rpc("SendMessage"), &says(text)).await.unwrap();
    let Some(wire::send_message_response::Payload::Task(task)) = answer.payload else {
        panic!("no task");
    };
    task
}

#[tokio::test]
async fn a_large_answer_keeps_its_room_until_the_caller_has_read_it() {
    let server = serve().await;
    let caller = server.caller();
    let task = begin(&caller, LARGE).await;
    let get = wire::GetTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let unread = caller.stream(rpc("GetTask"), &get).await.unwrap();
    // The server has sent all that the windows of the caller take.
    for _ in 0..100 {
        begin(&caller, "hello").await;
    }
    let refused = caller.respond(rpc("GetTask"), &get).await;
    let refused = refused.map(drop).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let read: Vec<wire::Task> = all(unread).await;
    assert_eq!(read, [task]);
    server.drain().await;
}

#[tokio::test]
async fn a_send_without_room_for_its_answer_is_answered_with_a_short_task() {
    let server = serve().await;
    let caller = server.caller();
    let first = begin(&caller, LARGE).await;
    assert_eq!(first.artifacts.len(), 1);
    let get = |id: &str| wire::GetTaskRequest {
        id: id.to_owned(),
        ..Default::default()
    };
    let unread = caller
        .stream(rpc("GetTask"), &get(&first.id))
        .await
        .unwrap();
    let second = begin(&caller, LARGE).await;
    assert!(second.artifacts.is_empty() && second.history.is_empty());
    assert_eq!(second.status.unwrap().state(), wire::TaskState::Completed);
    drop(unread);
    let whole = loop {
        // The server notices the closed connection a moment later.
        match caller
            .call::<wire::Task>(rpc("GetTask"), &get(&second.id))
            .await
        {
            Ok(task) => break task,
            Err(refused) => assert_eq!(refused.code(), Code::ResourceExhausted),
        }
    };
    assert_eq!(whole.artifacts.len(), 1);
    server.drain().await;
}

#[tokio::test]
async fn a_stream_that_is_not_read_is_reset_and_its_connection_stays() {
    let server = serve_with(Limits {
        header_timeout: Duration::from_millis(20),
        ..Limits::default()
    })
    .await;
    let caller = server.caller();
    let task = begin(&caller, LARGE).await;
    let get = wire::GetTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let wait = says("wait");
    let mut idle = caller
        .stream(rpc("SendStreamingMessage"), &wait)
        .await
        .unwrap();
    let mut unread = caller.stream(rpc("GetTask"), &get).await.unwrap();
    // The room of the answer is free once its stream is reset.
    let again: wire::Task = eventually("room for the answer", async || {
        let answered = caller.call(rpc("GetTask"), &get).await;
        answered.inspect_err(|refused| assert_eq!(refused.code(), Code::ResourceExhausted))
    })
    .await;
    assert_eq!(again, task);
    assert!(unread.message().await.is_err(), "it was cut off");

    // A stream with nothing to say is not one that is not read.
    idle.message().await.unwrap().expect("the task");
    idle.message().await.unwrap().expect("it is working");
    drop(idle);
    server.drain().await;
}

/// Once all of an answer is handed over, there is no stream left to reset: only the HTTP/2 library holds the rest.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the connection ends with the test"
)]
async fn a_connection_whose_caller_does_not_read_the_end_of_an_answer_is_closed() {
    let server = serve_with(Limits {
        header_timeout: Duration::from_millis(20),
        ..Limits::default()
    })
    .await;
    let socket = TcpStream::connect(server.address).await.unwrap();
    let (mut caller, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(1)
        .handshake(TokioIo::new(socket))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let mut ask = |method: &str| {
        let request = hyper::Request::builder().method(method);
        let request = request.uri(format!("http://{}/agents", server.address));
        caller.send_request(request.body(Empty::<Bytes>::new()).unwrap())
    };
    let unread = ask("GET").await.unwrap();
    assert!(unread.status().is_success());
    // Other requests keep the connection busy. Their answers have no body, so nothing waits to be read.
    while ask("HEAD").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    connection.await.unwrap().ok();
    assert!(
        unread.into_body().collect().await.is_err(),
        "it was cut off"
    );
    server.drain().await;
}
