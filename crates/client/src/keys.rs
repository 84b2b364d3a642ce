//! Public keys, and what was signed with them: cards (A2A 1.0 §8.4) and notifications.

use switchboard_keys::{Algorithm, Jws, PublicKeys};

use crate::error::{Error, Kind};

/// How cards and notifications may be signed: in any way that needs no shared secret.
const ALLOWED: [Algorithm; 9] = [
    Algorithm::Rs256,
    Algorithm::Rs384,
    Algorithm::Rs512,
    Algorithm::Ps256,
    Algorithm::Ps384,
    Algorithm::Ps512,
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::EdDsa,
];

/// Public keys of those we believe, as a JWKS (RFC 7517) lists them.
#[derive(Debug, Clone, Default)]
pub struct Keys(PublicKeys);

impl Keys {
    /// The keys of a JWKS. What is not for signatures, or of a kind that is not known, is left out.
    ///
    /// # Errors
    ///
    /// If it is no JWKS, none of its keys can be used, or more than 64 can.
    pub fn from_jwks(json: &[u8]) -> Result<Self, Error> {
        let keys = PublicKeys::from_jwks(json)
            .map_err(|error| Error::new(Kind::Reference, error.to_string()))?;
        Ok(Self(keys))
    }

    /// Whether it was signed with one of the keys.
    pub(crate) fn verify(&self, jws: &Jws<'_>) -> bool {
        self.0.verify(jws, &ALLOWED)
    }
}
