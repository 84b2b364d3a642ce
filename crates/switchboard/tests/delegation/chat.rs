//! A text in, a text out.

use serde_json::{Value, json};
use switchboard_testkit::{Answer, Server, answer};

use crate::rules::DESK;

async fn chat(server: &Server, agent: &str, body: Value) -> Answer {
    server.post(&format!("/agents/{agent}/chat"), &body).await
}

#[tokio::test]
async fn s3_096_one_can_talk_with_an_agent_in_plain_texts() {
    let server = Server::serve(DESK).await;
    let said = chat(&server, "desk", json!({"message": "hello"})).await;
    assert_eq!(said.status, 200, "{said:?}");
    assert_eq!(said.body["response"], "the desk: hello");
    assert_eq!(said.body["delegated"], false);
    assert_eq!(said.body["state"], "completed");
    // It is a task as any other.
    let id = json!({"id": said.body["taskId"]});
    let task = server.result("desk", "tasks/get", id).await;
    assert_eq!(task["contextId"], said.body["sessionId"]);
    // The conversation goes on.
    let more = json!({"message": "again", "sessionId": said.body["sessionId"]});
    let more = chat(&server, "desk", more).await.body;
    assert_eq!(more["sessionId"], said.body["sessionId"]);
    assert_ne!(more["taskId"], said.body["taskId"]);
}

#[tokio::test]
async fn s3_095_and_s3_122_what_was_delegated_is_told_as_it_always_was() {
    let server = Server::serve(DESK).await;
    for path in ["/agents/desk/chat", "/bot-instances/desk/chat"] {
        let said = server.post(path, &json!({"message": "a poem"})).await;
        assert_eq!(said.status, 200, "{said:?}");
        assert_eq!(said.body["delegated"], true, "{said:?}");
        assert_eq!(said.body["targetBotId"], "poet");
        assert_eq!(said.body["targetBotName"], "poet");
        assert_eq!(said.body["response"], "roses are red");
        assert_eq!(said.body["traceId"], said.body["taskId"]);
        assert!(said.body["sessionId"].is_string(), "{said:?}");
    }
    // Also where the other agent makes nothing, or answers with a message.
    let curt = chat(&server, "desk", json!({"message": "be curt"})).await;
    assert_eq!(curt.body["response"], "no");
    let title = "agents:\n  desk: { script: [{ complete: own }], routes: [{ to: poet }] }\n  \
                 poet: { title: The Poet, script: [{ complete: hi }] }\n";
    let server = Server::serve(title).await;
    let said = chat(&server, "desk", json!({"message": "x"})).await;
    assert_eq!(said.body["targetBotName"], "The Poet", "{said:?}");
    assert_eq!(said.body["response"], "hi");
}

#[tokio::test]
async fn what_goes_wrong_and_what_is_asked_is_told() {
    let server = Server::serve(DESK).await;
    let failed = chat(&server, "desk", json!({"message": "break"})).await;
    assert_eq!(failed.status, 200);
    assert_eq!(failed.body["state"], "failed");
    assert_eq!(failed.body["response"], "");
    assert_eq!(failed.body["error"], "broken: out of order");
    let asks = chat(&server, "desk", json!({"message": "which?"})).await;
    assert_eq!(asks.body["state"], "input-required");
    assert_eq!(asks.body["response"], "which one?");
    let answer = json!({"message": "this", "taskId": asks.body["taskId"]});
    let done = chat(&server, "desk", answer).await;
    assert_eq!(done.body["response"], "you chose this", "{done:?}");
}

#[tokio::test]
async fn bad_input_is_refused_before_it_becomes_a_task() {
    let server = Server::serve(DESK).await;
    for body in [
        json!({}),
        json!({"message": ""}),
        json!({"message": " "}),
        json!({"message": 7}),
        json!({"message": "x", "sessionid": "y"}),
        json!({"message": "x", "sessionId": "y".repeat(600)}),
        json!({"message": "x", "taskId": ""}),
        json!({"message": "x", "metadata": []}),
        json!(["x"]),
    ] {
        let refused = chat(&server, "desk", body.clone()).await;
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
        let told = refused.body.to_string();
        assert!(told.contains("INVALID_PARAMS"), "{body}: {told}");
    }
    let twice = r#"{"message":"x","metadata":{"a":{"skillId":"epic","skill\u0049d":"haiku"}}}"#;
    let request = server.http.post(server.url("/agents/desk/chat"));
    let request = request.header("content-type", "application/json");
    let refused = answer(request.body(twice)).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let told = refused.body.to_string();
    assert!(told.contains("metadata.a.skillId is given twice"), "{told}");
    let unknown = json!({"message": "x", "taskId": "nobody"});
    assert_eq!(chat(&server, "desk", unknown).await.status, 404);
    let nobody = chat(&server, "nobody", json!({"message": "x"})).await;
    assert_eq!(nobody.status, 404, "{nobody:?}");
    let get = server.get("/agents/desk/chat").await;
    assert_eq!(get.status, 405);
    let form = server.http.post(server.url("/agents/desk/chat"));
    let form = answer(form.header("content-type", "text/plain").body("hello")).await;
    assert_eq!(form.status, 400, "{form:?}");
}

#[tokio::test]
async fn the_same_said_twice_under_one_key_is_said_once() {
    let server = Server::serve(DESK).await;
    let say = || {
        let request = server.http.post(server.url("/agents/desk/chat"));
        let request = request.header("idempotency-key", "k");
        answer(request.json(&json!({"message": "a poem", "sessionId": "s"})))
    };
    let (first, second) = (say().await, say().await);
    assert_eq!(first.body["taskId"], second.body["taskId"], "{second:?}");
}

#[tokio::test]
async fn only_those_talk_who_may_call() {
    let yaml = r#"
auth:
  methods: { ops: { basic: { users: { ann: { password: "${ANN}", scopes: [use] } } } } }
agents:
  desk: { scopes: [use], script: [{ complete: hello }] }
  back: { visible: false, scopes: [more], script: [{ complete: hello }] }
"#;
    let server = Server::serve_with(yaml, &[], &[("ANN", "open sesame")]).await;
    let as_ann = |agent: &str| {
        let request = server
            .http
            .post(server.url(&format!("/agents/{agent}/chat")));
        let request = request.basic_auth("ann", Some("open sesame"));
        answer(request.json(&json!({"message": "x"})))
    };
    assert_eq!(as_ann("desk").await.body["response"], "hello");
    let stranger = chat(&server, "desk", json!({"message": "x"})).await;
    assert_eq!(stranger.status, 401, "{stranger:?}");
    assert!(stranger.headers.contains_key("www-authenticate"));
    // One that she may not know of is not there.
    assert_eq!(as_ann("back").await.status, 404);
}
