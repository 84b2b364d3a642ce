//! A2A 0.3: what comes first in a stream, what follows, and when it ends.

use serde_json::{Value, json};
use switchboard_types::operation::Method;

use super::jsonrpc::event_stream;
use super::older::events;
use super::stream::{fold, text_of};
use crate::answer::Link;
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, fail, hold, hold_or, unseen};
use crate::probe::Probe;
use crate::stream::{End, Streamed};

pub(super) static CHECKS: [Check; 6] = [
    Check {
        id: "V03-032",
        level: Must,
        clause: "0.3 §3.3.3",
        title: "streams are text/event-stream",
        hint: "send streams as text/event-stream",
        run: Run::Link(&[Need::Json, Need::Streaming], |p| {
            Box::pin(content_type(p))
        }),
    },
    Check {
        id: "V03-033",
        level: Should,
        clause: "0.3 §7.2, proto",
        title: "a stream begins with a Task or a Message",
        hint: "send the Task before its updates",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(first(p))),
    },
    Check {
        id: "V03-034",
        level: Must,
        clause: "0.3 §7.2.2, §7.2.3",
        title: "all events of a stream are of one task and one context",
        hint: "write the taskId and contextId of the task into every update",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(one_task(p))),
    },
    Check {
        id: "V03-035",
        level: Must,
        clause: "0.3 §7.2.2",
        title: "final is true on the last status update only, and nothing follows it",
        hint: "set final: true on the last status update of a stream, and close the stream after it",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(after_final(p))),
    },
    Check {
        id: "V03-036",
        level: Must,
        clause: "0.3 §7.2.3, §9.2",
        title: "events come in order, and the stored artifacts are the sum of their chunks",
        hint: "send every chunk, in order, and store their sum",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(in_order(p))),
    },
    Check {
        id: "V03-037",
        level: Must,
        clause: "0.3 §7.2, proto",
        title: "a Message is the only item of its stream",
        hint: "close the stream after a Message",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(one_message(p))),
    },
];

async fn content_type(p: &Probe) -> Found {
    event_stream(p.followed().await?)
}

/// The events of the plain message, for checks of something else than their shape.
async fn followed(p: &Probe) -> Result<(&Streamed, Vec<(&'static str, Value)>), Verdict> {
    let streamed = p.followed().await?;
    let events = events(p, streamed);
    let events = events.map_err(|_| unseen("the stream holds what is no event, see V03-005"))?;
    Ok((streamed, events))
}

async fn first(p: &Probe) -> Found {
    let (streamed, events) = followed(p).await?;
    let kind = events[0].0;
    let why = format!("the stream begins with a {kind}");
    hold(["task", "message"].contains(&kind), why, &streamed.exchange)
}

async fn one_task(p: &Probe) -> Found {
    let (streamed, events) = followed(p).await?;
    if events[0].0 == "message" {
        return Err(unseen("the agent answers --message with a message"));
    }
    same_task(streamed, &events)
}

/// Every event names the same task and context.
pub(super) fn same_task(streamed: &Streamed, events: &[(&str, Value)]) -> Found {
    let ids = |(kind, event): &(&str, Value)| {
        let task = if *kind == "task" { "id" } else { "taskId" };
        [event[task].clone(), event["contextId"].clone()]
    };
    let first = ids(&events[0]);
    for (at, event) in events.iter().enumerate() {
        let these = ids(event);
        for ((name, one), other) in ["task", "context"].iter().zip(&these).zip(&first) {
            let why = format!("item {} is of {name} {one}, not {other}", at + 1);
            hold(one == other && !one.is_null(), why, &streamed.exchange)?;
        }
    }
    Ok(())
}

async fn after_final(p: &Probe) -> Found {
    let (streamed, events) = followed(p).await?;
    let end = events
        .iter()
        .position(|(kind, event)| *kind == "status-update" && event["final"] == true);
    let over = events
        .iter()
        .position(|event| event.0 == "status-update" && is_over(p, event));
    if let Some(end) = end {
        let last = events.len() - 1;
        let why = format!("item {} is final, and {} follow it", end + 1, last - end);
        // The whole task may be sent once more.
        let quiet = events[end + 1..].iter().all(|(kind, _)| *kind == "task");
        hold(quiet, why, &streamed.exchange)?;
    }
    if let Some(over) = over {
        let quiet = events[over + 1..].iter().all(|(kind, _)| *kind == "task");
        hold_or(
            quiet,
            "updates follow the terminal state",
            "send nothing after the status that ends the task",
            &streamed.exchange,
        )?;
    }
    if end.is_none() && over.is_none() {
        return Err(unseen("the task of --message did not end on the stream"));
    }
    Ok(())
}

/// Whether an event says that the task is over, in either spelling of 0.3.
pub(super) fn is_over(p: &Probe, (_, event): &(&str, Value)) -> bool {
    let state = event["status"]["state"].as_str().unwrap_or_default();
    match p.link {
        Link::JsonRpc => ["completed", "failed", "canceled", "rejected"].contains(&state),
        _ => ["COMPLETED", "FAILED", "CANCELLED", "REJECTED"]
            .iter()
            .any(|end| state.ends_with(end) || state == end.to_lowercase()),
    }
}

async fn in_order(p: &Probe) -> Found {
    let (streamed, events) = followed(p).await?;
    let mut begun = false;
    let mut texts = Vec::new();
    for (kind, event) in &events {
        let state = event["status"]["state"].as_str().unwrap_or_default();
        if !state.is_empty() {
            let submitted = state.eq_ignore_ascii_case("submitted") || state.ends_with("SUBMITTED");
            hold_or(
                !(begun && submitted),
                "a task that was working is submitted again",
                "a task goes from submitted to working, never back",
                &streamed.exchange,
            )?;
            begun |= !submitted;
        }
        if *kind == "artifact-update" {
            fold(&mut texts, event);
        }
    }
    let id = match events[0].0 {
        "message" => return Err(unseen("the agent answers --message with a message")),
        "task" => &events[0].1["id"],
        _ => &events[0].1["taskId"],
    };
    let answer = p.call(Method::Get, json!({ "id": id })).await;
    let Ok(stored) = answer.result("the task of a stream") else {
        return Err(unseen("the task of the stream cannot be read, see V03-013"));
    };
    for (id, text) in &texts {
        let artifacts = stored["artifacts"].as_array();
        let mut same = artifacts.into_iter().flatten();
        let now = same.find(|artifact| artifact["artifactId"] == json!(id));
        let now = now.map(text_of).unwrap_or_default();
        let why = format!("artifact {id:?} was streamed as {text:?} and is stored as {now:?}");
        hold(now == *text, why, &answer.exchange)?;
    }
    Ok(())
}

async fn one_message(p: &Probe) -> Found {
    let (streamed, events) = followed(p).await?;
    if events[0].0 != "message" {
        return Err(unseen("the agent answers --message with a task"));
    }
    let why = format!("{} items came instead of one", events.len());
    hold(events.len() == 1, why, &streamed.exchange)?;
    if streamed.end != End::Closed {
        return Err(fail(
            "the stream stays open after its Message",
            &streamed.exchange,
        ));
    }
    Ok(())
}
