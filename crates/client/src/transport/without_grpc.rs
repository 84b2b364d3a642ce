//! What stands in for gRPC where it is not built in.

use std::sync::Arc;

use super::Transport;
use super::link::Link;
use crate::error::Error;

/// Whether gRPC can be spoken.
pub(crate) const SPOKEN: bool = false;

/// Nothing: this binding is never chosen.
pub(crate) fn open(_: Link) -> Result<Option<Arc<dyn Transport>>, Error> {
    Ok(None)
}
