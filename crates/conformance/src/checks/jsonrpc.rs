//! The JSON-RPC binding.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::answer::{Answer, Outcome};
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, hold, hold_or};
use crate::probe::{Manner, Probe};
use crate::stream::Streamed;

pub(super) static CHECKS: [Check; 5] = [
    Check {
        id: "S-070",
        level: Must,
        clause: "§9.1, §9.3",
        title: "JSON-RPC 2.0, answered as application/json, streams as text/event-stream",
        hint: "set jsonrpc to \"2.0\" in every answer, and the right Content-Type",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(envelope(p))),
    },
    Check {
        id: "S-071",
        level: Must,
        clause: "§9.2",
        title: "service parameters are read from headers, in any case",
        hint: "compare header names without regard to case",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(any_case(p))),
    },
    Check {
        id: "S-115",
        level: Must,
        clause: "JSON-RPC 2.0 §5",
        title: "the id is answered as it was asked, null if it cannot be read",
        hint: "echo strings as strings and numbers as numbers",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(id(p))),
    },
    Check {
        id: "S-117",
        level: Must,
        clause: "§9.5",
        title: "what is no request is refused by the numbers of JSON-RPC",
        hint: "-32700 for what is not JSON, -32600 for what is no request, -32601 for unknown methods, -32602 for wrong parameters",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(numbers(p))),
    },
    Check {
        id: "S-125",
        level: Must,
        clause: "§5.3, §9.4",
        title: "every operation that the card offers is a method of that name",
        hint: "serve SendMessage, GetTask, ListTasks, CancelTask and the others",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(methods(p))),
    },
];

async fn envelope(p: &Probe) -> Found {
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
    for (_, body, exchange) in p.seen().envelopes {
        hold_or(
            body["jsonrpc"] == "2.0",
            format!("jsonrpc is {}", body["jsonrpc"]),
            "write \"jsonrpc\": \"2.0\" into every answer, errors as well",
            &exchange,
        )?;
    }
    if p.lacks(Need::Streaming).is_err() {
        return Ok(());
    }
    let streamed = p.followed().await?;
    event_stream(streamed)?;
    for item in &streamed.items {
        hold_or(
            item.data["jsonrpc"] == "2.0",
            "an event is no JSON-RPC answer",
            "write each event as a whole answer of JSON-RPC: jsonrpc, id and result",
            &streamed.exchange,
        )?;
        let id = &item.data["id"];
        hold_or(
            *id == streamed.id,
            format!("an event has the id {id}, and the request {}", streamed.id),
            "write the id of the request into every event of its stream",
            &streamed.exchange,
        )?;
    }
    Ok(())
}

/// A stream says what it is.
pub(super) fn event_stream(streamed: &Streamed) -> Found {
    let kind = &streamed.content_type;
    hold_or(
        kind.starts_with("text/event-stream"),
        format!("the Content-Type of a stream is {kind:?}"),
        "send streams as text/event-stream",
        &streamed.exchange,
    )
}

async fn methods(p: &Probe) -> Found {
    named_methods(p, true).await
}

/// Every operation that the card offers is a method that the agent knows.
pub(super) async fn named_methods(p: &Probe, lists: bool) -> Found {
    let mut all = vec![
        (Method::Send, p.say(&p.plan.message)),
        (Method::Get, json!({"id": "nobody"})),
        (Method::Cancel, json!({"id": "nobody"})),
    ];
    if lists {
        all.push((Method::List, json!({})));
    }
    if p.lacks(Need::Push).is_ok() {
        let one = json!({"taskId": "nobody", "id": "nobody", "pushNotificationConfigId": "nobody"});
        all.push((Method::GetPushConfig, one.clone()));
        all.push((Method::ListPushConfigs, one.clone()));
        all.push((Method::DeletePushConfig, one.clone()));
        all.push((Method::CreatePushConfig, one));
    }
    for (method, params) in all {
        known(p, method, &p.call(method, params).await)?;
    }
    if p.lacks(Need::Streaming).is_err() {
        return Ok(());
    }
    for (method, params) in [
        (Method::Stream, p.say(&p.plan.message)),
        (Method::Subscribe, json!({"id": "nobody"})),
    ] {
        if let Err(answer) = p.open(method, params).await {
            known(p, method, &answer)?;
        }
    }
    Ok(())
}

