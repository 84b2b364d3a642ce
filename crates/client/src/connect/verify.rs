//! Signatures of cards (A2A 1.0 §8.4.3).

use switchboard_keys::{encoded, read_detached};
use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::{LOSSY, canonical_card, canonical_received};

use crate::error::{Error, Kind};
use crate::keys::Keys;

/// What is asked of the signatures of a card. Keys come from the user alone: an address in the card itself is not
/// followed.
#[derive(Debug, Clone, Default)]
pub enum Signatures {
    /// Nothing.
    #[default]
    Ignored,
    /// Nothing, but [`Client::signature`](crate::Client::signature) tells whether one is of a key we believe.
    Reported(Keys),
    /// If there are any, one must be of a key we believe.
    IfPresent(Keys),
    /// One must be of a key we believe.
    Required(Keys),
}

/// What is known of the signatures of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureState {
    /// There are none. A card need not be signed (A2A 1.0 §8.4).
    Absent,
    /// There are some, and no keys to check them with.
    Unchecked,
    /// One is of a key we believe.
    Good,
    /// None is good, or of a key that is known.
    Bad,
}

impl Signatures {
    /// Checks a card; `text` is what it came as.
    pub(crate) fn check(
        &self,
        card: &AgentCard,
        text: Option<&[u8]>,
    ) -> Result<SignatureState, Error> {
        let state = self.state(card, text);
        let message = match (self, state) {
            (Self::Required(_), SignatureState::Absent) => "the card is not signed",
            (Self::IfPresent(_) | Self::Required(_), SignatureState::Bad) => {
                "no signature of the card is good, or of a key that is known"
            }
            _ => return Ok(state),
        };
        Err(Error::new(Kind::CardInvalid, message))
    }

    fn state(&self, card: &AgentCard, text: Option<&[u8]>) -> SignatureState {
        if card.signatures.is_empty() {
            return SignatureState::Absent;
        }
        let keys = match self {
            Self::Ignored => return SignatureState::Unchecked,
            Self::Reported(keys) | Self::IfPresent(keys) | Self::Required(keys) => keys,
        };
        // Some sign what they send, others what 1.0 knows of it.
        let received = text.and_then(|text| canonical_received(text).ok());
        let payloads: Vec<String> = std::iter::once(canonical_card(card))
            .chain(received)
            .map(|payload| encoded(&payload))
            .collect();
        let good = card.signatures.iter().any(|signature| {
            payloads.iter().any(|payload| {
                read_detached(&signature.protected, payload, &signature.signature)
                    // What is signed without all that is empty is good for other cards, too.
                    .is_ok_and(|jws| jws.header.typ.as_deref() != Some(LOSSY) && keys.verify(&jws))
            })
        });
        if good {
            SignatureState::Good
        } else {
            SignatureState::Bad
        }
    }
}
