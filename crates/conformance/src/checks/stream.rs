//! Streaming a message: what comes first, what follows, and when it ends.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_types::operation::Method;

use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, Verdict, fail, hold, hold_or, unseen};
use crate::probe::Probe;
use crate::shape::{self, Kind};
use crate::stream::{End, Streamed};

/// Events that come closer together than this came at once.
const AT_ONCE: Duration = Duration::from_millis(50);

pub(super) static CHECKS: [Check; 7] = [
    Check {
        id: "S-002",
        level: Must,
        clause: "§3.1.2",
        title: "a stream begins with a Task or a Message",
        hint: "send the Task before its updates",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(first_item(p))),
    },
    Check {
        id: "S-003",
        level: Must,
        clause: "§3.1.2",
        title: "a Message is the only item of its stream",
        hint: "close the stream after a Message",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(one_message(p))),
    },
    Check {
        id: "S-004",
        level: Must,
        clause: "§3.1.2",
        title: "after the Task only updates follow",
        hint: "send status and artifact updates after the Task, no messages",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(then_updates(p))),
    },
    Check {
        id: "S-005",
        level: Must,
        clause: "§3.1.2, §3.1.6",
        title: "a stream closes when the task is over",
        hint: "close the connection after the terminal status",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(closes(p))),
    },
    Check {
        id: "S-006",
        level: Must,
        clause: "§3.1.2",
        title: "events are sent when they happen",
        hint: "flush each event; look for proxies that buffer",
        run: Run::Link(&[Need::Streaming, Need::Long], |p| Box::pin(immediate(p))),
    },
    Check {
        id: "S-026",
        level: Must,
        clause: "§3.2.2",
        title: "returnImmediately does not shorten a stream",
        hint: "ignore returnImmediately in SendStreamingMessage",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(not_shortened(p))),
    },
    Check {
        id: "S-055",
        level: Must,
        clause: "§3.5.2",
        title: "events come in the order in which they happened",
        hint: "send events in order; the stored artifacts are the sum of their chunks",
        run: Run::Link(&[Need::Streaming], |p| Box::pin(in_order(p))),
    },
];

/// What the events of a stream are. An error in it, or what is no event, is a fault.
pub(super) fn kinds(streamed: &Streamed) -> Result<Vec<(Kind, Value)>, Verdict> {
    let mut kinds = Vec::new();
    for (at, item) in streamed.items.iter().enumerate() {
        let Some((kind, event)) = shape::event(&item.event) else {
            let why = format!("event {} is none of the four: {}", at + 1, item.data);
            return Err(fail(why, &streamed.exchange)
                .hinting("send one of task, message, statusUpdate and artifactUpdate"));
        };
        kinds.push((kind, event.clone()));
    }
    if kinds.is_empty() {
        return Err(fail("the stream held no event", &streamed.exchange));
    }
    Ok(kinds)
}

/// The same, for checks of something else: what cannot be read is said once.
pub(super) fn readable(streamed: &Streamed) -> Result<Vec<(Kind, Value)>, Verdict> {
    kinds(streamed).map_err(|_| unseen("the stream holds what is no event, see S-004"))
}

async fn first_item(p: &Probe) -> Found {
    let streamed = p.streamed().await?;
    let Some(first) = streamed.items.first() else {
        return Err(fail("the stream held no event", &streamed.exchange));
    };
    let kind = shape::event(&first.event).map(|(kind, _)| kind);
    let name = kind.map_or("what is no event", Kind::name);
    let right = matches!(kind, Some(Kind::Task | Kind::Message));
    hold(
        right,
        format!("the stream begins with {name}"),
        &streamed.exchange,
    )
}

async fn one_message(p: &Probe) -> Found {
    let streamed = p.followed().await?;
    let first = streamed
        .items
        .first()
        .and_then(|item| shape::event(&item.event));
    if first.is_none_or(|(kind, _)| kind != Kind::Message) {
        return Err(unseen("the agent answers --message with a task"));
    }
    let count = streamed.items.len();
    hold(
        count == 1,
        format!("{count} items came instead of one"),
        &streamed.exchange,
    )?;
    hold(
        streamed.end == End::Closed,
        "the stream stays open after its Message",
        &streamed.exchange,
    )
}

