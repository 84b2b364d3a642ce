//! Tasks that are under way when their agent changes.

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, eventually, say, text_of};

use crate::world::{asked, begin, hang_up, one, said, save, save_beside, until_logged, until_says};

#[tokio::test]
async fn a_changed_script_answers_without_a_restart_and_a_running_task_goes_on() {
    let slow = |says: &str, wait: &str| {
        format!(
            "agents: {{ a: {{ script: [{{ say: 'begun by {says}' }}, {{ wait: {wait} }}, {{ complete: '{says}' }}] }} }}\n"
        )
    };
    let server = Server::serve(&slow("old", "4s")).await;
    let task = begin(&server, "a").await;
    server.until("a", &task, &["working"]).await;
    let mut stream = server
        .stream("a", "tasks/resubscribe", json!({"id": task}))
        .await;
    save(&server, &slow("new", "0s"));
    hang_up(&server).await;
    until_logged(&server, "config reloaded", 1).await;
    assert_eq!(asked(&server, "a").await, "new");
    // It was not touched, and whoever follows it sees its end.
    let now = server.result("a", "tasks/get", json!({"id": task})).await;
    assert_eq!(now["status"]["state"], "working", "{now}");
    let ended = server.until("a", &task, &["completed"]).await;
    assert_eq!(said(&ended), "old");
    let mut last = Value::Null;
    while let Some(event) = stream.next().await {
        last = event.data["result"].clone();
    }
    assert_eq!(said(&last), "old", "{last}");
}

#[tokio::test]
async fn a_script_in_a_file_of_its_own_is_watched_too() {
    let yaml = "agents: { a: { script_file: a.yaml }, b: { script: [{ complete: b }] } }";
    let script = |says: &str| format!("[{{ complete: '{says}' }}]");
    let files = [("a.yaml", script("one").into_bytes())];
    let server = Server::serve_with(yaml, &files, &[]).await;
    assert_eq!(asked(&server, "a").await, "one");
    save_beside(&server, "a.yaml", &script("two"));
    until_says(&server, "a", "two").await;
    // Only the one that goes by it is another one.
    let record = crate::world::record(&server, "config reloaded");
    assert_eq!(
        (&record["changed"], &record["added"]),
        (&json!("a"), &json!(""))
    );
    // One that is named from now on is watched from now on.
    save_beside(&server, "b.yaml", &script("three"));
    save(&server, "agents: { a: { script_file: b.yaml } }");
    until_says(&server, "a", "three").await;
    save_beside(&server, "b.yaml", &script("four"));
    until_says(&server, "a", "four").await;
}

#[tokio::test]
async fn the_next_turn_of_a_task_is_taken_by_the_new_agent() {
    let server = Server::serve(
        "agents: { a: { timeouts: { input: 3s }, on_input_timeout: continue, script: [{ ask: 'which?' }] } }",
    )
    .await;
    let [answered, left] = [begin(&server, "a").await, begin(&server, "a").await];
    for task in [&answered, &left] {
        server.until("a", task, &["input-required"]).await;
    }
    save(&server, &one("a", "new"));
    hang_up(&server).await;
    until_logged(&server, "config reloaded", 1).await;
    let mut message = say("this one");
    message["message"]["taskId"] = answered.clone();
    let done = server.result("a", "message/send", message).await;
    assert_eq!((&done["id"], said(&done)), (&answered, "new".to_owned()));
    // Also the one that begins because nobody has answered.
    let done = server.until("a", &left, &["completed"]).await;
    assert_eq!(said(&done), "new");
}

#[tokio::test]
async fn a_message_that_waits_for_a_turn_is_answered_by_the_new_agent() {
    let slow = |says: &str, wait: &str| {
        format!(
            "agents: {{ a: {{ limits: {{ tasks: 1 }}, script: [{{ wait: {wait} }}, {{ complete: '{says}' }}] }} }}"
        )
    };
    let server = Server::serve(&slow("old", "3s")).await;
    let first = begin(&server, "a").await;
    server.until("a", &first, &["working"]).await;
    let second = begin(&server, "a").await;
    save(&server, &slow("new", "0s"));
    hang_up(&server).await;
    until_logged(&server, "config reloaded", 1).await;
    // There is room for one: the old turn counts.
    let now = server.result("a", "tasks/get", json!({"id": second})).await;
    assert_eq!(now["status"]["state"], "submitted", "{now}");
    for (task, says) in [(&first, "old"), (&second, "new")] {
        let done = server.until("a", task, &["completed"]).await;
        assert_eq!(said(&done), says);
    }
}

