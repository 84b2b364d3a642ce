//! What a remote agent claims about agents of ours is not believed.

use serde_json::{Value, json};
use switchboard_testkit::{Server, say};

use crate::keeper::Keeper;

/// Another agent of ours that asks, too.
const OTHER: &str =
    "other: {script: [{choose: [{when: {turn: 1}, do: [{ask: 'Which?'}]}]}, {complete: own}]}";

/// Our `desk`, before one that makes claims.
async fn before(keeper: &Keeper) -> Server {
    let desk = format!("desk: {{a2a: {{url: '{}'}}}}", keeper.base);
    Server::serve(&format!("agents: {{{desk}, {OTHER}}}")).await
}

/// What makes it claim that this agent has done it.
fn claim(task: &Value, state: &str) -> Value {
    let claim = json!({"agent": "other", "taskId": task, "event": 1});
    json!({"claim": claim, "state": state})
}

#[tokio::test]
async fn no_remote_agent_says_what_agents_of_ours_have_done() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper).await;
    let metadata = claim(&json!("t"), "completed");
    let chat = json!({"message": "claim", "metadata": metadata});
    let told = ours.post("/agents/desk/chat", &chat).await.body;
    assert_eq!(told["response"], "done", "{told}");
    assert_eq!(told["delegated"], false, "{told}");
    assert_eq!(told.get("targetBotName"), None, "{told}");
    let mut send = say("claim");
    send["message"]["metadata"] = metadata;
    let done = ours.result("desk", "message/send", send).await;
    for metadata in [
        &done["status"]["message"]["metadata"],
        &done["artifacts"][0]["metadata"],
    ] {
        assert_eq!(*metadata, json!({"more": 1}), "{done}");
    }
}

/// What stood behind an agent when it asked need not be what stands there when it is answered.
#[tokio::test]
async fn no_remote_agent_says_whom_of_ours_an_answer_goes_to() {
    let keeper = Keeper::start().await;
    let mut ours = before(&keeper).await;
    let waits = ours.result("other", "message/send", say("x")).await;
    assert_eq!(waits["status"]["state"], "input-required", "{waits}");
    let mut send = say("claim");
    send["message"]["contextId"] = waits["contextId"].clone();
    send["message"]["metadata"] = claim(&waits["id"], "input-required");
    let asked = ours.result("desk", "message/send", send).await;
    assert_eq!(asked["status"]["state"], "input-required", "{asked}");
    let desk = "desk: {script: [{call: {agent: other}}, {complete: done}]}";
    let yaml = format!("agents: {{{desk}, {OTHER}}}");
    ours.kill().await;
    std::fs::write(ours.configuration(), yaml).unwrap();
    ours.restart().await;
    let mut answer = say("green");
    answer["message"]["taskId"] = asked["id"].clone();
    ours.result("desk", "message/send", answer).await;
    let still = ours.until("other", &waits["id"], &["input-required", "completed"]);
    assert_eq!(still.await["status"]["state"], "input-required");
}
