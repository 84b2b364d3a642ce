//! What the clients share: the server's address, what they were promised, and what went wrong.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::receiver::Receiver;
use crate::wire::{self, Dialect, Event, Line, Trouble};

/// How long one call may take on a server that is there.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait before a server that is not there is called again.
const GLANCE: Duration = Duration::from_millis(8);

/// What is wrong with the server.
pub(crate) type Fault = String;

/// What the clients share.
pub(crate) struct World {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) receiver: Receiver,
    pub(crate) rings: Rings,
    stop: AtomicBool,
    numbers: AtomicU64,
    ledger: Mutex<Ledger>,
}

/// Moments at which the server may be killed.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    /// The head of an answer has come.
    pub(crate) header: Notify,
    /// An event has come.
    pub(crate) event: Notify,
}

/// What was promised and seen.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) promises: Vec<Promise>,
    pub(crate) tales: Vec<Tale>,
    /// Tasks that were acknowledged, and how they ended if that is known.
    pub(crate) known: Vec<(&'static str, String)>,
    pub(crate) endings: HashMap<String, Value>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) cuts: u64,
}

/// A task that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Promise {
    pub(crate) agent: &'static str,
    pub(crate) task: String,
    /// The messages the client sent, in order: id and text.
    pub(crate) messages: Vec<(String, String)>,
    pub(crate) hook: Option<String>,
    pub(crate) dialect: Dialect,
    pub(crate) end: End,
}

/// How a task must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    /// The cancel was acknowledged.
    Canceled,
    /// The cancel came too late, or its answer was lost.
    Either,
}

/// What one reader saw of one task.
#[derive(Debug, Clone)]
pub(crate) struct Tale {
    pub(crate) who: String,
    pub(crate) agent: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) events: Vec<Event>,
}

impl World {
    pub(crate) fn new(base: String, receiver: Receiver) -> Self {
        let http = reqwest::Client::builder()
            .read_timeout(PATIENCE)
            .no_proxy()
            .build()
            .expect("a client");
        Self {
            http,
            base,
            receiver,
            rings: Rings::default(),
            stop: AtomicBool::new(false),
            numbers: AtomicU64::new(0),
            ledger: Mutex::default(),
        }
    }

    pub(crate) fn line(&self, dialect: Dialect) -> Line {
        Line {
            http: self.http.clone(),
            base: self.base.clone(),
            dialect,
        }
    }

    /// A number that nobody else has.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Nobody begins anything new after this.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a fault and ends the run: what comes after it would only bury it.
    pub(crate) fn fault(&self, fault: Fault) {
        self.ledger().faults.push(fault);
        self.stop();
    }

    /// Sends a request; the head of the answer is there.
    pub(crate) async fn open(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        let response = request.send().await.map_err(|e| wire::trouble(&e))?;
        self.rings.header.notify_waiters();
        let kind = response.headers().get("content-type");
        if kind.is_some_and(|kind| kind == "text/event-stream") {
            return Ok(response);
        }
        let body = response.text().await.map_err(|e| wire::trouble(&e))?;
        Err(match wire::read(&body) {
            Err(trouble) => trouble,
            Ok(_) => Trouble::Wrong(format!("no stream: {body}")),
        })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn call(&self, request: RequestBuilder) -> Result<Value, Trouble> {
        let request = request.timeout(PATIENCE);
        let response = request.send().await.map_err(|e| wire::trouble(&e))?;
        self.rings.header.notify_waiters();
        let body = response.text().await.map_err(|e| wire::trouble(&e))?;
        self.rings.event.notify_waiters();
        wire::read(&body)
    }

    /// Calls until the server is there to answer.
    pub(crate) async fn insist(
        &self,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Value, Trouble> {
        loop {
            match self.call(request()).await {
                Err(Trouble::Cut | Trouble::Unavailable) => self.pause().await,
                other => return other,
            }
        }
    }

    /// The server is away: waits a moment.
    pub(crate) async fn pause(&self) {
        self.ledger().cuts += 1;
        sleep(GLANCE).await;
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        trouble.to_string()
    }
}
