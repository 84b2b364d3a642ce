//! `switchboard conformance` tells the truth about servers of other projects: the rules that each breaks are in
//! `conformance/peers/rules.toml`, each with its reason, and no others.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::agent::Agent;
use crate::conformance;
use crate::environment::{Environment, directory};

async fn check(agent: &Agent, card: &str) {
    let ran = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["conformance", "-a", card, "-o", "json"])
        .args(["--long-message", "slow", "--ask-message", "input"])
        .env_remove("A2ACLI_AGENT_CARD")
        .env_remove("A2ACLI_BEARER")
        .env_remove("A2ACLI_API_KEY")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout).expect(&said);
    let folder = directory().join("rules");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("{}.json", agent.peer.replace(' ', "_")));
    std::fs::write(file, report.to_string()).expect("a file");
    let compared = Command::new("python3")
        .arg(conformance().join("peers/rules"))
        .args(["--peer", &agent.peer])
        .env("PEERS_DIR", directory())
        .stdin(Stdio::null())
        .output()
        .await
        .expect("python3");
    let said = String::from_utf8_lossy(&compared.stdout).into_owned();
    let failed = String::from_utf8_lossy(&compared.stderr);
    assert!(compared.status.success(), "{said}{failed}");
}

#[tokio::test]
async fn the_rules_that_python_0_3_26_breaks() {
    let agent = Agent::start(Environment::Python03).await;
    check(&agent, &agent.url).await;
}

#[tokio::test]
async fn the_rules_that_python_1_3_0_breaks() {
    let agent = Agent::start(Environment::Python10).await;
    check(&agent, &agent.url).await;
}

#[tokio::test]
async fn the_rules_that_js_1_3_0_breaks() {
    let agent = Agent::start(Environment::Js).await;
    check(&agent, &agent.url).await;
}

#[tokio::test]
async fn the_rules_that_langgraph_0_16_7_breaks() {
    let agent = Agent::langgraph(Environment::LangGraph).await;
    check(&agent, &agent.url).await;
}

/// Its card is found by the id of the agent only.
#[tokio::test]
async fn the_rules_that_langgraph_0_6_39_breaks() {
    let agent = Agent::langgraph(Environment::LangGraph06).await;
    let (base, id) = agent.url.split_once("/a2a/").expect("an id");
    let card = format!("{base}/.well-known/agent-card.json?assistant_id={id}");
    check(&agent, &card).await;
}
