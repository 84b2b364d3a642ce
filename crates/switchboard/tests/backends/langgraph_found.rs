//! All assistants of a LangGraph server as agents.

use std::time::Duration;

use serde_json::{Value, json};

use crate::langgraph_server::LangGraph;
use crate::support::{Server, say, text_of};

async fn both() -> (LangGraph, Server) {
    let graph = LangGraph::start().await;
    graph.adds("poet", "The Critic!");
    let yaml = format!(
        "agents: {{lg: {{langgraph: {{url: '{}', discover: true, refresh: 300ms}}}}}}",
        graph.base
    );
    (graph, Server::serve(&yaml).await)
}

async fn agents(ours: &Server) -> Vec<String> {
    let listed = ours.get("/agents").await.body;
    let listed = listed["agents"]
        .as_array()
        .unwrap_or_else(|| panic!("{listed}"))
        .clone();
    let mut names: Vec<String> = listed
        .iter()
        .map(|agent| {
            agent["name"]
                .as_str()
                .or_else(|| agent["id"].as_str())
                .unwrap()
                .to_owned()
        })
        .collect();
    names.sort();
    names
}

async fn until(ours: &Server, wanted: &[&str]) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while agents(ours).await != wanted {
        assert!(
            tokio::time::Instant::now() < deadline,
            "{:?}",
            agents(ours).await
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn answer(ours: &Server, agent: &str) -> String {
    let done: Value = ours.result(agent, "message/send", say("hello")).await;
    text_of(&done["artifacts"][0])
}

#[tokio::test]
async fn every_assistant_is_an_agent_and_they_come_and_go() {
    let (graph, ours) = both().await;
    until(&ours, &["lg-poet", "lg-the-critic"]).await;
    assert_eq!(answer(&ours, "lg-the-critic").await, "echo: hello");
    assert_eq!(
        graph.asked()[0].0,
        format!("/a2a/{}", crate::langgraph_server::id_of("The Critic!"))
    );
    let card = ours
        .get("/a2a/lg-the-critic/.well-known/agent-card.json")
        .await;
    assert_eq!(card.body["name"], "The Critic!");
    graph.adds("poet", "late");
    until(&ours, &["lg-late", "lg-poet", "lg-the-critic"]).await;
    assert_eq!(answer(&ours, "lg-late").await, "echo: hello");
    graph.removes("The Critic!");
    until(&ours, &["lg-late", "lg-poet"]).await;
    let gone = ours
        .rpc("lg-the-critic", "message/send", say("hello"))
        .await;
    assert!(
        gone.body["error"].is_object() || gone.status == 404,
        "{gone:?}"
    );
    graph.adds("poet", "The Critic!");
    until(&ours, &["lg-late", "lg-poet", "lg-the-critic"]).await;
    assert_eq!(answer(&ours, "lg-the-critic").await, "echo: hello");
}

#[tokio::test]
async fn tasks_of_agents_that_were_found_go_on_after_a_crash() {
    let (graph, mut ours) = both().await;
    let send = json!({"message": say("late")["message"], "configuration": {"blocking": false}});
    let task = ours.result("lg-poet", "message/send", send).await["id"].clone();
    while graph.runs().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    ours.kill().await;
    ours.restart().await;
    let done = ours.until("lg-poet", &task, &["completed", "failed"]).await;
    assert_eq!(text_of(&done["artifacts"][0]), "late, but here", "{done}");
    assert_eq!(graph.runs().len(), 1);
}

#[tokio::test]
async fn the_first_that_is_found_stands_at_the_root() {
    let (_graph, ours) = both().await;
    let card = ours.get("/.well-known/agent-card.json").await;
    assert_eq!(card.body["name"], "poet", "{card:?}");
}
