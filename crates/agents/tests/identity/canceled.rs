//! Cancels that reach an agent elsewhere, whatever becomes of the token that says who cancels.

use switchboard_client::{in_task, text};
use switchboard_testkit::eventually;
use switchboard_types::model::TaskState;

use crate::site::Site;
use crate::state;
use crate::upstream::{Kind, Upstream, ann, before};
use crate::world::task;

#[tokio::test]
async fn a_question_is_withdrawn_though_it_is_not_known_yet_who_answers_it() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let issuer = Site::open(|_, _| Some((200, r#"{"access_token":"token"}"#.to_owned()))).await;
        let upstream = Upstream::open(kind, "token").await;
        let world = before(&upstream, kind, &issuer).await;
        let asked = task(ann(&world, 1).await.send(text("ask")).await.unwrap());
        assert_eq!(
            state(&asked),
            TaskState::InputRequired,
            "{kind:?} {asked:?}"
        );
        let client = ann(&world, 2).await;
        let issues = issuer.gate.lock().await;
        let answer = in_task(text("blue"), &asked.id, None);
        let (client, issuer, asked) = (&client, &issuer, &asked);
        let meanwhile = async move {
            eventually("a second token", async || issuer.asked().len() == 2).await;
            let released = async {
                // By then it is known that it is canceled.
                for _ in 0..3 {
                    client.get(&asked.id, None).await.unwrap();
                }
                drop(issues);
            };
            tokio::join!(client.cancel(&asked.id), released).0
        };
        let (answered, canceled) = tokio::join!(client.send(answer), meanwhile);
        drop(answered);
        let canceled = canceled.unwrap();
        assert_eq!(state(&canceled), TaskState::Canceled, "{kind:?}");
        // Before that is told to whoever cancels.
        assert_eq!(upstream.canceled(), ["Bearer token"], "{kind:?}");
    }
}

#[tokio::test]
async fn a_cancel_is_told_with_a_token_that_is_taken() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-1").await);
        let world = before(&upstream, kind, &issuer).await;
        let client = ann(&world, 1).await;
        let mut events = client.stream(text("x")).await.unwrap();
        upstream.is_silent().await;
        let id = loop {
            match events.task() {
                Some(task) => break task.id.clone(),
                None => drop(events.next().await.unwrap().unwrap()),
            }
        };
        upstream.takes("token-2");
        let canceled = client.cancel(&id).await.unwrap();
        assert_eq!(state(&canceled), TaskState::Canceled, "{kind:?}");
        let told = upstream.canceled();
        assert_eq!(told[..2], ["Bearer token-1", "Bearer token-2"], "{kind:?}");
    }
}

/// The nth token of an issuer, that does not always give one.
fn token(n: usize) -> Option<(u16, String)> {
    Some((200, format!(r#"{{"access_token":"token-{n}"}}"#)))
}

#[tokio::test]
async fn a_cancel_is_told_with_another_token_though_the_last_one_was_never_taken() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        // What is given at first, and later.
        for is_away in [false, true] {
            let issuer = Site::open(move |_, n| match n {
                3 if is_away => Some((500, String::new())),
                n => token(n),
            });
            let issuer = issuer.await;
            let upstream = Upstream::open(kind, "token-1").await;
            let world = before(&upstream, kind, &issuer).await;
            let client = ann(&world, 1).await;
            let mut events = client.stream(text("x")).await.unwrap();
            events.next().await.unwrap().unwrap();
            let id = events.task().unwrap().id.clone();
            upstream.until_asked("token-1").await;
            upstream.takes("token-2");
            upstream.falls_silent();
            upstream.until_asked("token-2").await;
            let taken = if is_away { "token-4" } else { "token-3" };
            upstream.takes(taken);
            let canceled = client.cancel(&id).await.unwrap();
            assert_eq!(state(&canceled), TaskState::Canceled, "{kind:?}");
            // At once; or later, if there is none now.
            let taken = format!("Bearer {taken}");
            if is_away {
                eventually("a cancel", async || upstream.canceled().contains(&taken)).await;
            }
            assert!(upstream.canceled().contains(&taken), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_known_yet_is_looked_for_with_a_token_that_is_taken_and_canceled() {
    // The second, if the first one was replaced before.
    for (first, then) in [("token-1", "token-2"), ("token-2", "token-3")] {
        let issuer = Site::issuer().await;
        let upstream = Upstream::open(Kind::Lists, first).await;
        let world = before(&upstream, Kind::Lists, &issuer).await;
        let client = ann(&world, 1).await;
        let mut send = text("x");
        send.configuration.return_immediately = true;
        let begun = task(client.send(send).await.unwrap());
        let taken = || upstream.told().iter().any(|told| told.ends_with(first));
        eventually("the message", async || taken()).await;
        upstream.takes(then);
        let canceled = client.cancel(&begun.id).await.unwrap();
        assert_eq!(state(&canceled), TaskState::Canceled);
        assert_eq!(upstream.canceled(), [format!("Bearer {then}")]);
    }
}

#[tokio::test]
async fn what_goes_on_there_is_canceled_where_a_turn_fails_for_want_of_a_token() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let issuer = Site::open(|_, n| match n {
            2 => Some((500, String::new())),
            n => token(n),
        });
        let issuer = issuer.await;
        let upstream = Upstream::open(kind, "token-1").await;
        let world = before(&upstream, kind, &issuer).await;
        let client = ann(&world, 1).await;
        let meanwhile = async {
            upstream.until_asked("token-1").await;
            upstream.takes("token-3");
        };
        let (sent, ()) = tokio::join!(client.send(text("x")), meanwhile);
        let failed = task(sent.unwrap());
        assert_eq!(state(&failed), TaskState::Failed, "{kind:?} {failed:?}");
        let told = "Bearer token-3".to_owned();
        eventually("a cancel", async || upstream.canceled().contains(&told)).await;
    }
}
