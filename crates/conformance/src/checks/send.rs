//! Sending a message: what comes back, when, and to which task and conversation it belongs.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::answer::{Link, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, unseen};
use crate::probe::{Manner, Probe};
use crate::rpc;

pub(super) static CHECKS: [Check; 13] = [
    Check {
        id: "S-001",
        level: Must,
        clause: "§3.1.1",
        title: "SendMessage answers with a Task or a Message",
        hint: "answer {\"task\": …} or {\"message\": …}, and exactly one of them",
        run: Run::Link(&[], |p| Box::pin(task_or_message(p))),
    },
    Check {
        id: "S-024",
        level: Must,
        clause: "§3.2.2",
        title: "a send waits until the task is over or waits for the caller",
        hint: "without returnImmediately, answer only once the task is terminal or interrupted",
        run: Run::Link(&[Need::Long], |p| Box::pin(waits(p))),
    },
    Check {
        id: "S-025",
        level: Must,
        clause: "§3.2.2",
        title: "with returnImmediately a send returns as soon as the task exists",
        hint: "answer with the task while it is still submitted or working",
        run: Run::Link(&[Need::Long], |p| Box::pin(returns_at_once(p))),
    },
    Check {
        id: "S-044",
        level: Must,
        clause: "§3.4.1",
        title: "a generated contextId is returned",
        hint: "put contextId into the Task or Message",
        run: Run::Link(&[], |p| Box::pin(context_is_returned(p))),
    },
    Check {
        id: "S-045",
        level: Must,
        clause: "§3.4.1",
        title: "a contextId of the client is kept or refused, never replaced",
        hint: "take the client's contextId as it is, or answer with an error",
        run: Run::Link(&[], |p| Box::pin(context_is_kept(p))),
    },
    Check {
        id: "S-047",
        level: Must,
        clause: "§3.4.2",
        title: "every new task has an id of its own, made by the server",
        hint: "make a new id for each message without taskId",
        run: Run::Link(&[], |p| Box::pin(ids_are_unique(p))),
    },
    Check {
        id: "S-048",
        level: Must,
        clause: "§3.4.2",
        title: "a message to an unknown task is TaskNotFound",
        hint: "never make a task with an id that the client chose",
        run: Run::Link(&[], |p| Box::pin(unknown_task(p))),
    },
    Check {
        id: "S-049",
        level: Must,
        clause: "§3.4.3",
        title: "the contextId is inferred from the taskId",
        hint: "look the conversation up by the task if only taskId is given",
        run: Run::Link(&[Need::Asking], |p| Box::pin(context_is_inferred(p))),
    },
    Check {
        id: "S-050",
        level: Must,
        clause: "§3.4.3",
        title: "a contextId that is not the task's is refused",
        hint: "compare message.contextId with the task's",
        run: Run::Link(&[Need::Asking], |p| Box::pin(mismatch(p))),
    },
    Check {
        id: "S-052",
        level: Must,
        clause: "§3.1.1, §3.1.2",
        title: "a message to a task that is over is UnsupportedOperation",
        hint: "answer -32004, HTTP 400 with UNSUPPORTED_OPERATION; not InvalidParams",
        run: Run::Link(&[], |p| Box::pin(terminal_task(p))),
    },
    Check {
        id: "S-053",
        level: Must,
        clause: "§3.1.1",
        title: "a part of a media type that is not supported is ContentTypeNotSupported",
        hint: "answer -32005, HTTP 400 with CONTENT_TYPE_NOT_SUPPORTED",
        run: Run::Link(&[], |p| Box::pin(media_type(p))),
    },
    Check {
        id: "S-067",
        level: Should,
        clause: "§5.7",
        title: "members that are not known are ignored",
        hint: "do not refuse unknown members: newer clients send them",
        run: Run::Link(&[], |p| Box::pin(unknown_members(p))),
    },
    Check {
        id: "S-112",
        level: Must,
        clause: "§3.2.4",
        title: "historyLength of a send is applied to the task it returns",
        hint: "cut history to configuration.historyLength in the answer",
        run: Run::Link(&[], |p| Box::pin(history_of_a_send(p))),
    },
];

async fn task_or_message(p: &Probe) -> Found {
    let sent = p.sent().await?;
    let result = sent.answer.result("a message")?;
    let there = ["task", "message"]
        .iter()
        .filter(|name| result[**name].is_object())
        .count();
    match there {
        1 => Ok(()),
        0 => Err(sent.answer.fail("the result has neither task nor message")),
        _ => Err(sent.answer.fail("the result has both task and message")),
    }
}

async fn waits(p: &Probe) -> Found {
    let text = p.plan.long_message.as_deref().unwrap_or_default();
    let sent = p.send(p.say(text), "a long message").await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "--long-message was answered with a message, not a task",
        ));
    };
    let task = p
        .read(task)
        .ok_or_else(|| sent.answer.fail("the task cannot be read"))?;
    let state = task.status.state;
    if state.is_terminal() || state.is_interrupted() {
        return Ok(());
    }
    Err(sent.answer.fail(format!(
        "the send returned while the task was {}",
        state.name()
    )))
}

async fn returns_at_once(p: &Probe) -> Found {
    let text = p.plan.long_message.as_deref().unwrap_or_default();
    let sent = p.send(p.say_at_once(text), "a long message").await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "--long-message was answered with a message, not a task",
        ));
    };
    let read = p
        .read(task)
        .ok_or_else(|| sent.answer.fail("the task cannot be read"))?;
    if read.status.state.is_terminal() {
        return Err(sent.answer.fail(format!(
            "the send returned when the task was {}",
            read.status.state.name()
        )));
    }
    p.clean_up(&task["id"]).await;
    Ok(())
}

