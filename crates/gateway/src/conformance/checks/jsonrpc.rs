//! The JSON-RPC binding.

use serde_json::{Value, json};
use switchboard_types::operation::Method;

use crate::conformance::answer::{Answer, Outcome};
use crate::conformance::check::Level::Must;
use crate::conformance::check::{Check, Found, Need, Run, hold};
use crate::conformance::probe::{Manner, Probe};

pub(super) static CHECKS: [Check; 4] = [
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
];

async fn envelope(p: &Probe) -> Found {
    let sent = p.answered().await?;
    let kind = sent.answer.header("content-type").unwrap_or_default();
    let why = format!("Content-Type is {kind:?}");
    hold(
        kind.starts_with("application/json"),
        why,
        &sent.answer.exchange,
    )?;
    let body = sent.answer.body.clone().unwrap_or_default();
    hold(
        body["jsonrpc"] == "2.0",
        "jsonrpc is not \"2.0\"",
        &sent.answer.exchange,
    )?;
    if p.lacks(Need::Streaming).is_err() {
        return Ok(());
    }
    let streamed = p.followed().await?;
    let kind = &streamed.content_type;
    let why = format!("the Content-Type of a stream is {kind:?}");
    hold(
        kind.starts_with("text/event-stream"),
        why,
        &streamed.exchange,
    )?;
    for item in &streamed.items {
        let whole = item.data["jsonrpc"] == "2.0" && item.data["id"].is_string();
        hold(
            whole,
            "an event is no JSON-RPC answer with the id of the request",
            &streamed.exchange,
        )?;
    }
    Ok(())
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
    hold(
        null,
        "the id of an answer to what is not JSON is not null",
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
        hold(right, why, &answer.exchange)?;
    }
    Ok(())
}
