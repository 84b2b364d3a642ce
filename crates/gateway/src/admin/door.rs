//! Who may look: whoever shows the token. Metrics are for everyone on this machine: they name agents and count, and say
//! nothing of tasks and callers.
//!
//! A web page that some name of its own leads to this machine must not look with the operator's browser, so the name it
//! was reached by is checked, too.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::Context;
use http::StatusCode;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use switchboard_server::files;
use switchboard_types::model::Secret;
use uuid::Uuid;

use super::{Answer, unknown, wrong};
use crate::config::{Config, Store};

/// The file in the data directory that holds the token.
pub(super) const TOKEN: &str = "admin.token";

/// Who may look.
#[derive(Debug)]
pub(super) struct Door {
    token: Secret,
    /// Nobody is asked for it.
    open: bool,
    /// It can be reached from this machine only.
    here: bool,
}

impl Door {
    /// # Errors
    ///
    /// If the token cannot be read or made.
    pub(super) fn new(config: &Config, address: SocketAddr) -> anyhow::Result<Self> {
        let admin = config.admin.as_ref();
        let token = match (admin.and_then(|admin| admin.token.clone()), &config.store) {
            (Some(token), _) => token,
            // Nobody can know it: there is nothing to be found after the end, either.
            (None, Store::Memory) => Secret::new(fresh()),
            (None, Store::Sqlite(options)) => {
                let file = options.dir.join(TOKEN);
                let kept = kept(&file);
                kept.with_context(|| format!("cannot read or make {}", file.display()))?
            }
        };
        Ok(Self {
            token,
            open: admin.is_some_and(|admin| admin.open),
            here: address.ip().is_loopback(),
        })
    }

    /// # Errors
    ///
    /// The refusal.
    pub(super) fn check(&self, head: &Parts) -> Result<(), Box<Answer>> {
        if self.here && !(is_here(head) && head.headers.get(ORIGIN).is_none()) {
            let why = "the admin API is limited to this machine: call it by its address, not from a web page";
            return Err(Box::new(wrong(StatusCode::FORBIDDEN, why)));
        }
        let everyones = self.here && (self.open || head.uri.path() == "/metrics");
        if everyones || self.is_shown(head) {
            return Ok(());
        }
        let why = format!(
            "authentication required: send `Authorization: Bearer` with the content of {TOKEN} in the data directory"
        );
        Err(Box::new(unknown(&why)))
    }

    fn is_shown(&self, head: &Parts) -> bool {
        let shown = head
            .headers
            .get(AUTHORIZATION)
            .map(|value| value.as_bytes());
        let Some((scheme, shown)) = shown.and_then(|shown| shown.split_at_checked(7)) else {
            return false;
        };
        let token = self.token.reveal().as_bytes();
        // As long for every guess.
        let differ = shown.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
        scheme.eq_ignore_ascii_case(b"bearer ") && shown.len() == token.len() && differ == 0
    }
}

/// Whether the request was sent to a name that can only be this machine's.
fn is_here(head: &Parts) -> bool {
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(authority) = host.and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let name = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

fn fresh() -> String {
    let (one, two) = (Uuid::new_v4().simple(), Uuid::new_v4().simple());
    format!("{one}{two}")
}

/// The token in a file, which is made if it is not there.
fn kept(file: &Path) -> io::Result<Secret> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = fresh();
            match files::make(file, &format!("{text}\n")) {
                // Another process was quicker: its token counts.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    fs::read_to_string(file)?
                }
                made => made.map(|()| text)?,
            }
        }
        read => read?,
    };
    match text.trim() {
        "" => Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty")),
        token => Ok(Secret::new(token)),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn door(open: bool, here: bool) -> Door {
        Door {
            token: Secret::new("0123456789abcdef"),
            open,
            here,
        }
    }

    fn ask(path: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn whoever_shows_the_token_may_look_and_nobody_else() {
        let host = ("host", "127.0.0.1:7421");
        for (shown, status) in [
            ("Bearer 0123456789abcdef", None),
            ("bearer 0123456789abcdef", None),
            ("Bearer 0123456789abcdeg", Some(401)),
            ("Bearer 0123456789abcde", Some(401)),
            ("Bearer 0123456789abcdef0", Some(401)),
            ("Basic 0123456789abcdef", Some(401)),
            ("Bearer", Some(401)),
            ("", Some(401)),
        ] {
            let head = ask("/admin/health", &[host, ("authorization", shown)]);
            let refused = door(false, true).check(&head).err();
            assert_eq!(refused.map(|r| r.status().as_u16()), status, "{shown}");
        }
        let bare = ask("/admin/health", &[host]);
        assert!(door(true, true).check(&bare).is_ok());
        let metrics = ask("/metrics", &[host]);
        assert!(door(false, true).check(&metrics).is_ok());
        assert!(door(false, false).check(&metrics).is_err());
    }

    #[test]
    fn a_name_that_leads_here_from_elsewhere_is_refused() {
        for (host, ok) in [
            ("localhost:7421", true),
            ("LOCALHOST", true),
            ("[::1]:7421", true),
            ("127.0.0.1", true),
            ("attacker.example:7421", false),
            ("localhost.attacker.example", false),
            ("10.0.0.1:7421", false),
        ] {
            let head = ask("/metrics", &[("host", host)]);
            assert_eq!(door(true, true).check(&head).is_ok(), ok, "{host}");
        }
        assert!(door(true, true).check(&ask("/metrics", &[])).is_err());
        let page = [("host", "localhost"), ("origin", "http://localhost:3000")];
        assert!(door(true, true).check(&ask("/metrics", &page)).is_err());
    }
}
