//! Who asks: a [`Principal`], known by the identities that its credentials prove, or anonymous.
//!
//! `auth` makes principals of what requests carry; `authorization` reads the header that both look at.

mod authorization;

use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use switchboard_types::model::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::task::Owner;

pub(crate) use authorization::{InvalidHeader, Shown, authorization, credentials, shown};

/// How every API key of ours begins: by it people, and programs that look for secrets, know what they have found. No
/// other token that we accept begins so.
pub const API_KEY_PREFIX: &str = "sbk_";

/// An authenticated caller; anonymous is one too. Two are the same if the same tasks are theirs.
#[derive(Debug, Clone)]
pub struct Principal {
    who: Arc<Who>,
    address: Option<IpAddr>,
    /// Headers of the request that the agent has asked for. In memory only; all values are marked as sensitive, so
    /// that none is shown.
    forwarded: Option<Arc<HeaderMap>>,
}

#[derive(Debug)]
struct Who {
    owner: Owner,
    identities: Vec<Arc<Identity>>,
}

/// Someone a scheme has recognised.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The scheme, by its name on the card.
    pub scheme: Arc<str>,
    /// What was shown.
    pub kind: Kind,
    /// Who vouches for the subject; subjects of two realms are never the same.
    pub realm: Arc<str>,
    /// The name within realm and tenant.
    pub subject: Arc<str>,
    /// The tenant, where the realm has such.
    pub tenant: Option<Arc<str>>,
    /// What the caller was granted.
    pub scopes: Vec<Arc<str>>,
    /// The agents this is good for; `None`: all.
    pub agents: Option<Vec<Arc<str>>>,
    /// What else is known, for policies.
    pub claims: Map<String, Value>,
    /// Cancelled when this is taken back while streams are open.
    pub revoked: Option<CancellationToken>,
    /// From when on this is no good any more, if that is known: streams end then.
    pub expires: Option<Timestamp>,
}

/// What someone has shown to be recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A token that a realm has signed: who has it may make API keys, if it grants that.
    Token,
    /// An API key.
    Key,
    /// Something else.
    #[default]
    Other,
}

impl Identity {
    /// Whether this is good for that agent.
    pub(crate) fn opens(&self, agent: &str) -> bool {
        let agents = self.agents.as_ref();
        agents.is_none_or(|agents| agents.iter().any(|name| **name == *agent))
    }
}

