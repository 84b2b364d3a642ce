//! Files of agents that speak 0.3 over HTTP+JSON, in both forms: what we send is read at the remote agent in 1.0, which
//! has one form only.

use serde_json::{Value, json};
use switchboard_testkit::{Server, text_of};

use crate::remote::tasks;

/// Every kind: any bytes, base64 text by chance, nothing.
const FILES: [&str; 3] = ["AAH+/w==", "ZGVhZGJlZWY=", ""];

async fn pair() -> (Server, Server) {
    let copier =
        "input_modes: ['*/*'], script: [{artifact: {name: it, parts: [{copy: attachments}]}}]";
    let upstream =
        format!("agents:\n  copier: {{{copier}}}\n  strict: {{{copier}, file_bytes: raw}}\n");
    let upstream = Server::serve(&upstream).await;
    let mut ours = "agents:\n".to_owned();
    for (name, agent, more) in [
        ("usual", "copier", ""),
        ("strict", "strict", ", file_bytes: raw"),
        ("mistaken", "copier", ", file_bytes: raw"),
    ] {
        let url = format!("{}/a2a/{agent}", upstream.base);
        ours +=
            &format!("  {name}: {{a2a: {{url: '{url}', binding: rest, version: '0.3'{more}}}}}\n");
    }
    let ours = Server::serve(&ours).await;
    (upstream, ours)
}

async fn send(ours: &Server, agent: &str) -> Value {
    let files = FILES.map(|raw| json!({"raw": raw}));
    let message = json!({"messageId": agent, "role": "ROLE_USER", "parts": files});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let mut answer = ours.post_v1(&format!("/a2a/{agent}"), &call).await.body;
    answer["result"]["task"].take()
}

fn raw(task: &Value) -> Vec<&str> {
    let parts = task["artifacts"][0]["parts"].as_array().unwrap().iter();
    parts.map(|part| part["raw"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn files_reach_remote_agents_of_0_3_and_come_back_in_the_form_that_is_configured() {
    let (upstream, ours) = pair().await;
    for (agent, there) in [("usual", "copier"), ("strict", "strict")] {
        let task = send(&ours, agent).await;
        assert_eq!(raw(&task), FILES, "{agent}: back");
        assert_eq!(
            raw(&tasks(&upstream, there).await[0]),
            FILES,
            "{agent}: there"
        );
    }
}

#[tokio::test]
async fn a_remote_agent_with_another_form_fails_the_task_and_the_setting_is_named() {
    let (upstream, ours) = pair().await;
    let task = send(&ours, "mistaken").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    let said = text_of(&task["status"]["message"]);
    assert!(said.contains("`file_bytes: raw`"), "{said}");
    assert!(tasks(&upstream, "copier").await.is_empty());
}