async fn then_updates(p: &Probe) -> Found {
    let streamed = p.followed().await?;
    let kinds = kinds(streamed)?;
    if kinds[0].0 == Kind::Message {
        return Err(unseen("the agent answers --message with a message"));
    }
    let task = kinds[0].1["id"].clone();
    hold(
        kinds[0].0 == Kind::Task,
        "the stream does not begin with the Task",
        &streamed.exchange,
    )?;
    let last = kinds.len() - 1;
    for (at, (kind, event)) in kinds.iter().enumerate().skip(1) {
        // The whole task may be sent again at the end (§11.7).
        let allowed = matches!(kind, Kind::StatusUpdate | Kind::ArtifactUpdate)
            || (*kind == Kind::Task && at == last);
        hold(
            allowed,
            format!("item {} is a {}", at + 1, kind.name()),
            &streamed.exchange,
        )?;
        let of = if *kind == Kind::Task {
            &event["id"]
        } else {
            &event["taskId"]
        };
        hold(
            *of == task,
            format!("item {} is of task {of}, not {task}", at + 1),
            &streamed.exchange,
        )?;
        let (given, context) = (&event["contextId"], &kinds[0].1["contextId"]);
        hold_or(
            given.is_null() || given == context,
            format!("item {} is of context {given}, not {context}", at + 1),
            "every update names the contextId of its task",
            &streamed.exchange,
        )?;
    }
    Ok(())
}

/// The state that an event tells.
pub(super) fn state(kind: Kind, event: &Value) -> Option<&str> {
    matches!(kind, Kind::Task | Kind::StatusUpdate)
        .then(|| event["status"]["state"].as_str())
        .flatten()
}

/// Whether a state of 1.0 is the last.
pub(super) fn terminal(state: &str) -> bool {
    ["COMPLETED", "FAILED", "CANCELED", "REJECTED"]
        .iter()
        .any(|end| state.strip_prefix("TASK_STATE_") == Some(end))
}

async fn closes(p: &Probe) -> Found {
    let streamed = p.followed().await?;
    let kinds = readable(streamed)?;
    let over = kinds
        .iter()
        .position(|(kind, event)| state(*kind, event).is_some_and(terminal));
    let Some(over) = over else {
        return Err(unseen("the task of --message did not end on the stream"));
    };
    match &streamed.end {
        End::Closed => {}
        End::Broken(why) => {
            return Err(fail(format!("the stream broke: {why}"), &streamed.exchange));
        }
        End::Left => {
            return Err(fail(
                "the stream stays open after the terminal state",
                &streamed.exchange,
            ));
        }
    }
    let after = &kinds[over + 1..];
    let quiet = after.iter().all(|(kind, _)| *kind == Kind::Task);
    hold(
        quiet,
        "updates follow the terminal state",
        &streamed.exchange,
    )
}

async fn immediate(p: &Probe) -> Found {
    let text = p.plan.long_message.as_deref().unwrap_or_default();
    let stream = p.open(Method::Stream, p.say(text)).await;
    let stream = stream.map_err(|refused| refused.fail("the stream was refused"))?;
    let streamed = stream.rest(p.plan.timeout).await;
    p.keep(&streamed);
    let (Some(first), Some(last)) = (streamed.items.first(), streamed.items.last()) else {
        return Err(fail("the stream held no event", &streamed.exchange));
    };
    let spread = last.after.saturating_sub(first.after);
    if spread > AT_ONCE {
        return Ok(());
    }
    if first.after < 4 * AT_ONCE {
        return Err(unseen("the task of --long-message was over at once"));
    }
    let why = format!(
        "all {} events came together, after {:?}",
        streamed.items.len(),
        first.after
    );
    Err(fail(why, &streamed.exchange))
}

