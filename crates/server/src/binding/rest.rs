//! HTTP+JSON: `/v1/…` is 0.3, without that prefix it is 1.0.

use bytes::Bytes;
use hyper::{Response, StatusCode};
use switchboard_types::wire::rest::{self, RouteError};
use switchboard_types::{Dialect, Error, ErrorKind, ProtocolVersion, wire};

use super::sse::{self, Frames};
use super::{A2A_JSON, Asked, JSON, json, tell_extensions, tell_when_to_retry};
use crate::call::ReplyBody;
use crate::http::{Body, Service, not_allowed};

/// Answers one REST request; `path` is what follows the agent's base.
pub(crate) async fn answer(
    service: &Service,
    asked: Asked<'_>,
    path: &str,
    body: Result<Bytes, Error>,
) -> Response<Body> {
    let plain = asked.prefers_plain_json();
    let route = match rest::route(asked.verb(), path) {
        Ok(route) => route,
        Err(RouteError::MethodNotAllowed(allow)) => return not_allowed(allow),
        Err(RouteError::NotFound) => {
            let error = Error::new(
                ErrorKind::MethodNotFound,
                "there is nothing at this address",
            );
            return refuse(dialect_of(&asked), plain, &error);
        }
    };
    match ask(service, asked, &route, body).await {
        Ok(response) => response,
        Err((dialect, error)) => refuse(dialect, plain, &error),
    }
}

async fn ask(
    service: &Service,
    asked: Asked<'_>,
    route: &rest::Route,
    body: Result<Bytes, Error>,
) -> Result<Response<Body>, (Dialect, Error)> {
    let shape = match route.version {
        ProtocolVersion::V1_0 => Dialect::V1,
        ProtocolVersion::V0_3 => Dialect::V0Proto,
    };
    let plain = asked.prefers_plain_json();
    asked.require_agent().map_err(|error| (shape, error))?;
    require_version(route.version, asked.version).map_err(|error| (shape, error))?;
    let body = body.map_err(|error| (shape, error))?;
    asked.require_headers().map_err(|error| (shape, error))?;
    if !body.is_empty() {
        asked.require_json().map_err(|error| (shape, error))?;
    }
    let (dialect, request) = rest::decode(route, asked.query(), &body)?;
    let call = asked
        .call(dialect, request.operation, request.tenant)
        .map_err(|error| (dialect, error))?;
    let room = sse::room(service, &call).map_err(|error| (dialect, error))?;
    let reply = service
        .handler
        .handle(call)
        .await
        .map_err(|error| (dialect, error))?;
    let mut response = match reply.body {
        ReplyBody::Response(response) => {
            let mut out = Vec::with_capacity(1024);
            wire::encode_response(dialect, &response, &mut out);
            json(StatusCode::OK, media_type(dialect, plain), out)
        }
        ReplyBody::Stream(cursor) => sse::answer(service, room, cursor, Frames::Rest(dialect)),
    };
    tell_extensions(&mut response, &reply.extensions);
    Ok(response)
}

/// The path says the version; a header that says another one is refused.
fn require_version(path: ProtocolVersion, asked: &str) -> Result<(), Error> {
    let header = ProtocolVersion::requested(asked)?;
    if header == path {
        return Ok(());
    }
    let hint = match path {
        ProtocolVersion::V1_0 => "this address speaks A2A 1.0: send the header A2A-Version: 1.0",
        ProtocolVersion::V0_3 => "this address speaks A2A 0.3: 1.0 has no /v1 in its paths",
    };
    Err(Error::new(ErrorKind::VersionNotSupported, hint).fact("supportedVersions", path.name()))
}

fn dialect_of(asked: &Asked<'_>) -> Dialect {
    match ProtocolVersion::requested(asked.version) {
        Ok(ProtocolVersion::V0_3) => Dialect::V0Proto,
        _ => Dialect::V1,
    }
}

fn media_type(dialect: Dialect, plain: bool) -> hyper::header::HeaderValue {
    if plain || dialect.version() == ProtocolVersion::V0_3 {
        JSON
    } else {
        A2A_JSON
    }
}

fn refuse(dialect: Dialect, plain: bool, error: &Error) -> Response<Body> {
    let (status, body) = rest::write_error(dialect, error);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, media_type(dialect, plain), body);
    tell_when_to_retry(&mut response, error);
    response
}
