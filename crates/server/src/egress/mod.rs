//! Where webhooks may point: the guard against requests forged through us (SSRF).
//!
//! Two layers. [`Guard::check`] judges a config when it is registered, from its text alone. At delivery the
//! text is judged again, and a name is resolved by `Guard::resolve`, which hands the connection only
//! addresses that passed: a name that answers differently the second time gains nothing.
//!
//! The same two moments are those when the secrets of a config are sealed and opened: `seal`.

mod address;
mod allow;
mod key_file;
mod resolve;
mod seal;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use switchboard_types::model::{PushConfig, Secret};

use address::Reach;

pub use allow::Allow;
pub use key_file::load_or_create_key;
pub(crate) use resolve::Guarded;
pub use resolve::Lookup;
pub use switchboard_keys::SealingKey;

const MAX_URL: usize = 2048;
const MAX_TOKEN: usize = 4096;
const MAX_SCHEME: usize = 64;
const MAX_CREDENTIALS: usize = 8192;

/// Names that mean "here" or "inside" wherever they are resolved.
const INSIDE: &[&str] = &["localhost", "local", "internal", "localdomain", "home.arpa"];

/// What `localhost` stands for.
const LOOPBACK: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

/// Decides where webhooks may point: to public addresses over https, and to what the operator allows.
#[derive(Debug)]
pub struct Guard {
    allow: Vec<Allow>,
    lookup: Lookup,
    /// Seals secrets that are stored.
    seal: Option<Arc<SealingKey>>,
}

/// The way out for a target that is not public.
const ALLOW: &str = "an operator can allow it with push.allow";

/// Why a config was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}")]
pub struct Refused {
    /// Which member of the config.
    pub field: &'static str,
    /// What is wrong with it; never quotes a secret.
    pub reason: String,
}

/// No address of a name may be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Blocked {
    /// The name has no addresses.
    #[error("the host name does not resolve")]
    Nameless,
    /// It has, but none is public or allowed; says what kind the last one is.
    #[error("the host resolves to a {0} address, which is not allowed")]
    Address(&'static str),
}

impl Guard {
    /// A guard with the operator's exceptions.
    #[must_use]
    pub fn new(allow: Vec<Allow>) -> Self {
        Self::with_lookup(allow, Lookup::system())
    }

    /// A guard that asks `lookup` for the addresses of names.
    #[must_use]
    pub fn with_lookup(allow: Vec<Allow>, lookup: Lookup) -> Self {
        Self {
            allow,
            lookup,
            seal: None,
        }
    }

    /// Judges a config from its text; nothing is resolved or called.
    ///
    /// # Errors
    ///
    /// Says which member is refused, and why.
    pub fn check(&self, config: &PushConfig) -> Result<(), Refused> {
        self.target(&config.url)
            .map_err(|reason| Refused::new("url", reason))?;
        if let Some(token) = &config.token {
            header_value(token, MAX_TOKEN).map_err(|why| Refused::new("token", why))?;
        }
        if let Some(authentication) = &config.authentication {
            scheme(&authentication.scheme)
                .map_err(|why| Refused::new("authentication.scheme", why))?;
            if let Some(credentials) = &authentication.credentials {
                header_value(credentials, MAX_CREDENTIALS)
                    .map_err(|why| Refused::new("authentication.credentials", why))?;
            }
        }
        Ok(())
    }

    /// The URL to call, if its text may be called at all.
    pub(crate) fn target(&self, text: &str) -> Result<Url, String> {
        let url = well_formed(text)?;
        let port = url.port_or_known_default();
        let listed = match literal(&url) {
            Some(address) => {
                let listed = self.holds(address, port);
                if let (false, Some(kind)) = (listed, not_public(address)) {
                    return Err(format!("must not point to a {kind} address; {ALLOW}"));
                }
                listed
            }
            None => self.vouches_for(url.domain().unwrap_or_default(), port)?,
        };
        if listed {
            return Ok(url);
        }
        if url.scheme() != "https" {
            return Err(format!("must use https; {ALLOW}"));
        }
        match port {
            Some(443 | 1024..) => Ok(url),
            _ => Err(format!("must use port 443, or one from 1024 on; {ALLOW}")),
        }
    }

