//! The other end of a connection.

use std::net::{Ipv4Addr, SocketAddr};

use super::{Certificate, LastFingerprint};

/// The other end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) local: SocketAddr,
    /// What is known of it if the connection is encrypted.
    pub(crate) encrypted: Option<Encrypted>,
    pub(crate) last_fingerprint: LastFingerprint,
}

impl Peer {
    /// One on this machine.
    pub(crate) fn here() -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            address,
            local: address,
            encrypted: None,
            last_fingerprint: LastFingerprint::default(),
        }
    }
}

/// What is known of the client of an encrypted connection.
#[derive(Debug, Clone)]
pub(crate) struct Encrypted {
    /// Its certificate, if it has shown one. An authority we trust has issued it.
    pub(crate) certificate: Option<Certificate>,
}
