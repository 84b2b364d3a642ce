//! What must hold for every answer: looked at last, over all that was seen.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;
use switchboard_types::wire::v1_0::error::{DOMAIN, row};

use crate::answer::{Link, Refusal, grpc_code};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, fail, hold, hold_or, unseen, weak};
use crate::exchange::Exchange;
use crate::probe::Probe;
use crate::shape::{self, Kind};

/// What to do about a wrong id.
pub(super) const ECHO_THE_ID: &str = "answer with the id of the request, of the same type";

pub(super) static CHECKS: [Check; 10] = [
    Check {
        id: "S-036",
        level: Must,
        clause: "§3.3.2",
        title: "every error has a code and a message, every detail its @type",
        hint: "write code and message always; details are objects with @type",
        run: Run::Link(&[], |p| Box::pin(complete_errors(p))),
    },
    Check {
        id: "S-037",
        level: Must,
        clause: "§5.4",
        title: "errors have the numbers and statuses of the specification",
        hint: "use the table of A2A 1.0.1 §5.4; statuses 409, 415 and 502 are those of 1.0.0",
        run: Run::Link(&[], |p| Box::pin(right_numbers(p))),
    },
    Check {
        id: "S-038",
        level: Must,
        clause: "§11.6",
        title: "errors over HTTP+JSON carry ErrorInfo with reason and domain",
        hint: "put google.rpc.ErrorInfo into error.details, with domain a2a-protocol.org",
        run: Run::Link(&[Need::Rest], |p| Box::pin(error_info(p))),
    },
    Check {
        id: "S-040",
        level: Must,
        clause: "§9.5",
        title: "error.data, if there, is a list of typed objects",
        hint: "send a list whose elements have @type, google.rpc.ErrorInfo among them",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(error_data(p))),
    },
    Check {
        id: "S-063",
        level: Must,
        clause: "§5.5",
        title: "members are spelled in camelCase",
        hint: "write contextId, not context_id",
        run: Run::Link(&[Need::Json], |p| Box::pin(camel_case(p))),
    },
    Check {
        id: "S-064",
        level: Must,
        clause: "§5.5",
        title: "states and roles are spelled as in the proto",
        hint: "write TASK_STATE_COMPLETED and ROLE_AGENT, as strings",
        run: Run::Link(&[], |p| Box::pin(enum_names(p))),
    },
    Check {
        id: "S-066",
        level: Must,
        clause: "§5.7",
        title: "required members are there, and required lists not empty",
        hint: "write every member that the proto marks REQUIRED, even if it is empty text",
        run: Run::Link(&[], |p| Box::pin(required_members(p))),
    },
    Check {
        id: "S-068",
        level: Must,
        clause: "§5.1",
        title: "all bindings give the same results",
        hint: "serve all bindings from the same tasks",
        run: Run::Link(&[], |p| Box::pin(equivalent(p))),
    },
    Check {
        id: "S-116",
        level: Must,
        clause: "JSON-RPC 2.0 §5",
        title: "an answer has either result or error, and the id of its request",
        hint: "leave the other one out",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(one_of_two(p))),
    },
    Check {
        id: "S-118",
        level: Should,
        clause: "§9.5",
        title: "error numbers are those of JSON-RPC, or within -32001 to -32099",
        hint: "use no numbers of your own outside the range for servers",
        run: Run::Link(&[Need::JsonRpc], |p| Box::pin(in_range(p))),
    },
];

fn refusals(p: &Probe) -> Result<Vec<(Refusal, Arc<Exchange>)>, Verdict> {
    let seen = p.seen().refusals;
    if seen.is_empty() {
        return Err(unseen("no error was seen"));
    }
    Ok(seen)
}

fn details(p: &Probe, refusal: &Refusal) -> Value {
    let name = if p.link == Link::JsonRpc {
        "data"
    } else {
        "details"
    };
    refusal.object.get(name).cloned().unwrap_or_default()
}

