//! Traces and numbers: what operators see of what the server does, with the real binary.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod admin;
mod collector;
mod context;
mod hook;
mod metrics;
mod otlp;
#[path = "../support/mod.rs"]
mod support;
mod view;

use serde_json::Value;
use support::Server;

/// As a caller sends it.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn traceparent() -> String {
    format!("00-{TRACE}-{SPAN}-01")
}

/// Two agents of which one asks the other, one that takes its time, and one that fails.
const AGENTS: &str = "
push:
  allow: ['127.0.0.1']
agents:
  desk: { script: [{ say: 'one moment' }, { call: { agent: poet } }, { complete: '{{call.poet.text}}' }] }
  poet: { script: [{ artifact: { name: poem, text: 'roses' } }, { complete: 'done' }] }
  slow: { script: [{ say: 'before' }, { wait: 1500ms }, { say: 'after' }, { complete: 'done' }] }
  broken: { script: [{ call: { agent: failing } }, { complete: 'never' }] }
  failing: { script: [{ fail: 'no ink' }] }
";

/// Where operators look.
fn admin(server: &Server) -> String {
    let line = server.logged();
    let address = line.lines().find_map(|line| {
        let record: Value = serde_json::from_str(line).ok()?;
        let looks = record["message"] == "operators can look";
        looks.then(|| record["address"].as_str().map(str::to_owned))?
    });
    format!("http://{}", address.expect("an address"))
}

fn token(server: &Server) -> String {
    let token = std::fs::read_to_string(server.data().join("admin.token")).expect("a token");
    token.trim().to_owned()
}

/// What is told at an address for operators.
async fn look(server: &Server, path: &str) -> support::Answer {
    let request = server.http.get(format!("{}{path}", admin(server)));
    support::answer(request.bearer_auth(token(server))).await
}
