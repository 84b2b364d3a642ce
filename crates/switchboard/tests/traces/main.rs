//! Traces and numbers: what operators see of what the server does, with the real binary.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod admin;
mod context;
mod metrics;
mod otlp;
mod two;
mod view;

use switchboard_testkit::{admin, look, token};

/// As a caller sends it.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn traceparent() -> String {
    format!("00-{TRACE}-{SPAN}-01")
}

/// Two agents of which one asks the other, one that takes its time, and one that fails.
const AGENTS: &str = "
interfaces: [jsonrpc, http_json, grpc]
push:
  allow: ['127.0.0.1']
agents:
  desk: { script: [{ say: 'one moment' }, { call: { agent: poet } }, { complete: '{{call.poet.text}}' }] }
  poet: { script: [{ artifact: { name: poem, text: 'roses' } }, { complete: 'done' }] }
  slow: { script: [{ say: 'before' }, { wait: 1500ms }, { say: 'after' }, { complete: 'done' }] }
  broken: { script: [{ call: { agent: failing } }, { complete: 'never' }] }
  failing: { script: [{ fail: 'no ink' }] }
";
