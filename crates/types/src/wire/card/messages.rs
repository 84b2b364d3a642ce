//! A card that goes through the messages of 0.3.

use crate::model::AgentCard;

/// The card as it is read from them.
pub(super) fn as_read(card: &AgentCard) -> Option<AgentCard> {
    crate::wire::grpc::card_in_0x(card)
}
