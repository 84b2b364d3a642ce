//! Every webhook has heard what it should.

use std::collections::HashMap;

use tokio::time::{Instant, sleep};

use super::{GLANCE, PATIENCE};
use crate::receiver::Got;
use crate::wire::{Dialect, Event, is_over};
use crate::world::{Fault, Promise, World};

/// Waits until all webhooks are served, and compares what they got with the logs (in REST 1.0) of their tasks.
pub(super) async fn check(
    world: &World,
    promises: &[Promise],
    logs: &HashMap<String, Vec<Event>>,
) -> Vec<Fault> {
    let deadline = Instant::now() + PATIENCE;
    let mut faults = Vec::new();
    for promise in promises {
        let (Some(hook), Some(log)) = (&promise.hook, logs.get(&promise.task)) else {
            continue;
        };
        let due = due(promise.dialect, log);
        loop {
            let got = world.receiver.got(hook);
            if due.iter().all(|event| got.events.contains_key(&event.seq)) {
                faults.extend(difference(promise, &due, &got));
                break;
            }
            if Instant::now() > deadline {
                let heard: Vec<_> = got.events.keys().collect();
                let seqs: Vec<_> = due.iter().map(|event| event.seq).collect();
                let (agent, id) = (promise.agent, &promise.task);
                faults.push(format!(
                    "webhook {hook} of {agent} {id} has heard {heard:?}, not {seqs:?}"
                ));
                break;
            }
            sleep(GLANCE).await;
        }
    }
    faults
}

/// The events a webhook hears of: all in 1.0; in 0.3 those after which it is the client's turn.
fn due(dialect: Dialect, log: &[Event]) -> Vec<&Event> {
    let concerns = |event: &&Event| {
        let state = event.state.as_deref().unwrap_or_default();
        dialect != Dialect::Rpc03 || is_over(state) || state == "input-required"
    };
    log.iter().filter(concerns).collect()
}

fn difference(promise: &Promise, due: &[&Event], got: &Got) -> Option<Fault> {
    let (hook, id) = (promise.hook.as_ref()?, &promise.task);
    if got.events.len() != due.len() || got.task != *id {
        let heard: Vec<_> = got.events.keys().collect();
        return Some(format!(
            "webhook {hook} of {id} has heard {heard:?} of {}",
            got.task
        ));
    }
    if promise.dialect == Dialect::Rpc03 {
        return None;
    }
    let differs = |event: &&&Event| {
        got.events
            .get(&event.seq)
            .is_none_or(|body| **body != *event.data.as_bytes())
    };
    let different = due.iter().find(differs)?;
    let body = got.events.get(&different.seq);
    Some(format!(
        "webhook {hook} of {id} heard {body:?}, not {different:?}"
    ))
}
