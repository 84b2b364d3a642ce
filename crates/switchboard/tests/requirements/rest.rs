//! HTTP+JSON (S2).

use serde_json::json;
use switchboard_testkit::{answer, events, message};

use crate::server;

#[tokio::test]
async fn s2_108_rest_of_0_3_streams_bare_events() {
    let server = server().await;
    let body = json!({"message": message("hi"), "configuration": {}});
    let stream = events(
        server
            .http
            .post(server.url("/v1/message:stream"))
            .json(&body),
    )
    .await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let events: Vec<_> = stream
        .rest()
        .await
        .into_iter()
        .map(|event| event.data)
        .collect();
    assert_eq!(events[0]["kind"], "task");
    assert_eq!(events[0]["status"]["state"], "submitted");
    assert_eq!(events[0]["history"][0]["messageId"], "m-2");
    assert_eq!(events[0]["id"].as_str().map(str::len), Some(36));
    let last = events.last().expect("events");
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(last["final"], true);
}

#[tokio::test]
async fn s2_116_rest_of_0_3_answers_with_a_bare_task() {
    let server = server().await;
    let mut given = message("hi");
    given["contextId"] = json!("ctx");
    let task = server
        .post("/v1/message:send", &json!({"message": given}))
        .await
        .body;
    assert_eq!(task["kind"], "task");
    assert_eq!(task["contextId"], "ctx");
    assert_eq!(task["status"]["state"], "completed");
    assert_eq!(task["artifacts"][0]["name"], "joke");
}

#[tokio::test]
async fn s2_118_rest_errors_have_a_status_and_a_body() {
    let server = server().await;
    let refused = server
        .post("/v1/message:send", &json!({"message": {"parts": 3}}))
        .await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.body["error"]["code"], 400);
    assert!(refused.body["error"]["message"].is_string());
}

#[tokio::test]
async fn s2_002_rest_of_1_0_has_the_same_agents() {
    let server = server().await;
    let body =
        json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
    let sent = server.post_v1("/a2a/quick/message:send", &body).await;
    assert_eq!(sent.headers["content-type"], "application/a2a+json");
    let task = &sent.body["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let id = task["id"].as_str().unwrap_or_default();
    let get = server
        .http
        .get(server.url(&format!("/a2a/quick/tasks/{id}")));
    assert_eq!(answer(get.header("A2A-Version", "1.0")).await.body, *task);
    let old = server.result("quick", "tasks/get", json!({"id": id})).await;
    assert_eq!(old["status"]["state"], "completed");
}

#[tokio::test]
async fn s2_113_a_silent_stream_is_kept_alive() {
    let yaml = "limits: {heartbeat: 100ms}\nagents: {slow: {script: [{wait: 1s}]}}";
    let server = switchboard_testkit::Server::serve(yaml).await;
    let body = json!({"message": message("hi")});
    let response = server
        .http
        .post(server.url("/v1/message:stream"))
        .json(&body)
        .send()
        .await;
    let text = response.expect("an answer").text().await.expect("a body");
    assert!(text.matches("\n: keep-alive\n").count() >= 3, "{text}");
}
