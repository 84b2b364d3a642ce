//! Spans for a collector (OTLP over HTTP), if the standard `OTEL_*` variables say where one is. Nothing is made
//! otherwise.
//!
//! - `settings`: what the variables say; `sampler`: which traces are recorded.
//! - `proto`: spans as protobuf.
//! - `worker`: batches on their way.
//!
//! What is recorded never waits for the collector: when the queue is full, spans are dropped and counted.

mod proto;
mod sampler;
mod settings;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use switchboard_server::metrics::Lines;
use switchboard_server::shutdown::Tasks;
use switchboard_server::trace::{Sink, Span, Spans, TraceId};
use tokio::sync::mpsc;

use self::sampler::Sampler;
use self::settings::Settings;
use self::worker::Worker;
use crate::config::Env;

/// How long the last spans may take to leave at the end.
const LAST: Duration = Duration::from_secs(5);

/// Takes spans for a collector.
#[derive(Debug)]
pub(crate) struct Exporter {
    queue: mpsc::Sender<Span>,
    sampler: Sampler,
    counts: Arc<Counts>,
    worker: Tasks,
}

/// What became of spans.
#[derive(Debug, Default)]
struct Counts {
    exported: AtomicU64,
    /// There was no room for them.
    dropped: AtomicU64,
    /// The collector did not take them.
    failed: AtomicU64,
}

impl Exporter {
    /// Starts, if the environment says where to.
    pub(crate) fn start(env: &Env) -> Option<Arc<Self>> {
        let settings = Settings::read(env)?;
        let (queue, spans) = mpsc::channel(settings.queue);
        let (counts, worker) = (Arc::<Counts>::default(), Tasks::default());
        let sampler = settings.sampler;
        tracing::info!(endpoint = %settings.shown(), "exporting spans");
        let work = Worker::new(settings, spans, Arc::clone(&counts));
        worker.spawn(work.run(worker.stopping().clone()));
        Some(Arc::new(Self {
            queue,
            sampler,
            counts,
            worker,
        }))
    }

    /// Where spans go.
    pub(crate) fn spans(self: &Arc<Self>) -> Spans {
        Spans::new(Arc::clone(self) as _)
    }

    /// Sends what is left.
    pub(crate) async fn close(&self) {
        self.worker.stop();
        if !self.worker.drain(LAST).await {
            tracing::warn!("could not export the last spans before shutdown");
        }
    }

    /// What became of spans.
    pub(crate) fn write(&self, lines: &mut Lines) {
        let name = "switchboard_spans_total";
        lines.series(
            name,
            "counter",
            "Spans for the OpenTelemetry collector, by outcome.",
        );
        for (outcome, count) in [
            ("exported", &self.counts.exported),
            ("dropped", &self.counts.dropped),
            ("failed", &self.counts.failed),
        ] {
            lines.number(name, &[("outcome", outcome)], count.load(Ordering::Relaxed));
        }
    }
}

impl Sink for Exporter {
    fn samples(&self, trace: TraceId, parent: Option<bool>) -> bool {
        self.sampler.samples(trace, parent)
    }

    fn record(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
