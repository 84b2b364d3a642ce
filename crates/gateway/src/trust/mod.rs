//! From what the configuration says of trust to the parts that keep it.
//!
//! - `auth`: the ways to show who one is, and which of them open an agent's door.
//! - `signing`: the keys that sign, and the one that seals.

mod auth;
mod signing;

pub(crate) use auth::{Methods, doors};
pub(crate) use signing::{seal, signer};
