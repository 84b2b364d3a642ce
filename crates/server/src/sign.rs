//! What we sign: our cards (A2A 1.0 §8.4) and our notifications, so that others know that they are ours.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::json;
use switchboard_keys::{jwks, sha256};
use switchboard_types::model::{AgentCard, CardSignature};
use switchboard_types::wire::card::{
    CardShape, LOSSY, canonical_without_empty, encode_card, signing_payloads,
};

use crate::clock;

pub use switchboard_keys::{SigningKey, encoded, sha256_hex};

/// Where our public keys are, below our address.
pub const JWKS: &str = "/.well-known/jwks.json";

/// How many cards are kept signed. There are as many as agents, shapes, and kinds of callers.
const CARDS: usize = 256;
/// How long the signature of a notification holds, in seconds.
const HOLDS: i64 = 300;

/// What a signature over a card says that it is (A2A 1.0 §8.4.2).
const JOSE: &str = "JOSE";

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It signs, and is published.
    Sign,
    /// It is published only: it will sign, or has signed, and others should know it.
    Publish,
}

/// Signs for one address. A card is signed once, not for each who asks for it.
#[derive(Debug)]
pub struct Signer {
    signing: Vec<Arc<SigningKey>>,
    public_url: Arc<str>,
    jku: String,
    jwks: Bytes,
    cards: Mutex<HashMap<[u8; 32], Vec<CardSignature>>>,
}

/// A notification that is about to go out.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// Scheme, host and port of who gets it.
    pub audience: &'a str,
    /// Its number: the same for every repetition.
    pub id: &'a str,
    /// The task it is about.
    pub task: &'a str,
    /// The SHA-256 of what is sent, as hex digits.
    pub body_sha256: &'a str,
}

impl Signer {
    /// Signs with all keys that are for it, in the name of `public_url`; `None` if there is no such key.
    #[must_use]
    pub fn new(public_url: Arc<str>, keys: &[(Arc<SigningKey>, Use)]) -> Option<Self> {
        let signing = keys.iter().filter(|(_, purpose)| *purpose == Use::Sign);
        let signing: Vec<_> = signing.map(|(key, _)| Arc::clone(key)).collect();
        if signing.is_empty() {
            return None;
        }
        let public: Vec<&SigningKey> = keys.iter().map(|(key, _)| &**key).collect();
        Some(Self {
            signing,
            jku: format!("{public_url}{JWKS}"),
            public_url,
            jwks: Bytes::from(jwks(&public)),
            cards: Mutex::default(),
        })
    }

    /// All keys, for those who check.
    pub(crate) fn jwks(&self) -> Bytes {
        self.jwks.clone()
    }

    /// Adds our signatures to a card that goes out in that shape: of each key, over each reading of it.
    pub(crate) fn sign_card(&self, shape: CardShape, card: &mut AgentCard) {
        let others = std::mem::take(&mut card.signatures);
        let mut unsigned = vec![shape as u8];
        encode_card(shape, card, &mut unsigned);
        let print = sha256(&unsigned);
        let known = self.cards.lock().get(&print).cloned();
        let ours = known.unwrap_or_else(|| {
            // Nobody waits meanwhile; two who ask for a new card at once may both sign it.
            let ours = self.signatures(shape, card);
            let mut cards = self.cards.lock();
            if cards.len() >= CARDS && !cards.contains_key(&print) {
                cards.clear();
            }
            cards.entry(print).or_insert(ours).clone()
        });
        card.signatures = others.into_iter().chain(ours).collect();
    }

    fn signatures(&self, shape: CardShape, card: &AgentCard) -> Vec<CardSignature> {
        let payloads = signing_payloads(shape, card).into_iter();
        let mut payloads: Vec<_> = payloads.map(|payload| (JOSE, payload)).collect();
        let lossy = canonical_without_empty(card);
        if shape != CardShape::V0 && payloads.iter().all(|(_, payload)| *payload != lossy) {
            // Marked, so that our client does not believe what it does not prove.
            payloads.push((LOSSY, lossy));
        }
        let keys = self.signing.iter();
        let each = keys.flat_map(|key| payloads.iter().map(move |payload| (key, payload)));
        each.map(|(key, (typ, payload))| {
            let header = [("typ", *typ), ("jku", self.jku.as_str())];
            let (protected, signature) = key.sign_detached(&header, payload);
            CardSignature {
                protected,
                signature,
                header: None,
            }
        })
        .collect()
    }

    /// A JWT that says who sends this notification, when, to whom, and exactly what.
    #[must_use]
    pub fn sign_notice(&self, notice: &Outgoing<'_>) -> String {
        let now = clock::now().as_micros() / 1_000_000;
        let claims = json!({
            "iss": &*self.public_url,
            "aud": notice.audience,
            "iat": now,
            "exp": now + HOLDS,
            "jti": notice.id,
            "taskId": notice.task,
            "request_body_sha256": notice.body_sha256,
        });
        let claims = claims.to_string();
        // A key that only publishes never comes here, and there is always one that signs.
        let key = &self.signing[0];
        let header = [("typ", "a2a-notification+jwt"), ("jku", &*self.jku)];
        let (protected, signature) = key.sign_detached(&header, claims.as_bytes());
        format!("{protected}.{}.{signature}", encoded(claims.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_keys::Algorithm;

    use super::*;
    use crate::testing::agent::profile;

    fn key() -> Arc<SigningKey> {
        Arc::new(SigningKey::generate(Algorithm::Es256).unwrap())
    }

    fn signed(signer: &Signer, name: &str) -> Vec<CardSignature> {
        let mut card = profile().card;
        card.name = name.to_owned();
        signer.sign_card(CardShape::V1, &mut card);
        card.signatures
    }

    #[test]
    fn without_a_key_that_signs_there_is_no_signer() {
        let url = || Arc::from("https://a.example");
        assert!(Signer::new(url(), &[]).is_none());
        assert!(Signer::new(url(), &[(key(), Use::Publish)]).is_none());
        assert!(Signer::new(url(), &[(key(), Use::Publish), (key(), Use::Sign)]).is_some());
    }

    #[test]
    fn a_card_is_signed_once_however_many_there_are() {
        let signer = Signer::new("https://a.example".into(), &[(key(), Use::Sign)]).unwrap();
        for number in 0..CARDS + 10 {
            let name = number.to_string();
            let first = signed(&signer, &name);
            assert_eq!(signed(&signer, &name), first);
            assert!(signer.cards.lock().len() <= CARDS);
        }
        for _ in 0..2 {
            let last = signed(&signer, "last");
            assert_eq!(signed(&signer, "last"), last);
        }
    }

    #[test]
    fn signatures_of_others_stay() {
        let signer = Signer::new("https://a.example".into(), &[(key(), Use::Sign)]).unwrap();
        let mut card = profile().card;
        let theirs = CardSignature {
            protected: "p".to_owned(),
            signature: "s".to_owned(),
            header: None,
        };
        card.signatures.push(theirs.clone());
        signer.sign_card(CardShape::V1, &mut card);
        assert_eq!(card.signatures[0], theirs);
        assert!(card.signatures.len() > 1);
    }
}
