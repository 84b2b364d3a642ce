//! Without gRPC a card goes through no messages.

use crate::model::AgentCard;

/// Nobody reads it from them.
pub(super) fn as_read(_: &AgentCard) -> Option<AgentCard> {
    None
}