fn known(p: &Probe, method: Method, answer: &Answer) -> Found {
    let name = p.words.method(method);
    hold_or(
        !answer.is(ErrorKind::MethodNotFound),
        format!("the method {name} is not known"),
        format!("serve the method {name}; names are case-sensitive"),
        &answer.exchange,
    )
}

/// Header names In-Title-Case and in lower case are the same.
pub(super) async fn any_case(p: &Probe) -> Found {
    let task = p.answered().await?.task.clone();
    let id = task.map_or_else(|| json!("nobody"), |task| task["id"].clone());
    let mut answers = Vec::new();
    for titled in [false, true] {
        let manner = Manner {
            titled,
            ..Manner::default()
        };
        answers.push(p.call_as(Method::Get, json!({ "id": id }), manner).await);
    }
    let brief = |answer: &Answer| match &answer.outcome {
        Outcome::Result(task) => task["id"].to_string(),
        Outcome::Refused(refusal) => refusal.text(),
        Outcome::Broken(why) => why.clone(),
    };
    let (lower, titled) = (brief(&answers[0]), brief(&answers[1]));
    let why = format!("with a2a-version the answer is {lower}, with A2a-Version {titled}");
    hold(lower == titled, why, &answers[1].exchange)
}

async fn raw(p: &Probe, body: &str) -> Answer {
    p.ask("POST", "", body.as_bytes().to_vec(), Manner::default())
        .await
}

async fn id(p: &Probe) -> Found {
    for id in [json!("a string"), json!(42), json!("7")] {
        let body = Probe::envelope(&id, "GetTask", &json!({"id": "nobody"}));
        let answer = p.ask("POST", "", body, Manner::default()).await;
        let echoed = answer
            .body
            .as_ref()
            .map_or(&Value::Null, |body| &body["id"]);
        hold(
            *echoed == id,
            format!("id {id} came back as {echoed}"),
            &answer.exchange,
        )?;
    }
    let answer = raw(p, "{\"jsonrpc\": \"2.0\", ").await;
    let body = answer.body.clone().unwrap_or_default();
    let null = body.get("id") == Some(&Value::Null);
    hold_or(
        null,
        "the id of an answer to what is not JSON is not null",
        "write \"id\": null where the id of a request cannot be read",
        &answer.exchange,
    )
}

async fn numbers(p: &Probe) -> Found {
    for (what, body, numbers) in [
        (
            "what is not JSON",
            "{\"jsonrpc\": \"2.0\", ",
            [-32700, -32700],
        ),
        (
            "a call without jsonrpc",
            r#"{"id": 1, "method": "GetTask", "params": {"id": "x"}}"#,
            [-32600, -32600],
        ),
        (
            "a call without method",
            r#"{"jsonrpc": "2.0", "id": 1, "params": {}}"#,
            [-32600, -32600],
        ),
        (
            "an unknown method",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod", "params": {}}"#,
            [-32601, -32601],
        ),
        // Both are true of it.
        (
            "params that are a text",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": "x"}"#,
            [-32602, -32600],
        ),
        (
            "a task without its id",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}"#,
            [-32602, -32602],
        ),
    ] {
        let answer = raw(p, body).await;
        let refusal = answer.refusal(what)?;
        let right = refusal.code.is_some_and(|code| numbers.contains(&code));
        let why = format!(
            "{what} was refused as {}, expected {}",
            refusal.text(),
            numbers[0]
        );
        let hint = format!("answer {} to {what}", numbers[0]);
        hold_or(right, why, hint, &answer.exchange)?;
    }
    Ok(())
}
