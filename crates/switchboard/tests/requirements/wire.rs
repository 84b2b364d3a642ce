//! Transport, format and errors (S1 §3, §6, §8; S2 server behaviour).

use serde_json::{Value, json};
use switchboard_testkit::{answer, events, message, say, text_of};

use crate::server;

#[tokio::test]
async fn s1_009_only_json_is_taken() {
    let server = server().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hi")});
    let request = server
        .http
        .post(server.url("/a2a/quick"))
        .body(body.to_string());
    let refused = answer(request.header("content-type", "text/plain")).await;
    assert_eq!(refused.body["error"]["code"], -32005);
    let taken = server.post("/a2a/quick", &body).await;
    assert_eq!(taken.headers["content-type"], "application/json");
    assert_eq!(taken.body["result"]["kind"], "task");
}

#[tokio::test]
async fn s1_013_methods_are_posted() {
    let server = server().await;
    let refused = answer(server.http.put(server.url("/a2a/quick"))).await;
    assert_eq!(refused.status, 405);
    assert_eq!(refused.headers["allow"], "GET, HEAD, POST");
    // A read is not a method: it gets the card.
    assert_eq!(server.get("/a2a/quick").await.body["name"], "quick");
}

#[tokio::test]
async fn s1_075_a_task_has_its_fields() {
    let server = server().await;
    let task = server.result("quick", "message/send", say("hi")).await;
    for field in ["id", "contextId"] {
        let id = task[field].as_str().unwrap_or_default();
        assert_eq!(id.len(), 36, "{field} is a UUID: {id}");
    }
    assert_eq!(task["kind"], "task");
    assert_eq!(task["status"]["state"], "completed");
    let timestamp = task["status"]["timestamp"].as_str().unwrap_or_default();
    assert!(
        timestamp.ends_with('Z') && timestamp.contains('T'),
        "{timestamp}"
    );
    let first = &task["history"][0];
    assert_eq!(first["taskId"], task["id"]);
    assert_eq!(first["contextId"], task["contextId"]);
    let other = server.result("quick", "message/send", say("hi")).await;
    assert_ne!(other["id"], task["id"]);
    assert_ne!(other["contextId"], task["contextId"]);
}

#[tokio::test]
async fn s1_083_tasks_end_in_every_way() {
    let server = server().await;
    for (agent, state, said) in [
        ("quick", "completed", "hi"),
        ("broken", "failed", "the printer is on fire"),
        ("picky", "rejected", "Not on my watch"),
        (
            "booking",
            "input-required",
            "Where would you like to fly to, and from where?",
        ),
        ("vault", "auth-required", "Sign in first"),
    ] {
        let task = server.result(agent, "message/send", say("hi")).await;
        assert_eq!(task["status"]["state"], state, "{agent}");
        assert_eq!(text_of(&task["status"]["message"]), said);
    }
}

#[tokio::test]
async fn s1_089_no_task_leaves_a_terminal_state() {
    let server = server().await;
    let task = server.result("quick", "message/send", say("hi")).await;
    let mut again = message("more");
    again["taskId"] = task["id"].clone();
    let error = server
        .error("quick", "message/send", json!({"message": again}))
        .await;
    assert_eq!(error["code"], -32004);
    assert_eq!(error["data"]["reason"], "UNSUPPORTED_OPERATION");
    let after = server
        .result("quick", "tasks/get", json!({"id": task["id"]}))
        .await;
    assert_eq!(after["status"], task["status"]);
}

#[tokio::test]
async fn s1_091_messages_need_parts_and_an_id() {
    let server = server().await;
    let wrong = |field: &str, value: Value| {
        let mut message = message("hi");
        message[field] = value;
        json!({"message": message})
    };
    for (params, at) in [
        (wrong("parts", json!([])), "message.parts"),
        (wrong("parts", Value::Null), "message.parts"),
        (wrong("messageId", Value::Null), "message.messageId"),
        (wrong("role", json!("robot")), "message.role"),
        (
            wrong("parts", json!([{"kind": "text"}])),
            "message.parts[0]",
        ),
        (
            wrong("parts", json!([{"kind": "video", "text": "x"}])),
            "message.parts[0]",
        ),
        (
            wrong("parts", json!([{"kind": "file", "file": {}}])),
            "message.parts[0].file",
        ),
        (
            wrong(
                "parts",
                json!([{"kind": "file", "file": {"bytes": "aGk=", "uri": "https://x.y"}}]),
            ),
            "message.parts[0].file",
        ),
        (wrong("kind", json!("task")), "message.kind"),
    ] {
        let error = server.error("quick", "message/send", params.clone()).await;
        assert_eq!(error["code"], -32602, "{params}");
        let field = error["data"]["violations"][0]["field"]
            .as_str()
            .unwrap_or_default();
        assert!(field.starts_with(at), "{params}: {field}");
    }
}

