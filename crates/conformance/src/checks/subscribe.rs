//! Subscribing to a task that is under way: its first event, several readers, readers that leave.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use super::stream::{kinds, readable, state, terminal};
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, Verdict, fail, hold};
use crate::probe::Probe;
use crate::shape::Kind;
use crate::stream::{End, Next, Stream, Streamed};

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "S-016",
        level: Must,
        clause: "§3.1.6",
        title: "a subscription begins with the Task as it stands",
        hint: "send the Task first, then its updates",
        run: Run::Link(&[Need::Streaming, Need::Long], |p| {
            Box::pin(begins_with_the_task(p))
        }),
    },
    Check {
        id: "S-017",
        level: Must,
        clause: "§3.1.6, §9.4.6",
        title: "subscribing to a task that is over is UnsupportedOperation",
        hint: "answer -32004, HTTP 400 with UNSUPPORTED_OPERATION",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(terminal_task(p))),
    },
    Check {
        id: "S-056",
        level: Must,
        clause: "§3.5.2",
        title: "all streams of a task get the same events in the same order",
        hint: "give every reader its own place in one log of events",
        run: Run::Link(&[Need::Streaming, Need::Long], |p| {
            Box::pin(same_for_all(p))
        }),
    },
    Check {
        id: "S-057",
        level: Must,
        clause: "§3.5.2",
        title: "a reader that leaves disturbs neither the others nor the task",
        hint: "do not tie the work to a connection",
        run: Run::Link(&[Need::Streaming, Need::Long], |p| {
            Box::pin(leaving_is_harmless(p))
        }),
    },
];

/// Subscribes to a task that runs.
pub(super) async fn subscribe(p: &Probe, task: &Value) -> Result<Stream, Verdict> {
    let refused = match p.open(Method::Subscribe, json!({"id": task["id"]})).await {
        Ok(stream) => return Ok(stream),
        Err(refused) => refused,
    };
    let verdict = match refused.result("subscribing to a running task") {
        Ok(_) => refused.fail("a subscription was answered by one JSON object, not a stream"),
        Err(verdict) => verdict.hinting("let callers subscribe to a running task"),
    };
    Err(p.unless_over(task, verdict).await)
}

async fn begins_with_the_task(p: &Probe) -> Found {
    let task = p.running().await?;
    let mut stream = subscribe(p, &task).await?;
    let next = stream.next(p.plan.timeout).await;
    let streamed = stream.leave();
    p.keep(&streamed);
    p.clean_up(&task["id"]).await;
    hold(
        matches!(next, Next::Item),
        "nothing came",
        &streamed.exchange,
    )?;
    let (kind, first) = &kinds(&streamed)?[0];
    hold(
        *kind == Kind::Task,
        format!("a {} came first", kind.name()),
        &streamed.exchange,
    )?;
    let why = format!("task {} came, not {}", first["id"], task["id"]);
    hold(first["id"] == task["id"], why, &streamed.exchange)
}

async fn terminal_task(p: &Probe) -> Found {
    let params = json!({"id": p.finished().await?["id"]});
    let kinds = [ErrorKind::UnsupportedOperation];
    p.refuses(
        Method::Subscribe,
        params,
        &kinds,
        "subscribing to a task that is over",
    )
    .await
}

/// What a reader saw, its first Task apart: that depends on when it came.
fn updates(streamed: &Streamed) -> Vec<Value> {
    streamed
        .items
        .iter()
        .skip(1)
        .map(|item| item.event.clone())
        .collect()
}

async fn same_for_all(p: &Probe) -> Found {
    let task = p.running().await?;
    let one = subscribe(p, &task).await?;
    let other = subscribe(p, &task).await?;
    let (one, other) = tokio::join!(one.rest(p.plan.timeout), other.rest(p.plan.timeout));
    p.keep(&one);
    let (longer, shorter) = if updates(&one).len() < updates(&other).len() {
        (&other, &one)
    } else {
        (&one, &other)
    };
    // The later reader may have missed what happened before it came, and nothing else.
    let same = updates(longer).ends_with(&updates(shorter));
    hold(
        same,
        "two readers of a task saw different events",
        &shorter.exchange,
    )?;
    hold(
        !updates(longer).is_empty(),
        "the readers saw no update of a running task",
        &longer.exchange,
    )
}

async fn leaving_is_harmless(p: &Probe) -> Found {
    let task = p.running().await?;
    let mut leaver = subscribe(p, &task).await?;
    let stayer = subscribe(p, &task).await?;
    leaver.next(p.plan.timeout).await;
    drop(leaver);
    let streamed = stayer.rest(p.plan.timeout).await;
    p.keep(&streamed);
    let kinds = readable(&streamed)?;
    hold(
        streamed.end == End::Closed,
        "the other stream did not end by itself",
        &streamed.exchange,
    )?;
    let mut states = kinds
        .iter()
        .rev()
        .filter_map(|(kind, event)| state(*kind, event));
    match states.next() {
        Some("TASK_STATE_CANCELED") => Err(fail(
            "the task was canceled when one reader left",
            &streamed.exchange,
        )),
        Some(last) if terminal(last) => Ok(()),
        last => Err(fail(
            format!("the other stream ended in {last:?}"),
            &streamed.exchange,
        )),
    }
}
