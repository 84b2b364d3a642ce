//! Listing tasks: pages, order, filters.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::model::Timestamp;
use switchboard_types::operation::Method;

use crate::conformance::answer::{Answer, Outcome};
use crate::conformance::check::Level::{Must, Should};
use crate::conformance::check::{Check, Found, Need, Run, Verdict, unseen, weak};
use crate::conformance::probe::Probe;

pub(super) static CHECKS: [Check; 7] = [
    Check {
        id: "S-007",
        level: Must,
        clause: "§3.1.4",
        title: "ListTasks leaves artifacts out unless asked for them",
        hint: "no artifacts member at all without includeArtifacts, not even an empty list",
        run: Run::Link(&[], |p| Box::pin(without_artifacts(p))),
    },
    Check {
        id: "S-008",
        level: Should,
        clause: "§3.1.4",
        title: "with includeArtifacts every task has artifacts, even if empty",
        hint: "write the artifacts member of every task",
        run: Run::Link(&[Need::Json], |p| Box::pin(with_artifacts(p))),
    },
    Check {
        id: "S-009",
        level: Must,
        clause: "§3.1.4",
        title: "nextPageToken is always there, empty on the last page",
        hint: "write nextPageToken even if it is \"\"",
        run: Run::Link(&[Need::Json], |p| Box::pin(token_is_there(p))),
    },
    Check {
        id: "S-011",
        level: Must,
        clause: "§3.1.4",
        title: "pages follow each other by cursor, without repeats",
        hint: "a page begins where the one before it ended",
        run: Run::Link(&[], |p| Box::pin(pages(p))),
    },
    Check {
        id: "S-012",
        level: Must,
        clause: "§3.1.4",
        title: "tasks are listed newest status first",
        hint: "order by status.timestamp, descending",
        run: Run::Link(&[], |p| Box::pin(newest_first(p))),
    },
    Check {
        id: "S-013",
        level: Must,
        clause: "§3.1.4, proto",
        title: "pageSize is 1 to 100, and no page is larger",
        hint: "refuse other values with InvalidParams; write the size that was applied",
        run: Run::Link(&[], |p| Box::pin(page_size(p))),
    },
    Check {
        id: "S-014",
        level: Must,
        clause: "§3.1.4, proto",
        title: "statusTimestampAfter keeps tasks of that moment and later ones",
        hint: "compare with >=, in spite of the name",
        run: Run::Link(&[], |p| Box::pin(since(p))),
    },
];

/// A list, after making sure that there is something in it.
async fn list(p: &Probe, params: Value) -> Result<(Answer, Vec<Value>), Verdict> {
    p.finished().await?;
    let answer = p.call(Method::List, params).await;
    let page = answer.result("ListTasks")?;
    let tasks = page["tasks"].as_array().cloned();
    let tasks = tasks.ok_or_else(|| answer.fail("there is no tasks member"))?;
    Ok((answer, tasks))
}

async fn without_artifacts(p: &Probe) -> Found {
    let (answer, tasks) = list(p, json!({})).await?;
    match tasks.iter().find(|task| task.get("artifacts").is_some()) {
        Some(task) => Err(answer.fail(format!("task {} has artifacts", task["id"]))),
        None => Ok(()),
    }
}

async fn with_artifacts(p: &Probe) -> Found {
    let (answer, tasks) = list(p, json!({"includeArtifacts": true})).await?;
    match tasks.iter().find(|task| !task["artifacts"].is_array()) {
        Some(task) => Err(answer.fail(format!("task {} has no artifacts member", task["id"]))),
        None => Ok(()),
    }
}

async fn token_is_there(p: &Probe) -> Found {
    let context = p.finished().await?["contextId"].clone();
    for params in [
        json!({}),
        json!({"pageSize": 1}),
        json!({"contextId": context}),
    ] {
        let (answer, _) = list(p, params).await?;
        let page = answer.result("ListTasks")?;
        if !page["nextPageToken"].is_string() {
            return Err(answer.fail("there is no nextPageToken"));
        }
    }
    Ok(())
}

