//! Credentials of callers for a LangGraph server: nothing that was said is lost for want of them, and none serve for others.

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, eventually, say, text_of};

use crate::langgraph::pair_with;
use crate::langgraph_server::{LangGraph, id_of};

/// Ours before a server that wants the caller's own key.
pub(crate) async fn pair(old: bool) -> (LangGraph, Server) {
    let graph = LangGraph::release(old).await;
    let yaml = format!(
        "agents:\n  poet: {{langgraph: {{url: '{0}', assistant: poet}}, identity: {{forward: [x-api-key]}}}}\n  \
         muse: {{langgraph: {{url: '{0}', assistant: muse}}, identity: {{forward: [x-api-key]}}}}\n",
        graph.base
    );
    let ours = Server::serve(&yaml).await;
    graph.asks_for("right");
    (graph, ours)
}

pub(crate) async fn call(
    ours: &Server,
    agent: &str,
    key: &str,
    method: &str,
    params: Value,
) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = ours
        .http
        .post(ours.url(&format!("/a2a/{agent}")))
        .json(&body);
    let told = answer(request.header("x-api-key", key)).await;
    assert_eq!(told.body.get("error"), None);
    told.body["result"].clone()
}

pub(crate) async fn tell(ours: &Server, key: &str, text: &str, task: &Value, waits: bool) -> Value {
    let mut params = say(text);
    params["configuration"] = json!({"blocking": waits});
    if !task.is_null() {
        params["message"]["taskId"] = task.clone();
    }
    call(ours, "poet", key, "message/send", params).await
}

pub(crate) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

fn stands(graph: &LangGraph) -> Vec<String> {
    graph.runs().into_iter().map(|run| run.1).collect()
}

async fn until_they_stand(graph: &LangGraph, wanted: &[&str]) {
    eventually(&format!("runs that are {wanted:?}"), async || {
        let stands = stands(graph);
        match stands == wanted {
            true => Ok(()),
            false => Err(format!("{stands:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn what_could_not_be_sent_is_sent_with_the_credentials_that_come_later() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let asked = tell(&ours, "old", "hello", &Value::Null, true).await;
        assert_eq!(state(&asked), "auth-required", "{asked}");
        let asked = tell(&ours, "older", "try this", &asked["id"], true).await;
        assert_eq!(state(&asked), "auth-required", "{asked}");
        ours.kill().await;
        ours.restart().await;
        let done = tell(&ours, "right", "go on", &asked["id"], true).await;
        assert_eq!(text_of(&done["artifacts"][0]), "echo: hello", "{done}");
        assert_eq!(graph.runs().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_could_not_be_sent_is_sent_with_the_credentials_that_come_later() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let asked = tell(&ours, "right", "input", &Value::Null, true).await;
        assert_eq!(state(&asked), "input-required", "{asked}");
        let task = &asked["id"];
        let wanted = tell(&ours, "old", "green", task, true).await;
        assert_eq!(state(&wanted), "auth-required", "{wanted}");
        ours.kill().await;
        ours.restart().await;
        let done = tell(&ours, "right", "go on", task, true).await;
        assert_eq!(text_of(&done["artifacts"][0]), "you chose green", "{done}");
        assert_eq!(graph.runs().len(), 2);
    }
}

#[tokio::test]
async fn a_run_is_found_again_after_any_number_of_restarts_and_canceled_with_its_task() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let task = tell(&ours, "right", "long", &Value::Null, false).await["id"].clone();
        until_they_stand(&graph, &["running"]).await;
        for _ in 0..2 {
            ours.kill().await;
            ours.restart().await;
            ours.until("poet", &task, &["auth-required"]).await;
            tell(&ours, "right", "go on", &task, false).await;
            ours.until("poet", &task, &["working"]).await;
        }
        ours.kill().await;
        ours.restart().await;
        ours.until("poet", &task, &["auth-required"]).await;
        call(&ours, "poet", "right", "tasks/cancel", json!({"id": task})).await;
        until_they_stand(&graph, &["interrupted"]).await;
    }
}

#[tokio::test]
async fn what_one_caller_sees_under_a_name_is_not_what_another_gets() {
    let (graph, ours) = pair(false).await;
    for (key, name) in [("first", "one"), ("second", "two"), ("first", "one")] {
        graph.asks_for(key);
        if graph.asked().len() < 2 {
            graph.adds_for(key, name);
        }
        let done = call(&ours, "muse", key, "message/send", say("hello")).await;
        assert_eq!(text_of(&done["artifacts"][0]), "echo: hello", "{done}");
    }
    let asked = graph.asked();
    let asked: Vec<&str> = asked.iter().map(|asked| asked.0.as_str()).collect();
    let path = |name: &str| format!("/a2a/{}", id_of(name));
    assert_eq!(asked, [path("one"), path("two"), path("one")]);
}

#[tokio::test]
async fn a_run_whose_answer_is_too_long_is_stopped() {
    for old in [false, true] {
        let (graph, ours) = pair_with(old, "reconnect: 2s").await;
        let failed = ours.result("poet", "message/send", say("huge")).await;
        assert_eq!(state(&failed), "failed", "old: {old}");
        let why = text_of(&failed["status"]["message"]);
        assert_eq!(why, "the answer of the assistant is too long");
        assert_eq!(stands(&graph), ["interrupted"], "old: {old}");
    }
}
