//! The gRPC binding.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use super::everything::error_info;
use crate::answer::{Answer, Outcome, Refusal};
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, hold};
use crate::probe::{Manner, Probe};
use crate::rpc::{self, UNIMPLEMENTED};

pub(super) static CHECKS: [Check; 3] = [
    Check {
        id: "S-039",
        level: Must,
        clause: "§10.6",
        title: "gRPC errors carry ErrorInfo with reason and domain",
        hint: "put google.rpc.ErrorInfo into grpc-status-details-bin, with domain a2a-protocol.org",
        run: Run::Link(&[Need::Grpc], |p| Box::pin(error_info(p))),
    },
    Check {
        id: "S-072",
        level: Must,
        clause: "§10.1",
        title: "gRPC implements A2AService",
        hint: "serve all rpcs of lf.a2a.v1.A2AService, and answer UNIMPLEMENTED to others",
        run: Run::Link(&[Need::Grpc], |p| Box::pin(service(p))),
    },
    Check {
        id: "S-073",
        level: Must,
        clause: "§10.2",
        title: "gRPC reads service parameters from metadata",
        hint: "read a2a-version and a2a-extensions from the metadata of a request",
        run: Run::Link(&[Need::Grpc], |p| Box::pin(metadata(p))),
    },
];

async fn service(p: &Probe) -> Found {
    let task = p.answered().await?.task.clone();
    let id = task.map_or_else(|| json!("nobody"), |task| task["id"].clone());
    let hook = p.receiver.hook("/service");
    for (method, params) in [
        (Method::Send, p.say(&p.plan.message)),
        (Method::Get, json!({"id": id})),
        (Method::List, json!({})),
        (Method::Cancel, json!({"id": id})),
        (Method::CreatePushConfig, json!({"taskId": id, "url": hook})),
        (Method::ListPushConfigs, json!({"taskId": id})),
        (Method::GetPushConfig, one(&id)),
        (Method::DeletePushConfig, one(&id)),
        (Method::ExtendedCard, json!({})),
    ] {
        there(p, method, &p.call(method, params).await)?;
    }
    for (method, params) in [
        (Method::Stream, p.say(&p.plan.message)),
        (Method::Subscribe, json!({"id": id})),
    ] {
        if let Err(answer) = p.open(method, params).await {
            there(p, method, &answer)?;
        }
    }
    for path in [
        "/lf.a2a.v1.A2AService/NoSuchMethod",
        "/lf.a2a.v1.NoSuchService/GetTask",
    ] {
        let body = rpc::framed(b"");
        let answer = p.ask("POST", path, body, Manner::default()).await;
        let refusal = answer.refusal(path)?;
        let why = format!("{path} was refused as {}, expected gRPC 12", refusal.text());
        hold(is_missing(refusal), why, &answer.exchange)?;
    }
    Ok(())
}

fn one(task: &Value) -> Value {
    json!({"taskId": task, "id": "nobody"})
}

fn is_missing(refusal: &Refusal) -> bool {
    refusal.grpc == Some(UNIMPLEMENTED)
}

/// Whether an rpc is implemented. One that is, but not offered, says so by a reason.
fn there(p: &Probe, method: Method, answer: &Answer) -> Found {
    let missing = match &answer.outcome {
        Outcome::Refused(refusal) if is_missing(refusal) => {
            let reason = refusal.reason.as_deref().and_then(ErrorKind::from_reason);
            reason.is_none_or(|kind| kind == ErrorKind::MethodNotFound)
        }
        _ => false,
    };
    let why = format!("{} is not implemented", p.words.method(method));
    hold(!missing, why, &answer.exchange)
}

async fn metadata(p: &Probe) -> Found {
    let other = Manner {
        version: Some("99.0"),
        ..Manner::default()
    };
    let answer = p.call_as(Method::List, json!({}), other).await;
    answer.refused_as(
        &[ErrorKind::VersionNotSupported],
        "a2a-version 99.0 in the metadata",
    )?;
    let answer = p.call(Method::List, json!({})).await;
    let taken = !answer.is(ErrorKind::VersionNotSupported);
    hold(taken, "a2a-version 1.0 was refused", &answer.exchange)
}
