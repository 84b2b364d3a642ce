//! The HTTP+JSON binding.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use super::jsonrpc::{any_case, event_stream};
use crate::answer::{Answer, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, hold};
use crate::probe::{Manner, Probe};
use crate::shape;

pub(super) static CHECKS: [Check; 5] = [
    Check {
        id: "S-074",
        level: Should,
        clause: "§11.1",
        title: "requests and answers are application/a2a+json",
        hint: "answer as application/a2a+json, and take it as well as application/json",
        run: Run::Link(&[Need::Rest], |p| Box::pin(media_type(p))),
    },
    Check {
        id: "S-075",
        level: Must,
        clause: "§11.3",
        title: "operations are at the paths of the specification",
        hint: "serve /message:send, /tasks, /tasks/{id}, /tasks/{id}:cancel and the others below the URL in the card",
        run: Run::Link(&[Need::Rest], |p| Box::pin(paths(p))),
    },
    Check {
        id: "S-076",
        level: Must,
        clause: "§11.5",
        title: "parameters of GET are read from path and query, URL-encoded, in camelCase",
        hint: "decode the path, and read historyLength, pageSize and the others from the query",
        run: Run::Link(&[Need::Rest], |p| Box::pin(query(p))),
    },
    Check {
        id: "S-077",
        level: Must,
        clause: "§11.2",
        title: "service parameters are read from headers, in any case",
        hint: "compare header names without regard to case",
        run: Run::Link(&[Need::Rest], |p| Box::pin(any_case(p))),
    },
    Check {
        id: "S-078",
        level: Should,
        clause: "§11.7",
        title: "streams are text/event-stream, each event a StreamResponse without an envelope",
        hint: "write the object itself into data, on one line",
        run: Run::Link(&[Need::Rest, Need::Streaming], |p| Box::pin(events(p))),
    },
];

async fn media_type(p: &Probe) -> Found {
    let manner = Manner {
        media_type: Some("application/a2a+json"),
        ..Manner::default()
    };
    let answer = p
        .call_as(Method::Send, p.say(&p.plan.message), manner)
        .await;
    answer.result("a request as application/a2a+json")?;
    let kind = answer.header("content-type").unwrap_or_default();
    let why = format!("the answer is {kind:?}");
    hold(
        kind.starts_with("application/a2a+json"),
        why,
        &answer.exchange,
    )
}

async fn paths(p: &Probe) -> Found {
    let task = p.answered().await?.task.clone();
    let id = task.map_or_else(|| json!("nobody"), |task| task["id"].clone());
    for (method, params) in [
        (Method::Send, p.say(&p.plan.message)),
        (Method::Get, json!({"id": id})),
        (Method::List, json!({})),
        (Method::Cancel, json!({"id": id})),
        (
            Method::CreatePushConfig,
            json!({"taskId": id, "url": p.receiver.hook("/paths")}),
        ),
        (Method::ListPushConfigs, json!({"taskId": id})),
        (Method::GetPushConfig, json!({"taskId": id, "id": "nobody"})),
        (
            Method::DeletePushConfig,
            json!({"taskId": id, "id": "nobody"}),
        ),
        (Method::ExtendedCard, json!({})),
    ] {
        there(p, method, &p.call(method, params).await, &id)?;
    }
    if p.lacks(Need::Streaming).is_err() {
        return Ok(());
    }
    match p.open(Method::Subscribe, json!({"id": id})).await {
        Ok(_) => Ok(()),
        Err(answer) => there(p, Method::Subscribe, &answer, &id),
    }
}

/// Whether something answers at the path of an operation. What does not say why it is missing may be the task.
pub(super) fn there(p: &Probe, method: Method, answer: &Answer, id: &Value) -> Found {
    let Outcome::Refused(refusal) = &answer.outcome else {
        return Ok(());
    };
    let unknown = *id == json!("nobody")
        || [Method::GetPushConfig, Method::DeletePushConfig].contains(&method);
    let missing = match refusal.reason.as_deref().and_then(ErrorKind::from_reason) {
        Some(kind) => kind == ErrorKind::MethodNotFound,
        None if refusal.code.is_some() => answer.is(ErrorKind::MethodNotFound),
        None => [404, 405, 501].contains(&answer.status) && !(unknown && answer.status == 404),
    };
    let why = format!(
        "{} is not there: HTTP {}",
        p.words.method(method),
        answer.status
    );
    hold(!missing, why, &answer.exchange)
}

async fn query(p: &Probe) -> Found {
    let task = p.finished().await?;
    let id = task["id"].as_str().unwrap_or_default();
    let every: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("/tasks/{every}?historyLength=0");
    let answer = p.ask("GET", &path, Vec::new(), Manner::default()).await;
    let read = answer.result("a task whose id is percent-encoded")?;
    hold(
        read["id"] == task["id"],
        "it is another task",
        &answer.exchange,
    )?;
    let history = read["history"].as_array().map_or(0, Vec::len);
    hold(
        history == 0,
        "historyLength=0 in the query was not heard",
        &answer.exchange,
    )?;
    let answer = p
        .ask("GET", "/tasks?pageSize=1", Vec::new(), Manner::default())
        .await;
    let page = answer.result("GET /tasks?pageSize=1")?;
    let few = page["tasks"].as_array().map_or(0, Vec::len) <= 1;
    hold(
        few,
        "pageSize=1 in the query was not heard",
        &answer.exchange,
    )
}

async fn events(p: &Probe) -> Found {
    let streamed = p.followed().await?;
    event_stream(streamed)?;
    for item in &streamed.items {
        let bare = item.data.get("jsonrpc").is_none() && shape::event(&item.data).is_some();
        hold(
            bare,
            format!("an event is {}", brief(&item.data)),
            &streamed.exchange,
        )?;
    }
    Ok(())
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    text[..text.floor_char_boundary(80)].to_owned()
}