#[tokio::test]
async fn a_repeated_request_is_not_run_twice_by_two_engines() {
    // Nothing of such a call is stored before it is answered.
    let slow = |says: &str| {
        format!(
            "agents: {{ a: {{ reply: message, script: [{{ wait: 2s }}, {{ reply: '{says}' }}] }} }}"
        )
    };
    let server = Server::serve(&slow("old")).await;
    let ask = || {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("once")});
        let request = server.http.post(server.url("/a2a/a")).json(&body);
        answer(request.header("Idempotency-Key", "k1"))
    };
    let change = async || {
        save(&server, &slow("new"));
        hang_up(&server).await;
        until_logged(&server, "config reloaded", 1).await;
        ask().await
    };
    let (first, second) = tokio::join!(ask(), change());
    assert_eq!(first.body["result"]["kind"], "message", "{}", first.body);
    assert_eq!(first.body["result"], second.body["result"]);
    assert_eq!(ask().await.body["result"], first.body["result"]);
}

#[tokio::test]
async fn work_that_was_handed_to_an_agent_that_is_gone_can_still_be_canceled() {
    let yaml = "
agents:
  boss: { script: [{ call: { agent: hand } }, { complete: done }] }
  hand: { script: [{ say: at work }, { wait: 10m }, { complete: done }] }
";
    let server = Server::serve(yaml).await;
    let task = begin(&server, "boss").await;
    let tasks = async || server.get("/a2a/hand/tasks?A2A-Version=1.0").await.body["tasks"].clone();
    eventually("the hand works", async || {
        tasks().await[0]["status"]["state"] == "TASK_STATE_WORKING"
    })
    .await;
    save(&server, &one("boss", "alone"));
    until_logged(&server, "config reloaded", 1).await;
    assert_eq!(asked(&server, "boss").await, "alone");
    let gone = server.rpc("hand", "message/send", say("hello")).await;
    assert!(gone.body.get("error").is_some(), "{}", gone.body);
    let canceled = server
        .result("boss", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
    // Its tasks are kept, and found again with the agent.
    save(&server, yaml);
    eventually("the hand is back", async || {
        tasks().await[0]["status"]["state"] == "TASK_STATE_CANCELED"
    })
    .await;
}

#[tokio::test]
async fn a_command_that_runs_is_not_ended_when_another_takes_its_place() {
    let runs =
        |line: &str| format!("agents: {{ a: {{ exec: {{ command: [sh, -c, '{line}'] }} }} }}");
    let server = Server::serve(&runs("sleep 3; echo old")).await;
    let task = begin(&server, "a").await;
    server.until("a", &task, &["working"]).await;
    save(&server, &runs("echo new"));
    hang_up(&server).await;
    until_logged(&server, "config reloaded", 1).await;
    let text = |task: &Value| text_of(&task["artifacts"][0]).trim().to_owned();
    let new = server.result("a", "message/send", say("hello")).await;
    assert_eq!(text(&new), "new", "{new}");
    let old = server.until("a", &task, &["completed", "failed"]).await;
    assert_eq!(text(&old), "old", "{old}");
}

#[tokio::test]
async fn a_kill_right_after_a_change_leaves_no_task_hanging() {
    let slow = |says: &str| {
        format!(
            "agents: {{ a: {{ script: [{{ wait: 2s }}, {{ complete: '{says}' }}] }}, b: {{ script: [{{ complete: '{says}' }}] }} }}"
        )
    };
    let mut server = Server::serve(&slow("old")).await;
    let before = begin(&server, "a").await;
    server.until("a", &before, &["working"]).await;
    save(&server, &slow("new"));
    hang_up(&server).await;
    until_says(&server, "b", "new").await;
    let after = begin(&server, "a").await;
    server.until("a", &after, &["working"]).await;
    server.kill().await;
    server.restart().await;
    for task in [&before, &after] {
        let done = server.until("a", task, &["completed"]).await;
        assert_eq!(said(&done), "new");
    }
}
