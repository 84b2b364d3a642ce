//! HTTP+JSON: `/v1/…` is 0.3, without that prefix it is 1.0.

use bytes::Bytes;
use switchboard_types::operation::Method;
use switchboard_types::wire::jsonrpc::{self, Envelope};
use switchboard_types::wire::rest::{self, Route, RouteError};
use switchboard_types::{Error, ErrorKind};

use super::{ErrorResponse, Frames, RequestHead};
use crate::auth::Refusal;
use crate::call::Call;

/// Reads one REST request; `path` is what follows the agent's base.
///
/// # Errors
///
/// The refusal.
pub(super) fn read(
    head: RequestHead<'_>,
    path: &str,
    body: Result<Bytes, Error>,
) -> Result<(Call, Frames), ErrorResponse> {
    let plain = head.prefers_plain_json();
    let refuse = |dialect, error: &Error| Box::new(Frames::Rest { dialect, plain }.refuse(error));
    let route = match rest::route(head.verb(), path) {
        Ok(route) => route,
        Err(RouteError::MethodNotAllowed(allow)) => return Err(head.not_allowed(allow).into()),
        Err(RouteError::NotFound) => {
            let error = Error::new(ErrorKind::MethodNotFound, "no such path");
            return Err(refuse(rest::dialect_of_errors(head.version), &error));
        }
    };
    let body = read_body(&head, &route, body)
        .map_err(|error| refuse(rest::dialect_of(route.version), &error))?;
    let files = head.file_bytes(rest::dialect_of(route.version));
    let (dialect, request) = match rest::decode(&route, files, head.query(), &body) {
        Ok(decoded) => decoded,
        Err((dialect, error)) => {
            return match envelope(&head, &route, &body) {
                Some(envelope) => super::jsonrpc::read_call(head, envelope),
                None => Err(refuse(dialect, &error)),
            };
        }
    };
    let frames = Frames::Rest { dialect, plain };
    match head.call(dialect, request.operation, request.tenant) {
        Ok(call) => Ok((call, frames)),
        Err(refusal) => Err(frames.turn_away(&refusal).into()),
    }
}

/// Turns a caller away before its request is read.
pub(super) fn refuse(head: &RequestHead<'_>, path: &str, refusal: &Refusal) -> ErrorResponse {
    let dialect = match rest::route(head.verb(), path) {
        Ok(route) => rest::dialect_of(route.version),
        Err(_) => rest::dialect_of_errors(head.version),
    };
    let plain = head.prefers_plain_json();
    Frames::Rest { dialect, plain }.turn_away(refusal).into()
}

/// The body, once everything about the head is right.
fn read_body(
    head: &RequestHead<'_>,
    route: &Route,
    body: Result<Bytes, Error>,
) -> Result<Bytes, Error> {
    head.require_agent()?;
    route.require_version(head.version, head.version_header())?;
    let body = body?;
    head.require_headers()?;
    if !body.is_empty() {
        head.require_json()?;
    }
    Ok(body)
}

/// The JSON-RPC call in a body that is not a message, if it asks for what the path says: some clients post their
/// envelopes to `message:send`. Only there, where no task in the path and no tenant in the path or the query could say
/// something else.
fn envelope<'a>(head: &RequestHead<'_>, route: &Route, body: &'a [u8]) -> Option<Envelope<'a>> {
    let names_tenant = route.tenant.is_some() || rest::may_name_tenant(head.query());
    if !matches!(route.method, Method::Send | Method::Stream) || names_tenant {
        return None;
    }
    let envelope = jsonrpc::read(body).ok()?;
    let method = jsonrpc::negotiate(&envelope.method, head.version, head.version_header());
    method
        .is_ok_and(|(_, method)| method == route.method)
        .then_some(envelope)
}
