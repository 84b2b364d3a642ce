//! An agent elsewhere, an A2A agent or an assistant of a LangGraph server, that knows callers by their tokens; and our agent
//! before it, which exchanges them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_agents::langgraph::{LangGraphAgent, Settings as LangGraph};
use switchboard_agents::remote::{RemoteAgent, Settings as Remote};
use switchboard_client::Client;
use switchboard_testkit::eventually;
use switchboard_types::model::{Binding, Task};

use crate::said;
use crate::site::{Asked, Site};
use crate::world::{World, exchanged, token_of};

/// What stands behind ours.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    A2a,
    /// It speaks 1.0, does not answer before it is done, and lists its tasks.
    Lists,
    LangGraph,
}

/// An agent elsewhere that takes one token, and is done when it is told to be.
pub(crate) struct Upstream {
    pub(crate) site: Site,
    token: Arc<Mutex<String>>,
    /// What is taken after the next message.
    next: Arc<Mutex<Option<String>>>,
    is_done: Arc<AtomicBool>,
    is_silent: Arc<AtomicBool>,
}

const ASSISTANT: &str = "11111111-1111-4111-8111-111111111111";
const RUN: &str = "22222222-2222-4222-8222-222222222222";

impl Upstream {
    pub(crate) async fn open(kind: Kind, token: &str) -> Self {
        let token = Arc::new(Mutex::new(format!("Bearer {token}")));
        let next: Arc<Mutex<Option<String>>> = Arc::default();
        let then = Arc::clone(&next);
        let heard = Mutex::new(Vec::new());
        let is_done = Arc::new(AtomicBool::new(false));
        let is_silent = Arc::new(AtomicBool::new(false));
        let (takes, done) = (Arc::clone(&token), Arc::clone(&is_done));
        let silent = Arc::clone(&is_silent);
        let site = Site::open(move |asked, _| {
            let is_done = done.load(Ordering::SeqCst);
            if asked.path == "/.well-known/agent-card.json" {
                return Some((200, card(asked, kind)));
            }
            if asked.authorization() != *takes.lock().unwrap() {
                return Some((401, String::new()));
            }
            if is_look(asked) && silent.load(Ordering::SeqCst) {
                return None;
            }
            if is_message(asked) {
                heard
                    .lock()
                    .unwrap()
                    .push(asked.rpc()["params"]["message"].clone());
                if let Some(token) = then.lock().unwrap().take() {
                    *takes.lock().unwrap() = token;
                }
            }
            let answer = match kind {
                Kind::A2a => a2a(asked, is_done),
                Kind::Lists => lists(asked, is_done, &heard.lock().unwrap())?,
                Kind::LangGraph => langgraph(asked, is_done),
            };
            Some((200, answer.to_string()))
        });
        let site = site.await;
        Self {
            site,
            token,
            next,
            is_done,
            is_silent,
        }
    }

    /// Only this one is taken from now on.
    pub(crate) fn takes(&self, token: &str) {
        *self.token.lock().unwrap() = format!("Bearer {token}");
    }

    /// The same, once a message has come.
    pub(crate) fn takes_after_a_message(&self, token: &str) {
        *self.next.lock().unwrap() = Some(format!("Bearer {token}"));
    }

    pub(crate) fn is_done(&self) {
        self.is_done.store(true, Ordering::SeqCst);
    }

    /// From now on it does not say how it goes.
    pub(crate) fn falls_silent(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
    }

    /// The same. Waits until someone has asked.
    pub(crate) async fn is_silent(&self) {
        self.falls_silent();
        let looks = || {
            let asked = self.site.asked();
            asked.iter().filter(|asked| is_look(asked)).count()
        };
        let before = looks();
        eventually("a lookup", async || looks() > before).await;
    }

    /// The tokens with which something was to be canceled.
    pub(crate) fn canceled(&self) -> Vec<String> {
        let asked = self.site.asked();
        let is_cancel = |asked: &&Asked| {
            let method = &asked.rpc()["method"];
            method == "tasks/cancel" || method == "CancelTask" || asked.path.ends_with("/cancel")
        };
        let canceled = asked.iter().filter(is_cancel);
        canceled
            .map(|asked| asked.authorization().to_owned())
            .collect()
    }

    /// The tokens that messages came with, those of the refused as well.
    pub(crate) fn told(&self) -> Vec<String> {
        let asked = self.site.asked();
        let told = asked.iter().filter(|asked| is_message(asked));
        told.map(|asked| asked.authorization().to_owned()).collect()
    }

    /// Waits until it was asked with this token for how it goes.
    pub(crate) async fn until_asked(&self, token: &str) {
        self.until_looks(token, 1).await;
    }

    /// Waits until it has answered that.
    pub(crate) async fn until_taken(&self, token: &str) {
        self.until_looks(token, 2).await;
    }

    async fn until_looks(&self, token: &str, many: usize) {
        let bearer = format!("Bearer {token}");
        let looks = |asked: &&Asked| asked.authorization() == bearer && is_look(asked);
        eventually(token, async || {
            self.site.asked().iter().filter(looks).count() >= many
        })
        .await;
    }
}

