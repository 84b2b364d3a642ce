//! What do you ask? Bytes become a [`Call`](crate::call::Call), a [`Reply`](crate::call::Reply) becomes bytes.
//!
//! Each binding only frames: the codecs are in `switchboard_types::wire`, the rules in the engine.

mod asked;
pub(crate) mod card;
pub(crate) mod jsonrpc;
pub(crate) mod rest;
mod sse;

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use switchboard_types::{Error, ErrorKind};

use crate::http::Body;

pub(crate) use asked::Asked;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");
const A2A_VERSION: &str = "a2a-version";
const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// As 0.x names it.
const X_A2A_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// `A2A-Version` as a query parameter (A2A 1.0 §3.6.1).
fn version_in_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(A2A_VERSION).then_some(value)
    })
}

/// An answer with a JSON body.
fn json(status: StatusCode, media_type: HeaderValue, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Tells which extensions are active, under the name the caller's version knows.
fn tell_extensions(response: &mut Response<Body>, extensions: &[String]) {
    if extensions.is_empty() {
        return;
    }
    if let Ok(value) = HeaderValue::from_str(&extensions.join(", ")) {
        response.headers_mut().insert(A2A_EXTENSIONS, value.clone());
        response.headers_mut().insert(X_A2A_EXTENSIONS, value);
    }
}

/// The agent a path names does not exist.
fn no_such_agent(name: &str) -> Error {
    Error::new(
        ErrorKind::MethodNotFound,
        format!("there is no agent named {name:?}"),
    )
    .fact("agent", name)
}

/// Adds what every refusal for lack of room says: when to come again.
fn tell_when_to_retry(response: &mut Response<Body>, error: &Error) {
    if matches!(
        error.kind(),
        ErrorKind::ResourceExhausted | ErrorKind::Unavailable
    ) {
        let value = HeaderValue::from_static("1");
        response
            .headers_mut()
            .insert(hyper::header::RETRY_AFTER, value);
    }
}
