//! A2A 1.0: the card by the letter, refusals before a stream is open, capabilities that are not offered, extensions.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::{Answer, KIT_TOKEN, Server, answer};
use tokio::time::Instant;

use crate::profile;

/// A JSON-RPC call of 1.0.
async fn rpc(server: &Server, method: &str, params: Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    server.post_v1("/a2a/tck", &body).await
}

/// A GET of 1.0.
async fn get(server: &Server, path: &str) -> Answer {
    answer(
        server
            .http
            .get(server.url(path))
            .header("A2A-Version", "1.0"),
    )
    .await
}

fn message(id: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
}

async fn task_of(server: &Server, id: &str) -> Value {
    rpc(server, "SendMessage", message(id)).await.body["result"]["task"].clone()
}

/// The reason of an error, in JSON-RPC or REST.
fn reason(answer: &Answer) -> &Value {
    let details = match answer.body["error"].get("data") {
        Some(data) => data,
        None => &answer.body["error"]["details"],
    };
    &details[0]["reason"]
}

#[tokio::test]
async fn a_card_of_1_0_has_no_other_members_and_can_be_cached() {
    let server = profile("full").await;
    let card = server.get("/.well-known/agent-card.json").await;
    let known = [
        "name",
        "description",
        "version",
        "supportedInterfaces",
        "provider",
        "capabilities",
        "skills",
        "securitySchemes",
        "securityRequirements",
        "defaultInputModes",
        "defaultOutputModes",
        "signatures",
        "documentationUrl",
        "iconUrl",
    ];
    let anonymous = get(&server, "/extendedAgentCard").await;
    assert_eq!(anonymous.status, 401);
    assert!(anonymous.headers.contains_key("www-authenticate"));
    let request = server.http.get(server.url("/extendedAgentCard"));
    let request = request.header("A2A-Version", "1.0").bearer_auth(KIT_TOKEN);
    let extended = answer(request).await;
    for card in [&card.body, &extended.body] {
        let members = card.as_object().expect("a card");
        for (name, member) in members {
            assert!(
                known.contains(&name.as_str()) && !member.is_null(),
                "{name}"
            );
        }
        assert!(card["capabilities"].get("stateTransitionHistory").is_none());
        assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    }
    for header in ["cache-control", "etag", "last-modified"] {
        assert!(card.headers.contains_key(header), "{header}");
    }
}

#[tokio::test]
async fn a_stream_that_cannot_begin_is_a_plain_answer() {
    let server = profile("full").await;
    let over = task_of(&server, "tck-complete-task-1").await["id"].clone();
    for (id, expected, status) in [
        (json!("nobody"), "TASK_NOT_FOUND", 404),
        (over, "UNSUPPORTED_OPERATION", 400),
    ] {
        let refused = rpc(&server, "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(
            (refused.status, refused.headers["content-type"].as_bytes()),
            (200, &b"application/json"[..])
        );
        assert_eq!(reason(&refused), expected);
        let path = format!("/tasks/{}:subscribe", id.as_str().expect("an id"));
        let refused = server.post_v1(&path, &json!({})).await;
        assert_eq!(
            (refused.status, reason(&refused)),
            (status, &json!(expected))
        );
    }
}

#[tokio::test]
async fn a_body_that_is_announced_as_something_else_is_not_even_read() {
    let server = profile("full").await;
    for (path, status) in [("/a2a/tck", 200), ("/message:send", 400)] {
        let request = server
            .http
            .post(server.url(path))
            .header("A2A-Version", "1.0");
        let refused = answer(
            request
                .header("Content-Type", "text/plain")
                .body("{'not': 'JSON'}"),
        )
        .await;
        assert_eq!(
            (refused.status, reason(&refused)),
            (status, &json!("CONTENT_TYPE_NOT_SUPPORTED"))
        );
    }
}

