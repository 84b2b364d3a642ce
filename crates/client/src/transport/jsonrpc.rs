//! JSON-RPC over HTTP: an envelope out, an envelope back, or a stream of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method as Verb;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_types::model::{Message, Role};
use switchboard_types::operation::{Method, Operation, Response};
use switchboard_types::wire::jsonrpc::{Id, Outcome, read_answer, write_call};
use switchboard_types::wire::sse::Frame;
use switchboard_types::wire::{decode_error, decode_event, decode_response};
use switchboard_types::{Dialect, ErrorKind, ProtocolVersion};
use uuid::Uuid;

use super::failure::log_error;
use super::http::{Opened, Outgoing};
use super::link::Link;
use super::sse::{self, Read};
use super::{Reply, Transport, plain_card};
use crate::error::Error;
use crate::message::fresh_id;
use crate::options::CallOptions;

/// One JSON-RPC interface.
#[derive(Debug)]
pub(crate) struct JsonRpc(pub(crate) Link);

#[async_trait]
impl Transport for JsonRpc {
    async fn call(&self, operation: &Operation, options: &CallOptions) -> Result<Reply, Error> {
        let Self(link) = self;
        if operation.method() != Method::ExtendedCard {
            return self.call_by_name(operation, options).await;
        }
        if !link.plain_card {
            let answered = self.call_by_name(operation, options).await;
            // Cards before 0.2.5 do not tell their version, and agents differ in what they call an unknown method.
            let unknown = |error: &Error| {
                error.is(ErrorKind::MethodNotFound) || error.is(ErrorKind::InvalidRequest)
            };
            if link.version == ProtocolVersion::ALL[0] || !answered.as_ref().is_err_and(unknown) {
                return answered;
            }
        }
        Ok(Reply::Response(plain_card::get(link, options).await?))
    }
}

impl JsonRpc {
    async fn call_by_name(
        &self,
        operation: &Operation,
        options: &CallOptions,
    ) -> Result<Reply, Error> {
        let Self(link) = self;
        let method = operation.method();
        let id = match &options.request_id {
            Some(id) => Id::text(id),
            None => Id::text(&Uuid::new_v4().to_string()),
        };
        let mut body = Vec::new();
        write_call(
            &mut body,
            &id,
            link.dialect,
            operation,
            link.tenant.as_deref(),
        );
        let out = Outgoing::new(Verb::POST, link.url.clone()).body("application/json", body);
        let deadline = link.deadline(options);
        let opened = link.open(out, options, deadline).await?;
        let limits = link.shared.limits;
        let dialect = link.dialect;
        if opened.is_stream() {
            let read = move |frame: &Frame| read_frame(dialect, &frame.data);
            let silence = link.shared.silence;
            let events = sse::events(opened, limits.event, silence, read);
            return Ok(Reply::Events(events));
        }
        let head = Head::of(&opened);
        let body = opened.read(limits.body, deadline).await?;
        let response = read_body(dialect, method, head, &body)?;
        if method.streams() {
            return super::single(response);
        }
        Ok(Reply::Response(response))
    }
}

/// What of an answer's head its reading depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) wait: Option<std::time::Duration>,
}

impl Head {
    pub(super) fn of(opened: &Opened) -> Self {
        Self {
            status: opened.status().as_u16(),
            wait: opened.retry_after(),
        }
    }

