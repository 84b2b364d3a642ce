//! Being told by the real engine, over the handler for axum.

use std::sync::Arc;
use std::time::Duration;

use switchboard_client::webhook::{Notification, Receiver};
use switchboard_client::{Sent, text};
use switchboard_types::model::{Event, PushConfig, Secret, TaskState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::{House, connect, ways};

#[tokio::test]
async fn s1_193_the_engine_tells_a_receiver_of_every_version() {
    let house = House::open().await;
    for way in ways() {
        let receiver = Arc::new(Receiver::new().any_task().token(Secret::new("tok")));
        let (told, mut heard) = mpsc::channel::<Notification>(64);
        let router = switchboard_client::webhook::handler("/hook", receiver, move |notification| {
            let told = told.clone();
            async move { told.send(notification).await.unwrap() }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let tasks = switchboard_server::shutdown::Tasks::default();
        let stopping = tasks.stopping().clone();
        tasks.spawn(async move {
            let serving = axum::serve(listener, router);
            drop(
                serving
                    .with_graceful_shutdown(stopping.cancelled_owned())
                    .await,
            );
        });
        let agent = connect(&house.agent("echo"), &way).await;
        let mut send = text("one two");
        send.configuration.push = Some(PushConfig {
            id: None,
            task_id: None,
            url,
            token: Some(Secret::new("tok")),
            authentication: None,
        });
        let Sent::Task(task) = agent.send(send).await.unwrap() else {
            panic!("no task")
        };
        loop {
            let next = tokio::time::timeout(Duration::from_secs(10), heard.recv());
            let notification = next.await.expect("in time").expect("open");
            assert_eq!(notification.task_id.as_ref(), Some(&task.id), "{way:?}");
            let state = match &notification.event {
                Event::Task(task) => Some(task.status.state),
                Event::Status(update) => Some(update.status.state),
                Event::Artifact(_) | Event::Message(_) => None,
            };
            if state == Some(TaskState::Completed) {
                break;
            }
        }
        tasks.stop();
    }
    house.close().await;
}

#[tokio::test]
async fn what_was_posted_again_by_an_agent_that_went_away_is_told_again() {
    let (told, mut heard) = mpsc::channel::<tokio::sync::oneshot::Receiver<()>>(8);
    let receiver = Arc::new(Receiver::new().any_task());
    // Never done: whoever hears of it holds the end that would say when the telling was given up.
    let router = switchboard_client::webhook::handler("/hook", receiver, move |_| {
        let told = told.clone();
        async move {
            let (_given_up, end) = tokio::sync::oneshot::channel();
            told.send(end).await.unwrap();
            std::future::pending::<()>().await;
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tasks = switchboard_server::shutdown::Tasks::default();
    let stopping = tasks.stopping().clone();
    tasks.spawn(async move {
        tokio::select! {
            () = stopping.cancelled() => {}
            _ = axum::serve(listener, router) => {}
        }
    });
    let body = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#;
    let post = format!(
        "POST /hook HTTP/1.1\r\nhost: h\r\nx-a2a-event-id: 1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..2 {
        let mut agent = TcpStream::connect(address).await.unwrap();
        agent.write_all(post.as_bytes()).await.unwrap();
        let next = tokio::time::timeout(Duration::from_secs(10), heard.recv());
        let end = next.await.expect("told").unwrap();
        drop(agent);
        assert!(end.await.is_err(), "given up");
    }
    tasks.stop();
}

#[tokio::test]
async fn the_same_posted_twice_at_once_is_told_once() {
    let (told, mut heard) = mpsc::channel::<()>(8);
    let go_on = Arc::new(tokio::sync::Semaphore::new(0));
    let receiver = Arc::new(Receiver::new().any_task());
    let router = {
        let go_on = Arc::clone(&go_on);
        switchboard_client::webhook::handler("/hook", receiver, move |_| {
            let (told, go_on) = (told.clone(), Arc::clone(&go_on));
            async move {
                told.send(()).await.unwrap();
                go_on.acquire().await.unwrap().forget();
            }
        })
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tasks = switchboard_server::shutdown::Tasks::default();
    let stopping = tasks.stopping().clone();
    tasks.spawn(async move {
        tokio::select! {
            () = stopping.cancelled() => {}
            _ = axum::serve(listener, router) => {}
        }
    });
    let body = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#;
    let post = format!(
        "POST /hook HTTP/1.1\r\nhost: h\r\nx-a2a-event-id: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let ask = async || {
        let mut agent = TcpStream::connect(address).await.unwrap();
        agent.write_all(post.as_bytes()).await.unwrap();
        let mut answer = String::new();
        agent.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let let_go = async {
        heard.recv().await.unwrap();
        // The other one has come, or comes after the end: it is told nothing either way.
        tokio::time::timeout(Duration::from_millis(200), heard.recv())
            .await
            .unwrap_err();
        go_on.add_permits(2);
    };
    let all = async { tokio::join!(ask(), ask(), let_go) };
    let all = tokio::time::timeout(Duration::from_secs(20), all);
    let (one, two, ()) = all.await.unwrap();
    for answer in [one, two] {
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }
    assert!(heard.try_recv().is_err());
    tasks.stop();
}
