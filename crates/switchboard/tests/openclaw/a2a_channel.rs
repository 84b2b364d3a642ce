//! OpenClaw's own A2A channel, in both directions: its gateway as a remote agent behind one of ours, and as a client that
//! sends to one of ours.

use serde_json::json;
use switchboard_testkit::{Server, text_of};

use crate::gateway::{Gateway, PEER_TOKEN};
use crate::{answers, say};

#[tokio::test]
async fn openclaw_calls_and_is_called_over_its_own_a2a_channel() {
    let called = Server::serve("agents:\n  desk: { script: [reply: \"noted: {{text}}\"] }\n").await;
    let gateway = Gateway::start_with_peer(&called.url("/a2a/desk")).await;
    receives_what_the_channel_sends(&called, &gateway).await;
    answers_through_the_channel(&gateway).await;
}

/// The channel sends `SendMessage` without an `A2A-Version`, asks for a task at once, and knows no other method.
async fn receives_what_the_channel_sends(called: &Server, gateway: &Gateway) {
    let command = ["message", "send", "--channel", "a2a", "--target", "ours"];
    gateway
        .openclaw(&[&command[..], &["--message", "hello from OpenClaw"]].concat())
        .await;
    let list =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"historyLength": 5}});
    let listed = called.post_v1("/a2a/desk", &list).await.body;
    let tasks = listed["result"]["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 1, "{listed}");
    assert_eq!(tasks[0]["contextId"], "ctx-oc-ours", "{listed}");
    let said = text_of(&tasks[0]["history"][0]);
    assert_eq!(said, "hello from OpenClaw", "{listed}");
}

async fn answers_through_the_channel(gateway: &Gateway) {
    let yaml = format!(
        "agents:
  bot:
    a2a: {{ url: '{}' }}
    identity: {{ headers: {{ authorization: '${{PEER}}' }} }}
",
        gateway.url()
    );
    let bearer = format!("Bearer {PEER_TOKEN}");
    let ours = Server::serve_with(&yaml, &[], &[("PEER", &bearer)]).await;
    answers(&ours, "bot", say("hello", "talk"), "heard: hello").await;
    answers(&ours, "bot", say("again", "talk"), "heard: again").await;
}
