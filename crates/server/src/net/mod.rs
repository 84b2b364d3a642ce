//! What is known of the other end of a connection: its address, whether it is encrypted, and by which URL it reached us.
//!
//! - `cidr`: ranges of network addresses.
//! - `peer`: the other end, and what a TLS handshake told of it.
//! - `certificate`: what a certificate says.
//! - `fingerprint`: digests of secrets, cached by connection.
//! - `base_url`: our own address, as a caller used it; `client`: the caller's, behind trusted proxies.

mod base_url;
mod certificate;
mod cidr;
mod client;
mod fingerprint;
mod peer;

pub use base_url::BaseUrl;
pub use certificate::{Age, Certificate};
pub use cidr::Cidr;
pub(crate) use cidr::network;
pub(crate) use fingerprint::{Fingerprint, LastFingerprint};
pub(crate) use peer::{Encrypted, Peer};
