//! `config show`, and where settings come from.

use serde_json::Value;

use crate::agent::{Agent, bare, ran};

#[tokio::test]
async fn the_agent_can_come_from_the_environment_or_a_file() {
    let agent = Agent::start().await;
    let mut command = bare(&agent.dir, &["send", "hello"]);
    command.env("A2ACLI_AGENT_CARD", agent.reference());
    assert_eq!(ran(command).await.field("State"), "TASK_STATE_COMPLETED");
    let file = format!("A2ACLI_AGENT_CARD={}\n", agent.reference());
    std::fs::write(agent.dir.path().join(".env"), file).unwrap();
    let sent = ran(bare(&agent.dir, &["send", "hello"])).await;
    assert_eq!(sent.field("State"), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn show_tells_values_and_sources_but_no_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = bare(&dir, &["config", "show", "--timeout", "5s"]);
    command.env("A2ACLI_BEARER", "hush-hush");
    let shown = ran(command).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.field("timeout"), "5s (flag)");
    assert_eq!(shown.field("bearer"), "*** (environment)");
    assert_eq!(shown.field("poll-interval"), "2s (default)");
    assert!(!shown.out.contains("hush-hush"), "{}", shown.out);
    let json = ran(bare(&dir, &["config", "show", "-o", "json"])).await;
    let rows: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(rows["timeout"]["value"], "300s");
    assert_eq!(rows["timeout"]["source"], "default");
}

#[tokio::test]
async fn a_stream_is_never_switched_on_from_afar() {
    let agent = Agent::start().await;
    let mut command = agent.command(&["send", "hello", "-o", "json"]);
    command.env("A2ACLI_STREAM", "true");
    let sent = ran(command).await;
    assert_eq!(sent.out.lines().count(), 1, "{sent:?}");
}

#[tokio::test]
async fn failures_are_told_in_the_format_that_was_set_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = bare(&dir, &["send", "-a", "127.0.0.1:9", "hello"]);
    command.env("A2ACLI_OUTPUT", "json");
    let told = ran(command).await;
    assert_eq!(told.err, "");
    let error: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(error["error"]["code"], "A2ACLI_ERR_UNREACHABLE");
}