async fn complete_errors(p: &Probe) -> Found {
    for (refusal, exchange) in refusals(p)? {
        let object = &refusal.object;
        hold(object["code"].is_i64(), "an error has no code", &exchange)?;
        hold(
            object["message"].is_string(),
            "an error has no message",
            &exchange,
        )?;
        for detail in details(p, &refusal).as_array().into_iter().flatten() {
            hold(
                detail["@type"].is_string(),
                "a detail of an error has no @type",
                &exchange,
            )?;
        }
    }
    Ok(())
}

async fn right_numbers(p: &Probe) -> Found {
    let mut older = None;
    for (refusal, exchange) in refusals(p)? {
        let Some(kind) = refusal.reason.as_deref().and_then(ErrorKind::from_reason) else {
            continue;
        };
        let row = row(kind);
        let (given, expected) = match p.link {
            Link::JsonRpc => (refusal.code.unwrap_or_default(), i64::from(row.code)),
            Link::Rest => (i64::from(refusal.status), i64::from(row.status)),
            Link::Grpc => (refusal.grpc.unwrap_or_default(), grpc_code(p.dialect, kind)),
        };
        if given == expected {
            continue;
        }
        let why = format!("{} has {given}, expected {expected}", kind.reason());
        if p.link == Link::Rest && [409, 415, 502].contains(&given) {
            older.get_or_insert(weak(format!("{why}, as 1.0.0 had it"), &exchange));
            continue;
        }
        return Err(fail(why, &exchange));
    }
    older.map_or(Ok(()), Err)
}

pub(super) async fn error_info(p: &Probe) -> Found {
    for (refusal, exchange) in refusals(p)? {
        let list = details(p, &refusal);
        let mut infos = list.as_array().into_iter().flatten().filter(|detail| {
            let kind = detail["@type"].as_str().unwrap_or_default();
            kind.ends_with("google.rpc.ErrorInfo")
        });
        let Some(info) = infos.next() else {
            // Wrong input has no reason in the specification; 404 on its paths is a missing task.
            let input = refusal.object["status"] == "INVALID_ARGUMENT";
            let needed = [400, 404, 409, 415, 501].contains(&refusal.status) && !input;
            hold(
                !needed,
                format!("{} has no ErrorInfo", refusal.text()),
                &exchange,
            )?;
            continue;
        };
        hold(
            info["reason"].is_string(),
            "an ErrorInfo has no reason",
            &exchange,
        )?;
        let known = refusal.reason.as_deref().and_then(ErrorKind::from_reason);
        let a2a = known.is_some_and(|kind| (-32009..=-32001).contains(&row(kind).code));
        let why = format!("the domain of {} is {}", refusal.text(), info["domain"]);
        hold(!a2a || info["domain"] == DOMAIN, why, &exchange)?;
    }
    Ok(())
}

async fn error_data(p: &Probe) -> Found {
    let mut bare = None;
    for (refusal, exchange) in refusals(p)? {
        match refusal.object.get("data") {
            None | Some(Value::Null) => {
                if refusal
                    .code
                    .is_some_and(|code| (-32009..=-32001).contains(&code))
                {
                    bare.get_or_insert(weak(
                        format!("{} has no ErrorInfo", refusal.text()),
                        &exchange,
                    ));
                }
            }
            Some(Value::Array(list)) => {
                let typed = list.iter().all(|detail| detail["@type"].is_string());
                hold(typed, "an element of error.data has no @type", &exchange)?;
            }
            Some(_) => return Err(fail("error.data is no list", &exchange)),
        }
    }
    bare.map_or(Ok(()), Err)
}

/// All results, after making sure that there is one.
async fn results(p: &Probe) -> Result<Vec<(Method, Value, Arc<Exchange>)>, Verdict> {
    p.sent().await.ok();
    if p.lacks(Need::Streaming).is_ok() {
        p.streamed().await.ok();
    }
    let seen = p.seen().results;
    if seen.is_empty() {
        return Err(unseen("no result was seen"));
    }
    Ok(seen)
}

