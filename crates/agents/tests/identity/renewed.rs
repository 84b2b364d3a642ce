//! Tokens that are not taken any more while a turn is at work: they are replaced once, and the turn goes on. Where there are
//! no others to be had, the caller is asked, and nothing that was said is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_agents::langgraph::{LangGraphAgent, Settings as LangGraph};
use switchboard_agents::remote::{RemoteAgent, Settings as Remote};
use switchboard_client::{Client, in_task, text};
use switchboard_types::model::{Binding, Task, TaskState};
use tokio::time::{Instant, sleep};

use crate::site::{Asked, Site};
use crate::world::{World, exchanged, task, token_of};
use crate::{said, state};

/// What stands behind ours.
#[derive(Debug, Clone, Copy)]
enum Kind {
    A2a,
    LangGraph,
}

/// An agent elsewhere that takes one token, and is done when it is told to be.
struct Upstream {
    site: Site,
    token: Arc<Mutex<String>>,
    is_done: Arc<AtomicBool>,
}

const ASSISTANT: &str = "11111111-1111-4111-8111-111111111111";
const RUN: &str = "22222222-2222-4222-8222-222222222222";

impl Upstream {
    async fn open(kind: Kind, token: &str) -> Self {
        let token = Arc::new(Mutex::new(format!("Bearer {token}")));
        let is_done = Arc::new(AtomicBool::new(false));
        let (takes, done) = (Arc::clone(&token), Arc::clone(&is_done));
        let site = Site::open(move |asked, _| {
            let is_done = done.load(Ordering::SeqCst);
            if asked.path == "/.well-known/agent-card.json" {
                return Some((200, card(asked)));
            }
            if asked.authorization() != *takes.lock().unwrap() {
                return Some((401, String::new()));
            }
            let answer = match kind {
                Kind::A2a => a2a(asked, is_done),
                Kind::LangGraph => langgraph(asked, is_done),
            };
            Some((200, answer.to_string()))
        });
        let site = site.await;
        Self {
            site,
            token,
            is_done,
        }
    }

    /// Only this one is taken from now on.
    fn takes(&self, token: &str) {
        *self.token.lock().unwrap() = format!("Bearer {token}");
    }

    fn is_done(&self) {
        self.is_done.store(true, Ordering::SeqCst);
    }

    /// The tokens that messages came with, those of the refused as well.
    fn told(&self) -> Vec<String> {
        let asked = self.site.asked();
        let told = asked.iter().filter(|asked| is_message(asked));
        told.map(|asked| asked.authorization().to_owned()).collect()
    }

    /// Waits until it was asked with this token for how it goes.
    async fn until_asked(&self, token: &str) {
        let bearer = format!("Bearer {token}");
        let looks = |asked: &Asked| asked.authorization() == bearer && is_look(asked);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.site.asked().iter().any(looks) {
            assert!(Instant::now() < deadline, "not asked with {token}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

fn is_message(asked: &Asked) -> bool {
    let method = asked.rpc()["method"].clone();
    method == "message/send" || method == "message/stream"
}

fn is_look(asked: &Asked) -> bool {
    asked.rpc()["method"] == "tasks/get" || asked.path.ends_with(RUN)
}

fn card(asked: &Asked) -> String {
    let url = format!("http://{}/", asked.headers["host"].to_str().unwrap());
    json!({
        "name": "Poet", "description": "Writes", "version": "1", "protocolVersion": "0.3.0", "url": url,
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "w", "name": "w", "description": "writes", "tags": []}],
    })
    .to_string()
}

fn a2a(asked: &Asked, is_done: bool) -> Value {
    let call = asked.rpc();
    let context = call["params"]["message"].get("contextId");
    let status = match is_done {
        true => {
            let parts = json!([{"kind": "text", "text": "at last"}]);
            let message =
                json!({"kind": "message", "messageId": "a", "role": "agent", "parts": parts});
            json!({"state": "completed", "message": message})
        }
        false => json!({"state": "working"}),
    };
    let context = context.cloned().unwrap_or_else(|| json!("c"));
    let task = json!({"kind": "task", "id": "t", "contextId": context, "status": status});
    json!({"jsonrpc": "2.0", "id": call["id"], "result": task})
}

/// Its answers break off: the run is followed by the server's own interface.
fn langgraph(asked: &Asked, is_done: bool) -> Value {
    if is_message(asked) {
        let call = asked.rpc();
        let thread = call["params"]["message"]["contextId"].as_str().unwrap();
        let task = json!({"kind": "task", "id": format!("{thread}:{RUN}"), "contextId": thread, "status": {"state": "submitted"}});
        return json!({"jsonrpc": "2.0", "id": call["id"], "result": task});
    }
    let status = if is_done { "success" } else { "running" };
    match asked.path.rsplit('/').next() {
        Some("runs") => json!([]),
        Some("state") => json!({"values": {"messages": [{"type": "ai", "content": "at last"}]}}),
        _ => json!({"run_id": RUN, "status": status, "kwargs": {}}),
    }
}

/// Our agent before it.
async fn before(upstream: &Upstream, kind: Kind, issuer: &Site) -> World {
    let (url, identity) = (&upstream.site.url, exchanged(issuer));
    match kind {
        Kind::A2a => {
            World::open(RemoteAgent::new(
                Remote::new(url.parse().unwrap()),
                identity,
            ))
            .await
        }
        Kind::LangGraph => {
            let settings = LangGraph::new(url.parse().unwrap(), ASSISTANT);
            World::open(LangGraphAgent::new(settings, identity).unwrap()).await
        }
    }
}

/// What was answered, in either way.
fn answer(done: &Arc<Task>) -> String {
    let made = done.artifacts.iter().flat_map(|made| &made.parts);
    let made: String = made.filter_map(|part| part.as_text()).collect();
    format!("{}{}", said(done), made)
}

async fn ann(world: &World, n: u64) -> Client {
    world
        .client(Some(&token_of("ann", n)), Binding::JsonRpc)
        .await
}

#[tokio::test]
async fn a_token_that_is_refused_in_the_middle_of_a_turn_is_replaced_and_the_turn_goes_on() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-1").await);
        let world = before(&upstream, kind, &issuer).await;
        let client = ann(&world, 1).await;
        let meanwhile = async {
            upstream.until_asked("token-1").await;
            upstream.takes("token-2");
            upstream.until_asked("token-2").await;
            upstream.is_done();
        };
        let (sent, ()) = tokio::join!(client.send(text("x")), meanwhile);
        let done = task(sent.unwrap());
        assert_eq!(state(&done), TaskState::Completed, "{kind:?} {done:?}");
        assert_eq!(answer(&done), "at last", "{kind:?}");
        assert_eq!(upstream.told(), ["Bearer token-1"], "{kind:?}");
        assert_eq!(issuer.asked().len(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn a_token_that_is_refused_at_once_is_replaced_once_and_no_more() {
    for kind in [Kind::A2a, Kind::LangGraph] {
        let (issuer, upstream) = (Site::issuer().await, Upstream::open(kind, "token-2").await);
        upstream.is_done();
        let world = before(&upstream, kind, &issuer).await;
        let done = task(ann(&world, 1).await.send(text("x")).await.unwrap());
        assert_eq!(answer(&done), "at last", "{kind:?} {done:?}");
        upstream.takes("none");
        let asked = task(ann(&world, 1).await.send(text("x")).await.unwrap());
        assert_eq!(state(&asked), TaskState::AuthRequired, "{kind:?} {asked:?}");
        assert_eq!(issuer.asked().len(), 3, "{kind:?}");
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
