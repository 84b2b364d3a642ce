//! All assistants of a LangGraph server as agents.

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say, text_of};

use crate::langgraph_server::LangGraph;

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

pub(crate) async fn until(ours: &Server, wanted: &[&str]) {
    eventually(&format!("the agents {wanted:?}"), async || {
        let agents = agents(ours).await;
        match agents == wanted {
            true => Ok(()),
            false => Err(format!("{agents:?}")),
        }
    })
    .await;
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

/// Saves the configuration as editors do: a new file takes the place of the old one.
fn save(ours: &Server, yaml: &str) {
    let path = ours.configuration();
    let new = path.with_extension("new");
    std::fs::write(&new, yaml).unwrap();
    std::fs::rename(&new, &path).unwrap();
}

#[tokio::test]
async fn what_is_written_of_all_changes_while_they_are_called() {
    let (graph, ours) = both().await;
    until(&ours, &["lg-poet", "lg-the-critic"]).await;
    let waits = ours.result("lg-poet", "message/send", say("input")).await;
    assert_eq!(waits["status"]["state"], "input-required", "{waits}");
    let entry = |name: &str, base: &str| {
        format!(
            "{name}: {{langgraph: {{url: '{base}', discover: true, refresh: 300ms}}, description: Anew}}"
        )
    };
    let fixed = "fixed: {script: [{complete: here}]}";
    save(
        &ours,
        &format!("agents: {{{fixed}, {}}}", entry("lg", &graph.base)),
    );
    until(&ours, &["fixed", "lg-poet", "lg-the-critic"]).await;
    let card = ours.get("/a2a/lg-poet/.well-known/agent-card.json").await;
    assert_eq!(card.body["description"], "Anew");
    // A task that was begun before goes on.
    let mut reply = say("yes");
    reply["message"]["taskId"] = waits["id"].clone();
    let done = ours.result("lg-poet", "message/send", reply).await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    // They are still looked for.
    graph.adds("poet", "late");
    until(&ours, &["fixed", "lg-late", "lg-poet", "lg-the-critic"]).await;
    // Another server, by another name.
    let other = LangGraph::start().await;
    save(
        &ours,
        &format!("agents: {{{fixed}, {}}}", entry("more", &other.base)),
    );
    until(&ours, &["fixed", "more-poet"]).await;
    assert_eq!(answer(&ours, "more-poet").await, "echo: hello");
    assert_eq!(other.asked().len(), 1);
    save(&ours, &format!("agents: {{{fixed}}}"));
    until(&ours, &["fixed"]).await;
    let task = ours.result("fixed", "message/send", say("x")).await;
    assert_eq!(text_of(&task["status"]["message"]), "here");
}

#[tokio::test]
async fn while_the_server_is_away_those_that_were_found_before_are_there() {
    let (graph, mut ours) = both().await;
    until(&ours, &["lg-poet", "lg-the-critic"]).await;
    ours.kill().await;
    let address = graph.base.trim_start_matches("http://").to_owned();
    drop(graph);
    ours.restart().await;
    assert_eq!(agents(&ours).await, ["lg-poet", "lg-the-critic"]);
    let send = json!({"message": say("hello")["message"], "configuration": {"blocking": false}});
    let away = ours.result("lg-poet", "message/send", send).await["id"].clone();
    let text = "is unreachable, retrying";
    ours.until_says("lg-poet", &away, text).await;
    // It comes back, and has one less.
    let _graph = LangGraph::at(&address, false).await;
    until(&ours, &["lg-poet"]).await;
    let done = ours.until("lg-poet", &away, &["completed", "failed"]).await;
    assert_eq!(text_of(&done["artifacts"][0]), "echo: hello", "{done}");
}

#[tokio::test]
async fn tasks_of_agents_that_were_found_go_on_after_a_crash() {
    let (graph, mut ours) = both().await;
    let send = json!({"message": say("late")["message"], "configuration": {"blocking": false}});
    let task = ours.result("lg-poet", "message/send", send).await["id"].clone();
    eventually("a run", async || !graph.runs().is_empty()).await;
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
