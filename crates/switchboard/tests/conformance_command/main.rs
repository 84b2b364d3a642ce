//! `switchboard conformance`: it passes on ourselves, finds what is wrong with others, and says so clearly.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod mutation;
mod ourselves;
mod proxy;
mod spoiled;
mod usage;
mod wrong;

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

/// What the command did.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the command to its end.
async fn conformance(args: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .arg("conformance")
        .args(args)
        .env_remove("A2ACLI_AGENT_CARD")
        .env_remove("A2ACLI_BEARER")
        .env_remove("A2ACLI_API_KEY")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("the binary runs");
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

impl Ran {
    /// The object of `-o json`.
    fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }

    /// The rules with that verdict, each with its interface and why.
    fn with(&self, verdict: &str) -> Vec<(String, String, String)> {
        let report = self.json();
        let checks = report["checks"].as_array().expect("checks").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        checks
            .filter(|check| check["verdict"] == verdict)
            .map(|check| {
                (
                    text(&check["id"]),
                    text(&check["interface"]),
                    text(&check["why"]),
                )
            })
            .collect()
    }

    /// The numbers of the rules with that verdict, each once, in order.
    fn ids(&self, verdict: &str) -> Vec<String> {
        let mut ids: Vec<String> = self.with(verdict).into_iter().map(|(id, ..)| id).collect();
        ids.sort();
        ids.dedup();
        ids
    }
}
