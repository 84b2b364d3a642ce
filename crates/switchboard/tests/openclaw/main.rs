//! A real OpenClaw gateway behind ours, with a model that answers by rule. What it runs in is built by
//! `conformance/peers/setup openclaw`, and all that a test needs of the gateway it does with one, as it takes its time to
//! start.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod a2a_channel;
mod gateway;
mod proxy;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::{Server, message, text_of};
use tokio::time::Instant;

use crate::gateway::{Gateway, TOKEN};
use crate::proxy::Proxy;

/// How long a turn may take: the first ones make the gateway load itself.
const TURN: Duration = Duration::from_secs(120);

/// Ours, with agents by the way they are reached.
async fn front(gateway: &Gateway) -> Server {
    let url = gateway.url();
    let keys = format!("url: '{url}', token: '${{TOKEN}}', tools: full");
    let yaml = format!(
        "agents:
  bot: {{openclaw: {{{keys}}}}}
  research: {{openclaw: {{{keys}, agent: research}}}}
  web: {{openclaw: {{{keys}, transport: http}}}}
"
    );
    Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await
}

fn say(text: &str, context: &str) -> Value {
    let mut message = message(text);
    message["contextId"] = context.into();
    json!({"message": message, "configuration": {"blocking": false}})
}

fn answer(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    artifacts.iter().map(text_of).collect()
}

async fn begin(ours: &Server, agent: &str, said: Value) -> Value {
    ours.result(agent, "message/send", said).await["id"].clone()
}

