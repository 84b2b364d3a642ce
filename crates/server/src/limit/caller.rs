//! Whom a limit counts by.

use std::net::{IpAddr, Ipv4Addr};

use crate::net::network;
use crate::principal::Principal;
use crate::task::Owner;

/// One who is counted: a caller who is known by name, others by where they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// This one, wherever it calls from.
    Known(Owner),
    /// Whoever calls from there.
    At(IpAddr),
}

impl Caller {
    pub(crate) fn of(principal: &Principal) -> Self {
        if principal.is_anonymous() {
            // Without an address it is nobody from outside.
            let inside = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
            return Self::at(principal.address().unwrap_or(inside));
        }
        Self::Known(principal.owner().clone())
    }

    pub(crate) fn at(address: IpAddr) -> Self {
        Self::At(network(address))
    }
}
