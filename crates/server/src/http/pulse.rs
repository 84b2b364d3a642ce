//! Whether something happens on a connection. One clock per connection looks from time to time; a clock per request
//! costs more than reading the request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::h2_streams::Http2Streams;

/// What happens on one connection. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Pulse {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Requests that were begun or ended, and writes.
    beats: AtomicU64,
    /// Requests that are not yet answered, streams that are not yet over.
    open: AtomicUsize,
    /// An answer waits to be read.
    unread: AtomicBool,
    /// What runs on it, if it is HTTP/2.
    streams: Http2Streams,
}

/// How many times longer than others a connection may be silent whose reader does not read: what it has not taken yet
/// would be lost. The same holds for each stream of HTTP/2.
pub(super) const MAX_UNREAD_INTERVALS: u32 = 10;

/// Why a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing happens on it, or the server stops. What is under way may finish.
    Quiet,
    /// Its caller does not read an answer that cannot be taken back.
    Stuck,
}

/// A request or stream under way.
#[derive(Debug)]
pub(super) struct Busy {
    pulse: Pulse,
}

impl Pulse {
    /// A request begins.
    pub(super) fn begin(&self) -> Busy {
        self.beat();
        self.shared.open.fetch_add(1, Ordering::Relaxed);
        Busy {
            pulse: self.clone(),
        }
    }

    /// Whether a request or stream is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.shared.open.load(Ordering::Relaxed) > 0
    }

    /// Whether an answer waits to be read.
    pub(super) fn is_unread(&self) -> bool {
        self.shared.unread.load(Ordering::Relaxed)
    }

    /// The streams of an HTTP/2 connection.
    pub(super) fn streams(&self) -> &Http2Streams {
        &self.shared.streams
    }

    /// Ends when nothing was asked, answered or under way for `patience`, or up to twice as long; much longer if an
    /// answer or a stream waits to be read. What comes in does not count: it may be a head that never ends. Meanwhile
    /// resets the streams of HTTP/2 that are not read; where that is not possible, ends with [`End::Stuck`].
    pub(super) async fn stops(self, patience: Duration) -> End {
        let (mut seen, mut silent) = (self.beats(), 0);
        loop {
            tokio::time::sleep(patience).await;
            if self.shared.streams.reset_unread() {
                return End::Stuck;
            }
            let now = self.beats();
            // A stream that nobody reads never ends, and holds what it is to send.
            let quiet = now == seen && (!self.is_busy() || self.is_unread());
            silent = if quiet { silent + 1 } else { 0 };
            if silent
                >= if self.is_unread() {
                    MAX_UNREAD_INTERVALS
                } else {
                    1
                }
            {
                return End::Quiet;
            }
            seen = now;
        }
    }

    fn beat(&self) {
        self.shared.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// How often something has happened.
    pub(super) fn beats(&self) -> u64 {
        self.shared.beats.load(Ordering::Relaxed)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.pulse.beat();
        self.pulse.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket whose writes are felt in a pulse: a reader may be slow, as long as it reads.
#[derive(Debug)]
pub(super) struct Felt<S> {
    socket: S,
    pulse: Pulse,
}

impl<S> Felt<S> {
    pub(super) fn new(socket: S, pulse: Pulse) -> Self {
        Self { socket, pulse }
    }

    fn wrote(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(outcome, Poll::Ready(Ok(n)) if n > 0) {
            self.pulse.beat();
        }
        let unread = outcome.is_pending();
        self.pulse.shared.unread.store(unread, Ordering::Relaxed);
        outcome
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Felt<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Felt<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.wrote(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write_vectored(cx, pieces);
        self.wrote(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_stops_when_nothing_is_asked_written_or_under_way() {
        let pulse = Pulse::default();
        let mut stops = std::pin::pin!(pulse.clone().stops(Duration::from_secs(10)));
        let mut within =
            async |seconds| tokio::time::timeout(Duration::from_secs(seconds), &mut stops).await;

        let busy = pulse.begin();
        assert!(within(100).await.is_err(), "a request is under way");
        drop(busy);
        for _ in 0..10 {
            assert!(within(9).await.is_err(), "something is written");
            pulse.beat();
        }
        assert!(within(21).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_has_more_time_but_not_for_ever() {
        use tokio::io::AsyncWriteExt;

        let pulse = Pulse::default();
        let (ours, theirs) = tokio::io::duplex(4);
        let mut socket = Felt::new(ours, pulse.clone());
        let answer = socket.write_all(b"not yet read");
        let stops = pulse.stops(Duration::from_secs(10));
        let begun = tokio::time::Instant::now();
        tokio::select! {
            biased;
            _ = answer => unreachable!("nobody reads"),
            _ = stops => {}
        }
        assert_eq!(begun.elapsed().as_secs(), 100);
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_nobody_reads_does_not_keep_its_connection() {
        use tokio::io::AsyncWriteExt;

        let pulse = Pulse::default();
        let (ours, theirs) = tokio::io::duplex(4);
        let mut socket = Felt::new(ours, pulse.clone());
        let _stream = pulse.begin();
        let begun = tokio::time::Instant::now();
        tokio::select! {
            biased;
            _ = socket.write_all(b"not yet read") => unreachable!("nobody reads"),
            _ = pulse.stops(Duration::from_secs(10)) => {}
        }
        assert_eq!(begun.elapsed().as_secs(), 100);
        drop(theirs);
    }
}
