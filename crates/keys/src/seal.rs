//! Secrets that are stored: AES-256-GCM, as text.

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};

use crate::base64url::{decoded, encoded};
use crate::digest::sha256;
use crate::random::random;

/// What a sealed text begins with; the number is the form's. It is sealed too, so that one form is not taken for another.
const MARK: &str = "sealed:1:";

/// A key that seals texts. `Debug` shows nothing of it.
pub struct SealingKey {
    bytes: [u8; 32],
    /// Made with the first secret: most servers never see one.
    ready: OnceLock<RandomizedNonceKey>,
}

impl SealingKey {
    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self {
            bytes,
            ready: OnceLock::new(),
        }
    }

    #[expect(
        clippy::expect_used,
        reason = "a key of AES-256 is 32 bytes, any of them"
    )]
    fn ready(&self) -> &RandomizedNonceKey {
        let made = || RandomizedNonceKey::new(&AES_256_GCM, &self.bytes).expect("a key");
        self.ready.get_or_init(made)
    }

    /// The key of a text: 32 bytes as base64, in either alphabet, padded or not.
    #[must_use]
    pub fn from_base64(text: &str) -> Option<Self> {
        let text = text.trim().replace('+', "-").replace('/', "_");
        let bytes: [u8; 32] = decoded(&text)?.try_into().ok()?;
        Some(Self::from_bytes(bytes))
    }

    /// A new key, for what lasts no longer than the process.
    #[must_use]
    pub fn generate() -> Self {
        Self::from_bytes(random())
    }

    /// The text of a new key: it is the secret itself.
    #[must_use]
    pub fn fresh() -> String {
        encoded(&random::<32>())
    }

    /// Seals a text: `sealed:1:` and what only this key opens. Never the same twice.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a text that is too long does not fit in memory"
    )]
    pub fn seal(&self, text: &str) -> String {
        let mut sealed = text.as_bytes().to_vec();
        let nonce = self
            .ready()
            .seal_in_place_append_tag(Aad::from(MARK), &mut sealed)
            .expect("a sealed text");
        let bytes = [&nonce.as_ref()[..], &sealed].concat();
        format!("{MARK}{}", encoded(&bytes))
    }

    /// A short name for a purpose: with this key always the same, with another one another. It tells nothing of the key.
    #[must_use]
    pub fn name_for(&self, purpose: &str) -> String {
        let hash = sha256(&[&self.bytes[..], purpose.as_bytes()].concat());
        encoded(&hash[..6])
    }

    /// Whether a text looks sealed, by whatever key.
    #[must_use]
    pub fn is_sealed(text: &str) -> bool {
        text.starts_with(MARK)
    }

    /// Opens a text that this key sealed; nothing if it is none, or was changed.
    #[must_use]
    pub fn open(&self, sealed: &str) -> Option<String> {
        let bytes = decoded(sealed.strip_prefix(MARK)?)?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let text = self
            .ready()
            .open_in_place(nonce, Aad::from(MARK), &mut sealed)
            .ok()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(***)")
    }
}
