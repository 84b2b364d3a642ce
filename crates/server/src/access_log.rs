//! The access log: one line per request, once its answer has left, whatever became of it. Off unless a subscriber wants
//! the target [`ACCESS_LOG`]; then nothing is made for a request.
//!
//! It never holds credentials, queries, or what callers and agents say.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::http::request::Parts as Head;
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use switchboard_types::Error;
use tokio::time::Instant;
use tracing::Level;

use crate::net::{BaseUrl, Peer};
use crate::principal::Principal;
use crate::trace::{Trace, TraceId};

/// The target of these lines.
pub const ACCESS_LOG: &str = "switchboard::access";

/// What the answer to a caller that went away before its end is counted as.
const ABANDONED: &str = "ABANDONED";
/// What a request is counted as that was refused before it was a call.
const REFUSED: &str = "REFUSED";

/// What is known of a request only once it is read. It travels with the request's head, then with its call.
#[derive(Debug, Clone, Default)]
pub struct AccessDetails(Arc<Mutex<Details>>);

#[derive(Debug, Default)]
struct Details {
    agent: Option<Arc<str>>,
    operation: Option<&'static str>,
    caller: Option<Principal>,
    trace_id: Option<TraceId>,
    error: Option<&'static str>,
}

/// The line of one request, written when this is dropped.
#[derive(Debug)]
pub(crate) struct AccessLine {
    method: Method,
    path: String,
    remote: IpAddr,
    began: Instant,
    status: Option<StatusCode>,
    bytes: u64,
    /// All of the answer was handed over.
    complete: bool,
    details: AccessDetails,
}

impl AccessDetails {
    /// Those of a request, if it is to be logged.
    pub(crate) fn of(head: &Head) -> Option<&Self> {
        head.extensions.get()
    }

    /// The request means this agent.
    pub(crate) fn set_agent(&self, agent: &Arc<str>) {
        self.0.lock().agent = Some(Arc::clone(agent));
    }

    /// The request is this call.
    pub(crate) fn set_call(
        &self,
        agent: &Arc<str>,
        operation: &'static str,
        caller: &Principal,
        trace: Option<&Arc<Trace>>,
    ) {
        let mut details = self.0.lock();
        details.agent = Some(Arc::clone(agent));
        details.operation = Some(operation);
        details.caller = Some(caller.clone());
        details.trace_id = trace.map(|trace| trace.id());
    }

    /// The call was refused, or failed.
    pub(crate) fn set_error(&self, error: &Error) {
        self.0.lock().error = Some(error.kind().reason());
    }

    /// The request was refused before it was a call.
    pub(crate) fn set_refused(&self) {
        self.0.lock().error = Some(REFUSED);
    }
}

impl AccessLine {
    /// Begins the line of a request, if it is to be logged.
    pub(crate) fn begin(head: &mut Head, peer: &Peer, base_url: &BaseUrl) -> Option<Box<Self>> {
        tracing::enabled!(target: ACCESS_LOG, Level::INFO).then(|| {
            let details = AccessDetails::default();
            let line = Self {
                method: head.method.clone(),
                path: head.uri.path().to_owned(),
                remote: base_url.client(head, peer),
                began: Instant::now(),
                status: None,
                bytes: 0,
                complete: false,
                details: details.clone(),
            };
            head.extensions.insert(details);
            Box::new(line)
        })
    }

    /// The head of the answer is made.
    pub(crate) fn answered(&mut self, status: StatusCode) {
        self.status = Some(status);
    }

    /// All of the answer was handed over.
    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    /// A piece of the answer leaves.
    pub(crate) fn sent(&mut self, data: Option<&Bytes>) {
        self.bytes += data.map_or(0, |data| data.len() as u64);
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        let details = self.details.0.lock();
        let owner = details
            .caller
            .as_ref()
            .map(|caller| caller.owner().as_str());
        let trace_id = details.trace_id.as_ref().map(tracing::field::display);
        // The answer to HEAD has a body that nobody asks for.
        let complete = self.complete || self.status.is_some() && self.method == Method::HEAD;
        let abandoned = (!complete).then_some(ABANDONED);
        tracing::info!(
            target: ACCESS_LOG,
            method = self.method.as_str(),
            path = self.path,
            agent = details.agent.as_deref(),
            operation = details.operation,
            status = self.status.map(|status| status.as_u16()),
            error = details.error.or(abandoned),
            caller = owner,
            duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes = self.bytes,
            trace_id,
            remote = %self.remote,
            "request"
        );
    }
}
