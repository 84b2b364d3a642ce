//! Prints of secrets: what is compared in their place.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use switchboard_keys::sha256;

/// A secret, without the secret: nobody can take it from here.
pub(crate) type Print = [u8; 32];

/// What is kept of a connection at most.
const LONGEST: usize = 2048;

/// What came last on a connection, and its print. Most clients show the same token each time, and to take the print of
/// one costs ten times what it costs to compare it.
#[derive(Default)]
pub(crate) struct LastPrint(Mutex<Option<Box<Last>>>);

struct Last {
    secret: Box<str>,
    print: Print,
}

impl LastPrint {
    /// The print of a secret.
    pub(crate) fn of(&self, secret: &str) -> Print {
        if secret.len() > LONGEST {
            return sha256(secret.as_bytes());
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(last) if *last.secret == *secret => last.print,
            _ => {
                let print = sha256(secret.as_bytes());
                *last = Some(Box::new(Last {
                    secret: secret.into(),
                    print,
                }));
                print
            }
        }
    }
}

impl fmt::Debug for LastPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastPrint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_print_is_that_of_the_secret_whatever_came_before() {
        let last = LastPrint::default();
        let long = "a".repeat(LONGEST + 1);
        for secret in ["a", "a", "b", &long, &long, "b", "", "a"] {
            assert_eq!(last.of(secret), sha256(secret.as_bytes()), "{secret:?}");
        }
        assert!(!format!("{last:?}").contains('"'));
    }
}
