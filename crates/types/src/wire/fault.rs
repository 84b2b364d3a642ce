//! Errors of agents, read back: what kind it is, what was said, which facts came with it.
//!
//! There are many forms: the envelope of AIP-193, JSON-RPC with details in an array or an object, `{code, message}`,
//! `{message}`, `{detail}`, `application/problem+json`, `{"error": "text"}`, an HTML page, nothing. The kind is told,
//! in this order, by a reason, by a number, by the HTTP status and by the text (A2A 1.0 §11.6: a status alone does
//! not say it; 1.0.0 and 1.0.1 have different ones).

use serde_json::{Map, Value};

use super::{error_code, v0_3, v1_0};
use crate::error::{Error, ErrorKind};
use crate::version::{Dialect, ProtocolVersion};

/// The most facts or bad fields that are kept of one error.
const MOST: usize = 32;

/// What an error says.
#[derive(Debug, Default)]
struct Told {
    kind: Option<ErrorKind>,
    code: Option<i64>,
    /// The name of a gRPC code, as AIP-193 repeats it.
    grpc: Option<String>,
    message: Option<String>,
    facts: Vec<(String, String)>,
    violations: Vec<(String, String)>,
}

/// Words that tell an error where nothing else does: all of them stand in its text.
const PHRASES: [(&[&str], ErrorKind); 12] = [
    (&["task", "not found"], ErrorKind::TaskNotFound),
    (&["context", "not found"], ErrorKind::ContextNotFound),
    (&["not cancelable"], ErrorKind::TaskNotCancelable),
    (&["cannot be cancel"], ErrorKind::TaskNotCancelable),
    (
        &["push notification", "not supported"],
        ErrorKind::PushNotificationNotSupported,
    ),
    (
        &["version", "not supported"],
        ErrorKind::VersionNotSupported,
    ),
    (
        &["extension", "required"],
        ErrorKind::ExtensionSupportRequired,
    ),
    (
        &["card", "not configured"],
        ErrorKind::ExtendedAgentCardNotConfigured,
    ),
    (&["content type"], ErrorKind::ContentTypeNotSupported),
    (&["media type"], ErrorKind::ContentTypeNotSupported),
    (
        &["operation", "not supported"],
        ErrorKind::UnsupportedOperation,
    ),
    (&["not implemented"], ErrorKind::UnsupportedOperation),
];

/// Reads an error.
pub(super) fn decode(dialect: Dialect, http_status: Option<u16>, text: &str) -> Error {
    let mut told = Told::default();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(members)) => told = Told::object(&members),
        Ok(Value::String(said)) => told.message = not_blank(&said),
        Ok(_) => {}
        Err(_) => told.message = plain(text),
    }
    told.into_error(dialect, http_status)
}

/// The first line of a text that is no markup.
fn plain(text: &str) -> Option<String> {
    let line = text.trim().lines().next()?;
    not_blank(line).filter(|line| !line.starts_with('<'))
}

