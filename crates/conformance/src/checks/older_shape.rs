//! A2A 0.3: the shapes of all objects in answers, looked at last.

use std::sync::Arc;

use serde_json::Value;
use switchboard_types::model::Timestamp;
use switchboard_types::operation::Method;

use super::times::on_time;
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, Verdict, fail, unseen, weak};
use crate::exchange::Exchange;
use crate::probe::Probe;
use crate::shape;

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "V03-046",
        level: Must,
        clause: "0.3 §6, schema",
        title: "objects have their kind and all required members",
        hint: "write every member that the schema of 0.3 requires, kind among them",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(complete(p))),
    },
    Check {
        id: "V03-047",
        level: Must,
        clause: "0.3 §6.3, §6.4",
        title: "states and roles are spelled as in 0.3, in every answer",
        hint: "write completed, input-required, canceled; user and agent",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(spelled(p))),
    },
    Check {
        id: "V03-048",
        level: Must,
        clause: "0.3 §6.2",
        title: "timestamps are ISO 8601 texts, with a zone",
        hint: "write 2026-01-31T12:00:00.000Z",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(timestamps(p))),
    },
    Check {
        id: "V03-049",
        level: Must,
        clause: "0.3 §6, schema",
        title: "members are spelled in camelCase",
        hint: "write contextId, not context_id",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(camel_case(p))),
    },
];

/// What an object is, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Task,
    Status,
    Message,
    Part,
    Artifact,
    StatusUpdate,
    ArtifactUpdate,
}

impl Kind {
    /// What `kind` says of it; statuses and artifacts have none.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Task => Some("task"),
            Self::Message => Some("message"),
            Self::StatusUpdate => Some("status-update"),
            Self::ArtifactUpdate => Some("artifact-update"),
            Self::Status | Self::Part | Self::Artifact => None,
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            Self::Task => &["id", "contextId", "status"],
            Self::Status => &["state"],
            Self::Message => &["messageId", "role", "parts"],
            Self::Part => &["kind"],
            Self::Artifact => &["artifactId", "parts"],
            Self::StatusUpdate => &["taskId", "contextId", "status", "final"],
            Self::ArtifactUpdate => &["taskId", "contextId", "artifact"],
        }
    }

    fn holds(self) -> &'static [(&'static str, Self)] {
        match self {
            Self::Task => &[
                ("status", Self::Status),
                ("artifacts", Self::Artifact),
                ("history", Self::Message),
            ],
            Self::Status => &[("message", Self::Message)],
            Self::Message | Self::Artifact => &[("parts", Self::Part)],
            Self::Part => &[],
            Self::StatusUpdate => &[("status", Self::Status)],
            Self::ArtifactUpdate => &[("artifact", Self::Artifact)],
        }
    }

    /// What an event or the answer to a send is, by its `kind`; by its members where that is wrong.
    fn of(event: &Value) -> Option<Self> {
        let all = [
            Self::Task,
            Self::Message,
            Self::StatusUpdate,
            Self::ArtifactUpdate,
        ];
        let named = all
            .iter()
            .find(|kind| event["kind"].as_str() == kind.name());
        let like = all.iter().find(|kind| {
            kind.required()
                .iter()
                .all(|name| event.get(*name).is_some())
        });
        like.or(named).copied()
    }
}

fn visit(kind: Kind, path: &str, value: &Value, look: &mut dyn FnMut(Kind, &str, &Value)) {
    look(kind, path, value);
    for (name, inner) in kind.holds() {
        match value.get(*name) {
            Some(Value::Array(many)) => {
                for (at, one) in many.iter().enumerate() {
                    visit(*inner, &format!("{path}.{name}[{at}]"), one, look);
                }
            }
            Some(one) if !one.is_null() => visit(*inner, &format!("{path}.{name}"), one, look),
            _ => {}
        }
    }
}

type Results = Vec<(Method, Value, Arc<Exchange>)>;

async fn results(p: &Probe) -> Result<Results, Verdict> {
    p.sent().await.ok();
    if p.lacks(Need::Streaming).is_ok() {
        p.streamed().await.ok();
    }
    let mut seen = p.seen().results;
    let shown = [
        Method::Send,
        Method::Stream,
        Method::Subscribe,
        Method::Get,
        Method::Cancel,
    ];
    seen.retain(|(method, ..)| shown.contains(method));
    if seen.is_empty() {
        return Err(unseen("no result was seen"));
    }
    Ok(seen)
}

