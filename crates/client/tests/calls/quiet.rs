//! Streams that are cut though nothing is wrong, and agents that turn readers away.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json as value;
use switchboard_client::{Client, Kind, Retry, text};
use tokio::time::Instant;

use crate::resume::{client, frame, task, told};
use crate::support::{Asked, Odd, Then, json, sse};

/// An agent that is quiet, behind something that cuts quiet streams. After so many cuts it is done.
async fn quiet(cuts: usize, then: Then) -> (Odd, Arc<AtomicUsize>) {
    let subscribed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&subscribed);
    let odd = Odd::serve(move |asked: Asked| {
        let answer = match asked.rpc().as_str() {
            "" => asked.card("1.0"),
            "GetTask" => asked.result(&task("WORKING", "a")),
            "SubscribeToTask" if count.fetch_add(1, Ordering::SeqCst) >= cuts => {
                let done = value!({"task": task("COMPLETED", "ab")});
                sse(vec![frame(&asked, &done)], Then::Close)
            }
            _ => {
                let same = value!({"task": task("WORKING", "a")});
                sse(vec![": hello\n\n".to_owned(), frame(&asked, &same)], then)
            }
        };
        std::future::ready(answer)
    })
    .await;
    (odd, subscribed)
}

#[tokio::test]
async fn a_quiet_stream_that_shows_life_between_its_cuts_is_not_given_up() {
    let (odd, subscribed) = quiet(20, Then::BeatAndCut).await;
    let mut events = client(&odd).await.stream(text("hi")).await.unwrap();
    assert_eq!(told(&mut events).await, ["task working", "+b", "completed"]);
    assert_eq!(subscribed.load(Ordering::SeqCst), 21);
}

#[tokio::test]
async fn an_agent_that_only_greets_is_given_up() {
    let (odd, _) = quiet(20, Then::Close).await;
    let pause = Duration::from_millis(200);
    let builder = Client::builder().retry(Retry {
        first: pause,
        longest: pause,
        ..Retry::default()
    });
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    let error = agent.stream(text("hi")).await.unwrap().finish().await;
    assert_eq!(error.unwrap_err().kind(), Kind::Interrupted);
}

#[tokio::test]
async fn an_agent_that_turns_a_reader_away_says_when_to_come_back() {
    let refused = Arc::new(Mutex::new(None));
    let at = Arc::clone(&refused);
    let odd = Odd::serve(move |asked: Asked| {
        let answer = match asked.rpc().as_str() {
            "" => asked.card("1.0"),
            "SubscribeToTask" => {
                let mut at = at.lock().unwrap();
                match *at {
                    None => {
                        *at = Some((Instant::now(), Duration::ZERO));
                        let mut busy = json(503, "{}");
                        let wait = http::HeaderValue::from_static("1");
                        busy.headers_mut().insert("retry-after", wait);
                        busy
                    }
                    Some((began, _)) => {
                        *at = Some((began, began.elapsed()));
                        let done = value!({"task": task("COMPLETED", "ab")});
                        sse(vec![frame(&asked, &done)], Then::Close)
                    }
                }
            }
            "GetTask" => asked.result(&task("WORKING", "a")),
            _ => {
                let begun = value!({"task": task("WORKING", "a")});
                sse(vec![frame(&asked, &begun)], Then::Cut)
            }
        };
        std::future::ready(answer)
    })
    .await;
    let mut events = client(&odd).await.stream(text("hi")).await.unwrap();
    assert_eq!(told(&mut events).await, ["task working", "+b", "completed"]);
    let (_, waited) = refused.lock().unwrap().unwrap();
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}
