//! A server whose configuration is written anew, and ways to wait for what comes of it.

use std::fs;

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say, text_of};
use tokio::process::Command;

/// Saves the configuration as editors do: a new file takes the place of the old one.
pub(crate) fn save(server: &Server, yaml: &str) {
    save_beside(server, "switchboard.yaml", yaml);
}

/// The same with another file in its directory.
pub(crate) fn save_beside(server: &Server, name: &str, text: &str) {
    let path = server.configuration().with_file_name(name);
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, &path).unwrap();
}

/// An agent that has one thing to say.
pub(crate) fn one(name: &str, says: &str) -> String {
    format!("agents: {{ {name}: {{ script: [{{ complete: '{says}' }}] }} }}\n")
}

pub(crate) async fn hang_up(server: &Server) {
    let pid = server.pid().to_string();
    let sent = Command::new("kill").args(["-HUP", &pid]).status().await;
    assert!(sent.unwrap().success());
}

/// The text that a task ends with.
pub(crate) fn said(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

/// What an agent answers.
pub(crate) async fn asked(server: &Server, agent: &str) -> String {
    said(&server.result(agent, "message/send", say("hello")).await)
}

/// Begins a task and does not wait for its end.
pub(crate) async fn begin(server: &Server, agent: &str) -> Value {
    let params = json!({"message": say("begin")["message"], "configuration": {"blocking": false}});
    server.result(agent, "message/send", params).await["id"].clone()
}

/// Waits until an agent answers so.
pub(crate) async fn until_says(server: &Server, agent: &str, text: &str) {
    eventually(text, async || {
        let answer = server.rpc(agent, "message/send", say("hello")).await;
        said(&answer.body["result"]) == text
    })
    .await;
}

/// Waits until this was logged so often.
pub(crate) async fn until_logged(server: &Server, text: &str, times: usize) {
    eventually(text, async || logged(server, text) >= times).await;
}

/// How often something was logged.
pub(crate) fn logged(server: &Server, text: &str) -> usize {
    server.logged().matches(text).count()
}

/// The last record of the log with that message.
pub(crate) fn record(server: &Server, message: &str) -> Value {
    let log = server.logged();
    let mut records = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let of_it = |record: &Value| record["message"] == message;
    records.rfind(of_it).unwrap_or_default()
}
