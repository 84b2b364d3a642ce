//! The worked examples of the specification (S1 §9), those that streams, input and push do not show.

use serde_json::json;
use switchboard_testkit::{message, say, text_of};

use crate::server;

#[tokio::test]
async fn s1_182_example_9_2_a_quick_question_gets_a_completed_task() {
    let server = server().await;
    let params = json!({"message": {
        "role": "user", "parts": [{"kind": "text", "text": "tell me a joke"}],
        "messageId": "9229e770-767c-417b-a0b0-f0741243c589",
    }, "metadata": {}});
    let task = server.result("quick", "message/send", params).await;
    assert_eq!(task["status"]["state"], "completed");
    assert_eq!(task["artifacts"][0]["name"], "joke");
    assert!(task["artifacts"][0]["artifactId"].is_string());
    let asked = &task["history"][0];
    assert_eq!(asked["messageId"], "9229e770-767c-417b-a0b0-f0741243c589");
    assert_eq!(asked["taskId"], task["id"]);
    assert_eq!(asked["contextId"], task["contextId"]);
}

#[tokio::test]
async fn s1_183_example_9_2_a_quick_question_gets_a_bare_message() {
    let server = server().await;
    let reply = server
        .result("greeter", "message/send", say("tell me a joke"))
        .await;
    assert_eq!(reply["kind"], "message");
    assert_eq!(reply["role"], "agent");
    assert!(reply["messageId"].is_string());
    assert!(reply["contextId"].is_string());
    assert_eq!(reply.get("taskId"), None);
    let list = server
        .http
        .get(server.url("/a2a/greeter/tasks"))
        .header("A2A-Version", "1.0");
    let list = switchboard_testkit::answer(list).await;
    assert_eq!(list.body["tasks"], json!([]));
}

#[tokio::test]
async fn s1_184_example_9_2_a_long_question_is_polled() {
    let server = server().await;
    let params = json!({"message": message("write"), "configuration": {"blocking": false}});
    let task = server.result("pause", "message/send", params).await;
    let state = task["status"]["state"].as_str();
    assert!(matches!(state, Some("submitted" | "working")), "{state:?}");
    let done = server.until("pause", &task["id"], &["completed"]).await;
    assert_eq!(text_of(&done["status"]["message"]), "done");
}

#[tokio::test]
async fn s1_194_example_9_6_a_file_goes_up_and_a_file_comes_back() {
    let server = server().await;
    let image = json!({"kind": "file", "file": {
        "name": "input_image.png", "mimeType": "image/png", "bytes": "iVBORw0KGgoAAAANSUhEUgAAAAUA",
    }});
    let text = json!({"kind": "text", "text": "Analyze this image and highlight any faces."});
    let params = json!({"message": {"role": "user", "messageId": "m", "parts": [text, image]}});
    let task = server.result("copier", "message/send", params).await;
    assert_eq!(task["artifacts"][0]["parts"][1], image);
}

#[tokio::test]
async fn s1_195_example_9_7_part_metadata_asks_for_a_schema() {
    let server = server().await;
    let asked = json!({"kind": "text", "text": "Show me open tickets", "metadata": {
        "mimeType": "application/json",
        "schema": {"type": "array", "items": {"type": "object", "properties": {"open": {"type": "number"}}}},
    }});
    let params = json!({"message": {"role": "user", "messageId": "m", "parts": [asked]}});
    let task = server.result("schema", "message/send", params).await;
    assert_eq!(task["history"][0]["parts"][0], asked);
    let answer = text_of(&task["status"]["message"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON text");
    assert_eq!(answer, json!([{"open": 3}]));
}
