//! Standard error, written by a thread of its own. Whoever logs must never wait for a terminal that was stopped or a log
//! collector that does not read: the writer that commits tasks logs, too.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use switchboard_types::printable;

/// How many lines wait to be written at most; more are dropped, and counted.
const MAX_QUEUED_LINES: usize = 8192;
/// How long the end of the process waits for what is queued.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

static QUEUE: OnceLock<SyncSender<Item>> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

enum Item {
    Line(Vec<u8>),
    /// Everything before it is written.
    Flush(SyncSender<()>),
}

/// Starts the thread.
///
/// # Errors
///
/// If the system has no thread left, or it was started before.
pub(super) fn start() -> io::Result<()> {
    let (sender, receiver) = sync_channel(MAX_QUEUED_LINES);
    QUEUE
        .set(sender)
        .map_err(|_| io::Error::other("logging was started before"))?;
    std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || run(&receiver))?;
    Ok(())
}

/// Waits until the lines so far are written, but not for a reader that does not read.
pub(crate) fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let (done, written) = sync_channel(1);
    if queue.try_send(Item::Flush(done)).is_ok() {
        written.recv_timeout(FLUSH_TIMEOUT).ok();
    }
}

fn run(lines: &Receiver<Item>) {
    while let Ok(item) = lines.recv() {
        match item {
            Item::Line(line) => {
                // Nowhere is left to complain to.
                drop(io::stderr().lock().write_all(&line));
            }
            Item::Flush(done) => drop(done.send(())),
        }
        let dropped = DROPPED.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "log lines dropped: standard error is not read fast enough"
            );
        }
    }
}

/// Hands lines to the thread, without what drives or deceives a terminal: errors may quote what others said.
pub(super) struct LogWriter {
    pub(super) coloured: bool,
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let safe = match self.coloured {
            true => printable::escape_coloured(&text),
            false => printable::escape(&text),
        };
        let sent = QUEUE
            .get()
            .map(|queue| queue.try_send(Item::Line(safe.into_owned().into_bytes())));
        if !matches!(sent, Some(Ok(()))) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