#[tokio::test]
async fn only_parts_that_state_a_media_type_are_judged_by_it() {
    let server = profile("full").await;
    let mut params = message("tck-send-003-1");
    params["message"]["parts"] = json!([{"raw": "dGNr", "mediaType": "application/x-unknown"}]);
    let refused = rpc(&server, "SendMessage", params.clone()).await;
    assert_eq!(refused.body["error"]["code"], -32005);
    assert_eq!(server.post_v1("/message:send", &params).await.status, 400);
    params["message"]["parts"] = json!([{"text": "hi"}, {"data": {"a": 1}}]);
    let taken = rpc(&server, "SendMessage", params).await;
    assert_eq!(
        taken.body["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn waiting_is_for_the_end_unless_the_caller_returns_immediately() {
    let server = profile("full").await;
    let mut params = message("tck-delayed-complete-1");
    let began = Instant::now();
    params["configuration"] = json!({"returnImmediately": true});
    let at_once = rpc(&server, "SendMessage", params.clone()).await;
    assert!(began.elapsed() < Duration::from_millis(1500));
    let state = &at_once.body["result"]["task"]["status"]["state"];
    assert_ne!(state, "TASK_STATE_COMPLETED");
    params["configuration"] = json!({"returnImmediately": false});
    let waited = rpc(&server, "SendMessage", params).await;
    assert_eq!(
        waited.body["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn webhooks_of_a_task_that_is_over_can_be_kept_and_ids_are_per_task() {
    let server = profile("full").await;
    for message in ["tck-complete-task-1", "tck-complete-task-1"] {
        let task = task_of(&server, message).await["id"].clone();
        let config = json!({"taskId": task, "id": "hook", "url": "https://example.com/hook"});
        let made = rpc(&server, "CreateTaskPushNotificationConfig", config.clone()).await;
        assert_eq!(made.body["result"], config);
        let id = json!({"task_id": task, "id": "hook"});
        let got = rpc(&server, "GetTaskPushNotificationConfig", id.clone()).await;
        assert_eq!(got.body["result"], config);
        for _ in 0..2 {
            let deleted = rpc(&server, "DeleteTaskPushNotificationConfig", id.clone()).await;
            assert_eq!(deleted.body.get("error"), None);
        }
        let gone = rpc(&server, "GetTaskPushNotificationConfig", id).await;
        assert_eq!(gone.body["error"]["code"], -32001);
    }
}

#[tokio::test]
async fn what_is_not_offered_is_refused_by_its_own_error() {
    let server = profile("minimal").await;
    let task = task_of(&server, "tck-input-required-1").await["id"].clone();
    let config = json!({"taskId": task, "id": "hook", "url": "https://example.com/hook"});
    let mut inline = message("tck-complete-task-1");
    inline["configuration"] =
        json!({"taskPushNotificationConfig": {"url": "https://example.com/hook"}});
    for (method, params, code) in [
        ("SendStreamingMessage", message("tck-stream-001-1"), -32004),
        ("SubscribeToTask", json!({"id": task}), -32004),
        ("CreateTaskPushNotificationConfig", config.clone(), -32003),
        ("GetTaskPushNotificationConfig", config.clone(), -32003),
        ("ListTaskPushNotificationConfigs", config.clone(), -32003),
        ("DeleteTaskPushNotificationConfig", config, -32003),
        ("SendMessage", inline, -32003),
        ("GetExtendedAgentCard", json!({}), -32004),
    ] {
        let refused = rpc(&server, method, params).await;
        assert_eq!(
            (refused.status, &refused.body["error"]["code"]),
            (200, &json!(code)),
            "{method}"
        );
    }
    assert_eq!(
        server
            .post_v1("/message:stream", &message("tck-stream-001-1"))
            .await
            .status,
        400
    );
    assert_eq!(get(&server, "/extendedAgentCard").await.status, 400);
}

#[tokio::test]
async fn a_required_extension_must_be_asked_for() {
    let server = profile("extension").await;
    let send = message("tck-complete-task-1");
    let refused = rpc(&server, "SendMessage", send.clone()).await;
    assert_eq!(refused.body["error"]["code"], -32008);
    let refused = server.post_v1("/message:send", &send).await;
    assert_eq!(
        (refused.status, reason(&refused)),
        (400, &json!("EXTENSION_SUPPORT_REQUIRED"))
    );
    let uri = "urn:a2a:tck:required-extension";
    let request = server.http.post(server.url("/message:send")).json(&send);
    let taken = answer(
        request
            .header("A2A-Version", "1.0")
            .header("A2A-Extensions", uri),
    )
    .await;
    assert_eq!(
        (taken.status, taken.headers["a2a-extensions"].as_bytes()),
        (200, uri.as_bytes())
    );
}
