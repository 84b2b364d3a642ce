//! One thing is spoiled at a time, and the check that is for it must fail.

mod answers;
mod others;

use serde_json::{Value, json};
use switchboard_testkit::Server;

use crate::conformance;
use crate::proxy::{Ask, Proxy, Reply, Spoil};

const AGENT: &str = r#"
push:
  allow: [127.0.0.1]
interfaces: [jsonrpc, http_json, grpc]
agents:
  all:
    description: Does what the checklist asks for
    reply: message
    extensions:
      - uri: urn:example:known
    script:
      - choose:
          - when: { text: '^brief' }
            do:
              - reply: Just this
          - when: { turn: 1, text: '^long' }
            do:
              - repeat:
                  times: 5
                  do:
                    - wait: 200ms
                    - say: "{{n}} of 5"
          - when: { turn: 1, text: '^ask' }
            do:
              - ask: What else?
      - chunk: { name: answer, text: "You said " }
      - chunk: { name: answer, text: "{{text}}", last: true }
      - complete: Done
"#;

/// What is spoiled, and the rule that is broken by it.
struct Case {
    id: &'static str,
    /// A part of what must be said.
    why: &'static str,
    spoil: Spoil,
}

/// An answer is spoiled.
fn answer(id: &'static str, why: &'static str, spoil: fn(&Ask, &mut Reply)) -> Case {
    let spoil = Spoil::Reply(spoil);
    Case { id, why, spoil }
}

/// A request is spoiled, so that the server seems to have misheard it.
fn asked(id: &'static str, why: &'static str, spoil: fn(&mut Ask)) -> Case {
    let spoil = Spoil::Ask(spoil);
    Case { id, why, spoil }
}

/// Runs each case against one server. The interface is one of the four.
async fn must_fail(interface: &str, cases: &[Case]) {
    let server = Server::serve(AGENT).await;
    let mut wrong = Vec::new();
    for case in cases {
        let proxy = Proxy::start(&server.base, interface, case.spoil).await;
        let args = [
            "-a",
            &proxy.base,
            "-o",
            "json",
            "--only",
            case.id,
            "--timeout",
            "4s",
            "--long-message",
            "long",
            "--ask-message",
            "ask",
        ];
        let ran = conformance(&args).await;
        let failed = ran.with("fail");
        let found = failed
            .iter()
            .find(|(id, place, _)| id == case.id && place == interface);
        match found {
            Some((_, _, why)) if why.contains(case.why) => {}
            Some((_, _, why)) => wrong.push(format!("{}: {why}", case.id)),
            None => {
                let others = ["pass", "not seen", "not offered"].map(|verdict| ran.with(verdict));
                wrong.push(format!("{} does not fail: {others:?} {}", case.id, ran.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes the task in a result, however wrapped.
fn task(reply: &mut Reply, change: impl Fn(&mut Value)) {
    for place in ["/result/task", "/result", "/task", ""] {
        if let Some(task) = reply
            .json
            .pointer_mut(place)
            .filter(|task| task.get("status").is_some())
        {
            return change(task);
        }
    }
}

/// Changes the error in an answer.
fn error(reply: &mut Reply, change: impl Fn(&mut Value)) {
    if let Some(error) = reply.json.get_mut("error") {
        change(error);
    }
}

fn remove(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
}

/// Another number for an error.
fn renumber(reply: &mut Reply, from: i64, to: i64) {
    if reply.json["error"]["code"] == from {
        reply.json["error"]["code"] = json!(to);
    }
}

/// Refuses what was taken.
fn refuse(reply: &mut Reply) {
    remove(&mut reply.json, "result");
    reply.json["error"] = json!({"code": -32602, "message": "no"});
}

/// Changes every task of a list.
fn listed(reply: &mut Reply, change: impl Fn(&mut Value)) {
    for place in ["/result/tasks", "/tasks"] {
        let list = reply.json.pointer_mut(place).and_then(Value::as_array_mut);
        list.into_iter().flatten().for_each(&change);
    }
}
