//! Questions, answers and tools of the client (S1 §4.5, §9.4; S2).

use serde_json::{Value, json};
use switchboard_testkit::{Server, events, message, say, text_of};

use crate::server;

#[tokio::test]
async fn s1_189_example_9_4_goes_on_after_a_question() {
    let server = server().await;
    let asked = server
        .result("booking", "message/send", say("I'd like to book a flight."))
        .await;
    assert_eq!(asked["status"]["state"], "input-required");
    assert_eq!(asked["status"]["message"]["role"], "agent");
    let mut answer = message("I want to fly from New York to London.");
    answer["taskId"] = asked["id"].clone();
    answer["contextId"] = asked["contextId"].clone();
    let params = json!({"message": answer, "configuration": {"blocking": true}});
    let done = server.result("booking", "message/send", params).await;
    assert_eq!(done["id"], asked["id"]);
    assert_eq!(done["contextId"], asked["contextId"]);
    assert_eq!(done["status"]["state"], "completed");
    assert_eq!(done["artifacts"][0]["parts"][0]["kind"], "data");
    let said: Vec<String> = done["history"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text_of)
        .collect();
    assert_eq!(said[0], "I'd like to book a flight.");
    assert!(said.contains(&"Where would you like to fly to, and from where?".to_owned()));
    assert!(said.contains(&"I want to fly from New York to London.".to_owned()));
}

#[tokio::test]
async fn s1_027_credentials_can_be_asked_for() {
    let server = server().await;
    let asked = server.result("vault", "message/send", say("open")).await;
    assert_eq!(asked["status"]["state"], "auth-required");
    let parts = &asked["status"]["message"]["parts"];
    assert_eq!(parts[1]["data"]["schemes"], json!(["Bearer"]));
    let mut answer = message("here they are");
    answer["taskId"] = asked["id"].clone();
    let done = server
        .result("vault", "message/send", json!({"message": answer}))
        .await;
    assert_eq!(done["status"]["state"], "completed");
}

#[tokio::test]
async fn a_stream_ends_where_its_caller_is_to_send_credentials() {
    let server = server().await;
    let stream = server.stream("vault", "message/stream", say("open")).await;
    let events = stream.results().await;
    let last = events.last().unwrap();
    assert_eq!(last["status"]["state"], "auth-required");
    assert_eq!(last["final"], true);
}

#[tokio::test]
async fn s2_050_a_question_is_asked_in_a_form_that_programs_understand() {
    let server = server().await;
    let task = server.result("tool", "message/send", say("go")).await;
    let asked = &task["status"]["message"];
    assert_eq!(asked["role"], "agent");
    assert_eq!(asked["parts"][0]["text"], "Please run the tool");
    let request = &asked["metadata"]["inputRequest"];
    assert_eq!(request["kind"], "input-request");
    assert_eq!(request["prompt"], "Run it");
    assert_eq!(request["sensitive"], true);
    assert_eq!(request["requestId"], "call-1");
}

/// S2-054, S2-055, S2-056, S2-057.
#[tokio::test]
async fn s2_056_a_tool_result_goes_on_with_the_referenced_task() {
    let server = server().await;
    let task = server.result("tool", "message/send", say("go")).await;
    let answer = |id: &str| {
        json!({"message": {
            "kind": "message", "role": "user", "messageId": "m2", "referenceTaskIds": [task["id"]],
            "parts": [
                {"kind": "text", "text": "done"},
                {"kind": "tool-result", "toolUseId": id, "result": {"ok": true}},
            ],
        }})
    };
    let error = server.error("tool", "message/send", answer("call-2")).await;
    assert_eq!(error["code"], -32602);
    let events = server
        .stream("tool", "message/stream", answer("call-1"))
        .await
        .results()
        .await;
    let first = events.first().expect("events");
    assert_eq!(first["id"], task["id"]);
    let last = events.last().expect("events");
    assert_eq!(last["status"]["state"], "completed");
}

/// All events of a task.
async fn replay(server: &Server, agent: &str, task: &Value) -> Vec<Value> {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
    let request = server
        .http
        .post(server.url(&format!("/a2a/{agent}")))
        .json(&body);
    events(request.header("Last-Event-ID", "0"))
        .await
        .results()
        .await
}

