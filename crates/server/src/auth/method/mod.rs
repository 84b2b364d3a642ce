//! The ways to show who one is that Switchboard brings along, each a [`Scheme`](super::Scheme).
//!
//! - `jwt`: a signed token; `claims` judges what it says.
//! - `jwks`: where the keys of an issuer come from.
//! - `tokens`: tokens that were found good.
//! - `basic`: a name and a password.
//! - `certificate`: a client certificate.

mod basic;
mod certificate;
mod claims;
mod jwks;
mod jwt;
mod tokens;

pub use basic::{Basic, User};
pub use certificate::Certificates;
pub use claims::Claims;
pub use jwks::{JwksFrom, KeySource};
pub use jwt::{Declared, Jwt, JwtKeys};

pub use switchboard_keys::{Algorithm, KeyError, PublicKeys, SharedSecret};

use super::Rejection;

/// What `WWW-Authenticate` says, the scheme's own parameters apart; ours are all written here, so that they are ASCII
/// without quotes.
fn fault(cause: Option<Rejection>) -> String {
    match cause {
        None => String::new(),
        Some(cause) => {
            let told = cause.told();
            format!(", error=\"invalid_token\", error_description=\"{told}\"")
        }
    }
}
