//! What a client writes is what the server reads, and what the server writes is what a client reads.

use std::sync::Arc;

use proptest::prelude::*;
use switchboard_types::model::{Event, PushConfigId};
use switchboard_types::operation::{Method, Operation, Response, TaskView};
use switchboard_types::wire::jsonrpc::{self, Id, Outcome};
use switchboard_types::wire::{self, Request, rest};
use switchboard_types::{Dialect, Error, VersionHeader};

use crate::roundtrip::{lose, lose_in_message};
use crate::sample;

/// The header that goes with a call in a dialect of JSON-RPC.
const SPOKEN: [(Dialect, &str); 2] = [(Dialect::V1, "1.0"), (Dialect::V0Json, "")];

/// What the server understands of a call.
fn understood(body: &[u8], version: &str) -> Result<(Id, Dialect, Request), Error> {
    let envelope = jsonrpc::read(body).map_err(|refusal| refusal.error)?;
    envelope.require_id()?;
    let negotiated = jsonrpc::negotiate(&envelope.method, version, VersionHeader::Required);
    let (dialect, method) = negotiated.map_err(|e| e.1)?;
    let request = wire::decode_params(dialect, method, envelope.params)?;
    Ok((envelope.id, dialect, request))
}

fn call(dialect: Dialect, operation: &Operation, tenant: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    jsonrpc::write_call(
        &mut out,
        &Id::text("a \"call\""),
        dialect,
        operation,
        tenant,
    );
    out
}

/// What of an operation can be said in a dialect.
fn said(dialect: Dialect, mut operation: Operation) -> Operation {
    let older = dialect != Dialect::V1;
    let unnamed = || Some(PushConfigId::new("default").unwrap());
    match &mut operation {
        Operation::Send(send) | Operation::Stream(send) => {
            if let Some(push) = &mut send.configuration.push {
                // It is the task of the message.
                push.task_id = None;
                push.id = push.id.take().or_else(|| unnamed().filter(|_| older));
            }
            if older {
                lose_in_message(dialect, &mut send.message);
            }
        }
        Operation::CreatePushConfig(config) if older => {
            config.id = config.id.take().or_else(unnamed);
        }
        Operation::ListPushConfigs(list) if older => {
            (list.page_size, list.page_token) = (None, None);
        }
        _ => {}
    }
    operation
}

/// Reads a golden answer in its envelope.
fn answered(dialect: Dialect, method: Method, body: &[u8]) -> Result<Response, Error> {
    let answer = jsonrpc::read_answer(body)?;
    match answer.outcome {
        Outcome::Result(result) => wire::decode_response(dialect, method, result.get()),
        Outcome::Error(error) => Err(wire::decode_error(dialect, None, error.get())),
        Outcome::Neither => panic!("neither"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_call_is_understood_as_it_was_meant(
        operation in sample::operation(),
        tenant in prop::option::of("[a-z/ é]{1,9}"),
    ) {
        for (dialect, version) in SPOKEN {
            let body = call(dialect, &operation, tenant.as_deref());
            let (id, spoken, request) = understood(&body, version).unwrap();
            prop_assert_eq!(id, Id::text("a \"call\""));
            prop_assert_eq!(spoken, dialect);
            prop_assert_eq!(
                request.operation,
                said(dialect, operation.clone()),
                "{}",
                String::from_utf8_lossy(&body)
            );
            let tenant = tenant.clone().filter(|_| dialect == Dialect::V1);
            prop_assert_eq!(request.tenant, tenant);
        }
    }

    #[test]
    fn parameters_are_read_as_they_were_written(operation in sample::operation()) {
        for dialect in Dialect::ALL {
            let mut out = Vec::new();
            wire::encode_params(dialect, &operation, None, &mut out);
            let raw = serde_json::from_slice(&out).unwrap();
            let request = wire::decode_params(dialect, operation.method(), Some(raw)).unwrap();
            prop_assert_eq!(request.operation, said(dialect, operation.clone()));
        }
    }

    #[test]
    fn a_request_is_understood_as_it_was_meant(
        operation in sample::operation(),
        tenant in prop::option::of("([a-z/ é%.]{1,9}|tasks|v1|\\.\\.|message:send)"),
    ) {
        for dialect in Dialect::ALL {
            let asked = rest::write_request(dialect, &operation, tenant.as_deref());
            let route = rest::route(asked.verb, &asked.path).unwrap();
            prop_assert_eq!(route.version, dialect.version(), "{:?}", asked);
            prop_assert_eq!(route.method, operation.method());
            let body = asked.body.as_deref().unwrap_or_default();
            let files = dialect.files().unwrap_or_default();
            let (spoken, request) = rest::decode(&route, files, Some(&asked.query), body).unwrap();
            let mut meant = said(dialect, operation.clone());
            if let (Operation::Cancel(cancel), Some(_)) = (&mut meant, dialect.files()) {
                cancel.metadata = None;
            }
            prop_assert_eq!(&request.operation, &meant, "{:?}", asked);
            let tenant = tenant.clone().filter(|_| dialect == Dialect::V1);
            prop_assert_eq!(request.tenant, tenant, "{:?}", asked);
            // Without a body that shows it, 0.x is ProtoJSON.
            if matches!(operation, Operation::Send(_) | Operation::CreatePushConfig(_)) {
                prop_assert_eq!(spoken, dialect);
            }
        }
    }

    #[test]
    fn an_answer_to_a_send_or_a_get_is_read_as_it_was_written(task in sample::task(), message in sample::message()) {
        let (task, message) = (Arc::new(task), Arc::new(message));
        let view = TaskView { task: Arc::clone(&task), history_length: None, artifacts: true };
        for dialect in Dialect::ALL {
            let Event::Task(kept) = lose(dialect, Event::Task(Arc::clone(&task))) else { unreachable!() };
            let kept = TaskView { task: kept, ..view.clone() };
            let Event::Message(said) = lose(dialect, Event::Message(Arc::clone(&message))) else { unreachable!() };
            for (method, response, expected) in [
                (Method::Send, Response::SentTask(view.clone()), Response::SentTask(kept.clone())),
                (Method::Send, Response::SentMessage(Arc::clone(&message)), Response::SentMessage(said)),
                (Method::Get, Response::Task(view.clone()), Response::Task(kept.clone())),
                (Method::Cancel, Response::Task(view.clone()), Response::Task(kept)),
            ] {
                let mut out = Vec::new();
                jsonrpc::write_response(&mut out, &Id::number(7), dialect, &response);
                prop_assert_eq!(jsonrpc::read_answer(&out).unwrap().id, Id::number(7));
                prop_assert_eq!(answered(dialect, method, &out).unwrap(), expected);
            }
        }
    }
}