/// Looks at every object of every result for the first that is wrong.
async fn every(p: &Probe, wrong: impl Fn(Kind, &Value) -> Option<String>) -> Found {
    for (method, result, exchange) in results(p).await? {
        let kind = match method {
            Method::Get | Method::Cancel => Some(Kind::Task),
            _ => Kind::of(&result),
        };
        let Some(kind) = kind else { continue };
        let mut found = None;
        visit(kind, "result", &result, &mut |kind, path, object| {
            if found.is_none()
                && let Some(why) = wrong(kind, object)
            {
                found = Some(format!("{path}: {why}"));
            }
        });
        if let Some(why) = found {
            return Err(fail(why, &exchange));
        }
    }
    Ok(())
}

async fn complete(p: &Probe) -> Found {
    every(p, |kind, object| {
        // What we said ourselves, some of it wrong on purpose.
        if kind == Kind::Message && object["role"] == "user" {
            return None;
        }
        if let Some(name) = kind.name()
            && object["kind"] != name
        {
            return Some(format!("kind is {}, not {name:?}", object["kind"]));
        }
        let there = |name: &&&str| object.get(**name).is_none_or(Value::is_null);
        if let Some(name) = kind.required().iter().find(there) {
            return Some(format!("{name} is missing"));
        }
        (kind == Kind::Part).then(|| wrong_part(object)).flatten()
    })
    .await
}

fn wrong_part(part: &Value) -> Option<String> {
    let right = match part["kind"].as_str() {
        Some("text") => part["text"].is_string(),
        Some("data") => part["data"].is_object(),
        Some("file") => part["file"]["bytes"].is_string() || part["file"]["uri"].is_string(),
        _ => return Some(format!("kind is {}, not text, file or data", part["kind"])),
    };
    (!right).then(|| format!("a part of kind {} lacks its content", part["kind"]))
}

async fn spelled(p: &Probe) -> Found {
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
    every(p, |kind, object| {
        let (name, allowed): (_, &[&str]) = match kind {
            Kind::Status => ("state", &STATES),
            Kind::Message => ("role", &["user", "agent"]),
            _ => return None,
        };
        let given = &object[name];
        let right = given.as_str().is_some_and(|text| allowed.contains(&text));
        (!right).then(|| format!("{name} is {given}"))
    })
    .await
}

async fn timestamps(p: &Probe) -> Found {
    let time = |kind: Kind, object: &Value| {
        let time = object.get("timestamp").filter(|time| !time.is_null());
        time.filter(|_| kind == Kind::Status).cloned()
    };
    every(p, |kind, object| {
        let time = time(kind, object)?;
        let text = time.as_str().unwrap_or_default();
        let right = text.contains('T') && Timestamp::parse(text).is_ok();
        (!right).then(|| format!("timestamp is {time}"))
    })
    .await?;
    let zoned = every(p, |kind, object| {
        let time = time(kind, object)?;
        let text = time.as_str().unwrap_or_default();
        let clock = text.split_once('T').map_or("", |(_, clock)| clock);
        let zoned = clock.ends_with('Z') || clock.contains(['+', '-']);
        (!zoned).then(|| format!("timestamp {time} has no zone"))
    })
    .await;
    // Examples in the text have none, and readers guess.
    zoned.map_err(|verdict| match verdict {
        Verdict::Fail(fault) => match &fault.exchange {
            Some(exchange) => weak(fault.why.clone(), exchange),
            None => Verdict::Fail(fault),
        },
        other => other,
    })?;
    on_time(p).await
}

async fn camel_case(p: &Probe) -> Found {
    for (_, result, exchange) in results(p).await? {
        let mut wrong = None;
        shape::names(&result, &mut |name| {
            if name.contains('_') {
                wrong.get_or_insert_with(|| name.to_owned());
            }
        });
        if let Some(name) = wrong {
            return Err(fail(format!("there is a member {name}"), &exchange));
        }
    }
    Ok(())
}
