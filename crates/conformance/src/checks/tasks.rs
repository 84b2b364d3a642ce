//! Reading and canceling tasks.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::model::TaskState;
use switchboard_types::operation::Method;
use tokio::time::Instant;

use crate::answer::{Answer, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, hold_or, unseen, weak};
use crate::probe::Probe;

const ANSWER_WITH_TASK: &str = "answer with the Task, as it stands after the cancel";
const STOP_THE_WORK: &str =
    "stop the work and set the state to canceled, or refuse the cancel as TaskNotCancelable";

/// How long an agent may take to stop.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long work that was canceled is watched.
const SETTLE_TIME: Duration = Duration::from_millis(1500);

pub(super) static CHECKS: [Check; 5] = [
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
        hint: "with historyLength 0 leave history out",
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
    Check {
        id: "S-123",
        level: Must,
        clause: "§3.1.3, §4.1.3",
        title: "GetTask shows a task as it was answered, and a terminal state is final",
        hint: "store a task before it is answered, and read it from there",
        run: Run::Link(&[], |p| Box::pin(same_when_read(p))),
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
    cancels(p).await
}

/// Cancels a running task: the answer is the task, and the task ends as canceled.
pub(super) async fn cancels(p: &Probe) -> Found {
    let task = p.running().await?;
    let answer = p.call(Method::Cancel, json!({"id": task["id"]})).await;
    if answer.is(ErrorKind::TaskNotCancelable) {
        return Err(unseen(
            "the agent refuses to cancel the task of --long-message",
        ));
    }
    let canceled = match answer.result("canceling a running task") {
        Ok(canceled) => canceled,
        Err(verdict) => return Err(p.unless_over(&task, verdict).await),
    };
    let said = p
        .read(canceled)
        .filter(|_| canceled["id"] == task["id"])
        .ok_or_else(|| {
            answer
                .fail("the answer is not the task")
                .hinting(ANSWER_WITH_TASK)
        })?;
    let said = said.status.state;
    if said.is_terminal() && said != TaskState::Canceled {
        return Err(unseen("the task of --long-message was over too soon"));
    }
    // An agent may need a moment to stop.
    let deadline = Instant::now() + p.plan.timeout.min(CANCEL_TIMEOUT);
    loop {
        let (read, now) = stored(p, &task["id"]).await?;
        if now == TaskState::Canceled {
            return Ok(());
        }
        if now.is_terminal() || Instant::now() >= deadline {
            let why = format!(
                "the cancel was answered with state {}, and the task is {}",
                said.name(),
                now.name()
            );
            return Err(read.fail(why).hinting(STOP_THE_WORK));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// A task as it is read, and its state.
async fn stored(p: &Probe, id: &Value) -> Result<(Answer, TaskState), Verdict> {
    let answer = p.call(Method::Get, json!({ "id": id })).await;
    let read = p.read(answer.result("reading a task")?);
    let read = read.ok_or_else(|| answer.fail("the task cannot be read"))?;
    Ok((answer, read.status.state))
}

async fn same_when_read(p: &Probe) -> Found {
    let task = p.finished().await?;
    same(p, &task).await?;
    if p.lacks(Need::Long).is_err() {
        return Ok(());
    }
    end_is_final(p).await
}

/// Reads a task that is over: it is as it was when it was answered.
pub(super) async fn same(p: &Probe, task: &Value) -> Found {
    let answer = p.call(Method::Get, json!({"id": task["id"]})).await;
    let read = answer.result("reading a task")?;
    for name in ["id", "contextId"] {
        let why = format!(
            "{name} was {}, and is {} when the task is read",
            task[name], read[name]
        );
        let hint = "a task keeps its id and its context";
        hold_or(read[name] == task[name], why, hint, &answer.exchange)?;
    }
    let (Some(was), Some(is)) = (p.read(task), p.read(read)) else {
        return Err(answer.fail("the task cannot be read"));
    };
    let why = format!(
        "the task was {}, and is {} when it is read",
        was.status.state.name(),
        is.status.state.name()
    );
    hold_or(
        was.status.state == is.status.state,
        why,
        "a terminal state is final: store it, and read it from where it was stored",
        &answer.exchange,
    )?;
    hold_or(
        was.artifacts == is.artifacts,
        "the artifacts are not those of the answer",
        "answer a send with the artifacts that are stored with the task",
        &answer.exchange,
    )
}

/// A task that was canceled stays so, even if its work goes on for a while.
pub(super) async fn end_is_final(p: &Probe) -> Found {
    let task = p.running().await?;
    p.clean_up(&task["id"]).await;
    if stored(p, &task["id"]).await?.1 != TaskState::Canceled {
        return Ok(()); // not canceled at all, which is another rule
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let (answer, state) = stored(p, &task["id"]).await?;
    if state != TaskState::Canceled {
        let why = format!("a task was canceled, and became {} later", state.name());
        let hint = "nothing may change a task that is over: drop what its work still says";
        return Err(answer.fail(why).hinting(hint));
    }
    Ok(())
}

/// A task with as much history as can be had.
pub(super) async fn talkative(p: &Probe) -> Result<Value, Verdict> {
    if p.lacks(Need::Asking).is_err() {
        return p.finished().await;
    }
    let Ok(task) = p.waiting().await else {
        return p.finished().await;
    };
    let answer = p.say_to("an answer", &task["id"]);
    drop(p.send(answer, "an answer").await?);
    Ok(task)
}

async fn little_history(p: &Probe) -> Found {
    let task = talkative(p).await?;
    for most in [1, 0] {
        let params = json!({"id": task["id"], "historyLength": most});
        let answer = p.call(Method::Get, params).await;
        let read = answer.result("reading a task")?;
        let length = read["history"].as_array().map_or(0, Vec::len);
        if length > most {
            let why = format!("with historyLength {most}, {length} messages of history came");
            return Err(answer.fail(why));
        }
    }
    let answer = p
        .call(Method::Get, json!({"id": task["id"], "historyLength": -1}))
        .await;
    match &answer.outcome {
        Outcome::Result(_) => Err(weak("a negative historyLength was taken", &answer.exchange)
            .hinting("refuse a negative historyLength as InvalidParams")),
        _ => answer.refused_as(&[ErrorKind::InvalidParams], "a negative historyLength"),
    }
}

async fn no_history(p: &Probe) -> Found {
    let task = p.finished().await?;
    let answer = p
        .call(Method::Get, json!({"id": task["id"], "historyLength": 0}))
        .await;
    let read = answer.result("reading a task")?;
    match read.get("history") {
        Some(Value::Array(list)) if !list.is_empty() => {
            Err(answer.fail(format!("{} messages of history came", list.len())))
        }
        Some(_) => Err(answer
            .fail("there is a history member")
            .hinting("leave history out instead of sending an empty list")),
        None => Ok(()),
    }
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
