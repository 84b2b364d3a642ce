//! The secrets of webhooks, as they are kept: sealed, and opened only to be sent.

use std::sync::Arc;

use switchboard_keys::SealingKey;
use switchboard_types::model::{Authentication, PushConfig, Secret};

use super::Guard;

impl Guard {
    /// The same guard; tokens and credentials are sealed with `key` before they are stored. Without a key they are
    /// stored as they are.
    #[must_use]
    pub fn sealing(mut self, key: Arc<SealingKey>) -> Self {
        self.seal = Some(key);
        self
    }

    /// A config as it is stored.
    pub(crate) fn sealed(&self, config: PushConfig) -> PushConfig {
        let Some(key) = &self.seal else {
            return config;
        };
        let seal =
            |secret: Option<Secret>| secret.map(|secret| Secret::new(key.seal(secret.reveal())));
        PushConfig {
            token: seal(config.token),
            authentication: config.authentication.map(|auth| Authentication {
                credentials: seal(auth.credentials),
                scheme: auth.scheme,
            }),
            ..config
        }
    }

    /// A text, sealed; nothing without a key.
    pub(crate) fn seal_text(&self, text: &str) -> Option<String> {
        self.seal.as_ref().map(|key| key.seal(text))
    }

    /// A text that was sealed with this key.
    pub(crate) fn open_text(&self, sealed: &str) -> Option<String> {
        self.seal.as_ref()?.open(sealed)
    }

    /// A stored secret, to be sent; nothing if another key has sealed it. What was stored before there was a key is
    /// not sealed.
    pub(crate) fn opened(&self, secret: &Secret) -> Option<Secret> {
        let text = secret.reveal();
        if !SealingKey::is_sealed(text) {
            return Some(secret.clone());
        }
        let key = self.seal.as_ref()?;
        key.open(text).map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(key: Option<u8>) -> Guard {
        let guard = Guard::new(Vec::new());
        match key {
            Some(byte) => guard.sealing(Arc::new(SealingKey::from_bytes([byte; 32]))),
            None => guard,
        }
    }

    fn config() -> PushConfig {
        PushConfig {
            id: None,
            task_id: None,
            url: "https://example.com/".to_owned(),
            token: Some(Secret::new("tok")),
            authentication: Some(Authentication {
                scheme: "Bearer".to_owned(),
                credentials: Some(Secret::new("cred")),
            }),
        }
    }

    #[test]
    fn what_is_sealed_is_opened_by_the_same_key_only() {
        let sealed = guard(Some(1)).sealed(config());
        let token = sealed.token.unwrap();
        let authentication = sealed.authentication.unwrap();
        let credentials = authentication.credentials.unwrap();
        assert_eq!(authentication.scheme, "Bearer");
        for (secret, text) in [(&token, "tok"), (&credentials, "cred")] {
            assert!(!secret.reveal().contains(text));
            assert_eq!(guard(Some(1)).opened(secret), Some(Secret::new(text)));
            assert_eq!(guard(Some(2)).opened(secret), None);
            assert_eq!(guard(None).opened(secret), None);
        }
    }

    #[test]
    fn what_was_stored_before_there_was_a_key_is_taken_as_it_is() {
        assert_eq!(guard(None).sealed(config()), config());
        let old = Secret::new("tok");
        assert_eq!(guard(Some(1)).opened(&old), Some(old));
    }

    #[test]
    fn a_secret_that_looks_sealed_is_sealed_too() {
        let given = Secret::new("sealed:1:AAAA");
        let config = PushConfig {
            token: Some(given.clone()),
            ..config()
        };
        let token = guard(Some(1)).sealed(config).token.unwrap();
        assert_ne!(token, given);
        assert_eq!(guard(Some(1)).opened(&token), Some(given));
    }
}