async fn context_is_returned(p: &Probe) -> Found {
    let sent = p.answered().await?;
    let result = sent.answer.result("a message")?;
    let object = sent.task.as_ref().unwrap_or(&result["message"]);
    match object["contextId"].as_str() {
        Some(id) if !id.is_empty() => Ok(()),
        _ => Err(sent.answer.fail("there is no contextId")),
    }
}

async fn context_is_kept(p: &Probe) -> Found {
    let ours = format!("conformance-{}", uuid::Uuid::new_v4());
    let mut params = p.say(&p.plan.message);
    params["message"]["contextId"] = json!(ours);
    let answer = p.call(Method::Send, params).await;
    match &answer.outcome {
        Outcome::Refused(_) => Ok(()),
        Outcome::Broken(why) => Err(answer.fail(format!("there was no answer: {why}"))),
        Outcome::Result(result) => {
            let task = p.task_in(result);
            let object = task.as_ref().unwrap_or(&result["message"]);
            if object["contextId"] == json!(ours) {
                return Ok(());
            }
            Err(answer.fail(format!("contextId {ours} became {}", object["contextId"])))
        }
    }
}

async fn ids_are_unique(p: &Probe) -> Found {
    let first = p.answered().await?.task.clone();
    let second = p.send(p.say(&p.plan.message), "a second message").await?;
    let (Some(one), Some(other)) = (first, second.task) else {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    };
    match (one["id"].as_str(), other["id"].as_str()) {
        (Some(one), Some(other)) if one != other && !one.is_empty() => Ok(()),
        (Some(_), Some(other)) => Err(second
            .answer
            .fail(format!("two tasks have the id {other:?}"))),
        _ => Err(second.answer.fail("a task has no id")),
    }
}

async fn unknown_task(p: &Probe) -> Found {
    let params = p.say_to(
        &p.plan.message,
        &json!(format!("nobody-{}", uuid::Uuid::new_v4())),
    );
    let answer = p.call(Method::Send, params).await;
    answer.refused_as(&[ErrorKind::TaskNotFound], "a message to an unknown task")
}

async fn context_is_inferred(p: &Probe) -> Found {
    let task = p.waiting().await?;
    let sent = p
        .send(
            p.say_to("an answer", &task["id"]),
            "an answer with taskId alone",
        )
        .await?;
    let Some(after) = &sent.task else {
        return Err(sent
            .answer
            .fail("a message to a task was not answered by the task"));
    };
    for name in ["id", "contextId"] {
        if after[name] != task[name] {
            return Err(sent
                .answer
                .fail(format!("{name} {} became {}", task[name], after[name])));
        }
    }
    p.clean_up(&task["id"]).await;
    Ok(())
}

async fn mismatch(p: &Probe) -> Found {
    let task = p.waiting().await?;
    let mut params = p.say_to("an answer", &task["id"]);
    params["message"]["contextId"] = json!(format!("other-{}", uuid::Uuid::new_v4()));
    let answer = p.call(Method::Send, params).await;
    p.clean_up(&task["id"]).await;
    answer
        .refusal("a message with another contextId than its task's")
        .map(drop)
}

async fn terminal_task(p: &Probe) -> Found {
    let task = p.finished().await?;
    let params = p.say_to(&p.plan.message, &task["id"]);
    let answer = p.call(Method::Send, params).await;
    answer.refused_as(
        &[ErrorKind::UnsupportedOperation],
        "a message to a task that is over",
    )
}

async fn media_type(p: &Probe) -> Found {
    let modes = &p.found.card.default_input_modes;
    if modes
        .iter()
        .any(|mode| mode.starts_with("*/") || mode.starts_with("application/*"))
    {
        return Err(unseen("the card takes every media type"));
    }
    let mut params = p.say(&p.plan.message);
    let odd =
        json!({"raw": "AAEC", "mediaType": "application/x-unheard-of", "filename": "odd.bin"});
    params["message"]["parts"] = json!([odd]);
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

/// A field that no message has.
const FIELD_5000: [u8; 4] = [0xc0, 0xb8, 0x02, 1];

async fn unknown_members(p: &Probe) -> Found {
    let mut params = p.say(&p.plan.message);
    if p.link == Link::Grpc {
        let (path, mut message) = p.message(Method::Send, &params);
        message.extend_from_slice(&FIELD_5000);
        let body = rpc::framed(&message);
        let answer = p.ask("POST", &path, body, Manner::default()).await;
        return answer.result("a message with an unknown field").map(drop);
    }
    params["notYetInvented"] = json!(true);
    params["message"]["notYetInvented"] = json!({"a": 1});
    params["message"]["parts"][0]["notYetInvented"] = Value::Null;
    let answer = p.call(Method::Send, params).await;
    answer.result("a message with unknown members").map(drop)
}

async fn history_of_a_send(p: &Probe) -> Found {
    let mut params = p.say(&p.plan.message);
    params["configuration"] = json!({"historyLength": 0});
    let sent = p.send(params, "a message with historyLength 0").await?;
    let Some(task) = &sent.task else {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    };
    match task["history"].as_array() {
        Some(history) if !history.is_empty() => Err(sent.answer.fail(format!(
            "{} messages of history came instead of none",
            history.len()
        ))),
        _ => Ok(()),
    }
}
