//! A secret that two sides share. Not a [`PublicKeys`](crate::PublicKeys), so that a public key, which everyone knows,
//! can never be taken for a secret.

use aws_lc_rs::hmac::{self, HMAC_SHA256, HMAC_SHA384, HMAC_SHA512};

use crate::algorithm::Algorithm;
use crate::error::KeyError;
use crate::jws::Jws;

/// The bytes of the shortest secret. RFC 7518 §3.2 wants as many as the hash has; 256 bits nobody guesses, whatever the
/// hash, and many share a secret of that size for all three.
pub(crate) const SHORTEST: usize = 32;

/// A secret that the one who signs and the one who checks share. `Debug` shows nothing of it.
#[derive(Debug, Clone)]
pub struct SharedSecret {
    sha256: hmac::Key,
    sha384: hmac::Key,
    sha512: hmac::Key,
}

impl SharedSecret {
    /// Makes a secret of bytes.
    ///
    /// # Errors
    ///
    /// If there are fewer than 32.
    pub fn new(bytes: &[u8]) -> Result<Self, KeyError> {
        if bytes.len() < SHORTEST {
            return Err(KeyError::TooShort);
        }
        Ok(Self {
            sha256: hmac::Key::new(HMAC_SHA256, bytes),
            sha384: hmac::Key::new(HMAC_SHA384, bytes),
            sha512: hmac::Key::new(HMAC_SHA512, bytes),
        })
    }

    /// Whether it was signed with this secret, by an algorithm that is allowed. What it says of its key is ignored:
    /// there is only one.
    #[must_use]
    pub fn verify(&self, jws: &Jws<'_>, allowed: &[Algorithm]) -> bool {
        let key = match jws.header.alg {
            Algorithm::Hs256 => &self.sha256,
            Algorithm::Hs384 => &self.sha384,
            Algorithm::Hs512 => &self.sha512,
            _ => return false,
        };
        let good = || hmac::verify(key, jws.signed.as_bytes(), &jws.signature).is_ok();
        allowed.contains(&jws.header.alg) && good()
    }
}
