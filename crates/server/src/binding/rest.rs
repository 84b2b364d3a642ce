//! HTTP+JSON: `/v1/…` is 0.3, without that prefix it is 1.0.

use bytes::Bytes;
use switchboard_types::wire::rest::{self, RouteError};
use switchboard_types::{Dialect, Error, ErrorKind};

use super::{Asked, Frames, Otherwise, Ready};
use crate::auth::Refusal;
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
            return Err(refuse(rest::dialect_of_errors(asked.version), &error));
        }
    };
    match read_call(asked, &route, body) {
        Ok((dialect, call)) => Ok(Ready {
            call,
            frames: Frames::Rest { dialect, plain },
        }),
        Err((dialect, refusal)) => Err(Frames::Rest { dialect, plain }.turn_away(&refusal).into()),
    }
}

/// Turns a caller away before its request is read.
pub(crate) fn refuse(asked: &Asked<'_>, path: &str, refusal: &Refusal) -> Otherwise {
    let dialect = match rest::route(asked.verb(), path) {
        Ok(route) => rest::dialect_of(route.version),
        Err(_) => rest::dialect_of_errors(asked.version),
    };
    let plain = asked.prefers_plain_json();
    Frames::Rest { dialect, plain }.turn_away(refusal).into()
}

fn read_call(
    asked: Asked<'_>,
    route: &rest::Route,
    body: Result<Bytes, Error>,
) -> Result<(Dialect, Call), (Dialect, Refusal)> {
    let shape = rest::dialect_of(route.version);
    let early = |error: Error| (shape, Refusal::from(error));
    asked.require_agent().map_err(early)?;
    route.require_version(asked.version).map_err(early)?;
    let body = body.map_err(early)?;
    asked.require_headers().map_err(early)?;
    if !body.is_empty() {
        asked.require_json().map_err(early)?;
    }
    let files = asked.file_bytes(shape);
    let (dialect, request) = rest::decode(route, files, asked.query(), &body)
        .map_err(|(dialect, error)| (dialect, error.into()))?;
    let call = asked
        .call(dialect, request.operation, request.tenant)
        .map_err(|refusal| (dialect, refusal))?;
    Ok((dialect, call))
}