/// Looks at every object of every result.
pub(super) async fn every(p: &Probe, wrong: impl Fn(Kind, &Value) -> Option<String>) -> Found {
    for (method, result, exchange) in results(p).await? {
        let mut found = None;
        shape::walk(method, &result, &mut |kind, path, object| {
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

async fn enum_names(p: &Probe) -> Found {
    const STATES: [&str; 8] = [
        "SUBMITTED",
        "WORKING",
        "COMPLETED",
        "FAILED",
        "CANCELED",
        "INPUT_REQUIRED",
        "REJECTED",
        "AUTH_REQUIRED",
    ];
    every(p, |kind, object| {
        let (name, right) = match kind {
            Kind::Status => {
                let state = object["state"].as_str().unwrap_or_default();
                let short = state.strip_prefix("TASK_STATE_").unwrap_or_default();
                ("state", STATES.contains(&short))
            }
            Kind::Message => (
                "role",
                ["ROLE_USER", "ROLE_AGENT"]
                    .iter()
                    .any(|role| object["role"] == *role),
            ),
            _ => return None,
        };
        (!right).then(|| format!("{name} is {}", object[name]))
    })
    .await
}

async fn required_members(p: &Probe) -> Found {
    every(p, |kind, object| {
        // What we said ourselves, some of it wrong on purpose.
        if kind == Kind::Message && object["role"] == "ROLE_USER" {
            return None;
        }
        for name in kind.required() {
            match object.get(*name) {
                None | Some(Value::Null) => return Some(format!("{name} is missing")),
                Some(Value::Array(list)) if list.is_empty() && *name == "parts" => {
                    return Some(format!("{name} is empty"));
                }
                Some(_) => {}
            }
        }
        if kind == Kind::Part {
            let content = ["text", "raw", "url", "data"];
            let there = content
                .iter()
                .filter(|name| object.get(**name).is_some())
                .count();
            return (there != 1).then(|| format!("a part has {there} of text, raw, url and data"));
        }
        None
    })
    .await
}

async fn equivalent(p: &Probe) -> Found {
    let task = p.finished().await?;
    let mut others = 0;
    for other in p.siblings() {
        others += 1;
        let answer = other.call(Method::Get, json!({"id": task["id"]})).await;
        let what = format!(
            "a task made over {}, read over {}",
            p.interface.binding.name(),
            other.interface.binding.name()
        );
        let read = answer.result(&what)?;
        let (one, two) = (p.read(&task), other.read(read));
        let same = match (&one, &two) {
            (Some(one), Some(two)) => {
                one.id == two.id && one.status == two.status && one.artifacts == two.artifacts
            }
            _ => false,
        };
        hold(same, format!("{what} is not the same"), &answer.exchange)?;
    }
    if others == 0 {
        return Err(Verdict::NotOffered(
            "there is no other binding of 1.0 to compare with",
        ));
    }
    Ok(())
}

async fn one_of_two(p: &Probe) -> Found {
    p.sent().await.ok();
    for (id, body, exchange) in p.seen().envelopes {
        let both = body.get("result").is_some() && body.get("error").is_some_and(|e| !e.is_null());
        hold(!both, "an answer has both result and error", &exchange)?;
        let none = body.get("result").is_none() && body.get("error").is_none();
        hold(!none, "an answer has neither result nor error", &exchange)?;
        let why = format!("id {id} came back as {}", body["id"]);
        hold_or(body["id"] == id, why, ECHO_THE_ID, &exchange)?;
    }
    Ok(())
}

async fn in_range(p: &Probe) -> Found {
    for (refusal, exchange) in refusals(p)? {
        let Some(code) = refusal.code else { continue };
        let known = (-32099..=-32001).contains(&code)
            || (-32603..=-32600).contains(&code)
            || code == -32700;
        hold(known, format!("an error has the number {code}"), &exchange)?;
    }
    Ok(())
}
