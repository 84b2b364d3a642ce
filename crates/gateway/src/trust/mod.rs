//! From what the configuration says of trust to the parts that keep it.
//!
//! - `auth`: the ways to show who one is, and which of them open an agent's door.
//! - `tls`: what connections are encrypted with.
//! - `self_signed`: a certificate of our own making.

mod auth;
mod self_signed;
mod tls;

pub(crate) use auth::{Methods, doors};
pub use tls::ToTrust;
pub(crate) use tls::encryption;
