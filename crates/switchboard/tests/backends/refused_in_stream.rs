//! Agents that take a message, and refuse it in the stream; and those that refuse an answer for now.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::keeper::Keeper;
use crate::outage::{said, warned_once};
use switchboard_testkit::{Server, begin, text_of};

/// An agent that streams, and refuses the first messages in the stream, after a good status.
struct Refusing {
    base: String,
    came: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl Refusing {
    async fn start(refusals: usize) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let came = Arc::<AtomicUsize>::default();
        let card = json!({
            "name": "busy", "description": "", "version": "1", "protocolVersion": "0.3.0",
            "url": base, "preferredTransport": "JSONRPC", "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        });
        let count = Arc::clone(&came);
        let answer = move |body: String| async move {
            let request: Value = serde_json::from_str(&body).unwrap();
            // Tasks are read, too.
            let messages = usize::from(request["method"] == "message/stream");
            let mut event = match count.fetch_add(messages, Ordering::Relaxed) < refusals {
                true => json!({"error": {"code": -32603, "message": "too many requests",
                    "data": [{"reason": "RESOURCE_EXHAUSTED"}, {"retryDelay": "0s"}]}}),
                false => {
                    json!({"result": {"kind": "status-update", "taskId": "t", "contextId": "c",
                    "final": true, "status": {"state": "completed"}}})
                }
            };
            event["jsonrpc"] = json!("2.0");
            event["id"] = request["id"].clone();
            let kind = [(axum::http::header::CONTENT_TYPE, "text/event-stream")];
            (kind, format!("data: {event}\n\n"))
        };
        let shown = move || async move { card.to_string() };
        let app = axum::Router::new()
            .route("/.well-known/agent-card.json", axum::routing::get(shown))
            .route("/", axum::routing::post(answer));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            base,
            came,
            _serving: serving,
        }
    }
}

#[tokio::test]
async fn a_message_that_is_refused_in_a_stream_is_sent_again() {
    let busy = Refusing::start(3).await;
    let yaml = |base: &str| {
        format!("timeouts: {{upstream: 20s}}\nagents: {{far: {{a2a: {{url: '{base}'}}}}}}")
    };
    let ours = Server::serve(&yaml(&busy.base)).await;
    let task = ours.result("far", "message/send", begin("hello")).await;
    let done = ours
        .until("far", &task["id"], &["completed", "failed"])
        .await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(busy.came.load(Ordering::Relaxed), 4);
    let said = said(&ours, &task["id"]).await;
    let of = |text: &str| said.iter().filter(|said| said.contains(text)).count();
    let reports = (of("is unavailable, retrying"), of("is reachable again"));
    assert_eq!(reports, (1, 1), "{said:?}");

    let busy = Refusing::start(usize::MAX).await;
    let yaml = yaml(&busy.base).replace("20s", "1s");
    let ours = Server::serve(&yaml).await;
    let task = ours.result("far", "message/send", begin("hello")).await;
    let failed = ours
        .until("far", &task["id"], &["completed", "failed"])
        .await;
    let text = text_of(&failed["status"]["message"]);
    assert!(text.contains(" attempts in 1 s: "), "{text}");
    warned_once(&ours, &task["id"]).await;
}

#[tokio::test]
async fn an_answer_that_an_upstream_task_does_not_take_now_is_sent_again() {
    let keeper = Keeper::start().await;
    let yaml = format!("agents: {{far: {{a2a: {{url: '{}'}}}}}}", keeper.base);
    let ours = Server::serve(&yaml).await;
    let task = ours.result("far", "message/send", begin("ask")).await;
    ours.until("far", &task["id"], &["input-required"]).await;
    keeper.is_away(Some(axum::http::StatusCode::TOO_MANY_REQUESTS));
    let mut reply = begin("green");
    reply["message"]["taskId"] = task["id"].clone();
    ours.result("far", "message/send", reply).await;
    let text = "is unavailable, retrying for up to 120 s: HTTP 429";
    ours.until_says("far", &task["id"], text).await;
    keeper.is_away(None);
    let done = ours
        .until("far", &task["id"], &["completed", "failed"])
        .await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(keeper.heard(), ["ask", "green"]);
}
