//! Batches of spans on their way to the collector.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use switchboard_server::trace::Span;
use switchboard_types::backoff::Backoff;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::settings::Settings;
use super::{Counts, proto};

/// How long to wait before the second attempt; it doubles.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// How often a collector that does not take spans is told of in the log.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// Sends spans.
#[derive(Debug)]
pub(super) struct Worker {
    settings: Settings,
    spans: mpsc::Receiver<Span>,
    counts: Arc<Counts>,
    http: Option<reqwest::Client>,
    complained: Option<Instant>,
}

impl Worker {
    pub(super) fn new(
        settings: Settings,
        spans: mpsc::Receiver<Span>,
        counts: Arc<Counts>,
    ) -> Self {
        Self {
            settings,
            spans,
            counts,
            http: None,
            complained: None,
        }
    }

    /// Sends until it is told to stop, and then what is left.
    pub(super) async fn run(mut self, stopping: CancellationToken) {
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                first = self.spans.recv() => batch.extend(first),
            }
            if batch.is_empty() {
                return;
            }
            let deadline = Instant::now() + self.settings.delay;
            while batch.len() < self.settings.batch {
                let room = self.settings.batch - batch.len();
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => break,
                    read = self.spans.recv_many(&mut batch, room) => if read == 0 { break },
                    () = sleep_until(deadline) => break,
                }
            }
            self.send(batch, &stopping).await;
        }
        self.spans.close();
        loop {
            let mut batch = Vec::new();
            if self.spans.recv_many(&mut batch, self.settings.batch).await == 0 {
                return;
            }
            self.send(batch, &stopping).await;
        }
    }

    /// Sends a batch, more than once if the collector is busy.
    async fn send(&mut self, batch: Vec<Span>, stopping: &CancellationToken) {
        let spans = u64::try_from(batch.len()).unwrap_or_default();
        let body = Bytes::from(proto::encode(&self.settings.resource, batch));
        let deadline = Instant::now() + self.settings.patience;
        let mut backoff = Backoff::new(FIRST_RETRY, self.settings.patience);
        let why = loop {
            let attempt = timeout_at(deadline, self.attempt(body.clone())).await;
            match attempt.unwrap_or(Err(Refused::Gone("no answer in time".to_owned()))) {
                Ok(()) => {
                    self.counts.exported.fetch_add(spans, Ordering::Relaxed);
                    return;
                }
                Err(Refused::Gone(why)) => break why,
                Err(Refused::NotNow(why)) => {
                    let pause = backoff.next_delay();
                    if stopping.is_cancelled() || Instant::now() + pause >= deadline {
                        break why;
                    }
                    // The end does not wait for it.
                    drop(timeout(pause, stopping.cancelled()).await);
                }
            }
        };
        self.counts.failed.fetch_add(spans, Ordering::Relaxed);
        if self
            .complained
            .is_none_or(|at| at.elapsed() >= COMPLAIN_EVERY)
        {
            self.complained = Some(Instant::now());
            tracing::warn!(error = why, spans, "collector refused spans");
        }
    }

    async fn attempt(&mut self, body: Bytes) -> Result<(), Refused> {
        let http = match &self.http {
            Some(http) => http.clone(),
            None => {
                let made = reqwest::Client::builder()
                    .timeout(self.settings.timeout)
                    .redirect(reqwest::redirect::Policy::none())
                    .build()
                    .map_err(|error| Refused::Gone(error.to_string()))?;
                self.http.insert(made).clone()
            }
        };
        let request = http
            .post(self.settings.endpoint.clone())
            .headers(self.settings.headers.clone())
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(body);
        let response = request.send().await;
        // Its text may hold what is secret in the address.
        let response =
            response.map_err(|error| Refused::NotNow(error.without_url().to_string()))?;
        let status = response.status();
        drop(response.bytes().await);
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(Refused::NotNow(format!("answered {status}"))),
            status => Err(Refused::Gone(format!("answered {status}"))),
        }
    }
}

/// Why a batch was not taken.
enum Refused {
    /// Another time it may be.
    NotNow(String),
    /// It never will.
    Gone(String),
}
