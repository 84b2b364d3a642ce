//! The error for an address that a server cannot listen on. [`crate::app`] and the admin API report it.

use std::io;
use std::net::SocketAddr;

/// The error for an address that cannot be bound, with the way out: `setting` is where another one is chosen.
pub(crate) fn unusable(address: SocketAddr, error: &io::Error, setting: &str) -> anyhow::Error {
    let port = address.port();
    let (cause, way_out) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            "another process uses this address".to_owned(),
            format!("stop it, or choose another port with {setting}"),
        ),
        io::ErrorKind::PermissionDenied => (
            format!("this user may not use port {port}"),
            format!("choose a port from 1024 on with {setting}"),
        ),
        io::ErrorKind::AddrNotAvailable => (
            format!("this machine has no address {}", address.ip()),
            format!("choose one that it has with {setting}"),
        ),
        _ => (error.to_string(), format!("choose another with {setting}")),
    };
    anyhow::anyhow!("cannot listen on {address}: {cause}; {way_out}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_bound_names_cause_and_way_out() {
        let address = "127.0.0.1:80".parse().unwrap();
        for (kind, wanted) in [
            (
                io::ErrorKind::AddrInUse,
                "another process uses this address; stop it, or choose another port with --listen",
            ),
            (
                io::ErrorKind::PermissionDenied,
                "this user may not use port 80; choose a port from 1024 on with --listen",
            ),
            (
                io::ErrorKind::AddrNotAvailable,
                "this machine has no address 127.0.0.1; choose one that it has with --listen",
            ),
        ] {
            let text = unusable(address, &kind.into(), "--listen").to_string();
            assert_eq!(text, format!("cannot listen on 127.0.0.1:80: {wanted}"));
        }
    }
}
