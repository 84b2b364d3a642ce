//! The reckoning: what was promised and seen, against what is there.

mod children;
mod expected;
mod webhooks;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::wire::{self, Dialect, Event, Events, is_over};
use crate::world::{End, Fault, Promise, Tale, World};

/// How long it may take until nothing moves any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often that is looked at.
const GLANCE: Duration = Duration::from_millis(50);
const AGENTS: [&str; 5] = ["echo", "slow", "asks", "desk", "relay"];

/// All tasks there are, by agent and id.
pub(crate) type Tasks = HashMap<(&'static str, String), Value>;

/// Waits until all is quiet and compares. The server runs and nobody kills it.
pub(crate) async fn all(world: &World) -> Vec<Fault> {
    let (promises, tales) = {
        let ledger = world.ledger();
        (ledger.promises.clone(), ledger.tales.clone())
    };
    let tasks = match quiet(world).await {
        Ok(tasks) => tasks,
        Err(fault) => return vec![fault],
    };
    let mut faults = children::check(&promises, &tasks);
    faults.extend(one_task_each(&promises));
    let mut logs = HashMap::new();
    for promise in &promises {
        match kept(world, promise, &tasks).await {
            Ok(log) => {
                logs.insert(promise.task.clone(), log);
            }
            Err(fault) => faults.push(fault),
        }
    }
    for tale in &tales {
        faults.extend(true_tale(world, tale).await.err());
    }
    faults.extend(webhooks::check(world, &promises, &logs).await);
    faults
}

/// Waits until every task is over, and gives them all.
async fn quiet(world: &World) -> Result<Tasks, Fault> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let tasks = list(world).await?;
        let open: Vec<_> = tasks
            .iter()
            .filter(|(_, task)| !is_over(&wire::state(task)))
            .collect();
        if open.is_empty() {
            // An agent listed first may have been given work while the others were listed: now nobody gives any.
            return list(world).await;
        }
        if Instant::now() > deadline {
            return Err(format!("{} tasks hang: {:?}", open.len(), open.first()));
        }
        sleep(GLANCE).await;
    }
}

/// Every task of every agent, page by page.
async fn list(world: &World) -> Result<Tasks, Fault> {
    let line = world.line(Dialect::Rpc10);
    let mut tasks = Tasks::new();
    for agent in AGENTS {
        let mut token = String::new();
        loop {
            let page = world.call(line.list(agent, &token)).await?;
            for task in page["tasks"].as_array().into_iter().flatten() {
                let id = task["id"].as_str().unwrap_or_default().to_owned();
                if tasks.insert((agent, id), task.clone()).is_some() {
                    return Err(format!("listed twice: {task}"));
                }
            }
            token = page["nextPageToken"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if token.is_empty() {
                break;
            }
        }
    }
    Ok(tasks)
}

/// Each key led to a task of its own.
fn one_task_each(promises: &[Promise]) -> Vec<Fault> {
    let mut seen = HashSet::new();
    let twice = promises
        .iter()
        .filter(|promise| !seen.insert(&promise.task));
    twice
        .map(|p| format!("two keys led to the task {}", p.task))
        .collect()
}

/// A promised task is there, listed, and ended as it should; gives its events.
async fn kept(world: &World, promise: &Promise, tasks: &Tasks) -> Result<Vec<Event>, Fault> {
    let Promise {
        agent, task: id, ..
    } = promise;
    let listed = tasks.get(&(agent, id.clone()));
    let listed = listed.ok_or_else(|| format!("{agent} {id} is not listed"))?;
    let line = world.line(Dialect::Rest10);
    let task = world.call(line.get(agent, id)).await;
    let task = task.map_err(|trouble| format!("{agent} {id} is lost: {trouble}"))?;
    let log = replay(world, Dialect::Rest10, agent, id).await?;
    let state = wire::state(&task);
    let wrong = |what: &str| Err(format!("{agent} {id}: {what}: {task}"));
    if wire::state(listed) != state {
        return wrong("is listed differently");
    }
    match (promise.end, state.as_str()) {
        (End::Completed | End::Either, "completed") => {
            if let Some(difference) = expected::difference(promise, &task, log.len()) {
                return wrong(&difference);
            }
        }
        (End::Canceled | End::Either, "canceled") => {}
        // A kill in the middle of a cancel: the other agent's task was canceled, this one not yet.
        (End::Either, "failed") if *agent == "desk" && said(&task).ends_with(": canceled") => {}
        (end, state) => return wrong(&format!("is {state}, not {end:?}")),
    }
    let ends = log
        .iter()
        .filter(|e| e.state.as_deref().is_some_and(is_over));
    if ends.count() != 1 || log.last().and_then(|e| e.state.as_deref()) != Some(&state) {
        return wrong("does not end once, with its last event");
    }
    Ok(log)
}

/// What a task said last.
fn said(task: &Value) -> String {
    wire::text(&task["status"]["message"])
}

/// All events of a task from the first on, without gaps.
async fn replay(
    world: &World,
    dialect: Dialect,
    agent: &str,
    task: &str,
) -> Result<Vec<Event>, Fault> {
    let request = world.line(dialect).subscribe(agent, task, Some(0));
    let mut stream = Events::new(world.open(request).await?);
    let mut events: Vec<Event> = Vec::new();
    while let Some(event) = stream.next().await? {
        events.push(event);
    }
    let gapless = (1..).zip(&events).all(|(seq, event)| event.seq == seq);
    match gapless {
        true => Ok(events),
        false => Err(format!("the log of {agent} {task} has gaps: {events:?}")),
    }
}

/// What a reader saw is what the log says, byte by byte.
async fn true_tale(world: &World, tale: &Tale) -> Result<(), Fault> {
    let Some(first) = tale.events.first() else {
        return Ok(());
    };
    let log = replay(world, tale.dialect, tale.agent, &first.task).await?;
    for event in &tale.events {
        let index = usize::try_from(event.seq - 1).unwrap_or(usize::MAX);
        let stored = log.get(index).map(plain);
        if stored != Some(plain(event)) {
            return Err(format!(
                "{} saw {:?} in {} {}, but the log has {stored:?}",
                tale.who, event.data, tale.agent, event.task
            ));
        }
    }
    Ok(())
}

/// The bytes of an event. Whether a stream ends with a question depends on the stream, and 0.3 says so in the
/// event.
fn plain(event: &Event) -> String {
    match event.state.as_deref() {
        Some("input-required") => event.data.replace("\"final\":true", "\"final\":false"),
        _ => event.data.clone(),
    }
}
