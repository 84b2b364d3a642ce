//! What the turn of a task is part of.

use std::sync::Arc;

use super::{TaskLog, lock};
use crate::store::Error;
use crate::trace::Trace;

impl TaskLog {
    /// What the turn is part of.
    #[must_use]
    pub fn trace(&self) -> Option<Arc<Trace>> {
        lock(&self.inner).trace.clone()
    }

    /// Goes on as part of the trace that was kept, after a restart.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn recall_trace(&self) -> Result<(), Error> {
        let trace = self.shared.trace_of(self.id()).await?;
        let mut inner = lock(&self.inner);
        if inner.turn.is_none() {
            inner.trace = trace.map(Arc::new);
        }
        Ok(())
    }
}