    /// The addresses of `name` that may be called. `port` is the one of the URL, if an exception names it.
    pub(crate) async fn resolve(
        &self,
        name: &str,
        port: Option<u16>,
    ) -> Result<Vec<SocketAddr>, Blocked> {
        let found = self.lookup.find(name).await.unwrap_or_default();
        let mut refused = Blocked::Nameless;
        let named = self.names(name, port);
        let mut allowed = Vec::with_capacity(found.len());
        for address in found {
            match address::reach(address) {
                Reach::Public => {}
                Reach::Inside(_) if named => {}
                Reach::Inside(_) | Reach::Nowhere(_) if self.holds(address, port) => {}
                Reach::Inside(kind) | Reach::Nowhere(kind) => {
                    refused = Blocked::Address(kind);
                    continue;
                }
            }
            // Port 0 stands for the port of the URL.
            allowed.push(SocketAddr::new(address, 0));
        }
        if allowed.is_empty() {
            return Err(refused);
        }
        Ok(allowed)
    }

    /// The ports that exceptions name: each needs a resolver of its own, as a resolver sees only names.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.allow.iter().filter_map(Allow::port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Whether the operator allows this name; an error if it is one that only the operator could allow.
    fn vouches_for(&self, name: &str, port: Option<u16>) -> Result<bool, String> {
        let name = name.strip_suffix('.').unwrap_or(name);
        let here = is_or_below(name, "localhost")
            && LOOPBACK.iter().any(|address| self.holds(*address, port));
        if here || self.names(name, port) {
            return Ok(true);
        }
        if !name.contains('.') || INSIDE.iter().any(|inside| is_or_below(name, inside)) {
            return Err(format!(
                "must not point to a host of an internal network; {ALLOW}"
            ));
        }
        Ok(false)
    }

    fn names(&self, name: &str, port: Option<u16>) -> bool {
        self.allow.iter().any(|allow| allow.names(name, port))
    }

    fn holds(&self, address: IpAddr, port: Option<u16>) -> bool {
        self.allow.iter().any(|allow| allow.holds(address, port))
    }
}

impl Refused {
    fn new(field: &'static str, reason: impl fmt::Display) -> Self {
        Self {
            field,
            reason: reason.to_string(),
        }
    }
}

/// An absolute http(s) URL with nothing in it that could be read in two ways.
fn well_formed(text: &str) -> Result<Url, &'static str> {
    if text.is_empty() {
        return Err("is missing");
    }
    if text.len() > MAX_URL {
        return Err("must not be longer than 2048 bytes");
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err("must not contain spaces, backslashes or control characters");
    }
    let has_scheme = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if !has_scheme("https://") && !has_scheme("http://") {
        return Err("must be an absolute http or https URL");
    }
    let url = Url::parse(text).map_err(|_| "is not a valid URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or password");
    }
    if url.fragment().is_some() {
        return Err("must not have a fragment");
    }
    if url.port() == Some(0) {
        return Err("must not use port 0");
    }
    Ok(url)
}

/// The address that the host of `url` spells, however it spells it: the parser has read decimal, octal, hex
/// and short forms already.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

fn not_public(address: IpAddr) -> Option<&'static str> {
    match address::reach(address) {
        Reach::Public => None,
        Reach::Inside(kind) | Reach::Nowhere(kind) => Some(kind),
    }
}

fn is_or_below(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// An HTTP token (RFC 9110 §5.6.2).
fn scheme(text: &str) -> Result<(), &'static str> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if text.is_empty() || text.len() > MAX_SCHEME || !text.chars().all(is_token) {
        return Err("must be the name of an HTTP authentication scheme");
    }
    Ok(())
}

fn header_value(secret: &Secret, max: usize) -> Result<(), String> {
    let text = secret.reveal();
    if text.len() > max {
        return Err(format!("must not be longer than {max} bytes"));
    }
    if text.contains(char::is_control) {
        return Err("must not contain control characters".to_owned());
    }
    Ok(())
}
