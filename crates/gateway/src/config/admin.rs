//! The checks of where operators look.

use std::net::{Ipv4Addr, SocketAddr};

use switchboard_types::model::Secret;

use super::load::Check;
use super::raw::{self, AdminListen};
use super::yaml::Step::Key;

/// Where operators look.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Someone has said so: then it must be possible.
    pub chosen: bool,
    /// What operators show; `None`: a token in the data directory.
    pub token: Option<Secret>,
    /// Nobody is asked for it.
    pub open: bool,
}

/// How short a token may be: guesses are not counted.
const SHORTEST: usize = 16;

impl Check<'_> {
    /// Where operators look, if they do. `server` is where callers come in.
    pub(super) fn admin(&mut self, raw: raw::Admin, server: SocketAddr) -> Option<Admin> {
        let at = |key| [Key("admin"), Key(key)];
        let above = match server.port() {
            0 => 0,
            port => port.checked_add(1).unwrap_or(port - 1),
        };
        let (listen, chosen) = match raw.listen {
            Some(AdminListen::Off) => return None,
            Some(AdminListen::At(listen)) => (listen.0, true),
            None => ((Ipv4Addr::LOCALHOST, above).into(), false),
        };
        let open = raw.open.unwrap_or_default();
        let here = listen.ip().is_loopback();
        if open && !here {
            let message = format!("{listen} can be reached from other machines");
            let hint = "leave it out, and show the token".to_owned();
            self.wrong(&at("open"), message, Some(hint));
        }
        if !here {
            let message =
                format!("{listen} can be reached from other machines, and is not encrypted");
            let hint = "listen on 127.0.0.1, or put a proxy that encrypts before it".to_owned();
            self.doubt(&at("listen"), message, Some(hint));
        }
        let token = match (raw.token, raw.token_file) {
            (None, None) => None,
            (text, file) => self.secret(&[Key("admin")], "token", text, file),
        };
        if let Some((key, token)) = &token
            && token.reveal().len() < SHORTEST
        {
            let message = format!("must be at least {SHORTEST} characters");
            self.wrong(&at(key), message, None);
        }
        Some(Admin {
            listen,
            chosen,
            token: token.map(|(_, token)| token),
            open,
        })
    }
}