impl Principal {
    /// The caller of an agent that asks for no credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        static NOBODY: LazyLock<Arc<Who>> = LazyLock::new(|| {
            Arc::new(Who {
                owner: Owner::new("anonymous"),
                identities: Vec::new(),
            })
        });
        Self {
            who: Arc::clone(&NOBODY),
            address: None,
            forwarded: None,
        }
    }

    /// The caller with these identities; the first one counts, and without any it is nobody.
    #[must_use]
    pub fn known(identities: Vec<Arc<Identity>>) -> Self {
        let Some(first) = identities.first() else {
            return Self::anonymous();
        };
        let owner = Owner::of(&first.realm, first.tenant.as_deref(), &first.subject);
        Self {
            who: Arc::new(Who { owner, identities }),
            address: None,
            forwarded: None,
        }
    }

    /// The same caller, at that address.
    #[must_use]
    pub fn at(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// The same caller, with those headers of the request that are wanted. What belongs to this connection only is
    /// left behind, and so are API keys of ours: they open nothing but our own doors.
    #[must_use]
    pub fn bringing(mut self, headers: &HeaderMap, wanted: &[HeaderName]) -> Self {
        let mut brought = HeaderMap::new();
        for name in wanted.iter().filter(|name| !is_dropped(headers, name)) {
            for value in headers.get_all(name) {
                if !holds_key(value) {
                    let mut value = value.clone();
                    value.set_sensitive(true);
                    brought.append(name, value);
                }
            }
        }
        self.forwarded = Some(Arc::new(brought));
        self
    }

    /// Whether nobody knows who this is.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        *self == Self::anonymous()
    }

    /// The owner of what this caller makes.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.who.owner
    }

    /// The identity that counts. None of nobody, nor of the owner of a task that goes on after a restart.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.who.identities.first().map(AsRef::as_ref)
    }

    /// The headers of the caller's request that [`Agent::forwarded_headers`](crate::agent::Agent::forwarded_headers) names. `None` if
    /// they are not known: it names none, or the request is long gone, as that of a task that goes on after a restart.
    #[must_use]
    pub fn forwarded(&self) -> Option<&HeaderMap> {
        self.forwarded.as_deref()
    }

    /// The token by which the caller is known, if the agent's [`forwarded_headers`](crate::agent::Agent::forwarded_headers) names
    /// `authorization`. One that nobody has checked is none.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        let mut identities = self.who.identities.iter();
        identities.find(|identity| identity.kind == Kind::Token)?;
        authorization(self.forwarded()?, "Bearer")?.ok()
    }

    /// All identities of these callers in one.
    pub(crate) fn together(callers: &[&Self]) -> Self {
        let all = callers.iter().flat_map(|caller| &caller.who.identities);
        Self::known(all.map(Arc::clone).collect())
    }

    /// What the caller was granted by all of its identities.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        let identities = self.who.identities.iter();
        identities.flat_map(|identity| identity.scopes.iter().map(AsRef::as_ref))
    }

    /// Cancelled when what the caller has shown is taken back; `None` if that does not happen.
    pub(crate) fn revoked(&self) -> Option<&CancellationToken> {
        let mut identities = self.who.identities.iter();
        identities.find_map(|identity| identity.revoked.as_ref())
    }

    /// From when on one of its identities is no good any more.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        let identities = self.who.identities.iter();
        identities.filter_map(|identity| identity.expires).min()
    }

    /// Where the request comes from; `None` if it did not come over the network.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

impl From<Identity> for Principal {
    /// The caller whom one scheme knows. To be made once and kept: then a request costs no more than a count.
    fn from(identity: Identity) -> Self {
        Self::known(vec![Arc::new(identity)])
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.owner() == other.owner()
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.owner().hash(state);
    }
}

impl From<Owner> for Principal {
    /// The caller on whose behalf a stored task goes on.
    fn from(owner: Owner) -> Self {
        Self {
            who: Arc::new(Who {
                owner,
                identities: Vec::new(),
            }),
            address: None,
            forwarded: None,
        }
    }
}

/// Whether a header is meant for this connection only (RFC 9110 §7.6.1).
fn is_dropped(headers: &HeaderMap, name: &HeaderName) -> bool {
    let said = headers.get_all(CONNECTION).into_iter();
    let mut names = said.filter_map(|value| value.to_str().ok());
    names.any(|names| {
        let mut names = names.split(',').map(str::trim);
        names.any(|dropped| dropped.eq_ignore_ascii_case(name.as_str()))
    })
}

