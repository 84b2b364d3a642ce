//! SHA-256, and comparing what must not be guessed.

use aws_lc_rs::{constant_time, digest};

/// SHA-256.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// SHA-256, as hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// SHA-256 of what comes in pieces, as hex digits.
#[must_use]
pub fn sha256_hex_of(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = digest::Context::new(&digest::SHA256);
    for piece in pieces {
        hash.update(piece.as_ref());
    }
    hex(hash.finish().as_ref())
}

/// SHA-256 of data that is read in pieces, such as a large file.
pub struct Sha256(digest::Context);

impl Default for Sha256 {
    fn default() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }
}

impl Sha256 {
    /// Adds what comes next.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest, as hex digits.
    #[must_use]
    pub fn finish_hex(self) -> String {
        hex(self.0.finish().as_ref())
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sha256")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether both are the same. How long it takes tells their lengths and nothing more.
#[must_use]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}
