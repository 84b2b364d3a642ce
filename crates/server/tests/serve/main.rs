//! A server made with the builder, and the example that shows how.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![cfg(feature = "sqlite")]

mod builder;
mod example;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use switchboard_testkit::{Events, answer, events};

/// An agent, called over JSON-RPC in A2A 1.0.
struct Caller {
    url: String,
    http: reqwest::Client,
}

impl Caller {
    fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            http: reqwest::Client::new(),
        }
    }

    fn request(&self, method: &str, params: &Value) -> RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.http.post(&self.url).header("A2A-Version", "1.0");
        request
            .header("Content-Type", "application/json")
            .body(body.to_string())
    }

    async fn call(&self, method: &str, params: &Value) -> Value {
        let answer = answer(self.request(method, params)).await;
        let result = answer.body["result"].clone();
        assert!(result.is_object(), "{method}: {answer:?}");
        result
    }

    /// Sends a text and waits for the task.
    async fn send(&self, text: &str) -> Value {
        self.call("SendMessage", &message(text, None)).await["task"].clone()
    }

    /// Answers the question of a task.
    async fn answer(&self, task: &Value, text: &str) -> Value {
        let task = task["id"].as_str();
        self.call("SendMessage", &message(text, task)).await["task"].clone()
    }

    async fn stream(&self, text: &str) -> Events {
        events(self.request("SendStreamingMessage", &message(text, None))).await
    }

    async fn get(&self, task: &str) -> Value {
        self.call("GetTask", &json!({"id": task})).await
    }

    async fn card(&self) -> Value {
        let url = format!("{}/.well-known/agent-card.json", self.url);
        answer(self.http.get(url)).await.body
    }
}

fn message(text: &str, task: Option<&str>) -> Value {
    let id = format!("m-{}-{}", text.len(), task.unwrap_or_default());
    let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message })
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

/// What the agent says in the status of a task.
fn said(task: &Value) -> String {
    switchboard_testkit::text_of(&task["status"]["message"])
}
