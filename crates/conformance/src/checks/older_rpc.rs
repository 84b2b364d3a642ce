//! A2A 0.3: the bindings, JSON-RPC and HTTP+JSON.

use serde_json::{Value, json};
use switchboard_types::operation::Method;

use super::jsonrpc::named_methods;
use super::rest::there;
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, hold, hold_or, unseen};
use crate::probe::Probe;

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "V03-042",
        level: Must,
        clause: "0.3 §3.2.1, JSON-RPC 2.0 §5",
        title: "answers are JSON-RPC 2.0, as application/json",
        hint: "write \"jsonrpc\": \"2.0\" into every answer, errors as well",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(envelopes(p))),
    },
    Check {
        id: "V03-043",
        level: Must,
        clause: "0.3 §3.5.6, §7",
        title: "every operation that the card offers is a method of that name",
        hint: "serve message/send, tasks/get, tasks/cancel and the others",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(named_methods(p, false))),
    },
    Check {
        id: "V03-044",
        level: Must,
        clause: "0.3 §8, JSON-RPC 2.0 §5.1",
        title: "every error has a code and a message",
        hint: "write code as a number and message as a text into every error",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(complete_errors(p))),
    },
    Check {
        id: "V03-045",
        level: Must,
        clause: "0.3 §3.2.3, §3.5.3",
        title: "operations are at the paths of the specification",
        hint: "serve /v1/message:send, /v1/tasks/{id}, /v1/tasks/{id}:cancel and the others below the URL in the card",
        run: Run::Link(&[Need::Rest], |p| Box::pin(paths(p))),
    },
];

async fn envelopes(p: &Probe) -> Found {
    let sent = p.answered().await?;
    let kind = sent.answer.header("content-type").unwrap_or_default();
    hold_or(
        kind.starts_with("application/json"),
        format!("the Content-Type of an answer is {kind:?}"),
        "answer as application/json",
        &sent.answer.exchange,
    )?;
    let status = sent.answer.status;
    hold_or(
        (200..300).contains(&status),
        format!("a result came with HTTP {status}"),
        "answer with HTTP 200: JSON-RPC says in the body how it went",
        &sent.answer.exchange,
    )?;
    drop(p.call(Method::Get, json!({"id": "nobody"})).await);
    for (_, body, exchange) in p.seen().envelopes {
        let why = format!("jsonrpc is {}", body["jsonrpc"]);
        hold(body["jsonrpc"] == "2.0", why, &exchange)?;
    }
    Ok(())
}

async fn complete_errors(p: &Probe) -> Found {
    drop(p.call(Method::Get, json!({"id": "nobody"})).await);
    let refusals = p.seen().refusals;
    if refusals.is_empty() {
        return Err(unseen("no error was seen"));
    }
    for (refusal, exchange) in refusals {
        let object = &refusal.object;
        let code = &object["code"];
        let why = format!("an error has the code {code}");
        hold(code.is_i64(), why, &exchange)?;
        let said = object["message"].as_str().unwrap_or_default();
        hold(
            !said.trim().is_empty(),
            "an error has no message",
            &exchange,
        )?;
    }
    Ok(())
}

async fn paths(p: &Probe) -> Found {
    let task = p.answered().await?.task.clone();
    let id = task.map_or_else(|| json!("nobody"), |task| task["id"].clone());
    let mut all: Vec<(Method, Value)> = vec![
        (Method::Send, p.say(&p.plan.message)),
        (Method::Get, json!({"id": id})),
        (Method::Cancel, json!({"id": id})),
    ];
    if p.lacks(Need::Push).is_ok() {
        let hook = json!({"id": id, "taskId": id, "pushNotificationConfigId": "nobody"});
        all.push((Method::ListPushConfigs, json!({"id": id})));
        all.push((Method::GetPushConfig, hook));
    }
    for (method, params) in all {
        there(p, method, &p.call(method, params).await, &id)?;
    }
    if p.lacks(Need::Streaming).is_err() {
        return Ok(());
    }
    // A task that is over may be refused in the same way as a path that is missing.
    let nobody = json!("nobody");
    for (method, params) in [
        (Method::Stream, p.say(&p.plan.message)),
        (Method::Subscribe, json!({"id": nobody})),
    ] {
        if let Err(answer) = p.open(method, params).await {
            there(p, method, &answer, &nobody)?;
        }
    }
    Ok(())
}
