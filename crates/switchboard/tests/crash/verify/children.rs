//! Every task has a reason: a client asked for it, or another task did, once per call.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Tasks, expected};
use crate::wire;
use crate::world::{Fault, Promise};

/// Compares the tasks that are there with those that were asked for.
pub(super) fn check(promises: &[Promise], tasks: &Tasks) -> Vec<Fault> {
    let promised: HashSet<&str> = promises.iter().map(|p| p.task.as_str()).collect();
    let mut faults = Vec::new();
    // By the message they began with, which names the parent, the turn and the call.
    let mut children: HashMap<&str, (&str, &Value)> = HashMap::new();
    for ((agent, id), task) in tasks {
        if promised.contains(id.as_str()) {
            continue;
        }
        let first = expected::heard(task).first().copied().unwrap_or_default();
        if let Some((_, other)) = children.insert(first, (*agent, task)) {
            faults.push(format!("begun twice for {first}: {other}, {task}"));
        }
    }
    for promise in promises {
        let Some(parent) = tasks.get(&(promise.agent, promise.task.clone())) else {
            continue;
        };
        let completed = wire::state(parent) == "completed";
        for (call, agent, messages) in calls(promise) {
            match children.remove(call.as_str()) {
                Some((found, task)) if found == agent => {
                    if ended(task) > ended(parent) {
                        faults.push(format!("{task} outlived its parent {parent}"));
                    }
                    let heard = expected::heard(task);
                    if completed && (heard != messages || wire::state(task) != "completed") {
                        faults.push(format!("{call} heard {heard:?}, not {messages:?}: {task}"));
                    }
                }
                None if !completed => {}
                other => faults.push(format!("{call} should be a task of {agent}: {other:?}")),
            }
        }
    }
    let orphans = children
        .values()
        .map(|orphan| format!("nobody asked for {orphan:?}"));
    faults.extend(orphans);
    faults
}

/// When a task was over, in a form that can be compared.
fn ended(task: &Value) -> &str {
    task["status"]["timestamp"].as_str().unwrap_or_default()
}

/// The tasks that a promised task begins: the message each begins with, the agent, all messages it hears.
fn calls(promise: &Promise) -> Vec<(String, &'static str, Vec<String>)> {
    let id = &promise.task;
    match promise.agent {
        "desk" => [(1, "slow"), (2, "echo")]
            .map(|(n, agent)| (format!("{id}-1-{n}"), agent, vec![format!("{id}-1-{n}")]))
            .into(),
        "relay" => {
            let turns = 1..=promise.messages.len();
            let messages = turns.map(|turn| format!("{id}-{turn}-1")).collect();
            vec![(format!("{id}-1-1"), "asks", messages)]
        }
        _ => Vec::new(),
    }
}
