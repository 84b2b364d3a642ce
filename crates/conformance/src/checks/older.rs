//! A2A 0.3: sending, streaming, and the rules of its JSON-RPC.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use super::everything::ECHO_THE_ID;
use super::older_stream::is_over;
use crate::answer::Link;
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, fail, hold, hold_or, unseen};
use crate::probe::{Manner, Probe, members};
use crate::stream::{End, Streamed};

pub(super) static CHECKS: [Check; 11] = [
    Check {
        id: "V03-002",
        level: Must,
        clause: "0.3 §7.1",
        title: "message/send answers with a Task or a Message",
        hint: "answer the object itself, with kind task or message",
        run: Run::Link(&[], |p| Box::pin(send(p))),
    },
    Check {
        id: "V03-003",
        level: Must,
        clause: "0.3 §6.1",
        title: "a Task has kind, id, contextId and status",
        hint: "all four are required by the schema of 0.3",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(members_of_a_task(p))),
    },
    Check {
        id: "V03-004",
        level: Must,
        clause: "0.3 §6.3",
        title: "states are spelled as in 0.3",
        hint: "write completed, input-required, canceled",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(states(p))),
    },
    Check {
        id: "V03-005",
        level: Must,
        clause: "0.3 §7.2",
        title: "message/stream answers with server-sent events, each a whole answer",
        hint: "over JSON-RPC every data is a response with the id of the request",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(stream(p))),
    },
    Check {
        id: "V03-006",
        level: Must,
        clause: "0.3 §7.2.2",
        title: "the last status update says final, and the stream closes",
        hint: "set final: true on the last event of a stream, then close it",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(last(p))),
    },
    Check {
        id: "V03-007",
        level: Must,
        clause: "0.3 §8.2",
        title: "streaming that is not offered is UnsupportedOperation",
        hint: "answer -32004",
        run: Run::Link(&[Need::NoStreaming], |p| Box::pin(no_streaming(p))),
    },
    Check {
        id: "V03-008",
        level: Must,
        clause: "0.3 §8.1",
        title: "what is no request is refused by the numbers of JSON-RPC",
        hint: "-32700, -32600, -32601 and -32602",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(numbers(p))),
    },
    Check {
        id: "V03-009",
        level: Must,
        clause: "0.3 §3.2.1, JSON-RPC 2.0 §5",
        title: "the id is answered as it was asked, and answers have either result or error",
        hint: "echo strings as strings and numbers as numbers",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(ids(p))),
    },
    Check {
        id: "V03-010",
        level: Must,
        clause: "0.3 §6.4, §8.1",
        title: "a message without parts is InvalidParams",
        hint: "answer -32602",
        // Elsewhere a list that is not there is an empty one, which 0.3 does not forbid.
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(without_parts(p))),
    },
    Check {
        id: "V03-011",
        level: Should,
        clause: "0.3 §7.1.1",
        title: "with blocking: false a send returns before the work is done",
        hint: "answer with the task while it is still submitted or working",
        run: Run::Link(&[Need::Long], |p| Box::pin(at_once(p))),
    },
    Check {
        id: "V03-012",
        level: Must,
        clause: "0.3 §7.10",
        title: "the extended card is an error unless it is offered",
        hint: "answer -32007 or -32004 without supportsAuthenticatedExtendedCard",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(extended_card(p))),
    },
];

async fn send(p: &Probe) -> Found {
    let sent = p.sent().await?;
    let result = sent.answer.result("a message")?;
    let kind = result["kind"].as_str().unwrap_or_default();
    let wrapped =
        p.link != Link::JsonRpc && (result["task"].is_object() || result["message"].is_object());
    if wrapped || ["task", "message"].contains(&kind) {
        return Ok(());
    }
    Err(sent
        .answer
        .fail("the result is neither a task nor a message"))
}

async fn members_of_a_task(p: &Probe) -> Found {
    let sent = p.answered().await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    };
    for name in ["id", "contextId"] {
        let there = task[name].as_str().is_some_and(|text| !text.is_empty());
        hold(there, format!("{name} is missing"), &sent.answer.exchange)?;
    }
    hold(
        task["kind"] == "task",
        "kind is missing",
        &sent.answer.exchange,
    )?;
    hold(
        task["status"]["state"].is_string(),
        "status.state is missing",
        &sent.answer.exchange,
    )
}

async fn states(p: &Probe) -> Found {
    const STATES: [&str; 9] = [
        "submitted",
        "working",
        "input-required",
        "completed",
        "canceled",
        "failed",
        "rejected",
        "auth-required",
        "unknown",
    ];
    let sent = p.answered().await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    };
    let state = task["status"]["state"].as_str().unwrap_or_default();
    hold(
        STATES.contains(&state),
        format!("there is no state {state:?}"),
        &sent.answer.exchange,
    )
}

/// The events of a stream, each of one of the four kinds.
pub(super) fn events(
    p: &Probe,
    streamed: &Streamed,
) -> Result<Vec<(&'static str, Value)>, Verdict> {
    const KINDS: [(&str, &str); 4] = [
        ("task", "task"),
        ("message", "message"),
        ("status-update", "statusUpdate"),
        ("artifact-update", "artifactUpdate"),
    ];
    let mut events = Vec::new();
    for item in &streamed.items {
        let found = KINDS.iter().find_map(|(kind, member)| {
            let wrapped = item
                .event
                .get(*member)
                .filter(|event| p.link != Link::JsonRpc && event.is_object());
            let bare = (item.event["kind"] == *kind).then_some(&item.event);
            Some((*kind, wrapped.or(bare)?.clone()))
        });
        match found {
            Some(event) => events.push(event),
            None => {
                let why = format!("an event is none of the four: {}", item.data);
                let hint = match p.link {
                    Link::JsonRpc if item.data.get("jsonrpc").is_none() => {
                        "over JSON-RPC every data is a response with the id of the request"
                    }
                    _ => "send one of the four: task, message, status-update or artifact-update",
                };
                return Err(fail(why, &streamed.exchange).hinting(hint));
            }
        }
    }
    if events.is_empty() {
        return Err(fail("the stream held no event", &streamed.exchange));
    }
    Ok(events)
}

