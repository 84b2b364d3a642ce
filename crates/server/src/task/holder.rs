//! Who works on tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One log of one process. A store that several logs share refuses what another one appends to a task on which a living
/// holder works.
///
/// Within one process a holder lives until it is [released](Self::release) or dropped. Between processes, a lease decides
/// that, and its number is the fencing token of every append.
#[derive(Debug, Default)]
pub struct Holder {
    released: AtomicBool,
}

impl Holder {
    /// A new holder.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Lets go of all tasks: it appends nothing any more.
    pub fn release(&self) {
        self.released.store(true, Ordering::Release);
    }

    /// Whether it may still append.
    #[must_use]
    pub fn is_living(&self) -> bool {
        !self.released.load(Ordering::Acquire)
    }
}