#[tokio::test]
async fn s1_001_every_kind_of_content_passes_unchanged() {
    let server = server().await;
    let parts = json!([
        {"kind": "text", "text": "größer ∞", "metadata": {"a": [1, 2.5, null]}},
        {"kind": "file", "file": {"name": "v.mp4", "mimeType": "video/mp4", "uri": "https://x.example/v"}},
        {"kind": "file", "file": {"bytes": "AAEC/w=="}},
        {"kind": "data", "data": {"form": {"z": 1, "a": 12_345_678_901_234_567_890_u64}}},
    ]);
    let params = json!({"message": {"role": "user", "messageId": "m", "parts": parts}});
    let task = server.result("copier", "message/send", params).await;
    assert_eq!(task["artifacts"][0]["parts"], parts);
    assert_eq!(task["history"][0]["parts"], parts);
}

#[tokio::test]
async fn s1_177_media_types_that_are_not_taken_are_refused() {
    let server = server().await;
    let image = json!({"kind": "file", "file": {"mimeType": "image/png", "bytes": "aGk="}});
    let mut message = message("hi");
    message["parts"] = json!([image]);
    let error = server
        .error("quick", "message/send", json!({"message": message}))
        .await;
    assert_eq!(error["code"], -32005);
}

#[tokio::test]
async fn s1_187_slips_of_the_examples_are_taken() {
    let server = server().await;
    let sloppy = json!({"role": "user", "messageId": "m", "parts": [
        {"type": "text", "text": "hi"},
        {"type": "file", "file": {"mimeType": "image/png", "data": "aGk="}},
    ]});
    let task = server
        .result("copier", "message/send", json!({"message": sloppy}))
        .await;
    let parts = &task["artifacts"][0]["parts"];
    assert_eq!(parts[0], json!({"kind": "text", "text": "hi"}));
    assert_eq!(parts[1]["file"]["bytes"], "aGk=");
}

#[tokio::test]
async fn s2_075_what_is_no_call_is_an_invalid_request() {
    let server = server().await;
    for body in [
        json!({"jsonrpc": "1.0", "id": 1, "method": "message/send"}),
        json!({"jsonrpc": "2.0", "id": 1}),
        json!({"jsonrpc": "2.0", "method": "message/send", "params": say("hi")}),
    ] {
        let refused = server.post("/a2a/quick", &body).await;
        let error = &refused.body["error"];
        assert_eq!(error["code"], -32600, "{body}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|m| m.starts_with("Invalid Request"))
        );
        assert_eq!(
            refused.body["id"],
            body.get("id").cloned().unwrap_or(Value::Null)
        );
    }
}

#[tokio::test]
async fn s2_077_unknown_methods_come_with_200_and_their_name() {
    let server = server().await;
    let refused = server.rpc("quick", "tasks/paint", json!({})).await;
    assert_eq!(refused.status, 200);
    let error = &refused.body["error"];
    assert_eq!(error["code"], -32601);
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|m| m.starts_with("Method not found"))
    );
    assert_eq!(error["data"]["method"], "tasks/paint");
}

#[tokio::test]
async fn s2_078_a_message_of_another_kind_is_refused() {
    let server = server().await;
    for params in [json!({}), json!({"message": {"kind": "task", "parts": []}})] {
        let body = json!({"jsonrpc": "2.0", "id": 5, "method": "message/stream", "params": params});
        let request = server.http.post(server.url("/a2a/quick")).json(&body);
        let mut stream = events(request).await;
        assert_eq!(stream.status(), 200);
        let error = stream.next().await.map(|event| event.data);
        let error = error.unwrap_or_default();
        assert_eq!(error["id"], 5);
        assert_eq!(error["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn s2_079_the_context_is_the_callers_or_a_new_one() {
    let server = server().await;
    let mut given = message("hi");
    given["contextId"] = json!("my own context");
    let task = server
        .result("quick", "message/send", json!({"message": given}))
        .await;
    assert_eq!(task["contextId"], "my own context");
    assert_ne!(task["id"], "my own context");
}

#[tokio::test]
async fn s1_040_there_are_limits_of_size() {
    let server = server().await;
    let huge = "x".repeat(11 << 20);
    let refused = server.rpc("quick", "message/send", say(&huge)).await;
    assert_eq!(refused.status, 413);
    assert_eq!(refused.body["error"]["data"]["reason"], "PAYLOAD_TOO_LARGE");
}

#[tokio::test]
async fn s1_040_there_are_limits_of_number() {
    let yaml = "limits: {streams: 1}\nagents: {slow: {script: [{say: Processing}, {wait: 60s}]}}";
    let server = switchboard_testkit::Server::serve(yaml).await;
    let mut first = server.stream("slow", "message/stream", say("hi")).await;
    assert!(first.next().await.is_some());
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "message/stream", "params": say("hi")});
    let request = server.http.post(server.url("/a2a/slow")).json(&body);
    let refused = answer(request).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["retry-after"], "1");
    let error = &refused.body["error"];
    assert_eq!(error["data"]["reason"], "RESOURCE_EXHAUSTED");
}

#[tokio::test]
async fn s2_003_the_same_agent_answers_at_every_address() {
    let server = server().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hi")});
    for path in ["/api/a2a", "/a2a/quick", "/quick", "/", "/a2a/quick/"] {
        let reply = server.post(path, &body).await;
        assert_eq!(
            reply.body["result"]["artifacts"][0]["name"], "joke",
            "{path}"
        );
    }
}