/// Reads a task until something is so.
async fn until(ours: &Server, agent: &str, task: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + TURN;
    loop {
        let found = ours.result(agent, "tasks/get", json!({"id": task})).await;
        if is_so(&found) {
            return found;
        }
        let logged = ours.logged();
        assert!(Instant::now() < deadline, "{found}\n{logged}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn is_over(task: &Value) -> bool {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    !["submitted", "working"].contains(&state)
}

/// A message, and how its task ends.
async fn ask(ours: &Server, agent: &str, said: Value) -> Value {
    let task = begin(ours, agent, said).await;
    until(ours, agent, &task, is_over).await
}

async fn answers(ours: &Server, agent: &str, said: Value, expected: &str) -> Value {
    let task = ask(ours, agent, said).await;
    assert_eq!(answer(&task), expected, "{agent}: {task}");
    assert_eq!(task["status"]["state"], "completed");
    task
}

fn with_file(text: &str, context: &str, media: &str, bytes: &str) -> Value {
    let mut said = say(text, context);
    let file = json!({"kind": "file", "file": {"name": "a", "mimeType": media, "bytes": bytes}});
    said["message"]["parts"]
        .as_array_mut()
        .expect("parts")
        .push(file);
    said
}

#[tokio::test]
async fn a_real_gateway_does_what_is_asked_of_it() {
    let mut gateway = Gateway::start().await;
    let mut ours = front(&gateway).await;
    a_conversation_goes_on(&ours).await;
    the_card_is_the_gateways(&ours).await;
    tools_are_told(&ours).await;
    files_arrive(&ours).await;
    a_failure_is_one(&ours).await;
    a_cancel_stops_the_run(&ours, &gateway).await;
    a_crash_of_ours_does_not_repeat_the_run(&mut ours).await;
    a_crash_of_the_gateway_is_survived(&ours, &mut gateway).await;
}

async fn a_conversation_goes_on(ours: &Server) {
    for agent in ["bot", "research", "web"] {
        let done = answers(ours, agent, say("hello", "talk"), "heard: hello").await;
        let usage = &done["artifacts"][0]["metadata"]["usage"];
        assert_eq!(usage["inputTokens"], 7, "{done}");
        answers(ours, agent, say("turns", "talk"), "2").await;
        answers(ours, agent, say("turns", "other"), "1").await;
    }
}

async fn the_card_is_the_gateways(ours: &Server) {
    let deadline = Instant::now() + TURN;
    loop {
        let card = ours
            .get("/a2a/research/.well-known/agent-card.json")
            .await
            .body;
        if card["name"] == "Researcher" {
            assert_eq!(card["version"], "2026.9.6");
            let skills = card["skills"].as_array().expect("skills");
            assert!(
                skills.iter().any(|skill| skill["id"] == "weather"),
                "{card}"
            );
            assert!(
                skills.iter().all(|skill| skill["id"] != "1password"),
                "{card}"
            );
            return;
        }
        assert!(Instant::now() < deadline, "{card}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn tools_are_told(ours: &Server) {
    let stream = ours.stream(
        "bot",
        "message/stream",
        say("run echo from-a-tool", "tools"),
    );
    let events = stream.await.results().await;
    let calls = events.iter().map(|event| &event["metadata"]["toolCall"]);
    let calls: Vec<&Value> = calls.filter(|call| call.is_object()).collect();
    assert_eq!(calls.len(), 2, "{events:?}");
    assert_eq!(calls[0]["arguments"]["command"], "echo from-a-tool");
    assert_eq!(calls[1]["isError"], false);
    let last = events.last().expect("an end");
    assert_eq!(last["status"]["state"], "completed");
    let task = ours
        .result("bot", "tasks/get", json!({"id": events[0]["id"]}))
        .await;
    assert_eq!(answer(&task), "the tool gave: from-a-tool");
}

async fn files_arrive(ours: &Server) {
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    // CONTENT-OF-A-FILE
    let text = "Q09OVEVOVC1PRi1BLUZJTEU=";
    for agent in ["bot", "web"] {
        let said = with_file("look", "image", "image/png", image);
        answers(ours, agent, said, "heard: look, with an image").await;
        let done = ask(ours, agent, with_file("read", "file", "text/plain", text)).await;
        let answer = answer(&done);
        assert!(answer.ends_with(", with a file"), "{agent}: {done}");
    }
}

async fn a_failure_is_one(ours: &Server) {
    for agent in ["bot", "web"] {
        let failed = ask(ours, agent, say("break", "broken")).await;
        assert_eq!(failed["status"]["state"], "failed");
        let why = text_of(&failed["status"]["message"]);
        assert!(why.starts_with("the agent failed: "), "{why}");
    }
}

/// Waits until the model was cut off once more.
async fn until_cut_off(gateway: &Gateway, before: usize) {
    let deadline = Instant::now() + TURN;
    while gateway.cut_off() == before {
        assert!(Instant::now() < deadline, "the run goes on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn a_cancel_stops_the_run(ours: &Server, gateway: &Gateway) {
    for agent in ["bot", "web"] {
        let before = gateway.cut_off();
        let task = begin(ours, agent, say("count 1000 100", "cancel")).await;
        until(ours, agent, &task, |task| !answer(task).is_empty()).await;
        let canceled = ours
            .result(agent, "tasks/cancel", json!({"id": task}))
            .await;
        assert_eq!(canceled["status"]["state"], "canceled");
        until_cut_off(gateway, before).await;
        // The conversation is free again.
        answers(ours, agent, say("hello", "cancel"), "heard: hello").await;
    }
}

async fn a_crash_of_ours_does_not_repeat_the_run(ours: &mut Server) {
    let task = begin(ours, "bot", say("count 60 100", "crash")).await;
    until(ours, "bot", &task, |task| answer(task).len() > 4).await;
    ours.kill().await;
    ours.restart().await;
    let done = until(ours, "bot", &task, is_over).await;
    let all: Vec<String> = (1..=60).map(|n| n.to_string()).collect();
    assert_eq!(answer(&done), all.join(" "), "{done}");
    answers(ours, "bot", say("turns", "crash"), "2").await;
    // Over HTTP, the run ends with the connection, and is not begun again.
    let task = begin(ours, "web", say("count 600 100", "crash")).await;
    until(ours, "web", &task, |task| answer(task).len() > 4).await;
    ours.kill().await;
    ours.restart().await;
    let failed = until(ours, "web", &task, is_over).await;
    assert_eq!(failed["status"]["state"], "failed", "{failed}");
}

async fn a_crash_of_the_gateway_is_survived(ours: &Server, gateway: &mut Gateway) {
    let task = begin(ours, "bot", say("count 1000 100", "revived")).await;
    until(ours, "bot", &task, |task| answer(task).len() > 4).await;
    gateway.kill().await;
    gateway.run().await;
    let done = until(ours, "bot", &task, is_over).await;
    assert_eq!(answer(&done), "went on", "{done}\n{}", ours.logged());
    assert_eq!(done["status"]["state"], "completed");
    answers(ours, "bot", say("hello", "new"), "heard: hello").await;
}

#[tokio::test]
async fn a_real_gateway_that_is_elsewhere_pairs_with_ours() {
    let gateway = Gateway::start().await;
    let mut proxy = Proxy::before(gateway.port()).await;
    let url = proxy.url();
    let keys = format!("url: '{url}', token: '${{TOKEN}}'");
    let yaml = format!(
        "agents:
  strict: {{openclaw: {{{keys}, transport: websocket}}}}
  bot: {{openclaw: {{{keys}}}}}
"
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    let failed = ask(&ours, "strict", say("hello", "c")).await;
    let why = text_of(&failed["status"]["message"]);
    let (_, rest) = why.split_once("`openclaw devices approve ").expect(&why);
    let (request, _) = rest.split_once('`').expect(&why);
    assert!(ours.logged().contains(request));
    // HTTP needs no pairing.
    answers(&ours, "bot", say("hello", "c"), "heard: hello").await;
    gateway.openclaw(&["devices", "approve", request]).await;
    let deadline = Instant::now() + TURN;
    loop {
        let task = ask(&ours, "strict", say("hello", "c")).await;
        if task["status"]["state"] == "completed" {
            assert_eq!(answer(&task), "heard: hello");
            break;
        }
        assert!(Instant::now() < deadline, "{task}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    a_cancel_outlives_a_crash_of_ours(&mut ours, &gateway, &mut proxy).await;
}

async fn a_cancel_outlives_a_crash_of_ours(
    ours: &mut Server,
    gateway: &Gateway,
    proxy: &mut Proxy,
) {
    let before = gateway.cut_off();
    let task = begin(ours, "strict", say("count 1000 100", "cut")).await;
    until(ours, "strict", &task, |task| !answer(task).is_empty()).await;
    proxy.cut().await;
    let gone = json!({"id": task});
    let canceled = ours.result("strict", "tasks/cancel", gone).await;
    assert_eq!(canceled["status"]["state"], "canceled");
    ours.kill().await;
    proxy.open().await;
    assert_eq!(gateway.cut_off(), before);
    ours.restart().await;
    until_cut_off(gateway, before).await;
    answers(ours, "strict", say("hello", "cut"), "heard: hello").await;
}
