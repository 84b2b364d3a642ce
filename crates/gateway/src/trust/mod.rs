//! From what the configuration says of trust to the parts that keep it.
//!
//! - `auth`: the ways to show who one is, and which of them open an agent's door.
//! - `tls`: what connections are encrypted with.
//! - `self_signed`: a certificate of our own making.
//! - `signing`: the keys that sign, and the one that seals.

mod auth;
mod self_signed;
mod signing;
mod tls;

pub(crate) use auth::{Methods, door, ruled, rules};
pub(crate) use signing::{device, seal, signer};
pub use tls::ToTrust;
pub(crate) use tls::encryption;
