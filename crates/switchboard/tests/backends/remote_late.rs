//! Agents that send their answer after the end of the task, in its history only, or as a message in pieces: it arrives
//! through an agent of ours, and by the command line.

use std::process::Stdio;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use switchboard_testkit::{Server, say, text_of};
use tokio::process::Command;
use tokio::task::JoinSet;

/// An agent of 0.3 that streams; gone when it is dropped.
struct Late {
    base: String,
    _serving: JoinSet<()>,
}

impl Late {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let card = json!({
            "name": "Late", "description": "Answers late", "version": "1", "protocolVersion": "0.3.0",
            "url": base, "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        });
        let app = Router::new()
            .route(
                "/.well-known/agent-card.json",
                get(async move || card.to_string()),
            )
            .route("/", post(answer));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            base,
            _serving: serving,
        }
    }
}

fn message(role: &str, id: &str, text: &str) -> Value {
    json!({"kind": "message", "role": role, "messageId": id, "parts": [{"kind": "text", "text": text}]})
}

fn task(state: &str) -> Value {
    json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}})
}

async fn answer(body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let mut whole = task("completed");
    let text = request["params"]["message"]["parts"][0]["text"].as_str();
    let history = json!([
        message("user", "1", "hi"),
        message("agent", "2", "the answer")
    ]);
    match text {
        Some("artifact") => {
            let parts = json!([{"kind": "text", "text": "the answer"}]);
            whole["artifacts"] = json!([{"artifactId": "a", "parts": parts}]);
        }
        _ => whole["history"] = history,
    }
    if request["method"] == "tasks/get" {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": whole});
        return ([(CONTENT_TYPE, "application/json")], answer.to_string()).into_response();
    }
    let done = json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
        "status": {"state": "completed"}});
    let events = match text {
        Some("pieces") => ["the ", "ans", "wer"]
            .map(|piece| message("agent", "m", piece))
            .to_vec(),
        Some("stored") => vec![task("submitted"), done],
        _ => vec![task("submitted"), done, whole],
    };
    let frames = events.iter().map(|event| {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": event});
        format!("data: {answer}\n\n")
    });
    let stream: String = frames.collect();
    ([(CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

const WAYS: [&str; 4] = ["artifact", "history", "stored", "pieces"];

#[tokio::test]
async fn a_late_answer_passes_through_an_agent_of_ours() {
    let late = Late::start().await;
    let yaml = format!("agents: {{desk: {{a2a: {{url: '{}'}}}}}}", late.base);
    let ours = Server::serve(&yaml).await;
    for way in WAYS {
        let result = ours.result("desk", "message/send", say(way)).await;
        let places = [
            &result["artifacts"][0],
            &result["status"]["message"],
            &result,
        ];
        let said: Vec<String> = places.into_iter().map(text_of).collect();
        assert!(said.contains(&"the answer".to_owned()), "{way}: {result}");
    }
}

#[tokio::test]
async fn a_late_answer_is_printed() {
    let late = Late::start().await;
    let home = tempfile::tempdir().unwrap();
    for way in WAYS {
        for more in [&[][..], &["--stream"]] {
            let ran = Command::new(env!("CARGO_BIN_EXE_switchboard"))
                .args(["send", way, "-a", &late.base])
                .args(more)
                .env_clear()
                .env("HOME", home.path())
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output()
                .await
                .unwrap();
            let out = String::from_utf8(ran.stdout).unwrap();
            assert_eq!(ran.status.code(), Some(0), "{way}: {out}");
            // With --stream pieces are printed as they come.
            let whole: String = out.lines().filter(|line| !line.contains(':')).collect();
            assert!(whole.contains("the answer"), "{way} {more:?}: {out}");
        }
    }
}
