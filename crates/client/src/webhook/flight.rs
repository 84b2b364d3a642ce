//! What is being told right now: the same, posted meanwhile, waits for how that ends.

use std::collections::HashSet;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::seen::{Mark, Marks};

/// What is being told.
#[derive(Debug, Default)]
pub(super) struct Flight {
    marks: Mutex<HashSet<Mark>>,
    /// Moves whenever something was told, or was not.
    over: watch::Sender<u64>,
}

/// Something that is being told, until this is dropped.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    flight: &'a Flight,
    marks: Vec<Mark>,
}

impl Flight {
    /// Tells when the next of them is over. To be asked for before [`Flight::begin`].
    pub(super) fn next(&self) -> watch::Receiver<u64> {
        self.over.subscribe()
    }

    /// Begins to tell something; `None` if it is being told.
    pub(super) fn begin(&self, marks: &Marks) -> Option<Telling<'_>> {
        let signed = marks.signed.map(|(mark, _)| mark);
        let own: Vec<Mark> = marks.plain.into_iter().chain(signed).collect();
        let mut all = self.marks.lock();
        if own.iter().any(|mark| all.contains(mark)) {
            return None;
        }
        all.extend(&own);
        Some(Telling {
            flight: self,
            marks: own,
        })
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let mut all = self.flight.marks.lock();
        for mark in &self.marks {
            all.remove(mark);
        }
        drop(all);
        self.flight.over.send_modify(|count| *count += 1);
    }
}
