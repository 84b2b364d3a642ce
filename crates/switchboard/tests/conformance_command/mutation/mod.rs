//! A mutation suite: a small agent that is right, then wrong in one thing at a time. Every fault must be found by the
//! rule that is for it, with a hint that names it; and nothing may be found where nothing is wrong.

mod access;
mod agent;
mod card;
mod cards;
mod envelopes;
mod errors;
mod fault;
mod lists;
mod older;
mod operation;
mod push;
mod refusal;
mod right;
mod sends;
mod serve;
mod shapes;
mod stream;
mod streams;
mod webhooks;

use futures_util::StreamExt;
use futures_util::stream::iter;
use serde_json::{Value, json};

pub(crate) use self::agent::Traits;
use self::fault::Fault;
pub(crate) use self::fault::Mutation;
pub(crate) use self::serve::serve;
use self::serve::{Call, Reply};
use crate::conformance;

const RPC: &str = "JSONRPC 1.0";
const REST: &str = "HTTP+JSON 1.0";
const RPC_0_3: &str = "JSONRPC 0.3";
const REST_0_3: &str = "HTTP+JSON 0.3";

/// How many agents are checked at once.
const CONCURRENCY: usize = 4;

/// Where a fault is found: over which interface, by which rule, with which words in the finding and in its hint.
type Finding = (&'static str, &'static str, &'static str, &'static str);

/// A fault, and where it is found.
struct Case {
    mutation: Mutation,
    traits: fn(&mut Traits),
    args: &'static [&'static str],
    findings: &'static [Finding],
}

impl Case {
    fn new(mutation: Mutation, findings: &'static [Finding]) -> Self {
        Self {
            mutation,
            traits: |_| {},
            args: &[],
            findings,
        }
    }

    /// With an agent that offers something else.
    fn offering(self, traits: fn(&mut Traits)) -> Self {
        Self { traits, ..self }
    }

    fn args(self, args: &'static [&'static str]) -> Self {
        Self { args, ..self }
    }
}

fn fault(fault: Fault, findings: &'static [Finding]) -> Case {
    Case::new(Mutation::Fault(fault), findings)
}

fn reply(edit: fn(&Call, &mut Reply), findings: &'static [Finding]) -> Case {
    Case::new(Mutation::Reply(edit), findings)
}

fn event(edit: fn(usize, &mut Value), findings: &'static [Finding]) -> Case {
    Case::new(Mutation::Event(edit), findings)
}

fn misread(edit: fn(&mut Call), findings: &'static [Finding]) -> Case {
    Case::new(Mutation::Call(edit), findings)
}

fn in_card(edit: fn(&mut Value), findings: &'static [Finding]) -> Case {
    Case::new(Mutation::Card(edit), findings)
}

/// Checks an agent for each finding of each case.
async fn must_be_found(cases: Vec<Case>) {
    let all = cases.iter().enumerate();
    let runs = all.flat_map(|(number, case)| {
        let findings = case.findings.iter();
        findings.map(move |finding| check(number, case, *finding))
    });
    let wrong: Vec<Option<String>> = iter(runs).buffer_unordered(CONCURRENCY).collect().await;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the report, if anything is.
async fn check(number: usize, case: &Case, finding: Finding) -> Option<String> {
    let (interface, rule, why, hint) = finding;
    let mut traits = Traits::at(interface);
    (case.traits)(&mut traits);
    let agent = serve(traits, case.mutation).await;
    let mut args = vec![
        "-a",
        &agent.base,
        "-o",
        "json",
        "--only",
        rule,
        "--timeout",
        "3s",
    ];
    args.extend_from_slice(&["--long-message", "long", "--ask-message", "ask"]);
    args.extend_from_slice(case.args);
    let ran = conformance(&args).await;
    let about = format!("case {number} ({:?}) at {interface}: {rule}", case.mutation);
    let report = ran.json();
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let failed = checks.iter().find(|check| {
        let place = check["interface"].as_str();
        let here = [Some(interface), Some("card")].contains(&place);
        check["id"] == rule && check["verdict"] == "fail" && here
    });
    let Some(failed) = failed else {
        let rows: Vec<String> = checks
            .iter()
            .map(|check| {
                format!(
                    "{} {} {}",
                    check["interface"], check["verdict"], check["why"]
                )
            })
            .collect();
        return Some(format!(
            "{about} does not fail: {} {}",
            rows.join(", "),
            ran.err
        ));
    };
    let said = |name: &str| failed[name].as_str().unwrap_or_default().to_owned();
    if !said("why").contains(why) {
        return Some(format!("{about} says {:?}, not {why:?}", said("why")));
    }
    if !said("hint").contains(hint) {
        return Some(format!("{about} hints {:?}, not {hint:?}", said("hint")));
    }
    None
}

/// Changes the task in a result, however it is wrapped.
fn task(reply: &mut Reply, change: impl Fn(&mut Value)) {
    for place in ["/result/task", "/result", "/task", ""] {
        let found = reply.json.pointer_mut(place);
        if let Some(task) = found.filter(|task| task.get("status").is_some()) {
            return change(task);
        }
    }
}

fn remove(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
}

/// Another number for an error of JSON-RPC.
fn renumber(reply: &mut Reply, from: i64, to: i64) {
    if reply.json["error"]["code"] == from {
        reply.json["error"]["code"] = json!(to);
    }
}

/// Refuses what was taken.
fn refuse(reply: &mut Reply, code: i64) {
    remove(&mut reply.json, "result");
    reply.json["error"] = json!({"code": code, "message": "no"});
}