#[tokio::test]
async fn s2_064_a_question_nobody_answers_fails_the_task() {
    let server = server().await;
    let task = server.result("hasty", "message/send", say("hi")).await;
    assert_eq!(task["status"]["state"], "input-required");
    let failed = server.until("hasty", &task["id"], &["failed"]).await;
    let said = text_of(&failed["status"]["message"]);
    assert_eq!(said, "input timeout: no answer within 0.3 s");
    let events = replay(&server, "hasty", &task["id"]).await;
    let last = events.last().expect("events");
    assert_eq!(last["taskId"], task["id"]);
    assert_eq!(last["final"], true);
    assert_eq!(last["metadata"]["reason"], "INPUT_TIMEOUT");
}

#[tokio::test]
async fn s2_063_or_the_agent_goes_on_without_an_answer() {
    let server = server().await;
    let task = server.result("resolute", "message/send", say("hi")).await;
    let done = server.until("resolute", &task["id"], &["completed"]).await;
    assert_eq!(text_of(&done["status"]["message"]), "done without you");
    let events = replay(&server, "resolute", &task["id"]).await;
    let goes_on = events
        .iter()
        .find(|event| text_of(&event["status"]["message"]) == "Continuing without client input...");
    assert_eq!(
        goes_on.map(|event| &event["status"]["state"]),
        Some(&json!("working"))
    );
}

/// S2-041 to S2-046 for agents on the same server: a parent, a child, and what the client hears.
#[tokio::test]
async fn s2_041_an_agent_gives_work_to_another_and_tells_its_client() {
    let server = Server::up().await;
    let events = server
        .stream("desk", "message/stream", say("try something risky"))
        .await;
    let events = events.results().await;
    let said: Vec<String> = events
        .iter()
        .map(|e| text_of(&e["status"]["message"]))
        .collect();
    assert!(
        said.iter().any(|text| text.contains("going the safe way")),
        "{said:?}"
    );
    let last = events.last().expect("events");
    assert_eq!(last["status"]["state"], "completed");
    let list = server
        .http
        .get(server.url("/a2a/flaky/tasks"))
        .header("A2A-Version", "1.0");
    let list = switchboard_testkit::answer(list).await;
    let child = list.body["tasks"][0]["id"].clone();
    let child = server
        .result("flaky", "tasks/get", json!({"id": child}))
        .await;
    assert_eq!(
        child["history"][0]["referenceTaskIds"],
        json!([events[0]["id"]])
    );
}

/// Several clients show people the first part, or every data part as raw JSON unless it is marked.
#[tokio::test]
async fn the_text_of_a_question_comes_first_and_its_data_part_is_marked() {
    let yaml = "agents: {clerk: {script: [{ask: {text: 'Which?', input: {prompt: One}}}]}, \
                terse: {script: [{ask: {input: {prompt: One}}}]}}";
    let server = Server::serve(yaml).await;
    for (agent, text) in [("clerk", "Which?"), ("terse", "One")] {
        let asked = server.result(agent, "message/send", say("a hat")).await;
        let parts = asked["status"]["message"]["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert_eq!(parts[0], json!({"kind": "text", "text": text}));
        assert_eq!(parts[1]["data"]["prompt"], "One");
        let mark = json!({"switchboard/machineReadable": true});
        assert_eq!(parts[1]["metadata"], mark, "{parts:?}");
    }
}

/// For clients that cannot send a task id.
#[tokio::test]
async fn an_answer_finds_its_task_by_the_context() {
    let yaml = "agents: {clerk: {answers: context, question_data: false, script: [{choose: [\
                {when: {turn: 1}, do: [{ask: {text: 'Which?', input: {prompt: One}}}]}]}, \
                {complete: 'You said {{text}}'}]}}";
    let server = Server::serve(yaml).await;
    let in_context = |text: &str| {
        let mut params = say(text);
        params["message"]["contextId"] = json!("thread");
        params
    };
    let asked = server
        .result("clerk", "message/send", in_context("a hat"))
        .await;
    assert_eq!(asked["status"]["state"], "input-required");
    let parts = &asked["status"]["message"]["parts"];
    assert_eq!(parts.as_array().unwrap().len(), 1, "{parts}");
    let done = server
        .result("clerk", "message/send", in_context("red"))
        .await;
    assert_eq!(done["id"], asked["id"]);
    assert_eq!(text_of(&done["status"]["message"]), "You said red");
    let next = server
        .result("clerk", "message/send", in_context("a coat"))
        .await;
    assert_ne!(next["id"], asked["id"]);
}
