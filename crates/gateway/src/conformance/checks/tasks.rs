//! Reading and canceling tasks.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::conformance::answer::Outcome;
use crate::conformance::check::Level::{Must, Should};
use crate::conformance::check::{Check, Found, Need, Run, weak};
use crate::conformance::probe::Probe;

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "S-015",
        level: Must,
        clause: "§3.1.5",
        title: "CancelTask returns the task, TaskNotCancelable or TaskNotFound",
        hint: "a task that is over is TaskNotCancelable, one that does not exist TaskNotFound",
        run: Run::Link(&[], |p| Box::pin(cancel(p))),
    },
    Check {
        id: "S-027",
        level: Must,
        clause: "§3.2.4",
        title: "never more history than historyLength",
        hint: "return at most the historyLength most recent messages",
        run: Run::Link(&[], |p| Box::pin(little_history(p))),
    },
    Check {
        id: "S-028",
        level: Should,
        clause: "§3.2.4",
        title: "with historyLength 0 there is no history member",
        hint: "leave history out instead of sending an empty list",
        run: Run::Link(&[Need::Json], |p| Box::pin(no_history(p))),
    },
    Check {
        id: "S-034",
        level: Must,
        clause: "§3.3.2",
        title: "what does not exist is not found",
        hint: "answer TaskNotFound to get, cancel and subscribe alike",
        run: Run::Link(&[], |p| Box::pin(not_found(p))),
    },
];

fn nobody() -> Value {
    json!({"id": format!("nobody-{}", uuid::Uuid::new_v4())})
}

async fn cancel(p: &Probe) -> Found {
    let answer = p.call(Method::Cancel, nobody()).await;
    answer.refused_as(&[ErrorKind::TaskNotFound], "canceling an unknown task")?;
    let task = p.finished().await?;
    let answer = p.call(Method::Cancel, json!({"id": task["id"]})).await;
    answer.refused_as(
        &[ErrorKind::TaskNotCancelable],
        "canceling a task that is over",
    )?;
    p.lacks(Need::Long)?;
    let task = p.running().await?;
    let answer = p.call(Method::Cancel, json!({"id": task["id"]})).await;
    let canceled = match answer.result("canceling a running task") {
        Ok(canceled) => canceled,
        Err(verdict) => return Err(p.unless_over(&task, verdict).await),
    };
    if canceled["id"] != task["id"] || p.read(canceled).is_none() {
        return Err(answer.fail("the answer is not the task"));
    }
    Ok(())
}

async fn little_history(p: &Probe) -> Found {
    let task = p.finished().await?;
    let answer = p
        .call(Method::Get, json!({"id": task["id"], "historyLength": 1}))
        .await;
    let read = answer.result("reading a task")?;
    let length = read["history"].as_array().map_or(0, Vec::len);
    if length > 1 {
        return Err(answer.fail(format!("{length} messages of history came instead of one")));
    }
    let answer = p
        .call(Method::Get, json!({"id": task["id"], "historyLength": -1}))
        .await;
    match &answer.outcome {
        Outcome::Result(_) => Err(weak("a negative historyLength was taken", &answer.exchange)),
        _ => answer.refused_as(&[ErrorKind::InvalidParams], "a negative historyLength"),
    }
}

async fn no_history(p: &Probe) -> Found {
    let task = p.finished().await?;
    let answer = p
        .call(Method::Get, json!({"id": task["id"], "historyLength": 0}))
        .await;
    let read = answer.result("reading a task")?;
    if read.get("history").is_some() {
        return Err(answer.fail("there is a history member"));
    }
    Ok(())
}

async fn not_found(p: &Probe) -> Found {
    for method in [Method::Get, Method::Cancel] {
        let answer = p.call(method, nobody()).await;
        answer.refused_as(&[ErrorKind::TaskNotFound], p.words.method(method))?;
    }
    if p.lacks(Need::Streaming).is_err() {
        return Ok(());
    }
    let kinds = [ErrorKind::TaskNotFound];
    p.refuses(
        Method::Subscribe,
        nobody(),
        &kinds,
        "subscribing to an unknown task",
    )
    .await
}
