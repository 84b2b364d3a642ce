//! What a rule has decided about a task stays so: after a restart, with other rules, and for what is said later.

use serde_json::{Value, json};
use switchboard_testkit::{Answer, Server, answer, eventually, message, say, text_of};

use crate::rules::{made, tasks};

/// Room for one turn, which `slow` takes; a rule that looks at what the caller may do.
const BUSY: &str = "
limits: { tasks: 1, queue: { length: 5 } }
auth:
  methods:
    users: { basic: { users: { ann: { password: '${PASSWORD}', scopes: [vip] }, bob: { password: '${PASSWORD}' } } } }
  require: [users]
agents:
  desk:
    script: [{ artifact: { name: answer, text: the desk } }]
    routes: [{ name: vip, when: '\"vip\" in caller.scopes', answer: the best }]
  slow: { script: [{ say: begun }, { wait: 700ms }, { complete: done }] }
";

async fn call(server: &Server, who: &str, agent: &str, method: &str, params: Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = server.http.post(server.url(&format!("/a2a/{agent}")));
    answer(request.basic_auth(who, Some("a-secret")).json(&body)).await
}

fn at_once(text: &str) -> Value {
    json!({"message": message(text), "configuration": {"blocking": false}})
}

/// The task once it is over.
async fn over(server: &Server, who: &str, agent: &str, task: &Value) -> Value {
    eventually("the end of the task", async || {
        let told = call(server, who, agent, "tasks/get", json!({"id": task["id"]})).await;
        let task = &told.body["result"];
        let state = task["status"]["state"].as_str().unwrap_or_default();
        match ["completed", "failed", "canceled"].contains(&state) {
            true => Ok(task.clone()),
            false => Err(told.body),
        }
    })
    .await
}

/// Takes all the room there is.
async fn fill(server: &Server) {
    let slow = call(server, "ann", "slow", "message/send", at_once("go")).await;
    assert!(slow.body["result"]["id"].is_string(), "{}", slow.body);
}

#[tokio::test]
async fn what_a_caller_may_do_counts_also_for_a_task_that_stood_in_line_at_a_crash() {
    let mut server = Server::serve_with(BUSY, &[], &[("PASSWORD", "a-secret")]).await;
    fill(&server).await;
    let mut sent = Vec::new();
    for (who, expected) in [("ann", "the best"), ("bob", "the desk")] {
        let task = call(&server, who, "desk", "message/send", at_once("go")).await;
        let task = task.body["result"].clone();
        assert_eq!(task["status"]["state"], "submitted", "{task}");
        sent.push((who, task, expected));
    }
    server.kill().await;
    server.restart().await;
    for (who, task, expected) in sent {
        let done = over(&server, who, "desk", &task).await;
        assert_eq!(made(&done), expected, "{who}: {done}");
    }
}

#[tokio::test]
async fn a_second_message_before_a_task_has_begun_changes_nobody_s_mind() {
    let server = Server::serve_with(BUSY, &[], &[("PASSWORD", "a-secret")]).await;
    fill(&server).await;
    let task = call(&server, "ann", "desk", "message/send", at_once("go")).await;
    let task = task.body["result"].clone();
    let mut more = at_once("and more");
    more["message"]["taskId"] = task["id"].clone();
    let refused = call(&server, "ann", "desk", "message/send", more.clone()).await;
    assert_eq!(refused.body["error"]["code"], -32004, "{}", refused.body);
    // Whoever waits is refused when the task is over.
    more["configuration"] = json!({"blocking": true});
    let refused = call(&server, "ann", "desk", "message/send", more).await;
    assert_eq!(refused.body["error"]["code"], -32004, "{}", refused.body);
    let done = over(&server, "ann", "desk", &task).await;
    assert_eq!(made(&done), "the best", "{done}");
}

#[tokio::test]
async fn a_task_that_was_the_agent_s_own_stays_so_when_rules_come() {
    let own = "
limits: { tasks: 1, queue: { length: 5 } }
agents:
  desk: { script: [{ artifact: { name: answer, text: the desk } }] ROUTES }
  slow: { script: [{ say: begun }, { wait: 700ms }, { complete: done }] }
";
    let mut server = Server::serve(&own.replace(" ROUTES", "")).await;
    server.result("slow", "message/send", at_once("go")).await;
    let task = server.result("desk", "message/send", at_once("go")).await;
    assert_eq!(task["status"]["state"], "submitted", "{task}");
    server.kill().await;
    let ruled = own.replace(" ROUTES", ", routes: [{ answer: a rule }]");
    std::fs::write(server.configuration(), ruled).unwrap();
    server.restart().await;
    let done = server.until("desk", &task["id"], &["completed"]).await;
    assert_eq!(made(&done), "the desk", "{done}");
    let next = server.result("desk", "message/send", say("go")).await;
    assert_eq!(made(&next), "a rule", "{next}");
}

#[tokio::test]
async fn a_call_is_the_same_after_a_restart_under_another_name_on_the_way() {
    let line = "
agents:
  a: { visible: SEEN, script: [{ call: { agent: slow } }, { complete: 'a: {{call.slow.text}}' }] }
  slow: { script: [{ say: begun }, { wait: 400ms }, { complete: done }] }
";
    let mut server = Server::serve(&line.replace("SEEN", "true")).await;
    let mut events = server.stream("a", "message/stream", say("go")).await;
    let first = events.next().await.unwrap().data["result"].clone();
    loop {
        let event = events.next().await.unwrap();
        if text_of(&event.data["result"]["status"]["message"]).contains("begun") {
            break;
        }
    }
    server.kill().await;
    std::fs::write(server.configuration(), line.replace("SEEN", "false")).unwrap();
    server.restart().await;
    let ended = ["completed", "failed"];
    let done = server.until("a", &first["id"], &ended).await;
    assert_eq!(text_of(&done["status"]["message"]), "a: done", "{done}");
    assert_eq!(tasks(&server, "slow").await.len(), 1);
}

#[tokio::test]
async fn an_agent_that_is_hidden_from_now_on_is_not_named_any_more() {
    let desk = "
agents:
  desk: { script: [{ complete: own }], routes: [{ to: back }] }
  back: { visible: SEEN, script: [{ say: hello }, { complete: done }] }
";
    let server = Server::serve(&desk.replace("SEEN", "true")).await;
    let told = async || {
        let events = server.stream("desk", "message/stream", say("go")).await;
        Value::from(events.results().await).to_string()
    };
    assert!(told().await.contains("passed to back"));
    std::fs::write(server.configuration(), desk.replace("SEEN", "false")).unwrap();
    let told = eventually("a hidden name", async || {
        let told = told().await;
        match told.contains("passed to #1") {
            true => Ok(told),
            false => Err(told),
        }
    });
    let told = told.await;
    assert!(!told.contains("back"), "{told}");
}

#[tokio::test]
async fn what_would_have_answered_in_a_word_is_canceled_with_whoever_asked() {
    let server = Server::serve(
        "
agents:
  desk: { script: [{ complete: own }], routes: [{ to: curt }] }
  curt: { reply: message, script: [{ wait: 60s }, { reply: no }] }
",
    )
    .await;
    let task = server.result("desk", "message/send", at_once("go")).await;
    eventually("a delegated task", async || {
        !tasks(&server, "curt").await.is_empty()
    })
    .await;
    let id = json!({"id": task["id"]});
    server.result("desk", "tasks/cancel", id).await;
    let child = &tasks(&server, "curt").await[0]["id"];
    server.until("curt", child, &["canceled"]).await;
}
