//! `switchboard wrap`: one agent in one line, with the real binary.

use serde_json::json;
use switchboard_testkit::model::Model;
use switchboard_testkit::{Server, say, text_of};

use crate::exec::output;
use crate::langgraph_found::until;
use crate::langgraph_server::LangGraph;
use crate::openai::{answer, soon};
use crate::remote::UPSTREAM;

async fn wrap(args: &[&str], variables: &[(&str, &str)]) -> Server {
    let args = [&["wrap"], args].concat();
    Server::start_with(&args, "", &[], variables).await
}

/// The value of a line that it printed.
fn line(server: &Server, label: &str) -> String {
    let said = server.said();
    let found = said
        .lines()
        .find_map(|line| line.trim().strip_prefix(label));
    found.unwrap_or_else(|| panic!("{said}")).trim().to_owned()
}

#[tokio::test]
async fn a_command_is_an_agent_in_one_line_and_what_is_printed_works() {
    let ours = wrap(
        &["--name", "shout", "--exec", "--", "tr", "a-z", "A-Z"],
        &[],
    )
    .await;
    let card: serde_json::Value = reqwest::get(line(&ours, "curl -s"))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(card["url"], ours.url("/a2a/shout"));
    // The line to try is run as it stands.
    let tried = line(&ours, "try").replacen("switchboard", env!("CARGO_BIN_EXE_switchboard"), 1);
    let tried = tokio::process::Command::new("sh")
        .args(["-c", &tried])
        .output();
    let tried = soon(tried).await.unwrap();
    let text = String::from_utf8(tried.stdout).unwrap();
    assert!(
        text.contains("HELLO THERE") && text.contains("TASK_STATE_COMPLETED"),
        "{text}"
    );
}

#[tokio::test]
async fn a_model_is_an_agent_in_one_line_and_its_tasks_survive_a_crash() {
    let model = Model::saying(&["fine"]).await;
    let args = [
        "--openai",
        &model.url,
        "--model",
        "m",
        "--key-env",
        "KEY",
        "--system",
        "Say ${KEY}.",
    ];
    let variables = [
        ("KEY", "s3cr3t"),
        ("SWITCHBOARD_AGENTS__AGENT__OPENAI__TEMPERATURE", "0.2"),
    ];
    let mut ours = wrap(&args, &variables).await;
    let task = ours
        .result("agent", "message/send", say("how are you?"))
        .await;
    assert_eq!(answer(&task), "fine");
    let asked = &model.asked()[0];
    assert_eq!(asked.header("authorization"), Some("Bearer s3cr3t"));
    assert_eq!(asked.messages()[0]["content"], "Say ${KEY}.");
    assert_eq!(asked.body["temperature"], 0.2);
    ours.kill().await;
    ours.restart().await;
    let kept = ours
        .result("agent", "tasks/get", json!({"id": task["id"]}))
        .await;
    assert_eq!(answer(&kept), "fine");
    assert!(!ours.said().contains("s3cr3t") && !ours.logged().contains("s3cr3t"));
}

#[tokio::test]
async fn an_agent_elsewhere_is_ours_in_one_line() {
    let upstream = Server::serve(UPSTREAM).await;
    let ours = wrap(&["--a2a", &upstream.url("/a2a/writer")], &[]).await;
    let task = ours.result("agent", "message/send", say("one two")).await;
    assert_eq!(output(&task), "one two");
    assert_eq!(text_of(&task["status"]["message"]), "done");
    let card = ours
        .get("/a2a/agent/.well-known/agent-card.json")
        .await
        .body;
    assert_eq!(card["skills"][0]["id"], "write");
}

#[tokio::test]
async fn an_assistant_is_an_agent_in_one_line() {
    let graph = LangGraph::start().await;
    let ours = wrap(&["--langgraph", &graph.base, "--assistant", "poet"], &[]).await;
    let task = ours.result("agent", "message/send", say("hello")).await;
    assert_eq!(text_of(&task["artifacts"][0]), "echo: hello");
}

#[tokio::test]
async fn all_assistants_of_a_server_are_agents_in_one_line_and_they_come_and_go() {
    let graph = LangGraph::start().await;
    let often = [("SWITCHBOARD_AGENTS__AGENT__LANGGRAPH__REFRESH", "300ms")];
    let ours = wrap(&["--langgraph", &graph.base], &often).await;
    until(&ours, &["agent-poet"]).await;
    let card: serde_json::Value = reqwest::get(line(&ours, "curl -s"))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(card["name"], "poet");
    let root = ours.get("/.well-known/agent-card.json").await;
    assert_eq!(root.body["name"], "poet", "the first is at the root");
    graph.adds("poet", "late");
    until(&ours, &["agent-late", "agent-poet"]).await;
    let task = ours
        .result("agent-late", "message/send", say("hello"))
        .await;
    assert_eq!(text_of(&task["artifacts"][0]), "echo: hello");
    graph.removes("poet");
    until(&ours, &["agent-late"]).await;
}

#[tokio::test]
async fn wrong_usage_and_wrong_values_end_with_2_and_say_what_to_do() {
    let cases: [(&[&str], &str); 3] = [
        (
            &["wrap"],
            "<--openai <URL>|--a2a <URL>|--langgraph <URL>|--openclaw <URL>|--exec>",
        ),
        (&["wrap", "--openai", "http://a/v1"], "--model <MODEL>"),
        (
            &["wrap", "--memory", "--openai", "ollama", "--model", "m"],
            "--openai: agents.agent.openai.url: is not a URL\n  hint: write the base URL before",
        ),
    ];
    for (args, wanted) in cases {
        let program = env!("CARGO_BIN_EXE_switchboard");
        let ended = tokio::process::Command::new(program).args(args).output();
        let ended = soon(ended).await.unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}

#[tokio::test]
async fn an_agent_of_an_openclaw_gateway_is_wrapped_by_its_address_and_token() {
    let claw = switchboard_testkit::openclaw::Claw::start().await;
    let url = claw.url();
    let args = ["--openclaw", &url, "--token-env", "CLAW", "--name", "bot"];
    let ours = wrap(&args, &[("CLAW", switchboard_testkit::openclaw::TOKEN)]).await;
    crate::openclaw::greet(&ours).await;
}
