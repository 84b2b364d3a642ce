//! Tokens that are not taken any more while a turn is at work: they are replaced once, and the turn goes on. Where there are
//! no others to be had, the caller is asked, and nothing that was said is lost.

use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::remote::{RemoteAgent, Settings};
use switchboard_client::{Wait, in_task, text};
use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_testkit::eventually;
use switchboard_types::model::TaskState;

use crate::site::Site;
use crate::state;
use crate::upstream::{Kind, Upstream, ann, answer, before};
use crate::world::{World, own, task};

#[tokio::test]
async fn tokens_that_are_refused_in_the_middle_of_a_turn_are_replaced_and_the_turn_goes_on() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-1").await);
        let world = before(&upstream, kind, &issuer).await;
        let client = ann(&world, 1).await;
        let meanwhile = async {
            upstream.until_asked("token-1").await;
            upstream.takes("token-2");
            // There is nothing new to tell for as long as it lasts.
            upstream.until_taken("token-2").await;
            upstream.takes("token-3");
            upstream.until_asked("token-3").await;
            upstream.is_done();
        };
        let (sent, ()) = tokio::join!(client.send(text("x")), meanwhile);
        let done = task(sent.unwrap());
        assert_eq!(state(&done), TaskState::Completed, "{kind:?} {done:?}");
        assert_eq!(answer(&done), "at last", "{kind:?}");
        assert_eq!(upstream.told(), ["Bearer token-1"], "{kind:?}");
        assert_eq!(issuer.asked().len(), 3, "{kind:?}");
    }
}

#[tokio::test]
async fn a_token_that_is_refused_at_once_is_replaced_once_and_no_more() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-2").await);
        upstream.is_done();
        let world = before(&upstream, kind, &issuer).await;
        let client = ann(&world, 1).await;
        let done = task(client.send(text("x")).await.unwrap());
        assert_eq!(answer(&done), "at last", "{kind:?} {done:?}");
        upstream.takes("none");
        let asked = task(client.send(text("x")).await.unwrap());
        assert_eq!(state(&asked), TaskState::AuthRequired, "{kind:?} {asked:?}");
        assert_eq!(issuer.asked().len(), 3, "{kind:?}");
    }
}

#[tokio::test]
async fn a_token_is_replaced_once_however_long_it_takes_to_be_refused() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-1").await);
        let world = before(&upstream, kind, &issuer).await;
        let client = ann(&world, 1).await;
        let meanwhile = async {
            upstream.until_asked("token-1").await;
            let slow = issuer.gate.lock().await;
            upstream.takes("none");
            eventually("a second token", async || issuer.asked().len() == 2).await;
            // However old the token is by then: the clock goes on without anybody waiting.
            tokio::time::pause();
            tokio::time::advance(Duration::from_millis(1100)).await;
            tokio::time::resume();
            drop(slow);
        };
        let (sent, ()) = tokio::join!(client.send(text("x")), meanwhile);
        let asked = task(sent.unwrap());
        assert_eq!(state(&asked), TaskState::AuthRequired, "{kind:?} {asked:?}");
        assert_eq!(issuer.asked().len(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn a_token_that_was_taken_is_replaced_however_soon_it_expires() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-2").await);
        upstream.takes_after_a_message("token-3");
        upstream.is_done();
        let world = before(&upstream, kind, &issuer).await;
        let done = task(ann(&world, 1).await.send(text("long")).await.unwrap());
        assert_eq!(answer(&done), "at last", "{kind:?} {done:?}");
        let told = upstream.told();
        assert_eq!(told.last().unwrap(), "Bearer token-2", "{kind:?}");
    }
}

/// Of a task that it has begun, or that was answered. What became of the message is not known: it is looked for.
#[tokio::test]
async fn a_token_that_is_refused_after_a_restart_is_replaced_and_the_task_found() {
    for asks_first in [false, true] {
        let issuer = Site::issuer().await;
        let upstream = Upstream::open(Kind::Lists, "token-1").await;
        let dir = tempfile::tempdir().unwrap();
        let open = async || {
            let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
            let at = Settings::new(upstream.site.url.parse().unwrap());
            World::on(Arc::new(store), RemoteAgent::new(at, own(&issuer))).await
        };
        let world = open().await;
        let client = ann(&world, 1).await;
        let mut send = text("x");
        if asks_first {
            let asked = task(client.send(text("ask")).await.unwrap());
            assert_eq!(state(&asked), TaskState::InputRequired, "{asked:?}");
            send = in_task(send, &asked.id, None);
        }
        send.configuration.return_immediately = true;
        let id = task(client.send(send).await.unwrap()).id.clone();
        let told = 1 + usize::from(asks_first);
        eventually("the message", async || upstream.told().len() == told).await;
        world.fall_over().await;
        upstream.takes("token-3");
        upstream.is_done();
        let world = open().await;
        let wait = Wait {
            interval: Duration::from_millis(20),
            timeout: Some(Duration::from_secs(20)),
        };
        let done = ann(&world, 2).await.wait(&id, &wait).await.unwrap();
        assert_eq!(answer(&done), "at last", "{done:?}");
        assert_eq!(upstream.told().len(), told);
        assert_eq!(issuer.asked().len(), 3);
    }
}

#[tokio::test]
async fn where_the_issuer_knows_the_caller_no_more_another_token_of_theirs_goes_on() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        // At once, and in the middle of the turn.
        for at_first in ["token-3", "token-1"] {
            let issuer = Site::open(|_, n| {
                Some(match n {
                    2 => (400, r#"{"error":"invalid_grant"}"#.to_owned()),
                    n => (200, format!(r#"{{"access_token":"token-{n}"}}"#)),
                })
            });
            let issuer = issuer.await;
            let upstream = Upstream::open(kind, at_first).await;
            let world = before(&upstream, kind, &issuer).await;
            let client = ann(&world, 1).await;
            let meanwhile = async {
                if at_first == "token-1" {
                    upstream.until_asked("token-1").await;
                    upstream.takes("token-3");
                }
            };
            let (sent, ()) = tokio::join!(client.send(text("x")), meanwhile);
            let asked = task(sent.unwrap());
            let what = format!("{kind:?} {at_first} {asked:?}");
            assert_eq!(state(&asked), TaskState::AuthRequired, "{what}");
            upstream.is_done();
            let again = in_task(text("here"), &asked.id, None);
            let done = task(ann(&world, 2).await.send(again).await.unwrap());
            assert_eq!(answer(&done), "at last", "{what} {done:?}");
            // It was told once, with a token that it took.
            let told = upstream.told();
            let taken = told.iter().filter(|token| token.ends_with(at_first));
            assert_eq!(taken.count(), 1, "{what} {told:?}");
        }
    }
}
