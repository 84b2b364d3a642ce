//! Keys and signatures, from outside: what the RFCs print, what must be refused, what we make ourselves.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod examples;
mod forged;
mod lists;
mod malformed;
mod sealed;
mod signing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchboard_keys::{Algorithm, PublicKeys};

/// Every algorithm there is.
const ALL: [Algorithm; 12] = [
    Algorithm::Hs256,
    Algorithm::Hs384,
    Algorithm::Hs512,
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

/// The list with only this key.
fn listed(jwk: &serde_json::Value) -> PublicKeys {
    let jwks = serde_json::json!({ "keys": [jwk] });
    PublicKeys::from_jwks(jwks.to_string().as_bytes()).unwrap()
}

/// The bytes of hex digits.
fn hex(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// A PEM text.
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}
