//! Work that waits for the disk, on a thread of its own, one piece at a time.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::store::Error;

/// A thread that does one piece of work after the other.
#[derive(Debug)]
pub(super) struct Aside<W> {
    /// None once the thread is to end.
    ask: Option<SyncSender<W>>,
    done: Receiver<Result<(), Error>>,
    /// Something was begun and not waited for.
    busy: Cell<bool>,
    thread: Option<JoinHandle<()>>,
}

impl<W: Send + 'static> Aside<W> {
    /// Starts the thread. It ends, and lets go of what it holds, before what is returned is gone.
    pub(super) fn start(
        name: &str,
        mut work: impl FnMut(W) -> Result<(), Error> + Send + 'static,
    ) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (tell, done) = sync_channel(1);
        let run = move || {
            while let Ok(piece) = asked.recv() {
                if tell.send(work(piece)).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self {
            ask: Some(ask),
            done,
            busy: Cell::new(false),
            thread: Some(thread),
        })
    }

    /// Begins a piece of work. To be called when the last one was waited for.
    pub(super) fn begin(&self, piece: W) {
        let asked = self.ask.as_ref().map(|ask| ask.send(piece));
        self.busy.set(asked.is_some_and(|asked| asked.is_ok()));
    }

    /// Waits for what was begun, and tells how it went.
    pub(super) fn wait(&self) -> Result<(), Error> {
        if !self.busy.replace(false) {
            return Ok(());
        }
        let gone = || {
            Err(Error::Unavailable(
                "a thread of the store is gone".to_owned(),
            ))
        };
        self.done.recv().unwrap_or_else(|_| gone())
    }
}

impl<W> Drop for Aside<W> {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
