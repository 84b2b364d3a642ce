//! A2A 0.3: what a message leads to.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use super::kept::kept;
use crate::answer::{Link, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, hold, unseen};
use crate::probe::Probe;

pub(super) static CHECKS: [Check; 7] = [
    Check {
        id: "V03-025",
        level: Should,
        clause: "0.3 §7.1.1",
        title: "with blocking: true a send returns when the task is over or waits",
        hint: "answer a send with blocking: true once the task is over, or waits for its caller",
        run: Run::Link(&[Need::Long], |p| Box::pin(blocks(p))),
    },
    Check {
        id: "V03-026",
        level: Must,
        clause: "0.3 §6.4",
        title: "a message with a contextId belongs to that context",
        hint: "answer with the contextId of the message",
        run: Run::Link(&[], |p| Box::pin(context(p))),
    },
    Check {
        id: "V03-027",
        level: Must,
        clause: "0.3 §6.1",
        title: "every new task has an id of its own",
        hint: "make a new id for each message without taskId",
        run: Run::Link(&[], |p| Box::pin(unique(p))),
    },
    Check {
        id: "V03-028",
        level: Should,
        clause: "0.3 §3.2.1",
        title: "members that are not known are ignored",
        hint: "do not refuse unknown members: the schema allows them, and newer clients send them",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(unknown_members(p))),
    },
    Check {
        id: "V03-029",
        level: Must,
        clause: "0.3 §8.2",
        title: "a part of a media type that is not supported is ContentTypeNotSupported",
        hint: "answer -32005",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(media_type(p))),
    },
    Check {
        id: "V03-030",
        level: Should,
        clause: "0.3 §7.1.1",
        title: "historyLength of a send is applied to the task it returns",
        hint: "cut history to the configuration.historyLength most recent messages",
        run: Run::Link(&[Need::JsonRpc, Need::Asking], |p| Box::pin(history(p))),
    },
    Check {
        id: "V03-031",
        level: Must,
        clause: "0.3 §6.1, §6.6.2",
        title: "history holds messages as they were sent",
        hint: "store the parts of a message as they came",
        // SDKs disagree about bytes in the other bindings.
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(kept(p))),
    },
];

async fn blocks(p: &Probe) -> Found {
    let text = p.plan.long_message.as_deref().unwrap_or_default();
    let sent = p.send(p.say(text), "a long message").await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "--long-message was answered with a message, not a task",
        ));
    };
    let read = p.read(task);
    let read = read.ok_or_else(|| sent.answer.fail("the task cannot be read"))?;
    let state = read.status.state;
    let why = format!("the send returned while the task was {}", state.name());
    hold(
        state.is_terminal() || state.is_interrupted(),
        why,
        &sent.answer.exchange,
    )
}

/// The object that a send is answered with, whatever it is wrapped in.
fn answered(p: &Probe, result: &Value) -> Value {
    let wrapped = result.get("message").filter(|_| p.link != Link::JsonRpc);
    p.task_in(result)
        .or_else(|| wrapped.cloned())
        .unwrap_or_else(|| result.clone())
}

async fn context(p: &Probe) -> Found {
    let first = answered(p, p.answered().await?.answer.result("a message")?);
    let Some(context) = first["contextId"].as_str() else {
        return Err(unseen("there is no contextId, see V03-003"));
    };
    let mut params = p.say(&p.plan.message);
    params["message"]["contextId"] = json!(context);
    let answer = p.call(Method::Send, params).await;
    let second = answered(p, answer.result("a message with the contextId of a task")?);
    let why = format!("contextId {context:?} became {}", second["contextId"]);
    hold(second["contextId"] == context, why, &answer.exchange)
}

async fn unique(p: &Probe) -> Found {
    let first = p.answered().await?.task.clone();
    let second = p.send(p.say(&p.plan.message), "a second message").await?;
    let (Some(one), Some(other)) = (first, second.task) else {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    };
    let why = format!("two tasks have the id {}", other["id"]);
    hold(one["id"] != other["id"], why, &second.answer.exchange)
}

async fn unknown_members(p: &Probe) -> Found {
    let mut params = p.say(&p.plan.message);
    params["notYetInvented"] = json!(true);
    params["message"]["notYetInvented"] = json!({"a": 1});
    params["message"]["parts"][0]["notYetInvented"] = Value::Null;
    let answer = p.call(Method::Send, params).await;
    answer.result("a message with unknown members").map(drop)
}

async fn media_type(p: &Probe) -> Found {
    let modes = &p.found.card.default_input_modes;
    let every = |mode: &String| mode.starts_with("*/") || mode.starts_with("application/*");
    if modes.iter().any(every) {
        return Err(unseen("the card takes every media type"));
    }
    let mut params = p.say(&p.plan.message);
    let file = json!({"bytes": "AAEC", "mimeType": "application/x-unheard-of", "name": "odd.bin"});
    params["message"]["parts"] = json!([{"kind": "file", "file": file}]);
    let answer = p.call(Method::Send, params).await;
    if let Outcome::Result(_) = answer.outcome {
        return Err(unseen(
            "the agent took a part of an unheard-of type, so it may support it",
        ));
    }
    answer.refused_as(
        &[ErrorKind::ContentTypeNotSupported],
        "a part of an unheard-of type",
    )
}

async fn history(p: &Probe) -> Found {
    let task = p.waiting().await?;
    let mut params = p.say_to("an answer", &task["id"]);
    params["configuration"]["historyLength"] = json!(1);
    let sent = p.send(params, "an answer with historyLength 1").await?;
    p.clean_up(&task["id"]).await;
    let task = sent.task.unwrap_or_default();
    let length = task["history"].as_array().map_or(0, Vec::len);
    let why = format!("with historyLength 1, {length} messages of history came");
    hold(length <= 1, why, &sent.answer.exchange)
}
