//! What was carried becomes identities, whatever the agent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::header::HeaderValue;
use switchboard_types::model::SecurityScheme;

use super::keys::ApiKeys;
use super::{Audit, Carried, Failures, Principal};
use crate::call::Listing;
use crate::store::access::{AuditEntry, What};

/// One way to show who one is.
pub trait Scheme: Send + Sync + fmt::Debug {
    /// Its name on cards.
    fn name(&self) -> &Arc<str>;

    /// Who this is, by what the request carries for this scheme.
    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a>;

    /// What `WWW-Authenticate` says to one who is refused; `cause` if it was this scheme's credentials.
    fn challenge(&self, cause: Option<Rejection>, carried: &Carried<'_>) -> HeaderValue;

    /// What a card says about it.
    fn declared(&self) -> SecurityScheme;

    /// The word before the credentials in `Authorization`, if it is there that it looks. What one scheme takes from
    /// there is no failure at another that looks there, too.
    fn authorization(&self) -> Option<&'static str> {
        None
    }

    /// The address of who issues its credentials, if there is one to turn to (RFC 9728).
    fn issuer(&self) -> Option<&str> {
        None
    }
}

/// What a scheme found.
pub enum Finding<'a> {
    /// Nothing of its kind.
    Absent,
    /// Someone, or credentials that are no good.
    Now(Result<Principal, Rejection>),
    /// The same, but others have to be asked first.
    Later(BoxFuture<'a, Result<Principal, Rejection>>),
}

impl fmt::Debug for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::Now(found) => f.debug_tuple("Now").field(found).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

/// Why credentials are no good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// They cannot be read.
    Malformed,
    /// Nobody has them, or the proof is wrong.
    Unknown,
    /// They were good once.
    Expired,
    /// They will be good.
    NotYet,
    /// They are for another service.
    WrongAudience,
    /// Someone else issued them.
    WrongIssuer,
    /// They were taken back.
    Revoked,
    /// They cannot be checked now.
    KeysUnavailable,
}

impl Rejection {
    /// What the caller is told. Who guesses learns no more than that it was wrong.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Expired => "the credentials have expired",
            Self::NotYet => "the credentials are not valid yet",
            Self::WrongAudience => "the credentials are for another service",
            Self::KeysUnavailable => "the credentials cannot be checked now",
            Self::Malformed | Self::Unknown | Self::WrongIssuer | Self::Revoked => {
                "the credentials are not valid"
            }
        }
    }
}

/// Who a request may come from, before it is known whom it asks.
#[derive(Debug, Default)]
pub(crate) struct Presented {
    /// Each by one scheme.
    pub(super) callers: Vec<Principal>,
    pub(super) rejected: Vec<Rejected>,
    /// Where the credentials of each caller stood.
    pub(super) taken: Vec<Option<&'static str>>,
    /// How long nothing of this caller is looked at.
    pub(super) wait: Option<Duration>,
    /// The agent that the head of the request names, if the caller may know of it.
    pub(crate) at: Option<Arc<Listing>>,
}

/// Credentials that a scheme did not take.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) scheme: Arc<str>,
    pub(super) cause: Rejection,
    /// Where they stood.
    from: Option<&'static str>,
}

impl Presented {
    /// Whether another scheme has taken the very same, one of those that count.
    pub(super) fn taken_elsewhere(
        &self,
        rejected: &Rejected,
        counts: impl Fn(&Principal) -> bool,
    ) -> bool {
        let mut callers = self.callers.iter().zip(&self.taken);
        let from = rejected.from;
        from.is_some() && callers.any(|(caller, taken)| *taken == from && counts(caller))
    }

    /// What nobody has taken.
    fn failures(&self) -> impl Iterator<Item = &Rejected> {
        let failed = |rejected: &&Rejected| !self.taken_elsewhere(rejected, |_| true);
        self.rejected.iter().filter(failed)
    }

    /// Whether this may have been a guess. What is expired, or for someone else, was good once.
    fn was_guessed(&self) -> bool {
        self.failures().any(|rejected| match rejected.cause {
            Rejection::Malformed
            | Rejection::Unknown
            | Rejection::Revoked
            | Rejection::WrongIssuer => true,
            Rejection::Expired
            | Rejection::NotYet
            | Rejection::WrongAudience
            | Rejection::KeysUnavailable => false,
        })
    }
}

/// All schemes of a server.
#[derive(Debug, Default)]
pub struct Authenticator {
    schemes: Vec<Arc<dyn Scheme>>,
    failures: Failures,
    audit: Audit,
    desk: Option<KeyDesk>,
}

/// Makes keys for callers whose token grants it.
#[derive(Debug)]
pub(crate) struct KeyDesk {
    pub(crate) keys: ApiKeys,
    /// What a token must grant.
    pub(crate) scope: Arc<str>,
}

impl Authenticator {
    /// Knows these schemes.
    #[must_use]
    pub fn new(schemes: Vec<Arc<dyn Scheme>>) -> Self {
        Self {
            schemes,
            ..Self::default()
        }
    }

    /// The same with another brake on guessing.
    #[must_use]
    pub fn with_failures(mut self, failures: Failures) -> Self {
        self.failures = failures;
        self
    }

    /// The same, and writes down who fails.
    #[must_use]
    pub fn audited(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// The same, and makes keys for those whose token grants that scope.
    #[must_use]
    pub fn making_keys(mut self, keys: ApiKeys, scope: impl Into<Arc<str>>) -> Self {
        self.desk = Some(KeyDesk {
            keys,
            scope: scope.into(),
        });
        self
    }

    /// Where it is written down who fails.
    pub(crate) fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Where keys are made, if they are.
    pub(crate) fn desk(&self) -> Option<&KeyDesk> {
        self.desk.as_ref()
    }

    /// Knows nobody: for a server whose agents are all open.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Everyone the request may come from.
    pub(crate) async fn identify(&self, carried: &Carried<'_>) -> Presented {
        let mut presented = Presented::default();
        if self.schemes.is_empty() {
            return presented;
        }
        presented.wait = self.failures.wait(carried.address());
        if presented.wait.is_some() {
            return presented;
        }
        for scheme in &self.schemes {
            let found = match scheme.identify(carried) {
                Finding::Absent => continue,
                Finding::Now(found) => found,
                Finding::Later(found) => found.await,
            };
            match found {
                Ok(caller) => {
                    presented.callers.push(caller);
                    presented.taken.push(scheme.authorization());
                }
                Err(cause) => {
                    let from = scheme.authorization();
                    let scheme = Arc::clone(scheme.name());
                    tracing::debug!(%scheme, ?cause, address = %carried.address(), "credentials rejected");
                    presented.rejected.push(Rejected {
                        scheme,
                        cause,
                        from,
                    });
                }
            }
        }
        for rejected in presented.failures() {
            if rejected.cause != Rejection::KeysUnavailable {
                self.audit.note(failed(rejected, carried));
            }
        }
        if presented.was_guessed() {
            self.failures.note(carried.address());
        }
        presented
    }
}

/// What is written down of credentials that are no good. Nobody knows whose they are.
fn failed(rejected: &Rejected, carried: &Carried<'_>) -> AuditEntry {
    AuditEntry {
        address: Some(carried.address().to_string()),
        ..AuditEntry::new(What::LoginFailed, "")
            .with("scheme", &*rejected.scheme)
            .with("cause", format!("{:?}", rejected.cause))
    }
}
