//! HTTP+JSON: `/v1/…` is 0.3, without that prefix it is 1.0.

use bytes::Bytes;
use switchboard_types::wire::rest::{self, RouteError};
use switchboard_types::{Dialect, Error, ErrorKind, ProtocolVersion};

use super::{Asked, Frames, Otherwise, Ready};
use crate::call::Call;
use crate::http::not_allowed;

/// Reads one REST request; `path` is what follows the agent's base.
///
/// # Errors
///
/// The refusal.
pub(crate) fn read(
    asked: Asked<'_>,
    path: &str,
    body: Result<Bytes, Error>,
) -> Result<Ready, Otherwise> {
    let plain = asked.prefers_plain_json();
    let refuse = |dialect, error: &Error| Box::new(Frames::Rest { dialect, plain }.refuse(error));
    let route = match rest::route(asked.verb(), path) {
        Ok(route) => route,
        Err(RouteError::MethodNotAllowed(allow)) => return Err(not_allowed(allow).into()),
        Err(RouteError::NotFound) => {
            let error = Error::new(
                ErrorKind::MethodNotFound,
                "there is nothing at this address",
            );
            return Err(refuse(dialect_of(&asked), &error));
        }
    };
    match read_call(asked, &route, body) {
        Ok((dialect, call)) => Ok(Ready {
            call,
            frames: Frames::Rest { dialect, plain },
        }),
        Err((dialect, error)) => Err(refuse(dialect, &error)),
    }
}

fn read_call(
    asked: Asked<'_>,
    route: &rest::Route,
    body: Result<Bytes, Error>,
) -> Result<(Dialect, Call), (Dialect, Error)> {
    let shape = match route.version {
        ProtocolVersion::V1_0 => Dialect::V1,
        ProtocolVersion::V0_3 => Dialect::V0Proto,
    };
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
    Ok((dialect, call))
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
