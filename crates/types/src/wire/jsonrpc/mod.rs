//! The JSON-RPC 2.0 envelope, and which version a call speaks.
//!
//! - `method`: the names of the operations, both ways.
//! - `answer`: the envelope of an answer, read.
//!
//! Called by the server's JSON-RPC binding: [`read`], [`negotiate`], `wire::decode_params`, then one
//! of the writers; and by the client's: [`write_call`], [`read_answer`]. HTTP statuses and streams are the
//! business of those.

mod answer;
mod method;

pub use answer::{Answered, Outcome, read_answer};
pub use method::{method_name, offers};

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use self::method::method_of;
use super::read::{Obj, bare_string, foreign, not_json, present};
use super::{encode_params, encode_response, v0_3, v1_0, write};
use crate::error::{Error, ErrorKind};
use crate::operation::{Method, Operation, Response};
use crate::version::{Dialect, ProtocolVersion, VersionHeader};

/// What is said to everything that is no request.
const NOT_A_REQUEST: &str = "must be valid JSON-RPC 2.0";

/// The longest id: it is said back with every event of a stream.
const LONGEST_ID: usize = 1024;

/// The longest method name that is said back in an error.
const LONGEST_ECHO: usize = 100;

/// The id of a call: a string, a number or null, echoed to the letter.
#[derive(Clone, PartialEq, Eq)]
pub struct Id(Option<Box<str>>);

/// A call whose envelope is fine.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// The id to answer with.
    pub id: Id,
    /// There is no `id`. Every method of A2A answers, so such a call is refused, but only once nothing
    /// else is wrong with it: see [`Envelope::require_id`].
    pub without_id: bool,
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters, not yet looked into; `null` is absent.
    pub params: Option<&'a RawValue>,
}

/// Bytes that are no call.
#[derive(Debug)]
pub struct Refusal {
    /// The id to answer with, null if it cannot be read.
    pub id: Id,
    /// Why.
    pub error: Error,
    /// A JSON object that does not even claim to be JSON-RPC: it has neither `jsonrpc` nor `method`.
    /// Such callers look at the HTTP status, so they get 400.
    pub not_jsonrpc: bool,
}

/// All members raw: whatever they hold, the others can still be read.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Raw<'a> {
    #[serde(default, borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<&'a RawValue>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

impl Id {
    /// The id of a call that has none that could be read.
    #[must_use]
    pub fn null() -> Self {
        Self(None)
    }

    /// An id of that text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut json = Vec::with_capacity(text.len() + 2);
        write::string(text, &mut json);
        Self(String::from_utf8(json).ok().map(String::into_boxed_str))
    }

    /// An id of that number.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self(Some(number.to_string().into()))
    }

    /// The JSON text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("null")
    }

    /// A string, a number or null; objects, arrays and booleans are no ids.
    fn read(raw: &RawValue) -> Result<Self, &'static str> {
        let text = raw.get();
        let known = match text.as_bytes().first() {
            Some(b'n') => return Ok(Self::null()),
            Some(b'"') => text.len() > LONGEST_ID || bare_string(raw).is_some(),
            Some(b'-' | b'0'..=b'9') => true,
            _ => false,
        };
        if !known {
            Err("id must be a string, a number or null")
        } else if text.len() > LONGEST_ID {
            Err("id must not be longer than 1024 bytes")
        } else {
            Ok(Self(Some(text.into())))
        }
    }
}

