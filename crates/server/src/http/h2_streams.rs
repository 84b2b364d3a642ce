//! The streams of one HTTP/2 connection: each runs as a task of its own, and is reset if its caller stops reading.
//!
//! Every HTTP/2 stream has a flow-control window. A caller can close the window of one answer and keep the connection busy
//! with other requests and pings, so [`Pulse`], which watches the connection, never sees that the answer
//! waits. Here each piece of a body counts the bytes that leave. A stream of which nothing has left for
//! `MAX_UNREAD_INTERVALS` checks is dropped with everything it holds, and the peer gets RST_STREAM. If its task has
//! ended already, only the HTTP/2 library holds the rest of the answer, and the connection must end.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::{Buf, Bytes};
use futures_util::FutureExt;
use futures_util::future::{AbortHandle, abortable};
use parking_lot::Mutex;

use super::pulse::{Busy, MAX_UNREAD_INTERVALS, Pulse};
use crate::shutdown::Tasks;

tokio::task_local! {
    static CURRENT: Arc<Handover>;
}

/// How far the answer of a stream has left. Its body and each of its pieces share it, so it lives until the last byte was
/// written to the socket or thrown away.
#[derive(Debug, Default)]
pub(super) struct Handover {
    /// Bytes that the connection has written.
    sent: AtomicU64,
    /// Pieces that the connection holds.
    held: AtomicUsize,
    /// The task of the stream has ended.
    ended: AtomicBool,
    /// Keeps the connection from being taken for idle.
    busy: OnceLock<Busy>,
}

impl Handover {
    /// That of the stream whose task runs this; `None` if this is not HTTP/2.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// The connection is busy until all of the answer has left.
    pub(super) fn keep(&self, busy: Busy) {
        // A stream has one answer, so nothing is there yet.
        drop(self.busy.set(busy));
    }
}

/// A piece of an answer, on its way to the socket.
#[derive(Debug)]
pub(super) struct Piece {
    bytes: Bytes,
    handover: Option<Arc<Handover>>,
}

impl Piece {
    pub(super) fn new(bytes: Bytes, handover: Option<&Arc<Handover>>) -> Self {
        if let Some(handover) = handover {
            handover.held.fetch_add(1, Ordering::Relaxed);
        }
        Self {
            bytes,
            handover: handover.cloned(),
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(handover) = &self.handover {
            handover.sent.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(handover) = &self.handover {
            handover.held.fetch_sub(1, Ordering::Relaxed);
        }
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
    /// What had left at the last check, and how many checks have found that it waits.
    sent: u64,
    unread: u32,
    abort: AbortHandle,
}

impl Http2Streams {
    /// Resets the streams that nobody reads. To be called at regular intervals. Whether one of them cannot be reset, so
    /// that the connection must end.
    pub(super) fn reset_unread(&self) -> bool {
        let mut stuck = false;
        let mut open = self.open.lock();
        open.retain_mut(|stream| {
            let Some(handover) = stream.handover.upgrade() else {
                return false;
            };
            let sent = handover.sent.load(Ordering::Relaxed);
            let waits = handover.held.load(Ordering::Relaxed) > 0 && sent == stream.sent;
            stream.unread = if waits { stream.unread + 1 } else { 0 };
            stream.sent = sent;
            let is_read = stream.unread < MAX_UNREAD_INTERVALS;
            if !is_read {
                stream.abort.abort();
                stuck |= handover.ended.load(Ordering::Relaxed);
            }
            is_read
        });
        stuck
    }

    fn run(&self, tasks: &Tasks, stream: impl Future<Output = ()> + Send + 'static) {
        let handover = Arc::new(Handover::default());
        let weak = Arc::downgrade(&handover);
        let watched = CURRENT.scope(handover, async move {
            stream.await;
            CURRENT.with(|handover| handover.ended.store(true, Ordering::Relaxed));
        });
        let (stream, abort) = abortable(watched);
        let mut open = self.open.lock();
        if open.len() == open.capacity() {
            open.retain(|stream| stream.handover.strong_count() > 0);
        }
        open.push(Stream {
            handover: weak,
            sent: 0,
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
