//! Bytes that nobody can guess.

/// Random bytes, good enough for keys.
///
/// # Panics
///
/// If the system has no randomness to give: there is nothing safe to do without.
#[must_use]
#[expect(
    clippy::expect_used,
    reason = "without randomness nothing here is safe"
)]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("randomness");
    bytes
}
