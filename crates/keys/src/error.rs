//! Why a key cannot be used.

use crate::algorithm::Algorithm;
use crate::public::MOST;
use crate::secret::SHORTEST;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is no list of keys.
    #[error("this is no JWKS: {0}")]
    NotJwks(#[source] serde_json::Error),
    /// The list has nothing to check signatures with.
    #[error(
        "none of the keys can be used: RSA of 2048 to 8192 bits, P-256, P-384 and Ed25519 can, if they are for signatures"
    )]
    NoneUsable,
    /// The list is longer than any that is meant well.
    #[error("more than {MOST} keys")]
    TooMany,
    /// The secret can be guessed.
    #[error("a shared secret must have {SHORTEST} bytes or more")]
    TooShort,
    /// The text is no private key.
    #[error(
        "this is no private key: PEM is understood, with PKCS#8, SEC1 or PKCS#1, not encrypted"
    )]
    NotPem,
    /// The private key is for something else.
    #[error(
        "the private key is of a kind that cannot sign: RSA of 2048 to 8192 bits, P-256, P-384 and Ed25519 can"
    )]
    UnknownKind,
    /// There are no such keys here.
    #[error("no key can be made for {}: ES256, ES384, EdDSA and RS256 have keys", .0.name())]
    CannotMake(Algorithm),
}
