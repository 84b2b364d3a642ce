//! What is asked again, and what is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json as value;
use switchboard_client::{Client, text};
use switchboard_types::ErrorKind;
use switchboard_types::model::TaskId;

use crate::support::{Asked, Odd, quick, status};

#[tokio::test]
async fn reads_are_repeated_and_sends_only_if_they_were_turned_away() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let odd = Odd::serve(move |asked: Asked| {
        let count = Arc::clone(&count);
        async move {
            if asked.method == "GET" {
                return asked.card("0.3");
            }
            let body = asked.json().to_string();
            match count.fetch_add(1, Ordering::SeqCst) {
                0 if body.contains("busy") => status(429),
                0 if body.contains("away") => status(503),
                0 => status(500),
                _ => asked.result(&value!({"kind": "task", "id": "t", "contextId": "c",
                    "status": {"state": "completed"}})),
            }
        }
    })
    .await;
    let builder = Client::builder().retry(quick());
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    let id = TaskId::new("t").unwrap();
    assert!(agent.get(&id, None).await.is_ok());
    assert_eq!(calls.swap(0, Ordering::SeqCst), 2);
    assert!(agent.send(text("busy")).await.is_ok());
    assert_eq!(calls.swap(0, Ordering::SeqCst), 2);
    assert!(agent.send(text("away")).await.is_err());
    assert_eq!(calls.swap(0, Ordering::SeqCst), 1);
    assert!(
        agent
            .send(text("broken"))
            .await
            .unwrap_err()
            .is(ErrorKind::Internal)
    );
    assert_eq!(calls.swap(0, Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_agent_that_asks_to_wait_forever_is_not_waited_for() {
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            return asked.card("0.3");
        }
        let mut busy = status(429);
        let forever = http::HeaderValue::from(u64::MAX);
        busy.headers_mut().insert("retry-after", forever);
        busy
    })
    .await;
    let agent = Client::connect(odd.base.as_str()).await.unwrap();
    let error = agent.send(text("x")).await.unwrap_err();
    assert_eq!(error.status(), Some(429), "{error}");
}
