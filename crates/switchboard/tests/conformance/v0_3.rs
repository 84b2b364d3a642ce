//! A2A 0.3: numbers of errors, streams that cannot begin, webhooks, waiting.

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer};

use crate::profile;

/// Posts bytes as they are; gives the HTTP status and the answer.
async fn raw(server: &Server, body: &str) -> (u16, Value) {
    let request = server.http.post(server.url("/"));
    let request = request.header("Content-Type", "application/json");
    let answer = answer(request.body(body.to_owned())).await;
    (answer.status, answer.body)
}

/// A message that the agent answers with a question, in REST's spelling.
fn asks_rest() -> Value {
    json!({"message": {"message_id": "x-message-id-1", "role": "ROLE_USER", "content": [{"text": "hi"}]}})
}

/// A message that the agent answers with a question.
fn asks() -> Value {
    message("x-message-id-1")
}

fn message(id: &str) -> Value {
    json!({"message": {
        "kind": "message", "messageId": id, "role": "user", "parts": [{"kind": "text", "text": "hi"}],
    }})
}

#[tokio::test]
async fn every_fault_of_a_json_rpc_request_has_its_number_and_http_200() {
    let server = profile("v0_3").await;
    for (body, code, id) in [
        // Cut off.
        (
            r#"{"jsonrpc":"2.0","method":"message/send","params":{"foo":"bar"}"#,
            -32700,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"aaa","method":"message/send","params":{}}"#,
            -32600,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"1.0","method":"message/send","params":{},"id":3}"#,
            -32600,
            json!(3),
        ),
        (r#"{"jsonrpc":"2.0","params":{}}"#, -32600, json!(null)),
        (
            r#"{"jsonrpc":"2.0","method":"message/send","params":{},"id":{"bad":"type"}}"#,
            -32600,
            json!(null),
        ),
        (
            r#"[{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"t"},"id":"a"}]"#,
            -32600,
            json!(null),
        ),
        // Without an id the other faults count first, and then the missing id itself.
        (
            r#"{"jsonrpc":"2.0","method":"message/ssend","params":{}}"#,
            -32601,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"message/send","params":{"":"not_a_dict"}}"#,
            -32602,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"t"}}"#,
            -32600,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"nonexistent/method","params":{},"id":"n"}"#,
            -32601,
            json!("n"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"message/send","params":{"message":{"parts":"invalid"}},"id":"p"}"#,
            -32602,
            json!("p"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"message/send","params":{"message":{"taskId":12345}},"id":"p"}"#,
            -32602,
            json!("p"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"t","historyLength":-1},"id":"h"}"#,
            -32602,
            json!("h"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"nobody"},"id":"t"}"#,
            -32001,
            json!("t"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"tasks/cancel","params":{"id":"nobody"},"id":"t"}"#,
            -32001,
            json!("t"),
        ),
    ] {
        let (status, answer) = raw(&server, body).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{body}"
        );
        assert_eq!(answer.get("result"), None, "{body}");
    }
}