    pub(super) fn is_good(self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The error of an answer with a bad status that says nothing in our terms.
    pub(super) fn refusal(self, dialect: Dialect, body: &[u8]) -> Error {
        let error = decode_error(dialect, Some(self.status), &String::from_utf8_lossy(body));
        let error = Error::answered(error)
            .with_status(self.status)
            .retry_after(self.wait);
        tracing::debug!("HTTP error invoking agent: status {}: {error}", self.status);
        error
    }
}

fn read_body(
    dialect: Dialect,
    method: Method,
    head: Head,
    body: &Bytes,
) -> Result<Response, Error> {
    let answered = match read_answer(body) {
        Ok(answered) => answered,
        Err(_) if !head.is_good() => return Err(head.refusal(dialect, body)),
        // An agent that has nothing to say may say nothing.
        Err(_) if body.trim_ascii().is_empty() && method == Method::DeletePushConfig => {
            return Ok(Response::Deleted);
        }
        Err(error) => return Err(Error::unintelligible(error).with_status(head.status)),
    };
    match answered.outcome {
        Outcome::Error(error) if error.get().starts_with('{') => {
            Err(read_error(dialect, Some(head), error))
        }
        // A text for an error is no JSON-RPC; whatever it is, it is a failure.
        Outcome::Error(_) => Err(head.refusal(dialect, body)),
        _ if !head.is_good() => Err(head.refusal(dialect, body)),
        Outcome::Result(result) => read_result(dialect, method, result.get()),
        Outcome::Neither => read_result(dialect, method, "null"),
    }
    .map_err(|error| error.with_status(head.status))
}

/// Reads a result. An answer to a send that holds nothing is an empty message, not a failure (S0-033).
fn read_result(dialect: Dialect, method: Method, result: &str) -> Result<Response, Error> {
    if method == Method::Send && is_empty(result) {
        return Ok(empty());
    }
    decode_response(dialect, sent_as(method), result).map_err(Error::unintelligible)
}

/// What comes instead of a stream is what a send gives.
fn sent_as(method: Method) -> Method {
    match method {
        Method::Stream => Method::Send,
        Method::Subscribe => Method::Get,
        other => other,
    }
}

fn empty() -> Response {
    Response::SentMessage(Arc::new(Message::new(fresh_id(), Role::Agent, Vec::new())))
}

/// Neither task nor message, or a message without parts.
fn is_empty(result: &str) -> bool {
    type Members<'a> = BTreeMap<String, &'a RawValue>;
    let members = |json| serde_json::from_str::<Members<'_>>(json);
    if result.trim() == "null" {
        return true;
    }
    let Ok(outer) = members(result) else {
        return false;
    };
    let Some(message) = outer.get("message") else {
        return outer.is_empty();
    };
    match members(message.get()) {
        Ok(inner) => {
            let parts = inner.get("parts").or_else(|| inner.get("content"));
            parts.is_none_or(|parts| matches!(parts.get(), "[]" | "null"))
        }
        Err(_) => message.get() == "null",
    }
}

fn read_error(dialect: Dialect, head: Option<Head>, raw: &RawValue) -> Error {
    #[derive(Deserialize)]
    struct Numbered {
        #[serde(default)]
        code: Option<i64>,
        #[serde(default)]
        message: Option<serde_json::Value>,
    }
    // Of 200 the status says nothing; of others it may.
    let status = head.filter(|head| !head.is_good()).map(|head| head.status);
    let error = decode_error(dialect, status, raw.get());
    let told: Option<Numbered> = serde_json::from_str(raw.get()).ok();
    let code = told.as_ref().and_then(|told| told.code);
    let said = told.is_some_and(|told| told.message.is_some_and(|message| message.is_string()));
    log_error(code, &error);
    let invalid_thread = error.message().contains("Invalid thread ID");
    let error = Error::answered(error)
        .with_code(code)
        .retry_after(head.and_then(|head| head.wait));
    let error = if said { error } else { error.saying(raw.get()) };
    if invalid_thread {
        return error.hinting("this agent wants a UUID as context id");
    }
    error
}

/// One frame: a whole answer, or the event itself (S2-119).
fn read_frame(dialect: Dialect, data: &str) -> Read {
    let outcome = match read_answer(data.as_bytes()) {
        Ok(answered) => answered.outcome,
        Err(error) => return Read::Skip(error.to_string()),
    };
    let event = match outcome {
        Outcome::Error(error) => return Read::Failed(read_error(dialect, None, error)),
        Outcome::Result(result) => decode_event(dialect, result.get()),
        Outcome::Neither => decode_event(dialect, data),
    };
    match event {
        Ok(event) => Read::Event(Box::new(event)),
        Err(error) if error.kind() == ErrorKind::Parse => Read::Skip(error.to_string()),
        Err(error) => Read::Failed(Error::unintelligible(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_nothing_is_told_from_what_holds_something() {
        for (result, nothing) in [
            ("null", true),
            ("{}", true),
            (r#"{"message":null}"#, true),
            (r#"{"message":{}}"#, true),
            (r#"{"message":{"role":"assistant"}}"#, true),
            (r#"{"message":{"parts":[]}}"#, true),
            (
                r#"{"message":{"parts":[{"kind":"text","text":"x"}]}}"#,
                false,
            ),
            (r#"{"kind":"task","id":"t"}"#, false),
            (r#"{"kind":"message","parts":[]}"#, false),
            ("[]", false),
        ] {
            assert_eq!(is_empty(result), nothing, "{result}");
        }
    }
}
