//! `switchboard up`: works at once, says what to try, and keeps what is said out of its logs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// A running `switchboard up`; killed when dropped.
struct Up {
    process: Child,
    welcome: String,
    base: String,
    _home: tempfile::TempDir,
}

impl Up {
    fn start(args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(["up", "--listen", "0"])
            .args(args)
            .env_clear()
            .env("HOME", home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut welcome = String::new();
        while !welcome.contains("task subscribe") {
            welcome.push_str(&lines.next().unwrap().unwrap());
            welcome.push('\n');
        }
        let (_, after) = welcome.split_once("at http://").unwrap();
        let base = format!("http://{}", after.lines().next().unwrap());
        Self {
            process,
            welcome,
            base,
            _home: home,
        }
    }

    /// Ends it and gives what it logged.
    fn logs(mut self) -> String {
        self.process.kill().unwrap();
        let mut logs = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut logs).unwrap();
        logs
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test]
async fn the_lines_it_prints_lead_to_agents_that_answer() {
    let up = Up::start(&[]);
    assert!(up.welcome.lines().count() <= 12, "{}", up.welcome);
    for agent in ["echo", "research", "approver", "flaky", "desk"] {
        assert!(up.welcome.contains(agent), "{agent}");
        let url = format!("{}/a2a/{agent}/.well-known/agent-card.json", up.base);
        let card: serde_json::Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        assert_eq!(card["url"], format!("{}/a2a/{agent}", up.base));
    }
}

#[tokio::test]
async fn what_is_said_never_reaches_the_log() {
    let up = Up::start(&["--log-level", "trace"]);
    let message = serde_json::json!({"message": {
        "messageId": "1", "role": "ROLE_USER", "parts": [{"text": "the secret word is xyzzy"}],
    }});
    let answer = reqwest::Client::new()
        .post(format!("{}/a2a/echo/message:send", up.base))
        .header("A2A-Version", "1.0")
        .json(&message)
        .send()
        .await
        .unwrap();
    let answer = answer.text().await.unwrap();
    assert!(answer.contains("xyzzy"), "{answer}");
    let logs = up.logs();
    assert!(logs.contains("\"level\":\"INFO\""), "{logs}");
    assert!(!logs.contains("xyzzy"), "{logs}");
}
