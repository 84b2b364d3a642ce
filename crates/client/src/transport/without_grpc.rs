//! What stands in for gRPC where it is not built in.

use std::sync::Arc;

use super::Transport;
use super::link::Link;
use crate::error::{Error, Kind};

/// Whether gRPC can be spoken: otherwise it is never chosen.
pub(crate) const SPOKEN: bool = false;

/// # Errors
///
/// Always.
pub(crate) fn open(link: Link) -> Result<Arc<dyn Transport>, Error> {
    let Link { url, .. } = link;
    tracing::debug!(%url, "no gRPC");
    Err(Error::new(Kind::NotOffered, "gRPC is not built in"))
}
