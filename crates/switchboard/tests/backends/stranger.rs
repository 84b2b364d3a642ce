//! A small agent of somebody else: no streams, no lists, no webhooks, a card that can change, and things it does not
//! answer.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// What it was asked, and what its card says.
#[derive(Debug, Default)]
struct Memory {
    asked: Vec<(HeaderMap, Value)>,
    skills: Vec<String>,
    base: String,
}

/// The agent on a socket; gone when it is dropped.
pub(crate) struct Stranger {
    memory: Arc<Mutex<Memory>>,
    pub(crate) base: String,
    _serving: JoinSet<()>,
}

impl Stranger {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let memory = Arc::new(Mutex::new(Memory {
            skills: vec!["fly".to_owned()],
            base: base.clone(),
            ..Memory::default()
        }));
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/", post(answer))
            .with_state(Arc::clone(&memory));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            memory,
            base,
            _serving: serving,
        }
    }

    /// From now on it can do this.
    pub(crate) fn learns(&self, skill: &str) {
        self.memory.lock().unwrap().skills.push(skill.to_owned());
    }

    /// From now on its card names this address.
    pub(crate) fn moves_to(&self, base: &str) {
        base.clone_into(&mut self.memory.lock().unwrap().base);
    }

    /// The messages that were sent to it, with their headers.
    pub(crate) fn asked(&self) -> Vec<(HeaderMap, Value)> {
        self.memory.lock().unwrap().asked.clone()
    }
}

async fn card(State(memory): State<Arc<Mutex<Memory>>>) -> String {
    let memory = memory.lock().unwrap();
    let skill = |id: &String| json!({"id": id, "name": id, "description": "can", "tags": ["t"]});
    json!({
        "name": "Stranger",
        "description": "Somebody else's",
        "version": "7",
        "protocolVersion": "0.3.0",
        "url": memory.base,
        "capabilities": {},
        "defaultInputModes": ["text/plain", "image/png"],
        "defaultOutputModes": ["text/plain"],
        "skills": memory.skills.iter().map(skill).collect::<Vec<_>>(),
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}},
        "security": [{"key": []}],
    })
    .to_string()
}

async fn answer(
    State(memory): State<Arc<Mutex<Memory>>>,
    headers: HeaderMap,
    body: Bytes,
) -> String {
    let request: Value = serde_json::from_slice(&body).unwrap();
    if request["method"] != "message/send" {
        let error = json!({"code": -32601, "message": "no such method"});
        return json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string();
    }
    let message = request["params"]["message"].clone();
    let first = {
        let mut memory = memory.lock().unwrap();
        memory.asked.push((headers, message.clone()));
        memory.asked.len() == 1
    };
    let text = message["parts"][0]["text"].as_str().unwrap();
    if text == "hang" || text == "hang once" && first {
        std::future::pending::<()>().await;
    }
    let text = format!("heard {text}");
    json!({"jsonrpc": "2.0", "id": request["id"], "result": {
        "kind": "message", "role": "agent", "messageId": "r", "contextId": message["contextId"],
        "parts": [{"kind": "text", "text": text}],
    }})
    .to_string()
}
