//! Who Switchboard is to a gateway: a key that is kept, and that the gateway's owner approves of once.

use serde_json::{Value, json};
use switchboard_server::auth::method::Algorithm;
use switchboard_server::sign::{SigningKey, encoded, sha256_hex};

/// What a client may call itself: gateways know a few names only.
pub(super) const CLIENT: &str = "gateway-client";
/// What kind of client that is.
pub(super) const MODE: &str = "backend";
/// As whom it comes.
pub(super) const ROLE: &str = "operator";
/// What it may do. Not more: with `operator.admin` a caller's `/reset` would be obeyed.
pub(super) const SCOPES: [&str; 2] = ["operator.read", "operator.write"];

/// A device, by the word of OpenClaw. Its id is the hash of its public key.
#[derive(Debug)]
pub struct Device {
    key: SigningKey,
    id: String,
}

impl Device {
    /// The device with this key, which must be one of Ed25519.
    #[must_use]
    pub fn new(key: SigningKey) -> Option<Self> {
        let id = sha256_hex(key.public_bytes());
        (key.algorithm() == Algorithm::EdDsa).then_some(Self { key, id })
    }

    /// A new one, which lasts as long as the process.
    #[must_use]
    pub fn fresh() -> Option<Self> {
        Self::new(SigningKey::generate(Algorithm::EdDsa).ok()?)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What shows a gateway that it is this one: a signature over its challenge and the token.
    pub(super) fn signed(&self, token: &str, nonce: &str, at: i64) -> Value {
        let scopes = SCOPES.join(",");
        let text = format!(
            "v2|{}|{CLIENT}|{MODE}|{ROLE}|{scopes}|{at}|{token}|{nonce}",
            self.id
        );
        json!({
            "id": self.id,
            "publicKey": encoded(self.key.public_bytes()),
            "signature": encoded(&self.key.sign(text.as_bytes())),
            "signedAt": at,
            "nonce": nonce,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8410 §10.3.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";

    #[test]
    fn a_device_is_known_by_its_key_and_signs_what_it_is_given() {
        let device = Device::new(SigningKey::from_pem(KEY.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            device.id(),
            "e744c0791320c3285460eddb523f14c88d857ada46b97a5690d88cf978b9191f"
        );
        let shown = device.signed("secret", "n-1", 17);
        assert_eq!(
            shown["publicKey"],
            "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE"
        );
        assert_eq!(shown["signedAt"], 17);
        assert_eq!(shown["nonce"], "n-1");
        // Ed25519 signs the same in the same way.
        assert_eq!(shown, device.signed("secret", "n-1", 17));
        assert_ne!(
            shown["signature"],
            device.signed("secret", "n-2", 17)["signature"]
        );
        assert!(!shown.to_string().contains("secret"));
    }

    #[test]
    fn a_device_needs_a_key_that_gateways_know() {
        let other = SigningKey::generate(Algorithm::Es256).unwrap();
        assert!(Device::new(other).is_none());
        assert_ne!(Device::fresh().unwrap().id(), Device::fresh().unwrap().id());
    }
}
