//! Signatures of cards (A2A 1.0 §8.4.3).

use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::{canonical_card, canonical_received};

use crate::error::{Error, Kind};
use crate::keys::{Keys, encoded};

/// What is asked of the signatures of a card. Keys come from the user alone: an address in the card itself is not
/// followed.
#[derive(Debug, Clone, Default)]
pub enum Signatures {
    /// Nothing.
    #[default]
    Ignored,
    /// If there are any, one must be of a key we believe.
    IfPresent(Keys),
    /// One must be of a key we believe.
    Required(Keys),
}

impl Signatures {
    /// Checks a card; `text` is what it came as.
    pub(crate) fn check(&self, card: &AgentCard, text: Option<&[u8]>) -> Result<(), Error> {
        let keys = match self {
            Self::Ignored => return Ok(()),
            Self::IfPresent(_) if card.signatures.is_empty() => return Ok(()),
            Self::IfPresent(keys) | Self::Required(keys) => keys,
        };
        if card.signatures.is_empty() {
            return Err(Error::new(Kind::CardInvalid, "the card is not signed"));
        }
        // Some sign what they send, others what 1.0 knows of it.
        let received = text.and_then(|text| canonical_received(text).ok());
        let payloads: Vec<String> = std::iter::once(canonical_card(card))
            .chain(received)
            .map(|payload| encoded(&payload))
            .collect();
        let good = card.signatures.iter().any(|signature| {
            payloads.iter().any(|payload| {
                let signed = format!("{}.{payload}", signature.protected);
                keys.verify(&signature.protected, &signed, &signature.signature)
            })
        });
        if good {
            return Ok(());
        }
        let message = "no signature of the card is good, or of a key that is known";
        Err(Error::new(Kind::CardInvalid, message))
    }
}