fn holds_key(value: &HeaderValue) -> bool {
    let text = value.to_str().unwrap_or_default();
    let mut words = text.split([' ', ';', '=', ',', '"']);
    words.any(|word| word.starts_with(API_KEY_PREFIX))
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, COOKIE};

    use super::*;

    #[test]
    fn no_two_owners_share_a_text() {
        let owners = [
            Owner::of("a", Some("b"), "c"),
            Owner::of("a", None, "b|c"),
            Owner::of("a|b", None, "c"),
            Owner::of("a%7Cb", None, "c"),
            Owner::of("a", None, "c"),
            Owner::of("", None, "anonymous"),
            Principal::anonymous().owner().clone(),
        ];
        for (at, owner) in owners.iter().enumerate() {
            assert!(!owners[..at].contains(owner), "{owner:?}");
        }
        assert_eq!(owners[0].as_str(), "a|b|c");
    }

    #[test]
    fn the_first_identity_owns_and_all_of_them_grant() {
        let identity = |subject: &str, scope: &str| {
            Arc::new(Identity {
                realm: "corp".into(),
                subject: subject.into(),
                scopes: vec![scope.into()],
                ..Identity::default()
            })
        };
        let both = Principal::known(vec![identity("ann", "read"), identity("host", "write")]);
        assert_eq!(both.owner(), &Owner::of("corp", None, "ann"));
        assert_eq!(both.scopes().collect::<Vec<_>>(), ["read", "write"]);
        assert!(!both.is_anonymous());
        assert!(Principal::known(Vec::new()).is_anonymous());
    }

    #[test]
    fn a_caller_is_the_same_wherever_it_is() {
        let here = Principal::anonymous().at("127.0.0.1".parse().unwrap());
        assert_eq!(here, Principal::anonymous());
        assert!(here.is_anonymous());
        assert!(here.address().is_some_and(|address| address.is_loopback()));
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn nothing_is_brought_along_but_what_is_wanted() {
        let sent = headers(&[
            ("authorization", "Bearer a.b.c"),
            ("cookie", "a=1"),
            ("x-trace", "one"),
            ("x-trace", "two"),
            ("x-hop", "here"),
            ("x-other", "no"),
            ("connection", "close, X-Hop"),
        ]);
        let wanted = ["x-trace", "x-hop", "x-absent"].map(HeaderName::from_static);
        let caller = Principal::anonymous().bringing(&sent, &wanted);
        let brought = headers(&[("x-trace", "one"), ("x-trace", "two")]);
        assert_eq!(caller.forwarded(), Some(&brought));
        let caller = caller.bringing(&sent, &[AUTHORIZATION, COOKIE]);
        let shown = format!("{caller:?}");
        assert!(shown.contains("authorization"), "{shown}");
        assert!(
            !shown.contains("a.b.c") && !shown.contains("a=1"),
            "{shown}"
        );
        assert_eq!(caller, Principal::anonymous());
        assert_eq!(Principal::anonymous().forwarded(), None);
        assert_eq!(Principal::from(Owner::new("a")).forwarded(), None);
    }

    #[test]
    fn a_key_of_ours_stays_here() {
        for value in [
            "Bearer sbk_1_x",
            "sbk_1_x",
            "a=1; key=sbk_1_x",
            "\"sbk_1_x\"",
        ] {
            let sent = headers(&[("authorization", value), ("authorization", "Bearer t")]);
            let caller = Principal::anonymous().bringing(&sent, &[AUTHORIZATION]);
            let brought = headers(&[("authorization", "Bearer t")]);
            assert_eq!(caller.forwarded(), Some(&brought), "{value}");
        }
        // A token may hold these letters by chance.
        let sent = headers(&[("authorization", "Bearer aaasbk_1.b")]);
        let caller = Principal::anonymous().bringing(&sent, &[AUTHORIZATION]);
        assert_eq!(caller.forwarded(), Some(&sent));
    }

    #[test]
    fn only_a_token_that_was_checked_is_one() {
        let of = |kind| {
            Arc::new(Identity {
                kind,
                ..Identity::default()
            })
        };
        let sent = headers(&[("authorization", "bearer a.b.c")]);
        let bringing = |kinds: &[Kind]| {
            let known = Principal::known(kinds.iter().copied().map(of).collect());
            known.bringing(&sent, &[AUTHORIZATION])
        };
        assert_eq!(bringing(&[Kind::Token]).token(), Some("a.b.c"));
        assert_eq!(bringing(&[Kind::Other, Kind::Token]).token(), Some("a.b.c"));
        assert_eq!(bringing(&[Kind::Key]).token(), None);
        assert_eq!(bringing(&[]).token(), None);
        assert_eq!(Principal::known(vec![of(Kind::Token)]).token(), None);
    }
}