impl Envelope<'_> {
    /// Asks for the id, last of all: a caller that sent a wrong method or wrong parameters is told
    /// of those, as the kit for 0.3 wants it.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` if there is none: JSON-RPC calls that a notification, and A2A has none.
    pub fn require_id(&self) -> Result<(), Error> {
        if self.without_id {
            return Err(invalid_request("id is required"));
        }
        Ok(())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the envelope of a call.
///
/// # Errors
///
/// A [`Refusal`]: `Parse` for what is no JSON, `InvalidRequest` for what is no call (a batch, too:
/// A2A has none), `InvalidParams` for parameters that are no object.
pub fn read(body: &[u8]) -> Result<Envelope<'_>, Refusal> {
    // Text that is known to be such is read faster.
    let raw = match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str::<Obj<Raw<'_>>>(text),
        Err(_) => serde_json::from_slice(body),
    };
    let raw = match raw {
        Ok(raw) => raw.0,
        Err(error) => return Err(unreadable(body, &error)),
    };
    let not_jsonrpc = raw.jsonrpc.is_none() && raw.method.is_none();
    let refuse = |id: &Id, error| Refusal {
        id: id.clone(),
        error,
        not_jsonrpc,
    };
    let id = match raw.id.map_or_else(|| Ok(Id::null()), Id::read) {
        Ok(id) => id,
        Err(why) => return Err(refuse(&Id::null(), invalid_request(why))),
    };
    if raw.jsonrpc.and_then(bare_string).as_deref() != Some("2.0") {
        return Err(refuse(&id, invalid_request("jsonrpc must be \"2.0\"")));
    }
    let Some(method) = raw
        .method
        .and_then(bare_string)
        .filter(|name| !name.is_empty())
    else {
        return Err(refuse(&id, invalid_request("method must be a string")));
    };
    if raw
        .params
        .is_some_and(|params| !params.get().starts_with('{'))
    {
        let error = Error::invalid_params("params", "must be an object");
        return Err(refuse(&id, error));
    }
    Ok(Envelope {
        without_id: raw.id.is_none(),
        id,
        method,
        params: raw.params,
    })
}

/// Tells broken JSON from JSON that is no call.
#[cold]
fn unreadable(body: &[u8], error: &serde_json::Error) -> Refusal {
    let broken = match error.classify() {
        // The reader stopped at the first odd value; what follows may still be broken.
        Category::Data => serde_json::from_slice::<IgnoredAny>(body)
            .err()
            .map(|error| error.to_string()),
        Category::Io | Category::Syntax | Category::Eof => Some(error.to_string()),
    };
    let error = if let Some(why) = broken {
        not_json(foreign(body).unwrap_or(&why))
    } else if body.trim_ascii_start().starts_with(b"[") {
        invalid_request("batches are not supported")
    } else if body.trim_ascii_start().starts_with(b"{") {
        invalid_request(&given_twice(error))
    } else {
        invalid_request("the request must be an object")
    };
    Refusal {
        id: Id::null(),
        error,
        not_jsonrpc: false,
    }
}

/// Which member of the envelope is given twice. The parser stops at it, and names only members that it knows.
fn given_twice(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split('`').nth(1) {
        Some(name) => format!("{name} is given twice"),
        None => "a member is given twice".to_owned(),
    }
}

fn invalid_request(why: &str) -> Error {
    let message = format!("invalid request: {NOT_A_REQUEST}: {why}");
    Error::new(ErrorKind::InvalidRequest, message)
}

/// Decides what a call speaks and asks for: the method tells the dialect, `version` (the
/// `A2A-Version` of header or query, empty if absent) whether it is welcome. `header` says whether a method of 1.0
/// needs one.
///
/// # Errors
///
/// `VersionNotSupported` or `MethodNotFound`, and the dialect to say it in.
pub fn negotiate(
    method: &str,
    version: &str,
    header: VersionHeader,
) -> Result<(Dialect, Method), (Dialect, Error)> {
    let newer = method_of(Dialect::V1, method);
    let older = method.contains('/');
    let requested = match ProtocolVersion::requested(version) {
        Ok(requested) => requested,
        Err(error) if older => return Err((Dialect::V0Json, error)),
        Err(error) => return Err((Dialect::V1, error)),
    };
    match (requested, newer) {
        (ProtocolVersion::V1_0, Some(method)) => Ok((Dialect::V1, method)),
        (ProtocolVersion::V1_0, None) if older => {
            let hint = "methods with a slash are 0.3: leave out A2A-Version or use the 1.0 method";
            Err((Dialect::V0Json, method_not_found(method, Some(hint))))
        }
        (ProtocolVersion::V1_0, None) => Err((Dialect::V1, method_not_found(method, None))),
        (ProtocolVersion::V0_3, Some(found)) if version.trim().is_empty() => match header {
            VersionHeader::Optional => Ok((Dialect::V1, found)),
            // Not -32009: clients that know both versions try the 0.3 method after -32601 only.
            VersionHeader::Required => {
                let hint = "requests without A2A-Version are A2A 0.3, which does not have it; send A2A-Version: 1.0";
                Err((Dialect::V1, method_not_found(method, Some(hint))))
            }
        },
        (ProtocolVersion::V0_3, Some(_)) => Err((Dialect::V1, wants_1_0(method, version))),
        (ProtocolVersion::V0_3, None) => match method_of(Dialect::V0Json, method) {
            Some(method) => Ok((Dialect::V0Json, method)),
            None => Err((Dialect::V0Json, method_not_found(method, None))),
        },
    }
}

