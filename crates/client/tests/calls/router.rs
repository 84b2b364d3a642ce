//! What a router sends to the agents below it, and what it reads back.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json as value};
use switchboard_client::{CallOptions, Client, Kind, Retry, answer_text, in_task, text};
use switchboard_types::model::{ContextId, MessageId};

use crate::support::{Asked, Odd, json};

/// An agent at `/a2a/poet` that answers every call by `body`, and what it was sent.
async fn agent(body: &'static str) -> (Odd, Client, Arc<Mutex<Vec<Asked>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sent);
    let odd = Odd::serve(move |asked: Asked| {
        let seen = Arc::clone(&seen);
        async move {
            if asked.method == "GET" {
                let url = format!("{}/a2a/poet", asked.base);
                return json(200, &value!({"name": "poet", "url": url}).to_string());
            }
            seen.lock().unwrap().push(asked);
            json(200, body)
        }
    })
    .await;
    let builder = Client::builder().retry(Retry::never());
    let client = builder.connect(odd.base.as_str()).await.unwrap();
    (odd, client, sent)
}

const EMPTY: &str = r#"{"jsonrpc":"2.0","id":"1","result":null}"#;

#[tokio::test]
async fn s0_001_a_call_is_json_rpc_to_the_agents_address() {
    let (_odd, client, sent) = agent(EMPTY).await;
    let options = CallOptions::new().request_id("task-7");
    let mut send = text("Write a poem");
    send.message.id = MessageId::new("msg_task-7").unwrap();
    send.message.context_id = Some(ContextId::new("router_task_task-7").unwrap());
    client.send_with(send, &options).await.unwrap();
    let asked = sent.lock().unwrap()[0].clone();
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/a2a/poet")
    );
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(
        asked.header("accept"),
        Some("application/json, text/event-stream")
    );
    let body = asked.json();
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(body["id"], "task-7", "S0-005");
    assert_eq!(body["method"], "message/send");
    let message = &body["params"]["message"];
    assert_eq!(message["role"], "user", "S0-008");
    assert_eq!(
        message["parts"],
        value!([{"kind": "text", "text": "Write a poem"}]),
        "S0-010"
    );
    assert_eq!(message["messageId"], "msg_task-7", "S0-011");
    assert_eq!(message["contextId"], "router_task_task-7", "S0-013");
    assert_eq!(message["kind"], "message", "S2-009");
    assert!(
        body.get("input").is_none() && body.get("config").is_none(),
        "S0-020"
    );
}

#[tokio::test]
async fn s0_018_messages_share_neither_ids_nor_conversations() {
    let (_odd, client, sent) = agent(EMPTY).await;
    for _ in 0..3 {
        client.send(text("x")).await.unwrap();
    }
    let sent = sent.lock().unwrap();
    let mut ids: Vec<Value> = sent
        .iter()
        .map(|a| a.json()["params"]["message"]["messageId"].clone())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert!(
        sent.iter()
            .all(|a| a.json()["params"]["message"]["contextId"].is_null())
    );
}

#[tokio::test]
async fn s0_022_the_answer_is_found_in_every_form() {
    for (body, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":"1","result":{"message":{"role":"assistant","parts":[{"kind":"text","text":"hi"}]}}}"#,
            "hi",
        ),
        (
            r#"{"result":{"message":{"role":"assistant","parts":[{"kind":"text","text":"a"},{"kind":"text","text":"b"}]}}}"#,
            "a\nb",
        ),
        (
            r#"{"result":{"message":{"role":"assistant","parts":[{"kind":"text"},{"kind":"text","text":"b"}]}}}"#,
            "\nb",
        ),
        (
            r#"{"result":{"message":{"role":"assistant","parts":["x",{"kind":"image","uri":"u"},{"kind":"text","text":"b"}]}}}"#,
            "b",
        ),
        (
            r#"{"result":{"message":{"role":"assistant","parts":[]}}}"#,
            "",
        ),
        (r#"{"result":{"message":{"role":"assistant"}}}"#, ""),
        (r#"{"result":{"message":null}}"#, ""),
        (r#"{"result":{}}"#, ""),
        (r#"{"result":null}"#, ""),
        (r#"{"jsonrpc":"2.0","id":"1"}"#, ""),
    ] {
        let (_odd, client, _) = agent(body).await;
        let sent = client.send(text("x")).await;
        let sent = sent.unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(answer_text(&sent), expected, "{body}");
    }
}

#[tokio::test]
async fn s0_031_a_failure_is_told_in_the_agents_words() {
    for (body, said) in [
        (
            r#"{"error":{"code":-32603,"message":"no rhyme"}}"#,
            "A2A agent returned error: no rhyme",
        ),
        (
            r#"{"error":{"code":-32603,"reason":"mood"}}"#,
            r#"A2A agent returned error: {"code":-32603,"reason":"mood"}"#,
        ),
        (
            r#"{"result":{"message":{}},"error":{"code":1,"message":"both"}}"#,
            "A2A agent returned error: both",
        ),
    ] {
        let (_odd, client, _) = agent(body).await;
        let error = client.send(text("x")).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Protocol);
        assert_eq!(error.to_string(), said);
    }
}

#[tokio::test]
async fn s2_054_an_answer_names_the_task_that_asked() {
    let task = r#"{"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required"}}}"#;
    let (_odd, client, sent) = agent(task).await;
    let mut asked = 0;
    client
        .converse(text("x"), async |question| {
            asked += 1;
            (asked == 1).then(|| question.answer("yes"))
        })
        .await
        .unwrap();
    let message = sent.lock().unwrap()[1].json()["params"]["message"].clone();
    assert_eq!(
        (&message["taskId"], &message["contextId"]),
        (&value!("t"), &value!("c"))
    );
    let own = in_task(text("more"), &"t".parse_id(), None);
    assert_eq!(own.message.task_id, Some("t".parse_id()));
}

trait ParseId {
    fn parse_id(&self) -> switchboard_types::model::TaskId;
}

impl ParseId for str {
    fn parse_id(&self) -> switchboard_types::model::TaskId {
        switchboard_types::model::TaskId::new(self).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn s0_026_a_call_ends_after_300_seconds() {
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            return asked.card("0.3");
        }
        std::future::pending().await
    })
    .await;
    let client = Client::connect(odd.base.as_str()).await.unwrap();
    let start = tokio::time::Instant::now();
    let error = client.send(text("x")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    let took = start.elapsed().as_secs();
    assert!((299..=301).contains(&took), "{took}");
}
