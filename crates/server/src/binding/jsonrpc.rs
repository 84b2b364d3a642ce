//! JSON-RPC 2.0 over HTTP, all versions at one address.

use bytes::Bytes;
use hyper::{Response, StatusCode};
use switchboard_types::operation::{Method, Operation, Subscribe};
use switchboard_types::wire::jsonrpc::{self, Envelope, Id};
use switchboard_types::{Dialect, Error, ErrorKind, wire};

use super::sse::{self, Frames};
use super::{Asked, JSON, json, tell_extensions, tell_when_to_retry};
use crate::call::{Call, ReplyBody};
use crate::http::{Body, Service};

/// A refused request, and how to say it.
struct Refused {
    id: Id,
    dialect: Dialect,
    error: Error,
    status: StatusCode,
    /// The error is the only event of a stream.
    stream: bool,
}

/// Answers one JSON-RPC request.
pub(crate) async fn answer(
    service: &Service,
    asked: Asked<'_>,
    body: Result<Bytes, Error>,
) -> Response<Body> {
    match ask(service, asked, body).await {
        Ok(response) => response,
        Err(refused) => refuse(&refused),
    }
}

async fn ask(
    service: &Service,
    asked: Asked<'_>,
    body: Result<Bytes, Error>,
) -> Result<Response<Body>, Refused> {
    let plain = dialect_of_errors(asked.version);
    let early = |error: Error, status| Refused {
        id: Id::null(),
        dialect: plain,
        error,
        status,
        stream: false,
    };
    let body = body.map_err(|error| {
        let status = wire::error_status(plain, error.kind());
        early(
            error,
            StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST),
        )
    })?;
    asked
        .require_headers()
        .and_then(|()| asked.require_json())
        .map_err(|error| early(error, StatusCode::OK))?;
    asked
        .require_agent()
        .map_err(|error| early(error, StatusCode::NOT_FOUND))?;
    let envelope = jsonrpc::read(&body).map_err(|refusal| {
        let status = if refusal.not_jsonrpc {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        };
        Refused {
            id: refusal.id,
            ..early(refusal.error, status)
        }
    })?;
    let (id, dialect, stream, call) = read_call(asked, &envelope)?;
    let refused = |error| Refused {
        id: id.clone(),
        dialect,
        error,
        status: StatusCode::OK,
        stream,
    };
    let room = sse::room(service, &call).map_err(&refused)?;
    let reply = service.handler.handle(call).await.map_err(&refused)?;
    let mut response = match reply.body {
        ReplyBody::Response(response) => {
            let mut out = Vec::with_capacity(1024);
            jsonrpc::write_response(&mut out, &id, dialect, &response);
            json(StatusCode::OK, JSON, out)
        }
        ReplyBody::Stream(cursor) => {
            let frames = Frames::JsonRpc(id.clone(), dialect);
            sse::answer(service, room, cursor, frames)
        }
    };
    tell_extensions(&mut response, &reply.extensions);
    Ok(response)
}

/// The call in an envelope; and how its answer is to be framed.
fn read_call(
    asked: Asked<'_>,
    envelope: &Envelope<'_>,
) -> Result<(Id, Dialect, bool, Call), Refused> {
    let id = envelope.id.clone();
    let refused = |dialect, stream, error| Refused {
        id: id.clone(),
        dialect,
        error,
        status: StatusCode::OK,
        stream,
    };
    let (dialect, method) = jsonrpc::negotiate(&envelope.method, asked.version)
        .map_err(|(dialect, error)| refused(dialect, false, error))?;
    let stream = method.streams() && jsonrpc::refuses_in_stream(dialect);
    let request = wire::decode_params(dialect, method, envelope.params)
        .map_err(|error| refused(dialect, stream, error))?;
    envelope
        .require_id()
        .map_err(|error| refused(dialect, stream, error))?;
    let operation = match request.operation {
        // `tasks/get` by one who takes only events is a resubscription (S2-060).
        Operation::Get(get) if method == Method::Get && asked.wants_only_events() => {
            Operation::Subscribe(Subscribe { id: get.id })
        }
        operation => operation,
    };
    let call = asked
        .call(dialect, operation, request.tenant)
        .map_err(|error| refused(dialect, stream, error))?;
    Ok((id, dialect, stream, call))
}

fn refuse(refused: &Refused) -> Response<Body> {
    let mut out = Vec::with_capacity(256);
    jsonrpc::write_error(&mut out, &refused.id, refused.dialect, &refused.error);
    let mut response = if refused.stream {
        sse::only(&out)
    } else {
        json(refused.status, JSON, out)
    };
    if refused.error.kind() == ErrorKind::Unavailable {
        tracing::warn!(error = %refused.error, "refused for now");
    }
    tell_when_to_retry(&mut response, &refused.error);
    response
}

/// How to shape an error before the method is known.
fn dialect_of_errors(version: &str) -> Dialect {
    match jsonrpc::negotiate(Method::Get.name(), version) {
        Ok((dialect, _)) => dialect,
        Err(_) => Dialect::V0Json,
    }
}
