//! What do you ask? Bytes become a [`Call`], a [`Reply`](crate::call::Reply) becomes bytes.
//!
//! [`Service`] answers what the transport (`http`) reads. `read` finds out by the path (`route`) what a request asks for,
//! `authn` who asks; `request_head` holds what every binding reads of a head. Then the bindings take over, `Inbound` is
//! what they make of a request. Each only frames: the codecs are in `switchboard_types::wire`, the rules in the engine.

mod api_key;
mod authn;
mod card;
mod catalog;
mod chat;
mod file_bytes;
mod frames;
#[cfg(feature = "grpc")]
mod grpc;
#[path = "without_grpc.rs"]
#[cfg(not(feature = "grpc"))]
mod grpc;
mod headers;
mod health;
mod jsonrpc;
mod landing;
mod read;
mod request_head;
mod rest;
mod route;
mod service;
mod sse;
mod wellknown;

use hyper::header::{
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use switchboard_types::{Dialect, Error, ErrorKind};

use crate::auth::Refusal;
use crate::call::{Call, ReplyBody};
use crate::http::{Body, Head};

use authn::{Authentication, Destination};
use frames::Frames;
use request_head::RequestHead;
pub use service::{Parts, Service};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// For one caller, not for those behind the same proxy.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, max-age=60");
const A2A_VERSION: &str = "a2a-version";
const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// As 0.x names it.
const X_A2A_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// What a request is once it is read: nothing of it is left in the socket's buffer.
#[expect(
    clippy::large_enum_variant,
    reason = "made once per request and taken apart at once: a box would cost an allocation"
)]
enum Inbound {
    /// A call, and how its reply is framed.
    Call(Call, Frames),
    /// It asks for no call, or was refused: this is the answer.
    Done(Box<Response<Body>>),
}

impl From<Response<Body>> for Inbound {
    fn from(response: Response<Body>) -> Self {
        Self::Done(Box::new(response))
    }
}

/// The answer to a request that cannot be read as a call.
type ErrorResponse = Box<Response<Body>>;

/// Answers a call. As [`Service::dispatch`], it hands the call on before the first poll.
fn answer(
    service: &Service,
    call: Call,
    frames: Frames,
) -> impl Future<Output = Response<Body>> + Send {
    let replied = service.dispatch(call);
    async move {
        let (reply, admitted) = match replied.await {
            Ok(replied) => replied,
            Err(error) => return frames.refuse(&error),
        };
        let mut response = match reply.body {
            ReplyBody::Response(response) => frames.respond(response),
            ReplyBody::Stream(stream) => sse::answer(service, admitted, stream, frames),
        };
        tell_extensions(response.headers_mut(), &reply.extensions);
        response
    }
}

/// `A2A-Version` as a query parameter (A2A 1.0 §3.6.1).
fn version_in_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(A2A_VERSION).then_some(value)
    })
}

/// An answer with a JSON body.
fn json(status: StatusCode, media_type: HeaderValue, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Tells which extensions are active, under the name the caller's version knows.
fn tell_extensions(headers: &mut HeaderMap, extensions: &[String]) {
    if extensions.is_empty() {
        return;
    }
    if let Ok(value) = HeaderValue::from_str(&extensions.join(", ")) {
        headers.insert(A2A_EXTENSIONS, value.clone());
        headers.insert(X_A2A_EXTENSIONS, value);
    }
}

/// Whether a request is gRPC's: its body says so, whatever its path.
fn is_grpc(head: &Head) -> bool {
    let said = head.headers.get(CONTENT_TYPE);
    said.is_some_and(|said| said.as_bytes().starts_with(b"application/grpc"))
}

/// A refusal for one who speaks gRPC where it cannot be spoken.
fn no_grpc(why: &str) -> Response<Body> {
    let error = Error::new(ErrorKind::ContentTypeNotSupported, why);
    let (_, body) = switchboard_types::wire::rest::write_error(Dialect::V1, &error);
    json(StatusCode::UNSUPPORTED_MEDIA_TYPE, JSON, body)
}

/// A refusal before anything is read, so whatever is spoken.
fn forbid(error: &Error) -> Response<Body> {
    let (_, body) = switchboard_types::wire::rest::write_error(Dialect::V1, error);
    json(StatusCode::FORBIDDEN, JSON, body)
}

/// Adds how to get in: one line for each way.
fn challenge(headers: &mut HeaderMap, refusal: &Refusal) {
    for line in &refusal.challenges {
        headers.append(WWW_AUTHENTICATE, line.clone());
    }
}

/// Adds what a token would have to grant (RFC 6750).
fn tell_scopes(headers: &mut HeaderMap, error: &Error) {
    let scope = error.facts().iter().find(|(key, _)| key == "scope");
    let Some((_, scope)) = scope.filter(|_| error.kind() == ErrorKind::PermissionDenied) else {
        return;
    };
    let line =
        format!("Bearer realm=\"switchboard\", error=\"insufficient_scope\", scope=\"{scope}\"");
    if let Ok(line) = HeaderValue::from_str(&line) {
        headers.append(WWW_AUTHENTICATE, line);
    }
}

/// Adds what every refusal for lack of room says: when to come again.
fn tell_when_to_retry(headers: &mut HeaderMap, error: &Error) {
    if let Some(seconds) = error.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}