async fn stream(p: &Probe) -> Found {
    let streamed = p.streamed().await?;
    events(p, streamed)?;
    for item in &streamed.items {
        let whole = p.link != Link::JsonRpc || item.data["jsonrpc"] == "2.0";
        hold(whole, "an event is no JSON-RPC answer", &streamed.exchange)?;
        let id = &item.data["id"];
        hold_or(
            p.link != Link::JsonRpc || *id == streamed.id,
            format!("an event has the id {id}, and the request {}", streamed.id),
            "write the id of the request into every event of its stream",
            &streamed.exchange,
        )?;
    }
    Ok(())
}

async fn last(p: &Probe) -> Found {
    let streamed = p.followed().await?;
    let events = events(p, streamed);
    let events = events.map_err(|_| unseen("the stream holds what is no event, see V03-005"))?;
    hold_or(
        streamed.end == End::Closed,
        "the stream stays open after its last event",
        "close the stream after the final event",
        &streamed.exchange,
    )?;
    let mut updates = events
        .iter()
        .rev()
        .filter(|(kind, _)| *kind == "status-update");
    match updates.next() {
        Some((_, update)) => hold(
            update["final"] == true,
            "the last status update is not final",
            &streamed.exchange,
        ),
        None if events[0].0 == "message" => Ok(()),
        // A task that is over when it is shown needs no update.
        None if events.iter().any(|event| is_over(p, event)) => Ok(()),
        None => Err(fail("there is no status update", &streamed.exchange)),
    }
}

async fn no_streaming(p: &Probe) -> Found {
    let params = p.say(&p.plan.message);
    p.refuses(
        Method::Stream,
        params,
        &[ErrorKind::UnsupportedOperation],
        "a stream",
    )
    .await
}

async fn numbers(p: &Probe) -> Found {
    for (what, body, number) in [
        ("what is not JSON", "{\"jsonrpc\": \"2.0\", ", -32700),
        (
            "a call without jsonrpc",
            r#"{"id": 1, "method": "tasks/get", "params": {"id": "x"}}"#,
            -32600,
        ),
        (
            "a call without method",
            r#"{"jsonrpc": "2.0", "id": 1, "params": {}}"#,
            -32600,
        ),
        (
            "an unknown method",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {}}"#,
            -32601,
        ),
        (
            "a task without its id",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {}}"#,
            -32602,
        ),
    ] {
        let answer = p
            .ask("POST", "", body.as_bytes().to_vec(), Manner::default())
            .await;
        let refusal = answer.refusal(what)?;
        let why = format!(
            "{what} was refused as {}, expected {number}",
            refusal.text()
        );
        let hint = format!("answer {number} to {what}");
        hold_or(refusal.code == Some(number), why, hint, &answer.exchange)?;
    }
    Ok(())
}

async fn ids(p: &Probe) -> Found {
    for id in [json!("a string"), json!(42)] {
        let body = Probe::envelope(&id, "tasks/get", &json!({"id": "nobody"}));
        let answer = p.ask("POST", "", body, Manner::default()).await;
        let body = answer.body.clone().unwrap_or_default();
        hold(
            body["id"] == id,
            format!("id {id} came back as {}", body["id"]),
            &answer.exchange,
        )?;
    }
    p.sent().await.ok();
    for (id, body, exchange) in p.seen().envelopes {
        let both = body.get("result").is_some() && body.get("error").is_some_and(|e| !e.is_null());
        hold_or(
            !both,
            "an answer has both result and error",
            "leave the other one out",
            &exchange,
        )?;
        let why = format!("id {id} came back as {}", body["id"]);
        hold_or(body["id"] == id, why, ECHO_THE_ID, &exchange)?;
    }
    Ok(())
}

async fn without_parts(p: &Probe) -> Found {
    let mut params = p.say(&p.plan.message);
    let mut message = members(&params["message"]);
    message.retain(|name, _| name != "parts" && name != "content");
    params["message"] = Value::Object(message);
    let answer = p.call(Method::Send, params).await;
    answer.refused_as(&[ErrorKind::InvalidParams], "a message without parts")
}

async fn at_once(p: &Probe) -> Found {
    let text = p.plan.long_message.as_deref().unwrap_or_default();
    let sent = p.send(p.say_at_once(text), "a long message").await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "--long-message was answered with a message, not a task",
        ));
    };
    let over = p
        .read(task)
        .is_none_or(|task| task.status.state.is_terminal());
    hold(
        !over,
        "the send returned when the task was over",
        &sent.answer.exchange,
    )?;
    p.clean_up(&task["id"]).await;
    Ok(())
}

async fn extended_card(p: &Probe) -> Found {
    let answer = p.call(Method::ExtendedCard, json!({})).await;
    if p.lacks(Need::ExtendedCard).is_ok() {
        return Err(unseen("the card offers one, see V03-039"));
    }
    answer
        .refusal("an extended card that is not offered")
        .map(drop)
}
