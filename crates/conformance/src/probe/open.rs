//! Streams: opened, or refused.

use serde_json::Value;
use switchboard_types::operation::Method;
use switchboard_types::{ErrorKind, wire};
use tokio::time::Instant;

use super::{Manner, Probe};
use crate::answer::{Answer, Link};
use crate::check::{Found, hold};
use crate::stream::Stream;

impl Probe {
    /// Opens a stream; or an answer, if it was refused.
    pub(crate) async fn open(&self, method: Method, mut params: Value) -> Result<Stream, Answer> {
        self.put_tenant(&mut params);
        let (verb, path, body, id) = match self.written(method, &params) {
            Ok(written) => written,
            Err(unsaid) => return Err(*unsaid),
        };
        let refused = match self.open_by(verb, &path, body).await {
            Ok(mut stream) => {
                stream.id = id;
                return Ok(stream);
            }
            Err(refused) => refused,
        };
        // The text has POST for subscribe, the proto GET: either will do.
        let other_verb =
            method == Method::Subscribe && self.link == Link::Rest && refused.names_no_reason();
        if other_verb && [404, 405, 501].contains(&refused.status) {
            match self.open_by("GET", &path, Vec::new()).await {
                Ok(stream) => return Ok(stream),
                Err(again) if ![405, 501].contains(&again.status) => {
                    self.note(method, id, &again);
                    return Err(again);
                }
                Err(_) => {}
            }
        }
        self.note(method, id, &refused);
        Err(refused)
    }

    async fn open_by(
        &self,
        verb: &'static str,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Stream, Answer> {
        let asked = Instant::now();
        let out = self.outgoing(verb, path, body, Manner::default(), "text/event-stream");
        let begun = match self.caller.begin(out).await {
            Ok(begun) => begun,
            Err(broken) => return Err(Answer::of(*broken, self.link, self.dialect)),
        };
        let kind = begun.headers.get("content-type");
        let kind = kind.map(|kind| kind.as_bytes()).unwrap_or_default();
        let grpc = self.link == Link::Grpc;
        let wanted: &[u8] = if grpc {
            b"application/grpc"
        } else {
            b"text/event-stream"
        };
        let named = kind.starts_with(wanted);
        if begun.status.is_success() && (named || !grpc) {
            let stream = Stream::new(begun, self.caller.log(), self.link, asked);
            if named && !grpc {
                return Ok(stream);
            }
            // With another Content-Type it may be one answer, or a stream under a wrong name.
            let begun = stream.begin(self.plan.timeout).await;
            return begun.map_err(|whole| Answer::of(whole, self.link, self.dialect));
        }
        let whole = self.caller.finish(begun).await;
        Err(Answer::of(whole, self.link, self.dialect))
    }

    /// A stream that must be refused in one of these ways: by an answer, or by the first event.
    pub(crate) async fn refuses(
        &self,
        method: Method,
        params: Value,
        kinds: &[ErrorKind],
        what: &str,
    ) -> Found {
        let mut stream = match self.open(method, params).await {
            Err(answer) => return answer.refused_as(kinds, what),
            Ok(stream) => stream,
        };
        stream.next(self.plan.timeout).await;
        let streamed = stream.leave();
        let code = streamed
            .items
            .first()
            .and_then(|item| item.data["error"]["code"].as_i64());
        let right = kinds
            .iter()
            .any(|kind| code == Some(wire::error_code(self.dialect, *kind).into()));
        let why = match code {
            Some(code) => format!("{what} was refused as {code}"),
            None => format!("{what} was taken: a stream was opened"),
        };
        hold(right, why, &streamed.exchange)
    }
}