fn method_not_found(method: &str, hint: Option<&str>) -> Error {
    let end = method.floor_char_boundary(LONGEST_ECHO);
    let message = match hint {
        Some(hint) => format!("method not found: {hint}"),
        None => "method not found".to_owned(),
    };
    Error::new(ErrorKind::MethodNotFound, message).fact("method", &method[..end])
}

/// A 1.0 method in a request whose `A2A-Version` names an older version.
fn wants_1_0(method: &str, version: &str) -> Error {
    let version = version.trim();
    let supported = ProtocolVersion::ALL.map(ProtocolVersion::name).join(",");
    Error::new(
        ErrorKind::VersionNotSupported,
        format!(
            "A2A-Version {version} was requested, which has no method {method}; send A2A-Version: 1.0"
        ),
    )
    .fact("supportedVersions", supported)
}

/// How a streaming method that cannot begin is refused. In 0.x by an event that holds the error, which is
/// what a `SendStreamingMessageResponse` may be (A2A 0.3 §7.2.1). 1.0 does not say; there it is a plain
/// answer, as the official SDKs give it.
#[must_use]
pub fn refuses_in_stream(dialect: Dialect) -> bool {
    match dialect {
        Dialect::V0Json | Dialect::V0Proto(_) => true,
        Dialect::V1 => false,
    }
}

/// The HTTP status of errors that are told by it, whatever the version; all others have that of a success. These
/// are for clients and proxies that act before they look into a body, so they are never events of a stream.
#[must_use]
pub fn http_status(kind: ErrorKind) -> Option<u16> {
    match kind {
        ErrorKind::Unauthenticated => Some(401),
        ErrorKind::PermissionDenied => Some(403),
        ErrorKind::ResourceExhausted => Some(429),
        _ => None,
    }
}

/// Appends a call. Only 1.0 can name a tenant.
pub fn write_call(
    out: &mut Vec<u8>,
    id: &Id,
    dialect: Dialect,
    operation: &Operation,
    tenant: Option<&str>,
) {
    let method = operation.method();
    open(out, id, "method");
    write::string(method_name(dialect, method), out);
    // The one method of 0.x that has no parameters at all (0.3 §7.10).
    if method != Method::ExtendedCard || dialect == Dialect::V1 {
        out.extend_from_slice(b",\"params\":");
        encode_params(dialect, operation, tenant, out);
    }
    out.push(b'}');
}

/// Appends a successful answer.
pub fn write_response(out: &mut Vec<u8>, id: &Id, dialect: Dialect, response: &Response) {
    open(out, id, "result");
    encode_response(dialect, response, out);
    out.push(b'}');
}

/// Appends the answer that carries one stream item, already encoded.
pub fn write_event(out: &mut Vec<u8>, id: &Id, event_json: &[u8]) {
    out.reserve(event_json.len() + 64);
    open(out, id, "result");
    out.extend_from_slice(event_json);
    out.push(b'}');
}

/// What stands around a result that is rendered piece by piece: before and after it.
#[must_use]
pub fn around_result(id: &Id) -> (Vec<u8>, Vec<u8>) {
    let mut before = Vec::with_capacity(64);
    open(&mut before, id, "result");
    (before, b"}".to_vec())
}

/// Appends a failed answer.
pub fn write_error(out: &mut Vec<u8>, id: &Id, dialect: Dialect, error: &Error) {
    open(out, id, "error");
    match dialect {
        Dialect::V1 => v1_0::error::jsonrpc(error, out),
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::error::jsonrpc(error, out),
    }
    out.push(b'}');
}

fn open(out: &mut Vec<u8>, id: &Id, member: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_str().as_bytes());
    out.extend_from_slice(b",\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
}
