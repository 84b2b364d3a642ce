//! The streams of one HTTP/2 connection: each runs as a task of its own, and is reset if its caller stops reading.
//!
//! Every HTTP/2 stream has a flow-control window. A caller can close the window of one answer and keep the connection busy
//! with other requests and pings, so [`Pulse`], which watches the connection, never sees that the answer
//! waits. Here each body counts the frames that it hands over. A stream whose latest frame has not been taken for
//! `MAX_UNREAD_INTERVALS` checks is dropped with everything it holds, and the peer gets RST_STREAM.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, abortable};

use super::pulse::{MAX_UNREAD_INTERVALS, Pulse};
use crate::shutdown::Tasks;

tokio::task_local! {
    static CURRENT: Arc<Handover>;
}

/// How far the frames of a body have been handed over.
#[derive(Debug, Default)]
pub(super) struct Handover {
    /// Odd while the connection holds a frame of the body and has not asked for the next one.
    count: AtomicU64,
}

impl Handover {
    /// That of the stream whose task runs this; `None` if this is not HTTP/2.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// The connection asks for the next frame, which it does when it has sent the last one.
    pub(super) fn asked(&self) {
        let count = self.count.load(Ordering::Relaxed);
        // Only the task of the stream writes.
        self.count.store(count + count % 2, Ordering::Relaxed);
    }

    /// The connection got a frame.
    pub(super) fn handed_over(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The streams of one connection.
#[derive(Debug, Default)]
pub(super) struct Http2Streams {
    open: Mutex<Vec<Stream>>,
}

#[derive(Debug)]
struct Stream {
    handover: Weak<Handover>,
    /// The count at the last check, and how many checks have found it so.
    last: u64,
    unread: u32,
    abort: AbortHandle,
}

impl Http2Streams {
    /// Resets the streams that nobody reads. To be called at regular intervals.
    pub(super) fn reset_unread(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain_mut(|stream| {
            let Some(handover) = stream.handover.upgrade() else {
                return false;
            };
            let now = handover.count.load(Ordering::Relaxed);
            let waits = now % 2 == 1 && now == stream.last;
            stream.unread = if waits { stream.unread + 1 } else { 0 };
            stream.last = now;
            let is_read = stream.unread < MAX_UNREAD_INTERVALS;
            if !is_read {
                stream.abort.abort();
            }
            is_read
        });
    }

    fn run(&self, tasks: &Tasks, stream: impl Future<Output = ()> + Send + 'static) {
        let handover = Arc::new(Handover::default());
        let weak = Arc::downgrade(&handover);
        let (stream, abort) = abortable(CURRENT.scope(handover, stream));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == open.capacity() {
            open.retain(|stream| stream.handover.strong_count() > 0);
        }
        open.push(Stream {
            handover: weak,
            last: 0,
            unread: 0,
            abort,
        });
        drop(open);
        tasks.spawn(stream.map(drop));
    }
}

/// Runs the streams of a connection for hyper.
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor {
    pub(super) pulse: Pulse,
    pub(super) tasks: Tasks,
}

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.pulse.streams().run(&self.tasks, stream);
    }
}
