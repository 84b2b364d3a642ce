//! What a router that talks A2A needs of the agents it calls (S0).

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, say, text_of};

use crate::server;

/// The request of the document, word by word.
fn curl() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": "test123",
        "method": "message/send",
        "params": {
            "message": {"role": "user", "parts": [{"kind": "text", "text": "Hello agent"}]},
            "messageId": "msg_test123",
            "thread": {"threadId": "test_thread"},
        },
    })
}

#[tokio::test]
async fn s0_049_the_curl_example_works_as_written() {
    let server = Server::up().await;
    let answer = server.post("/a2a/echo", &curl()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.body["jsonrpc"], "2.0");
    assert_eq!(answer.body["id"], "test123");
    assert_eq!(answer.body.get("error"), None);
    let task = &answer.body["result"];
    assert_eq!(task["contextId"], "test_thread");
    assert_eq!(task["history"][0]["messageId"], "msg_test123");
    assert_eq!(text_of(&task["artifacts"][0]), "Hello agent");
}

/// As amended: the answer is a task or a bare message, and an agent's role is `agent`.
#[tokio::test]
async fn s0_021_the_answer_is_a_task_or_a_bare_message() {
    let server = server().await;
    let task = server.result("quick", "message/send", say("hi")).await;
    assert_eq!(task["kind"], "task");
    assert_eq!(task["status"]["message"]["role"], "agent");
    let message = server.result("greeter", "message/send", say("you")).await;
    assert_eq!(message["kind"], "message");
    assert_eq!(message["role"], "agent");
    assert_eq!(text_of(&message), "hello, you");
}

#[tokio::test]
async fn s0_015_messages_of_one_thread_share_a_conversation() {
    let server = server().await;
    let ask = |text: &str, thread: &str| {
        json!({
            "message": {"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": text}]},
            "thread": {"threadId": thread},
        })
    };
    let send = async |text, thread| {
        let task = server
            .result("remembering", "message/send", ask(text, thread))
            .await;
        text_of(&task["status"]["message"])
    };
    assert_eq!(send("the word is tea", "t1").await, "0 before: ");
    assert_eq!(
        send("what is the word", "t1").await,
        "1 before: the word is tea"
    );
    assert_eq!(send("and here", "t2").await, "0 before: ");
}

#[tokio::test]
async fn s0_019_the_old_form_of_a_run_is_refused_with_400() {
    let server = server().await;
    let old = json!({
        "input": {"messages": [{"role": "user", "content": "hi"}]},
        "config": {"configurable": {"thread_id": "t"}},
        "stream_mode": "values",
    });
    let answer = server.post("/a2a/quick", &old).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.body["error"]["code"], -32600);
}

#[tokio::test]
async fn s0_038_a_request_lacks_nothing() {
    let server = server().await;
    for missing in ["jsonrpc", "id", "method", "params"] {
        let mut request = curl();
        request
            .as_object_mut()
            .map(|members| members.remove(missing));
        let answer = server.post("/a2a/quick", &request).await;
        let code = &answer.body["error"]["code"];
        let expected = if missing == "params" { -32602 } else { -32600 };
        assert_eq!(*code, expected, "without {missing}");
        assert_eq!(answer.body.get("result"), None);
    }
}

#[tokio::test]
async fn s0_023_errors_have_a_number_and_a_message() {
    let server = server().await;
    let broken = server.http.post(server.url("/a2a/quick"));
    let broken = answer(
        broken
            .header("content-type", "application/json")
            .body("{\"a\":"),
    )
    .await;
    assert_eq!(broken.body["error"]["code"], -32700);
    assert_eq!(broken.body["id"], Value::Null);
    let bare = server
        .post(
            "/a2a/quick",
            &json!({"jsonrpc": "1.0", "id": 3, "method": "x"}),
        )
        .await;
    assert_eq!(bare.body["error"]["code"], -32600);
    let unknown = server.error("quick", "message/sing", json!({})).await;
    assert_eq!(unknown["code"], -32601);
    let wrong = server
        .error("quick", "message/send", json!({"message": 7}))
        .await;
    assert_eq!(wrong["code"], -32602);
    for error in [&bare.body["error"], &unknown, &wrong] {
        assert!(error["message"].is_string(), "{error}");
    }
}

#[tokio::test]
async fn s0_024_the_id_comes_back_as_it_was() {
    let server = server().await;
    for id in [json!("a"), json!(7), json!(0), json!(null), json!("0")] {
        let mut request = curl();
        request["id"] = id.clone();
        let answer = server.post("/a2a/quick", &request).await;
        assert_eq!(answer.body["id"], id);
        assert_eq!(answer.body.get("id"), Some(&id));
    }
}

#[tokio::test]
async fn s0_041_files_data_and_tool_calls_are_parts_too() {
    let server = server().await;
    let parts = json!([
        {"kind": "text", "text": "see"},
        {"kind": "file", "file": {"name": "a.png", "mimeType": "image/png", "bytes": "aGk="}},
        {"kind": "data", "data": {"a": 1}},
        {"kind": "tool-result", "toolUseId": "t", "result": 3},
    ]);
    let message = json!({"message": {"role": "user", "messageId": "m", "parts": parts}});
    let task = server.result("copier", "message/send", message).await;
    let copied = &task["artifacts"][0]["parts"];
    assert_eq!(copied[0], parts[0]);
    assert_eq!(copied[1], parts[1]);
    assert_eq!(copied[2], parts[2]);
    assert_eq!(copied[3]["data"]["type"], "tool-result");
}

#[tokio::test]
async fn s0_058_every_agent_has_its_card() {
    let server = Server::up().await;
    for agent in ["echo", "research", "approver", "flaky", "desk"] {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        let card = server.get(&path).await;
        assert_eq!(card.status, 200);
        assert_eq!(card.body["url"], server.url(&format!("/a2a/{agent}")));
    }
    let root = server.get("/.well-known/agent-card.json").await;
    assert_eq!(root.body["name"], "Echo");
    let named = server
        .get("/.well-known/agent-card.json?assistant_id=desk")
        .await;
    assert_eq!(named.body["name"], "Desk");
}