#[tokio::test]
async fn a_message_without_a_required_member_is_refused() {
    let server = profile("v0_3").await;
    for member in ["messageId", "role", "parts"] {
        let mut params = asks();
        params["message"]
            .as_object_mut()
            .expect("an object")
            .remove(member);
        let error = server.error("tck", "message/send", params).await;
        assert_eq!(error["code"], -32602, "{member}");
    }
    for parts in [
        json!([]),
        json!([{}]),
        json!([{"type": "unsupported_type", "text": "x"}]),
    ] {
        let mut params = asks();
        params["message"]["parts"] = parts.clone();
        let error = server.error("tck", "message/send", params).await;
        assert_eq!(error["code"], -32602, "{parts}");
    }
    for content in [json!([]), json!([{}]), json!(null)] {
        let mut body = asks_rest();
        body["message"]["content"] = content.clone();
        assert_eq!(
            server.post("/v1/message:send", &body).await.status,
            400,
            "{content}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_cannot_begin_is_one_event_with_the_error() {
    let server = profile("v0_3").await;
    for (method, params, code, text) in [
        (
            "tasks/resubscribe",
            json!({"id": "nobody"}),
            -32001,
            "not found",
        ),
        (
            "message/stream",
            json!({"message": {"invalid": "params"}}),
            -32602,
            "invalid",
        ),
    ] {
        let stream = server.stream("tck", method, params).await;
        assert_eq!(
            (stream.status(), stream.header("content-type")),
            (200, Some("text/event-stream"))
        );
        let events = stream.rest().await;
        assert_eq!(events.len(), 1, "{method}");
        let error = &events[0].data["error"];
        assert_eq!(
            (&events[0].data["id"], &error["code"]),
            (&json!("s1"), &json!(code))
        );
        let message = error["message"].as_str().unwrap_or_default().to_lowercase();
        assert!(message.contains(text), "{message}");
    }
    assert_eq!(server.get("/v1/tasks/nobody:subscribe").await.status, 404);
}

#[tokio::test]
async fn a_refused_stream_is_json_for_callers_who_do_not_take_events() {
    let server = profile("v0_3").await;
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/resubscribe", "params": {"id": "nobody"}});
    for (accept, events) in [
        (None, true),
        (Some("text/event-stream"), true),
        (Some("application/json, text/event-stream;q=0.9"), true),
        (Some("*/*"), true),
        (Some("application/json"), false),
        (Some("text/html, application/json"), false),
    ] {
        let mut request = server.http.post(server.url("/")).json(&body);
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        let refused = request.send().await.expect("an answer");
        let kind = match events {
            true => "text/event-stream",
            false => "application/json",
        };
        assert_eq!(refused.headers()["content-type"], kind, "{accept:?}");
        let text = refused.text().await.expect("text");
        let json: Value = serde_json::from_str(text.trim_start_matches("data: ")).expect("JSON");
        assert_eq!(
            (&json["id"], &json["error"]["code"]),
            (&json!(7), &json!(-32001))
        );
    }
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_closes_when_the_agent_asks() {
    let server = profile("v0_3").await;
    let events = server
        .stream("tck", "message/stream", asks())
        .await
        .results()
        .await;
    assert_eq!(events[0]["kind"], "task");
    let last = &events[events.len() - 1];
    assert_eq!(
        (&last["status"]["state"], &last["final"]),
        (&json!("input-required"), &json!(true))
    );
}

#[tokio::test]
async fn a_webhook_without_an_id_is_the_default_one_and_can_be_set_again() {
    let server = profile("v0_3").await;
    let task = server.result("tck", "message/send", asks()).await["id"].clone();
    for path in ["one", "two"] {
        let config = json!({"taskId": task, "pushNotificationConfig": {"url": format!("https://example.com/{path}")}});
        let set = server
            .result("tck", "tasks/pushNotificationConfig/set", config)
            .await;
        assert_eq!(set["pushNotificationConfig"]["id"], "default");
    }
    let list = server
        .result(
            "tck",
            "tasks/pushNotificationConfig/list",
            json!({"id": task}),
        )
        .await;
    let two = json!({"id": "default", "url": "https://example.com/two"});
    assert_eq!(
        list,
        json!([{"taskId": task, "pushNotificationConfig": two}])
    );
    for id in [
        json!({"id": task}),
        json!({"id": task, "pushNotificationConfigId": "default"}),
    ] {
        let got = server
            .result("tck", "tasks/pushNotificationConfig/get", id)
            .await;
        assert_eq!(got["pushNotificationConfig"], two);
    }
    let id = json!({"id": task, "pushNotificationConfigId": "default"});
    let deleted = server
        .rpc("tck", "tasks/pushNotificationConfig/delete", id)
        .await;
    assert_eq!(
        deleted.body,
        json!({"jsonrpc": "2.0", "id": 1, "result": null})
    );
}

#[tokio::test]
async fn rest_takes_the_empty_members_that_generated_clients_send() {
    let server = profile("v0_3").await;
    let sent = server.post("/v1/message:send", &asks_rest()).await.body;
    let task = sent["task"]["id"].as_str().expect("a task");
    let name = format!("tasks/{task}/pushNotificationConfigs/default");
    let config = json!({"parent": format!("tasks/{task}"), "config_id": "default", "config": {
        "name": name,
        "push_notification_config": {"id": "default", "url": "https://example.com/x", "token": "", "authentication": {}},
    }});
    let set = server
        .post(
            &format!("/v1/tasks/{task}/pushNotificationConfigs"),
            &config,
        )
        .await;
    let expected = json!({"id": "default", "url": "https://example.com/x"});
    assert_eq!(
        (set.status, &set.body["pushNotificationConfig"]),
        (200, &expected)
    );
}

#[tokio::test]
async fn a_task_that_works_longer_than_a_caller_waits_is_returned_as_it_stands() {
    let server = profile("v0_3").await;
    let task = server
        .result("tck", "message/send", message("test-state-message-id-1"))
        .await;
    assert_eq!(task["status"]["state"], "working");
    let params = json!({"id": task["id"], "historyLength": 1});
    let got = server.result("tck", "tasks/get", params).await;
    assert_eq!(got["history"].as_array().map(Vec::len), Some(1));
    let mut more = message("test-followup-message-id-1");
    more["message"]["taskId"] = task["id"].clone();
    let same = server.result("tck", "message/send", more).await;
    assert_eq!(
        (&same["id"], &same["contextId"]),
        (&task["id"], &task["contextId"])
    );
    // The message waited for the question, and answers it.
    assert_eq!(same["status"]["state"], "input-required", "{same}");
}

#[tokio::test]
async fn a_second_cancel_is_an_error() {
    let server = profile("v0_3").await;
    let id = json!({"id": server.result("tck", "message/send", asks()).await["id"]});
    let canceled = server.result("tck", "tasks/cancel", id.clone()).await;
    assert_eq!(canceled["status"]["state"], "canceled");
    assert_eq!(
        server.error("tck", "tasks/cancel", id).await["code"],
        -32002
    );
}

#[tokio::test]
async fn the_extended_card_is_not_for_callers_nobody_knows() {
    let server = profile("v0_3").await;
    let card = server.get("/.well-known/agent-card.json").await.body;
    assert_eq!(card["supportsAuthenticatedExtendedCard"], true);
    let error = server
        .error("tck", "agent/getAuthenticatedExtendedCard", json!({}))
        .await;
    assert_eq!(error["data"]["reason"], "PERMISSION_DENIED");
    assert_eq!(server.get("/v1/card").await.status, 403);
    assert_eq!(
        server
            .get("/a2a/tck/agent/authenticatedExtendedCard")
            .await
            .status,
        403
    );
}