async fn not_shortened(p: &Probe) -> Found {
    let mut params = p.say(&p.plan.message);
    params["configuration"] = json!({"returnImmediately": true});
    let stream = p.open(Method::Stream, params).await;
    let stream =
        stream.map_err(|refused| refused.fail("a stream with returnImmediately was refused"))?;
    let streamed = stream.rest(p.plan.timeout).await;
    p.keep(&streamed);
    let plain = readable(p.followed().await?)?;
    let short = readable(&streamed)?;
    let last = |kinds: &[(Kind, Value)]| {
        let mut states = kinds
            .iter()
            .rev()
            .filter_map(|(kind, event)| state(*kind, event));
        states.next().map(str::to_owned)
    };
    let why = format!(
        "it ended with {:?}, without returnImmediately with {:?}",
        last(&short),
        last(&plain)
    );
    hold(last(&short) == last(&plain), why, &streamed.exchange)
}

async fn in_order(p: &Probe) -> Found {
    let streamed = p.followed().await?;
    let kinds = readable(streamed)?;
    let mut latest = String::new();
    let mut begun = false;
    let mut texts: Vec<(String, String)> = Vec::new();
    for (kind, event) in &kinds {
        if let Some(time) = event["status"]["timestamp"].as_str() {
            let why = format!("a status of {time} came after one of {latest}");
            hold_or(
                comparable(time) >= comparable(&latest),
                why,
                "send events in the order of their timestamps",
                &streamed.exchange,
            )?;
            latest = time.to_owned();
        }
        if let Some(state) = state(*kind, event) {
            let submitted = state == "TASK_STATE_SUBMITTED";
            hold_or(
                !(begun && submitted),
                "a task that was working is submitted again",
                "a task goes from submitted to working, never back",
                &streamed.exchange,
            )?;
            begun |= !submitted;
        }
        if *kind == Kind::ArtifactUpdate {
            fold(&mut texts, event);
        }
    }
    let (Kind::Task, first) = &kinds[0] else {
        return Err(unseen("the agent answers --message with a message"));
    };
    let answer = p.call(Method::Get, json!({"id": first["id"]})).await;
    let Ok(stored) = answer.result("the task of a stream") else {
        return Err(unseen("the task of the stream cannot be read, see S-123"));
    };
    for (id, text) in &texts {
        let artifacts = stored["artifacts"].as_array();
        let mut same = artifacts
            .into_iter()
            .flatten()
            .filter(|a| a["artifactId"] == json!(id));
        let now = same.next().map(text_of).unwrap_or_default();
        let why = format!("artifact {id:?} was streamed as {text:?} and is stored as {now:?}");
        hold(now == *text, why, &answer.exchange)?;
    }
    Ok(())
}

/// Times can be compared as text once their fractions are of one length.
fn comparable(time: &str) -> String {
    let (seconds, fraction) = time
        .trim_end_matches('Z')
        .split_once('.')
        .unwrap_or((time.trim_end_matches('Z'), ""));
    format!("{seconds}.{fraction:0<9}")
}

pub(super) fn fold(texts: &mut Vec<(String, String)>, event: &Value) {
    let id = event["artifact"]["artifactId"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let text = text_of(&event["artifact"]);
    match texts.iter_mut().find(|(known, _)| *known == id) {
        Some((_, all)) if event["append"] == json!(true) => all.push_str(&text),
        Some((_, all)) => *all = text,
        None => texts.push((id, text)),
    }
}

pub(super) fn text_of(artifact: &Value) -> String {
    let parts = artifact["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_compared_whatever_their_fraction() {
        assert!(comparable("2026-01-01T00:00:00Z") < comparable("2026-01-01T00:00:00.001Z"));
        assert!(comparable("2026-01-01T00:00:00.1Z") > comparable("2026-01-01T00:00:00.099Z"));
        assert_eq!(
            comparable("2026-01-01T00:00:00.100Z"),
            comparable("2026-01-01T00:00:00.1Z")
        );
    }

    #[test]
    fn chunks_add_up() {
        let mut texts = Vec::new();
        for (text, append) in [("x", false), ("a", false), ("b", true)] {
            let parts = json!([{"text": text}]);
            fold(
                &mut texts,
                &json!({"append": append, "artifact": {"artifactId": "1", "parts": parts}}),
            );
        }
        assert_eq!(texts, [("1".to_owned(), "ab".to_owned())]);
    }
}