async fn pages(p: &Probe) -> Found {
    drop(p.send(p.say(&p.plan.message), "a message").await?);
    let (first, one) = list(p, json!({"pageSize": 1})).await?;
    let token = first.result("ListTasks")?["nextPageToken"].clone();
    if token.as_str().is_none_or(str::is_empty) {
        return Err(first.fail("two tasks exist, and a page of one has no nextPageToken"));
    }
    let (second, other) = list(p, json!({"pageSize": 1, "pageToken": token})).await?;
    if other.is_empty() || one.first().map(|t| &t["id"]) == other.first().map(|t| &t["id"]) {
        return Err(second.fail("the second page does not go on where the first ended"));
    }
    let bad = p
        .call(Method::List, json!({"pageToken": "not a token of yours"}))
        .await;
    bad.refused_as(
        &[ErrorKind::InvalidParams],
        "a page token that nobody gave out",
    )
    .or_else(|verdict| match (&bad.outcome, verdict) {
        // No text says what to do with one.
        (Outcome::Result(_), _) => Ok(()),
        (_, verdict) => Err(verdict),
    })
}

async fn newest_first(p: &Probe) -> Found {
    drop(p.send(p.say(&p.plan.message), "a message").await?);
    let (answer, tasks) = list(p, json!({})).await?;
    let times: Vec<Option<Timestamp>> = tasks
        .iter()
        .map(|task| p.read(task).and_then(|task| task.status.timestamp))
        .collect();
    if times.iter().any(Option::is_none) {
        return Err(answer.fail("a task has no status.timestamp"));
    }
    if times.len() < 2 {
        return Err(unseen("there are not two tasks to compare"));
    }
    match times.windows(2).position(|pair| pair[0] < pair[1]) {
        Some(at) => Err(answer.fail(format!("task {} is newer than the one before it", at + 2))),
        None => Ok(()),
    }
}

async fn page_size(p: &Probe) -> Found {
    let (answer, tasks) = list(p, json!({"pageSize": 1})).await?;
    if tasks.len() > 1 {
        return Err(answer.fail(format!("a page of 1 holds {} tasks", tasks.len())));
    }
    let (answer, tasks) = list(p, json!({})).await?;
    if tasks.len() > 50 {
        return Err(answer.fail(format!(
            "without pageSize {} tasks came, not at most 50",
            tasks.len()
        )));
    }
    for size in [0, 101] {
        let answer = p.call(Method::List, json!({"pageSize": size})).await;
        match &answer.outcome {
            Outcome::Result(page) if page["tasks"].as_array().map_or(0, Vec::len) > 100 => {
                return Err(answer.fail("a page holds more than 100 tasks"));
            }
            Outcome::Result(_) => {
                return Err(weak(
                    format!("pageSize {size} was taken, not refused"),
                    &answer.exchange,
                ));
            }
            _ => answer.refused_as(&[ErrorKind::InvalidParams], &format!("pageSize {size}"))?,
        }
    }
    Ok(())
}

async fn since(p: &Probe) -> Found {
    let (answer, tasks) = list(p, json!({})).await?;
    // As the list has it: a task may have moved on since it was sent.
    let newest = tasks.first().cloned().unwrap_or_default();
    let Some(time) = newest["status"]["timestamp"].as_str() else {
        return Err(answer.fail("the newest task has no status.timestamp"));
    };
    let (answer, tasks) = list(p, json!({"statusTimestampAfter": time, "pageSize": 100})).await?;
    let there = tasks.iter().any(|other| other["id"] == newest["id"]);
    let all = answer.result("ListTasks")?["nextPageToken"] == json!("");
    if !there && all {
        return Err(answer.fail(format!("the task of {time} itself is missing")));
    }
    let (answer, tasks) = list(p, json!({"statusTimestampAfter": "9999-01-01T00:00:00Z"})).await?;
    if !tasks.is_empty() {
        return Err(answer.fail("tasks are listed that are older than statusTimestampAfter"));
    }
    Ok(())
}
