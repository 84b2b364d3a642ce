//! Fingerprints of secrets: what is compared in their place.

use std::fmt;

use parking_lot::Mutex;

use switchboard_keys::sha256;

/// SHA-256 of a secret.
pub(crate) type Fingerprint = [u8; 32];

/// The longest secret that is cached, in bytes.
const MAX_CACHED: usize = 2048;

/// The last secret of a connection and its fingerprint. Most clients send the same token each time, and to hash one costs
/// ten times what it costs to compare it.
#[derive(Default)]
pub(crate) struct LastFingerprint(Mutex<Option<Box<Last>>>);

struct Last {
    secret: Box<str>,
    fingerprint: Fingerprint,
}

impl LastFingerprint {
    /// The fingerprint of a secret.
    pub(crate) fn of(&self, secret: &str) -> Fingerprint {
        if secret.len() > MAX_CACHED {
            return sha256(secret.as_bytes());
        }
        let mut last = self.0.lock();
        match &*last {
            Some(last) if *last.secret == *secret => last.fingerprint,
            _ => {
                let fingerprint = sha256(secret.as_bytes());
                *last = Some(Box::new(Last {
                    secret: secret.into(),
                    fingerprint,
                }));
                fingerprint
            }
        }
    }
}

impl fmt::Debug for LastFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastFingerprint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_that_of_the_secret_whatever_came_before() {
        let last = LastFingerprint::default();
        let long = "a".repeat(MAX_CACHED + 1);
        for secret in ["a", "a", "b", &long, &long, "b", "", "a"] {
            assert_eq!(last.of(secret), sha256(secret.as_bytes()), "{secret:?}");
        }
        assert!(!format!("{last:?}").contains('"'));
    }
}