fn not_blank(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A string as it is, everything else as JSON.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A reason by its name or its spelling in a URI; some add the word "error".
fn reason(text: &str) -> Option<ErrorKind> {
    let name = text.rsplit(['/', ':', '#']).next().unwrap_or(text);
    let name = name.replace('-', "_").to_ascii_uppercase();
    ErrorKind::from_reason(name.strip_suffix("_ERROR").unwrap_or(&name))
}

impl Told {
    fn object(members: &Map<String, Value>) -> Self {
        let mut told = Self::default();
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        told.message = ["message", "detail", "title", "error_description", "msg"]
            .into_iter()
            .find_map(|name| text(name).and_then(not_blank));
        told.kind = text("reason").or(text("type")).and_then(reason);
        told.grpc = text("status").map(str::to_owned);
        told.code = ["code", "status"].into_iter().find_map(|name| {
            let value = members.get(name)?;
            value.as_i64().or_else(|| value.as_str()?.parse().ok())
        });
        for name in ["data", "details", "detail"] {
            match members.get(name) {
                Some(Value::Array(items)) => items.iter().for_each(|item| told.detail(item)),
                Some(Value::Object(data)) => told.free_data(data),
                Some(Value::String(said)) if name == "data" => told.fact("data", said.clone()),
                _ => {}
            }
        }
        if members.contains_key("title") {
            told.problem(members);
        }
        match members.get("error") {
            Some(Value::Object(inner)) => told.complete(Self::object(inner)),
            Some(Value::String(said)) if told.message.is_none() => told.message = not_blank(said),
            _ => {}
        }
        told
    }

    /// Takes from `other` what is missing.
    fn complete(&mut self, other: Self) {
        self.kind = self.kind.or(other.kind);
        self.code = self.code.or(other.code);
        self.grpc = self.grpc.take().or(other.grpc);
        self.message = self.message.take().or(other.message);
        if self.facts.is_empty() {
            self.facts = other.facts;
        }
        if self.violations.is_empty() {
            self.violations = other.violations;
        }
    }

    fn fact(&mut self, key: &str, value: String) {
        if self.facts.len() < MOST && self.facts.iter().all(|(known, _)| known != key) {
            self.facts.push((key.to_owned(), value));
        }
    }

    fn violation(&mut self, field: String, description: String) {
        if self.violations.len() < MOST {
            self.violations.push((field, description));
        }
    }

    /// One detail: an `ErrorInfo`, a `BadRequest`, a `RetryInfo`, or a complaint of a Python validator.
    fn detail(&mut self, detail: &Value) {
        let text = |name: &str| detail.get(name).and_then(Value::as_str);
        if let Some(Value::Array(fields)) = detail.get("fieldViolations") {
            fields.iter().for_each(|field| self.bad_field(field));
        } else if let (Some(Value::Array(path)), Some(what)) = (detail.get("loc"), text("msg")) {
            let path: Vec<String> = path.iter().map(value_text).collect();
            self.violation(path.join("."), what.to_owned());
        } else if let Some(delay) = text("retryDelay") {
            self.fact("retryDelay", delay.to_owned());
        } else if let Some(said) = text("reason") {
            self.reason(said);
            if let Some(Value::Object(metadata)) = detail.get("metadata") {
                for (key, value) in metadata {
                    self.fact(key, value_text(value));
                }
            }
        } else {
            self.fact("data", value_text(detail));
        }
    }

    /// The reason of a detail is the finest: it goes before one that was seen further out.
    fn reason(&mut self, said: &str) {
        match reason(said) {
            Some(kind) => self.kind = Some(kind),
            None => self.fact("reason", said.to_owned()),
        }
    }

    fn bad_field(&mut self, field: &Value) {
        let text = |name: &str| field.get(name).and_then(Value::as_str).unwrap_or_default();
        self.violation(text("field").to_owned(), text("description").to_owned());
    }

    /// The free `data` of 0.x.
    fn free_data(&mut self, data: &Map<String, Value>) {
        for (key, value) in data {
            match (key.as_str(), value) {
                ("reason", Value::String(said)) => self.reason(said),
                ("violations", Value::Array(fields)) => {
                    fields.iter().for_each(|field| self.bad_field(field));
                }
                // Our own writer repeats the message here.
                ("detail", Value::String(said))
                    if self.message.as_ref().is_some_and(|m| m.contains(said)) => {}
                (key, value) => self.fact(key, value_text(value)),
            }
        }
    }

    /// `application/problem+json`: the detail says more than the title, and every other member is a fact.
    fn problem(&mut self, members: &Map<String, Value>) {
        if let Some(detail) = members.get("detail").and_then(Value::as_str) {
            self.message = not_blank(detail).or(self.message.take());
        }
        let known = ["type", "title", "status", "detail", "instance", "code"];
        for (key, value) in members {
            if !known.contains(&key.as_str()) {
                self.fact(key, value_text(value));
            }
        }
    }

    fn into_error(mut self, dialect: Dialect, http_status: Option<u16>) -> Error {
        let kind = self.kind(dialect, http_status);
        let message = match (&self.message, http_status) {
            (Some(message), _) => message.clone(),
            (None, Some(status)) => format!("the agent answered with HTTP status {status}"),
            (None, None) => "the agent answered with an error that says nothing".to_owned(),
        };
        // A number that says something else than the kind is not lost.
        let ours = i64::from(error_code(dialect, kind));
        if let Some(code) = self.code.filter(|code| *code < 0 && *code != ours) {
            self.fact("code", code.to_string());
        }
        let mut error = Error::new(kind, message);
        for (key, value) in self.facts {
            error = error.fact(key, value);
        }
        for (field, description) in self.violations {
            error = error.violation(field, description);
        }
        error
    }

    fn kind(&self, dialect: Dialect, http_status: Option<u16>) -> ErrorKind {
        let said = self.message.as_deref().unwrap_or_default();
        let refused = http_status.filter(|status| *status >= 400);
        let in_body = self.code.and_then(|code| u16::try_from(code).ok());
        let status = refused.or(in_body.filter(|status| (400..600).contains(status)));
        let number = self.code.and_then(|code| by_number(dialect, code, said));
        if let Some(kind) = self.kind {
            return kind;
        }
        match (number, status.and_then(always)) {
            // 0.x says all that it has no number for with this one; the status tells it apart.
            (Some(ErrorKind::Internal), Some(kind)) => kind,
            (Some(kind), _) => kind,
            (None, Some(kind)) => kind,
            (None, None) => by_words(said).unwrap_or_else(|| {
                let nothing = self.message.is_none();
                self.grpc
                    .as_deref()
                    .and_then(by_grpc_name)
                    .unwrap_or_else(|| by_status(status, nothing))
            }),
        }
    }
}

/// By the number of JSON-RPC. Numbers that A2A leaves to servers mean something only with a reason.
fn by_number(dialect: Dialect, code: i64, said: &str) -> Option<ErrorKind> {
    let code = i32::try_from(code).ok()?;
    let older = dialect.version() == ProtocolVersion::V0_3;
    // Agents of 0.x give these numbers other meanings, but begin with the name of the error.
    if older && (code == -32603 || (-32099..=-32000).contains(&code)) {
        let named = ErrorKind::ALL.into_iter().find(|kind| {
            let title = v0_3::error::row(*kind).title;
            said.get(..title.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(title))
        });
        if named.is_some() {
            return named;
        }
    }
    ErrorKind::ALL
        .into_iter()
        .find(|kind| v1_0::error::row(*kind).code == code && !v1_0::error::is_own(*kind))
}

/// Statuses that mean one thing, whatever is said beside them.
fn always(status: u16) -> Option<ErrorKind> {
    Some(match status {
        401 => ErrorKind::Unauthenticated,
        403 => ErrorKind::PermissionDenied,
        413 => ErrorKind::PayloadTooLarge,
        415 => ErrorKind::ContentTypeNotSupported,
        429 => ErrorKind::ResourceExhausted,
        503 => ErrorKind::Unavailable,
        _ => return None,
    })
}

fn by_words(said: &str) -> Option<ErrorKind> {
    let said = said.to_ascii_lowercase();
    PHRASES
        .iter()
        .find(|(words, _)| words.iter().all(|word| said.contains(word)))
        .map(|(_, kind)| *kind)
}

fn by_grpc_name(name: &str) -> Option<ErrorKind> {
    Some(match name {
        "INVALID_ARGUMENT" | "OUT_OF_RANGE" => ErrorKind::InvalidParams,
        "UNAUTHENTICATED" => ErrorKind::Unauthenticated,
        "PERMISSION_DENIED" => ErrorKind::PermissionDenied,
        "RESOURCE_EXHAUSTED" => ErrorKind::ResourceExhausted,
        "FAILED_PRECONDITION" | "UNIMPLEMENTED" => ErrorKind::UnsupportedOperation,
        "UNAVAILABLE" => ErrorKind::Unavailable,
        _ => return None,
    })
}

/// The rest. A 502 without a word comes from something that stands before the agent.
fn by_status(status: Option<u16>, nothing_said: bool) -> ErrorKind {
    match status {
        Some(404 | 405) => ErrorKind::MethodNotFound,
        Some(409) => ErrorKind::TaskNotCancelable,
        Some(400 | 422) => ErrorKind::InvalidParams,
        Some(501) => ErrorKind::UnsupportedOperation,
        Some(502) if !nothing_said => ErrorKind::InvalidAgentResponse,
        Some(502 | 504) => ErrorKind::AgentUnavailable,
        Some(status) if status < 500 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Internal,
    }
}
