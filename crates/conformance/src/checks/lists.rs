//! Listing tasks: pages, order, filters.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::model::Timestamp;
use switchboard_types::operation::Method;

use crate::answer::{Answer, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, unseen, weak};
use crate::probe::Probe;

pub(super) static CHECKS: [Check; 8] = [
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
        title: "pages follow each other by cursor, without repeats or gaps, to an end",
        hint: "a page begins after the last task of the one before it",
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
    Check {
        id: "S-126",
        level: Must,
        clause: "§3.1.4",
        title: "ListTasks lists the tasks of a context or state, if it is asked to",
        hint: "keep only tasks whose contextId and status.state are those of the request",
        run: Run::Link(&[], |p| Box::pin(filters(p))),
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

/// Three tasks of one context, so that nothing else is on the pages.
async fn family(p: &Probe) -> Result<(Value, Vec<Value>), Verdict> {
    let first = p.finished().await?;
    let context = first["contextId"].clone();
    let mut ids = vec![first["id"].clone()];
    for _ in 0..2 {
        let mut params = p.say(&p.plan.message);
        params["message"]["contextId"] = context.clone();
        let Ok(sent) = p.send(params, "a second message of a context").await else {
            return Err(unseen(
                "a second message of one context is refused, see S-045",
            ));
        };
        let task = sent.task.filter(|task| task["contextId"] == context);
        let task = task.ok_or_else(|| unseen("no second task in one context, see S-045"))?;
        ids.push(task["id"].clone());
    }
    Ok((context, ids))
}

async fn pages(p: &Probe) -> Found {
    let (context, ids) = family(p).await?;
    let mut params = json!({"pageSize": 1, "contextId": context});
    let mut seen: Vec<Value> = Vec::new();
    // The last page may be an empty one.
    for number in 1..=ids.len() + 1 {
        let (answer, tasks) = list(p, params.clone()).await?;
        for task in &tasks {
            if !ids.contains(&task["id"]) {
                return Err(unseen("tasks of other contexts are listed, see S-126"));
            }
            if seen.contains(&task["id"]) {
                let why = format!(
                    "page {number} does not go on where the one before it ended: task {} is on both",
                    task["id"]
                );
                return Err(answer.fail(why));
            }
            seen.push(task["id"].clone());
        }
        let token = answer.result("ListTasks")?["nextPageToken"].clone();
        let more = token.as_str().is_some_and(|token| !token.is_empty());
        if !more {
            break;
        }
        if number > ids.len() {
            let why = format!(
                "{} tasks exist, and page {number} still has a nextPageToken",
                ids.len()
            );
            return Err(answer
                .fail(why)
                .hinting("send an empty nextPageToken with the last page"));
        }
        params["pageToken"] = token;
    }
    if let Some(missing) = ids.iter().find(|id| !seen.contains(id)) {
        let (answer, _) = list(p, params).await?;
        let why = format!("task {missing} is on none of the pages of its context");
        return Err(answer
            .fail(why)
            .hinting("a page begins with the first task that was not on the pages before it"));
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
        (_, verdict) => Err(verdict.hinting("refuse an unknown page token as InvalidParams")),
    })
}

async fn filters(p: &Probe) -> Found {
    let task = p.finished().await?;
    let nobody = json!(format!("nobody-{}", uuid::Uuid::new_v4()));
    for (name, value) in [
        ("contextId", &task["contextId"]),
        ("contextId", &nobody),
        ("status", &task["status"]["state"]),
    ] {
        let (answer, tasks) = list(p, json!({ name: value })).await?;
        let is = |task: &Value| match name {
            "status" => task["status"]["state"].clone(),
            _ => task[name].clone(),
        };
        if let Some(other) = tasks.iter().find(|task| is(task) != *value) {
            let why = format!("with {name} {value} a task of {} is listed", is(other));
            return Err(answer.fail(why));
        }
        if value != &nobody && tasks.is_empty() {
            return Err(answer.fail(format!("with {name} {value} no task is listed")));
        }
    }
    Ok(())
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
    drop(p.send(p.say(&p.plan.message), "a message").await?);
    let (answer, tasks) = list(p, json!({"pageSize": 1})).await?;
    if tasks.len() > 1 {
        return Err(answer
            .fail(format!("a page of 1 holds {} tasks", tasks.len()))
            .hinting("return at most pageSize tasks"));
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
