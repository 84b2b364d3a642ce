//! Signatures, the keys that make and check them, and secrets at rest; no runtime, no network, no clock.
//!
//! The client checks cards and notifications with it, the server tokens; both trust one reader of JWS (RFC 7515). The
//! mathematics is aws-lc's. What claims mean, and until when they hold, is for the caller to judge.
//!
//! # Layout
//!
//! | module | what it is |
//! |---|---|
//! | `algorithm` | the closed list of algorithms |
//! | `jws` | a signature and what it is over, taken apart: bounded, and nothing in it believed |
//! | `public` | public keys, as a JWKS lists them |
//! | `secret` | a secret that two sides share; another type, so that a public key is never taken for one |
//! | `private` | keys to sign with |
//! | `seal` | secrets that are stored |
//! | `json` | JSON in which no member is given twice |
//! | `digest`, `random`, `base64url` | the small parts |

mod algorithm;
mod base64url;
mod digest;
mod error;
mod json;
mod jws;
mod private;
mod public;
mod random;
mod seal;
mod secret;

pub use algorithm::Algorithm;
pub use base64url::{decoded, encoded};
pub use digest::{Sha256, same, sha256, sha256_hex, sha256_hex_of};
pub use error::KeyError;
pub use json::read_distinct;
pub use jws::{Header, Jws, JwsError, read, read_detached};
pub use private::{SigningKey, jwks};
pub use public::PublicKeys;
pub use random::random;
pub use seal::SealingKey;
pub use secret::SharedSecret;
