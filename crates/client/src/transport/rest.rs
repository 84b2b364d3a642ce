//! HTTP+JSON: verb, path and query out; a body and a status back, or a stream.

use async_trait::async_trait;
use http::Method as Verb;
use switchboard_types::operation::{Method, Operation, Response};
use switchboard_types::wire::jsonrpc::{Outcome, read_answer};
use switchboard_types::wire::rest::{Asked, media_type, write_request};
use switchboard_types::wire::sse::Frame;
use switchboard_types::wire::{decode_error, decode_event, decode_response};
use switchboard_types::{Dialect, ErrorKind};
use tokio::time::Instant;

use super::http::{Opened, Outgoing};
use super::jsonrpc::Head;
use super::link::Link;
use super::sse::{self, Read};
use super::{Reply, Transport};
use crate::error::Error;
use crate::options::CallOptions;

/// One HTTP+JSON interface.
#[derive(Debug)]
pub(crate) struct Rest(pub(crate) Link);

#[async_trait]
impl Transport for Rest {
    async fn call(&self, operation: &Operation, options: &CallOptions) -> Result<Reply, Error> {
        let Self(link) = self;
        let method = operation.method();
        let mut asked = write_request(link.dialect, operation, link.tenant.as_deref());
        let deadline = link.deadline(options);
        let mut opened = self.open(&asked, options, deadline).await?;
        if method == Method::Subscribe && matches!(opened.status().as_u16(), 404 | 405 | 501) {
            // The proto says GET, the text of the specification POST.
            let status = opened.status().as_u16();
            asked.verb = "POST";
            let again = self.open(&asked, options, deadline).await?;
            // A task that is not there is not there by POST either; then the first answer said it best.
            if again.status().is_success() || status != 404 {
                opened = again;
            }
        }
        let (dialect, limits) = (link.dialect, link.shared.limits);
        if opened.is_stream() {
            let read = move |frame: &Frame| read_frame(dialect, frame);
            let silence = link.shared.silence;
            let events = sse::events(opened, limits.event, silence, read);
            return Ok(Reply::Events(events));
        }
        let head = Head::of(&opened);
        let body = opened.read(limits.body, deadline).await?;
        if !head.is_good() {
            return Err(head.refusal(dialect, &body));
        }
        let text = std::str::from_utf8(&body)
            .map_err(|_| Error::unintelligible("it is no text").with_status(head.status))?;
        let wanted = match method {
            Method::Stream => Method::Send,
            Method::Subscribe => Method::Get,
            other => other,
        };
        let text = if text.trim().is_empty() { "{}" } else { text };
        let response = match decode_response(dialect, wanted, text) {
            Ok(response) => response,
            Err(_) if method == Method::DeletePushConfig => Response::Deleted,
            Err(error) => return Err(Error::unintelligible(error).with_status(head.status)),
        };
        if method.streams() {
            return super::single(response);
        }
        Ok(Reply::Response(response))
    }
}

impl Rest {
    async fn open(
        &self,
        asked: &Asked,
        options: &CallOptions,
        deadline: Instant,
    ) -> Result<Opened, Error> {
        let Self(link) = self;
        let mut url = link.url.clone();
        let base = url.path().trim_end_matches('/');
        // An address may name the version that all paths of 0.x begin with.
        let base = match base.strip_suffix("/v1") {
            Some(shorter) if asked.path.starts_with("/v1/") => shorter,
            _ => base,
        };
        url.set_path(&format!("{base}{}", asked.path));
        let query = match (url.query(), asked.query.as_str()) {
            (Some(own), "") => Some(own.to_owned()),
            (Some(own), more) => Some(format!("{own}&{more}")),
            (None, "") => None,
            (None, more) => Some(more.to_owned()),
        };
        url.set_query(query.as_deref());
        let verb = Verb::from_bytes(asked.verb.as_bytes()).unwrap_or(Verb::POST);
        let mut out = Outgoing::new(verb, url);
        let own = media_type(link.dialect);
        if own != "application/json" {
            let accept = format!("{own}, application/json, text/event-stream");
            if let Ok(accept) = accept.parse() {
                out.headers.insert(http::header::ACCEPT, accept);
            }
        }
        if let Some(body) = &asked.body {
            out = out.body(own, body.clone());
        }
        link.open(out, options, deadline).await
    }
}

/// One frame: the event itself, or wrapped as JSON-RPC does (S2-119).
fn read_frame(dialect: Dialect, frame: &Frame) -> Read {
    let data = frame.data.as_str();
    let outcome = match read_answer(data.as_bytes()) {
        Ok(answered) => answered.outcome,
        Err(error) => return Read::Skip(error.to_string()),
    };
    let event = match outcome {
        Outcome::Error(error) if frame.event.as_deref() != Some("error") => {
            let error = decode_error(dialect, None, error.get());
            return Read::Failed(Error::answered(error));
        }
        _ if frame.event.as_deref() == Some("error") => {
            return Read::Failed(Error::answered(decode_error(dialect, None, data)));
        }
        Outcome::Result(result) => decode_event(dialect, result.get()),
        Outcome::Error(_) | Outcome::Neither => decode_event(dialect, data),
    };
    match event {
        Ok(event) => Read::Event(Box::new(event)),
        Err(error) if error.kind() == ErrorKind::Parse => Read::Skip(error.to_string()),
        Err(error) => Read::Failed(Error::unintelligible(error)),
    }
}
