//! JSON-RPC 2.0 over HTTP, all versions at one address.

use bytes::Bytes;
use hyper::StatusCode;
use switchboard_types::operation::{Method, Operation, Subscribe};
use switchboard_types::wire::jsonrpc::{self, Envelope, Id};
use switchboard_types::{Dialect, Error, VersionHeader, wire};

use super::{ErrorResponse, Frames, RequestHead};
use crate::auth::Refusal;
use crate::call::Call;

/// Reads one JSON-RPC request.
///
/// # Errors
///
/// The refusal.
pub(super) fn read(
    head: RequestHead<'_>,
    body: Result<Bytes, Error>,
) -> Result<(Call, Frames), ErrorResponse> {
    let early = |error: &Error, id, status| {
        let frames = Frames::JsonRpc {
            id,
            dialect: dialect_of_errors(&head),
            errors_in_stream: false,
        };
        Box::new(frames.refuse_as(status, error))
    };
    let body = body.map_err(|error| {
        let status = wire::error_status(dialect_of_errors(&head), error.kind());
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        early(&error, Id::null(), status)
    })?;
    head.require_headers()
        .and_then(|()| head.require_json())
        .map_err(|error| early(&error, Id::null(), StatusCode::OK))?;
    head.require_agent()
        .map_err(|error| early(&error, Id::null(), StatusCode::NOT_FOUND))?;
    let envelope = jsonrpc::read(&body).map_err(|refusal| {
        let status = if refusal.not_jsonrpc {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        };
        early(&refusal.error, refusal.id, status)
    })?;
    read_call(head, envelope)
}

/// The call in an envelope; and how its answer is to be framed.
pub(super) fn read_call(
    head: RequestHead<'_>,
    envelope: Envelope<'_>,
) -> Result<(Call, Frames), ErrorResponse> {
    let may_be_absent = envelope.require_id();
    let frames = |id, dialect, errors_in_stream| Frames::JsonRpc {
        id,
        dialect,
        errors_in_stream,
    };
    let (dialect, method) = match negotiate(&head, &envelope.method) {
        Ok(found) => found,
        Err((dialect, error)) => {
            return Err(frames(envelope.id, dialect, false).refuse(&error).into());
        }
    };
    let in_stream = method.streams() && jsonrpc::refuses_in_stream(dialect) && head.takes_events();
    let frames = frames(envelope.id, dialect, in_stream);
    let request = wire::decode_params(dialect, method, envelope.params)
        .and_then(|request| may_be_absent.map(|()| request))
        .map_err(|error| Box::new(frames.refuse(&error)))?;
    let operation = match request.operation {
        // `tasks/get` by one who takes only events is a resubscription (S2-060).
        Operation::Get(get) if method == Method::Get && head.wants_only_events() => {
            Operation::Subscribe(Subscribe { id: get.id })
        }
        operation => operation,
    };
    match head.call(dialect, operation, request.tenant) {
        Ok(call) => Ok((call, frames)),
        Err(refusal) => Err(frames.turn_away(&refusal).into()),
    }
}

/// Turns a caller away whose request was not read but for its beginning, by the id it has there if it has one.
pub(super) fn refuse(
    head: &RequestHead<'_>,
    body: Result<Bytes, Error>,
    refusal: &Refusal,
) -> ErrorResponse {
    let body = body.unwrap_or_default();
    let (id, dialect) = match jsonrpc::read(&body) {
        Ok(Envelope { id, method, .. }) => match negotiate(head, &method) {
            Ok((dialect, _)) | Err((dialect, _)) => (id, dialect),
        },
        Err(unread) => (unread.id, dialect_of_errors(head)),
    };
    let frames = Frames::JsonRpc {
        id,
        dialect,
        errors_in_stream: false,
    };
    frames.turn_away(refusal).into()
}

fn negotiate(head: &RequestHead<'_>, method: &str) -> Result<(Dialect, Method), (Dialect, Error)> {
    jsonrpc::negotiate(method, head.version, head.version_header())
}

/// How to shape an error before the method is known: without a version, as 0.x has it.
fn dialect_of_errors(head: &RequestHead<'_>) -> Dialect {
    let named = jsonrpc::negotiate(Method::Get.name(), head.version, VersionHeader::Required);
    named.map_or(Dialect::V0Json, |(dialect, _)| dialect)
}
