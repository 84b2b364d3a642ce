//! Nobody reads standard error: a terminal that was stopped, a log collector that hangs.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::eventually;
use tokio::process::Command;

/// Each task ends with a line, and together these are more than a pipe takes.
const TASKS: usize = 1000;

#[tokio::test]
async fn tasks_go_on_while_nobody_reads_the_log() {
    let dir = tempfile::tempdir().expect("a directory");
    let yaml = "log: { level: 'info,switchboard::task=debug' }\n\
                agents: { echo: { script: [{ complete: hi }] } }\n";
    std::fs::write(dir.path().join("switchboard.yaml"), yaml).expect("a configuration");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let address = port.expect("a port").to_string();
    let mut server = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--data", "data", "--listen", &address])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    // Held and never read.
    let _unread = server.stderr.take().expect("a pipe");
    let http = reqwest::Client::new();
    let url = format!("http://{address}/readyz");
    eventually("the server listens", async || {
        http.get(&url).send().await.is_ok()
    })
    .await;
    for number in 0..TASKS {
        let message = json!({
            "messageId": format!("m{number}"), "role": "ROLE_USER", "parts": [{ "text": "hello" }]
        });
        let sent = http
            .post(format!("http://{address}/a2a/echo/message:send"))
            .header("A2A-Version", "1.0")
            .timeout(Duration::from_secs(20))
            .json(&json!({ "message": message }))
            .send();
        let sent = sent.await.expect("an answer, though the log is not read");
        let answer: Value = sent.json().await.expect("JSON");
        let state = &answer["task"]["status"]["state"];
        assert_eq!(state, "TASK_STATE_COMPLETED", "{answer}");
    }
    server.kill().await.expect("it was running");
}
