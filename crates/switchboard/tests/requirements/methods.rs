//! The methods (S1 §7).

use serde_json::{Value, json};
use switchboard_testkit::{message, say};

use crate::server;

fn no_waiting(text: &str) -> Value {
    json!({"message": message(text), "configuration": {"blocking": false}})
}

#[tokio::test]
async fn s1_127_blocking_waits_for_the_outcome() {
    let server = server().await;
    let params = json!({"message": message("hi"), "configuration": {"blocking": true}});
    let task = server.result("pause", "message/send", params).await;
    assert_eq!(task["status"]["state"], "completed");
}

#[tokio::test]
async fn s1_128_without_blocking_the_task_comes_at_once_and_is_polled() {
    let server = server().await;
    let task = server
        .result("pause", "message/send", no_waiting("hi"))
        .await;
    let state = task["status"]["state"].as_str();
    assert!(matches!(state, Some("submitted" | "working")), "{state:?}");
    let done = server.until("pause", &task["id"], &["completed"]).await;
    assert_eq!(done["id"], task["id"]);
}

/// Gap (c): a blocking send has a deadline and returns the task as it stands.
#[tokio::test]
async fn s1_002_a_call_does_not_wait_for_ever_but_the_task_stays_open() {
    let server = server().await;
    let yaml = "agents: {slow: {timeouts: {blocking: 200ms}, script: [{wait: 30s}]}}";
    let patient = switchboard_testkit::Server::serve(yaml).await;
    let task = patient.result("slow", "message/send", say("hi")).await;
    assert_eq!(task["status"]["state"], "working");
    drop(server);
}

#[tokio::test]
async fn s1_141_history_is_as_long_as_asked_for() {
    let server = server().await;
    let task = server.result("booking", "message/send", say("fly")).await;
    let mut answer = message("JFK to LHR");
    answer["taskId"] = task["id"].clone();
    let params = json!({"message": answer, "configuration": {"historyLength": 1}});
    let done = server.result("booking", "message/send", params).await;
    assert_eq!(done["history"].as_array().map(Vec::len), Some(1));
    let get = async |params: Value| {
        let task = server.result("booking", "tasks/get", params).await;
        task["history"].as_array().cloned().unwrap_or_default()
    };
    let id = &task["id"];
    let whole = get(json!({"id": id, "metadata": {"any": "thing"}})).await;
    assert!(whole.len() >= 3, "{whole:?}");
    let last = get(json!({"id": id, "historyLength": 2})).await;
    assert_eq!(last, whole[whole.len() - 2..]);
    let error = server
        .error(
            "booking",
            "tasks/get",
            json!({"id": id, "historyLength": -1}),
        )
        .await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn s1_143_a_finished_task_can_be_read_also_after_a_restart() {
    let mut server = server().await;
    let task = server.result("quick", "message/send", say("hi")).await;
    let get = json!({"id": task["id"]});
    assert_eq!(server.result("quick", "tasks/get", get.clone()).await, task);
    server.kill().await;
    server.restart().await;
    assert_eq!(server.result("quick", "tasks/get", get).await, task);
}

#[tokio::test]
async fn s1_144_unknown_tasks_are_not_found() {
    let server = server().await;
    for method in [
        "tasks/get",
        "tasks/cancel",
        "tasks/pushNotificationConfig/list",
    ] {
        let error = server.error("quick", method, json!({"id": "nobody"})).await;
        assert_eq!(error["code"], -32001, "{method}");
        assert_eq!(error["data"]["reason"], "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn s1_145_a_cancel_cancels() {
    let server = server().await;
    let task = server
        .result("slow", "message/send", no_waiting("hi"))
        .await;
    let params = json!({"id": task["id"], "metadata": {"why": "enough"}});
    let canceled = server.result("slow", "tasks/cancel", params.clone()).await;
    assert_eq!(canceled["id"], task["id"]);
    assert_eq!(canceled["status"]["state"], "canceled");
    let again = server.error("slow", "tasks/cancel", params).await;
    assert_eq!(again["code"], -32002);
    let after = server
        .result("slow", "tasks/get", json!({"id": task["id"]}))
        .await;
    assert_eq!(after["status"]["state"], "canceled");
}

#[tokio::test]
async fn s1_131_streams_and_webhooks_need_the_capability() {
    let server = server().await;
    for method in ["message/stream", "tasks/resubscribe"] {
        let params = if method == "message/stream" {
            say("hi")
        } else {
            json!({"id": "x"})
        };
        let mut stream = server.stream("plain", method, params).await;
        let refused = stream
            .next()
            .await
            .map(|event| event.data)
            .unwrap_or_default();
        assert_eq!(refused["error"]["code"], -32004, "{method}");
    }
    let task = server.result("plain", "message/send", say("hi")).await;
    let id = &task["id"];
    let config = json!({"url": "http://127.0.0.1:1/"});
    for (method, params) in [
        (
            "set",
            json!({"taskId": id, "pushNotificationConfig": config}),
        ),
        ("get", json!({"id": id})),
        ("list", json!({"id": id})),
        ("delete", json!({"id": id, "pushNotificationConfigId": "x"})),
    ] {
        let method = format!("tasks/pushNotificationConfig/{method}");
        let error = server.error("plain", &method, params).await;
        assert_eq!(error["code"], -32003, "{method}");
    }
}

#[tokio::test]
async fn s1_004_one_task_is_seen_in_three_ways() {
    let server = server().await;
    let task = server
        .result("pause", "message/send", no_waiting("hi"))
        .await;
    let events = server
        .stream("pause", "tasks/resubscribe", json!({"id": task["id"]}))
        .await;
    let last = events.results().await.pop().unwrap_or_default();
    assert_eq!(last["status"]["state"], "completed");
    let read = server
        .result("pause", "tasks/get", json!({"id": task["id"]}))
        .await;
    assert_eq!(read["status"], last["status"]);
}

#[tokio::test]
async fn s1_005_a_context_groups_tasks() {
    let server = server().await;
    let mut first = message("one");
    first["contextId"] = json!("ctx");
    let one = server
        .result("quick", "message/send", json!({"message": first}))
        .await;
    let two = server
        .result("quick", "message/send", json!({"message": first}))
        .await;
    assert_eq!(one["contextId"], two["contextId"]);
    assert_ne!(one["id"], two["id"]);
    let list = server
        .http
        .get(server.url("/a2a/quick/tasks?contextId=ctx"));
    let list = switchboard_testkit::answer(list.header("A2A-Version", "1.0")).await;
    assert_eq!(list.body["tasks"].as_array().map(Vec::len), Some(2));
}