/// Whether a message wants it to ask.
fn asks(call: &Value) -> bool {
    call["params"]["message"]["parts"][0]["text"] == "ask"
}

fn is_message(asked: &Asked) -> bool {
    let method = asked.rpc()["method"].clone();
    method == "message/send" || method == "message/stream" || method == "SendMessage"
}

fn is_look(asked: &Asked) -> bool {
    let method = &asked.rpc()["method"];
    method == "tasks/get" || method == "GetTask" || asked.path.ends_with(RUN)
}

fn card(asked: &Asked, kind: Kind) -> String {
    let url = format!("http://{}/", asked.headers["host"].to_str().unwrap());
    let version = match kind {
        Kind::Lists => "1.0",
        _ => "0.3",
    };
    json!({
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version}],
        "name": "Poet", "description": "Writes", "version": "1", "protocolVersion": "0.3.0", "url": url,
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "w", "name": "w", "description": "writes", "tags": []}],
    })
    .to_string()
}

fn a2a(asked: &Asked, is_done: bool) -> Value {
    let call = asked.rpc();
    let context = call["params"]["message"].get("contextId");
    let says = |state: &str, text: &str| {
        let parts = json!([{"kind": "text", "text": text}]);
        let message = json!({"kind": "message", "messageId": "a", "role": "agent", "parts": parts});
        json!({"state": state, "message": message})
    };
    let text = &call["params"]["message"]["parts"][0]["text"];
    let status = match is_done {
        _ if call["method"] == "tasks/cancel" => json!({"state": "canceled"}),
        _ if asks(&call) => says("input-required", "Which?"),
        true if text != "long" => says("completed", "at last"),
        _ => json!({"state": "working"}),
    };
    let context = context.cloned().unwrap_or_else(|| json!("c"));
    let task = json!({"kind": "task", "id": "t", "contextId": context, "status": status});
    json!({"jsonrpc": "2.0", "id": call["id"], "result": task})
}

/// Messages are not answered, unless it asks.
fn lists(asked: &Asked, is_done: bool, heard: &[Value]) -> Option<Value> {
    let call = asked.rpc();
    let says = |state: &str, text: &str| {
        let message = json!({"messageId": "a", "role": "ROLE_AGENT", "parts": [{"text": text}]});
        json!({"state": state, "message": message})
    };
    let (method, wants) = (call["method"].as_str()?, asks(&call));
    let status = match is_done {
        _ if method == "CancelTask" => json!({"state": "TASK_STATE_CANCELED"}),
        _ if wants => says("TASK_STATE_INPUT_REQUIRED", "Which?"),
        true => says("TASK_STATE_COMPLETED", "at last"),
        false => json!({"state": "TASK_STATE_WORKING"}),
    };
    let context = heard.first().map(|message| &message["contextId"]);
    let task = json!({"id": "t", "contextId": context, "status": status, "history": heard});
    let result = match method {
        "SendMessage" if wants => json!({"task": task}),
        "SendMessage" => return None,
        "ListTasks" => {
            json!({"tasks": [task], "nextPageToken": "", "pageSize": 1, "totalSize": 1})
        }
        _ => task,
    };
    Some(json!({"jsonrpc": "2.0", "id": call["id"], "result": result}))
}

/// Its answers break off: the run is followed by the server's own interface.
fn langgraph(asked: &Asked, is_done: bool) -> Value {
    if is_message(asked) {
        let call = asked.rpc();
        let thread = call["params"]["message"]["contextId"].as_str().unwrap();
        let asked = json!([{"artifactId": "i", "name": "Interrupt", "parts": [{"kind": "data", "data": {"id": "1", "value": "Which?"}}]}]);
        let (state, made) = match asks(&call) {
            true => ("input-required", asked),
            false => ("submitted", json!([])),
        };
        let task = json!({"kind": "task", "id": format!("{thread}:{RUN}"), "contextId": thread, "status": {"state": state}, "artifacts": made});
        return json!({"jsonrpc": "2.0", "id": call["id"], "result": task});
    }
    if asked.rpc()["method"] == "tasks/cancel" {
        return json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    }
    let status = if is_done { "success" } else { "running" };
    match asked.path.rsplit('/').next() {
        Some("runs") => json!([]),
        Some("state") => json!({"values": {"messages": [{"type": "ai", "content": "at last"}]}}),
        _ => json!({"run_id": RUN, "status": status, "kwargs": {}}),
    }
}

/// Our agent before it.
pub(crate) async fn before(upstream: &Upstream, kind: Kind, issuer: &Site) -> World {
    let (url, identity) = (&upstream.site.url, exchanged(issuer));
    match kind {
        Kind::A2a | Kind::Lists => {
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
pub(crate) fn answer(done: &Arc<Task>) -> String {
    let made = done.artifacts.iter().flat_map(|made| &made.parts);
    let made: String = made.filter_map(|part| part.as_text()).collect();
    format!("{}{}", said(done), made)
}

pub(crate) async fn ann(world: &World, n: u64) -> Client {
    world
        .client(Some(&token_of("ann", n)), Binding::JsonRpc)
        .await
}
