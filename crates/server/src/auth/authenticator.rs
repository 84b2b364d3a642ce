//! What was carried becomes identities, whatever the agent.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::header::HeaderValue;
use switchboard_types::Error;
use switchboard_types::model::SecurityScheme;

use super::keys::ApiKeys;
use super::{Audit, Carried, Failures};
use crate::principal::{Identity, Principal};
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

    /// Whether its credentials may be words that someone can guess. Such are not listened to where too many were
    /// wrong, not even if they are right: else guessing would go on.
    fn can_be_guessed(&self) -> bool {
        false
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
    pub(super) callers: Vec<Taken>,
    pub(super) rejected: Vec<Rejected>,
    /// How long no credentials of this caller are looked at but those that nobody can guess.
    pub(super) wait: Option<Duration>,
    /// Credentials were shown that no scheme accepts, and that is in the audit log.
    pub(crate) has_failed: bool,
}

/// Who has shown credentials that a scheme took.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) caller: Principal,
    /// Where they stood.
    from: Option<&'static str>,
}

impl From<Principal> for Taken {
    fn from(caller: Principal) -> Self {
        Self { caller, from: None }
    }
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
    /// Whether nobody has taken anything, nor refused it.
    pub(crate) fn is_nothing(&self) -> bool {
        self.callers.is_empty() && self.rejected.is_empty()
    }

    /// Whether the very same is the business of another scheme, one of those that count: it has taken it, or knows that it
    /// is its issuer's.
    pub(super) fn is_anothers(
        &self,
        rejected: &Rejected,
        counts: impl Fn(&Arc<str>) -> bool,
    ) -> bool {
        let took = |taken: &Taken| {
            let counts = |identity: &Identity| counts(&identity.scheme);
            taken.from == rejected.from && taken.caller.identity().is_some_and(counts)
        };
        let knows = |other: &Rejected| {
            other.from == rejected.from
                && other.cause != Rejection::WrongIssuer
                && counts(&other.scheme)
        };
        rejected.from.is_some()
            && (self.callers.iter().any(took)
                || rejected.cause == Rejection::WrongIssuer && self.rejected.iter().any(knows))
    }

    /// What nobody has taken.
    fn failures(&self) -> impl Iterator<Item = &Rejected> {
        let failed = |rejected: &&Rejected| !self.is_anothers(rejected, |_| true);
        self.rejected.iter().filter(failed)
    }

    /// What a scheme has found.
    fn add(
        &mut self,
        scheme: &dyn Scheme,
        found: Result<Principal, Rejection>,
        carried: &Carried<'_>,
    ) {
        let from = scheme.authorization();
        match found {
            Ok(caller) => self.callers.push(Taken { caller, from }),
            Err(cause) => {
                let scheme = Arc::clone(scheme.name());
                tracing::debug!(%scheme, ?cause, address = %carried.address(), "credentials rejected");
                self.rejected.push(Rejected {
                    scheme,
                    cause,
                    from,
                });
            }
        }
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
    /// How long a key is good at most; `None`: for ever.
    longest: Option<Duration>,
    /// How many keys of one caller may be good at once.
    pub(crate) most: usize,
}

impl KeyDesk {
    /// How long a key is going to be good: as long as is wished, or as it can be.
    ///
    /// # Errors
    ///
    /// If that is too long.
    pub(crate) fn lasting(&self, wished: Option<Duration>) -> Result<Option<Duration>, Error> {
        match (wished, self.longest) {
            (Some(wished), Some(longest)) if wished > longest => {
                let must = format!("must be at most {}", longest.as_secs());
                Err(Error::invalid_params("expiresInSeconds", must))
            }
            (wished, longest) => Ok(wished.or(longest)),
        }
    }
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

    /// The same, and makes keys for those whose token grants that scope: for everyone so many that are good at once,
    /// and none that is good for longer.
    #[must_use]
    pub fn making_keys(
        mut self,
        keys: ApiKeys,
        scope: impl Into<Arc<str>>,
        longest: Option<Duration>,
        most: usize,
    ) -> Self {
        self.desk = Some(KeyDesk {
            keys,
            scope: scope.into(),
            longest,
            most,
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
        let carried = &carried.for_all_schemes();
        // What can be guessed comes last: others may have to wait, and meanwhile this caller may have failed too often.
        for scheme in self.schemes.iter().filter(|s| !s.can_be_guessed()) {
            let found = match scheme.identify(carried) {
                Finding::Absent => continue,
                Finding::Now(found) => found,
                Finding::Later(found) => found.await,
            };
            presented.add(&**scheme, found, carried);
        }
        presented.wait = self.failures.wait(carried.address());
        let braked = presented.wait.is_some();
        for scheme in self.schemes.iter().filter(|s| s.can_be_guessed()) {
            let found = match scheme.identify(carried) {
                Finding::Absent => continue,
                Finding::Now(_) | Finding::Later(_) if braked => Err(Rejection::Unknown),
                Finding::Now(found) => found,
                Finding::Later(found) => {
                    let found = found.await;
                    let still = self.failures.wait(carried.address()).is_none();
                    found.and_then(|caller| still.then_some(caller).ok_or(Rejection::Unknown))
                }
            };
            presented.add(&**scheme, found, carried);
        }
        if braked {
            return presented;
        }
        let mut has_failed = false;
        for rejected in presented.failures() {
            if rejected.cause != Rejection::KeysUnavailable {
                self.audit.note(failed(rejected, carried));
                has_failed = true;
            }
        }
        presented.has_failed = has_failed;
        if presented.was_guessed() {
            self.failures.note(carried.address());
        }
        presented
    }
}

/// What is written down of a client certificate that opens nothing.
pub(crate) fn refused_certificate(from: IpAddr, cause: &str) -> AuditEntry {
    AuditEntry {
        address: Some(from.to_string()),
        ..AuditEntry::new(What::LoginFailed, "")
            .with("scheme", "tls")
            .with("cause", cause)
    }
}

/// What is written down of credentials that are no good. Nobody knows whose they are.
fn failed(rejected: &Rejected, carried: &Carried<'_>) -> AuditEntry {
    AuditEntry {
        agent: carried.agent().map(str::to_owned),
        address: Some(carried.address().to_string()),
        ..AuditEntry::new(What::LoginFailed, "")
            .with("scheme", &*rejected.scheme)
            .with("cause", format!("{:?}", rejected.cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(scheme: &str, cause: Rejection) -> Rejected {
        Rejected {
            scheme: scheme.into(),
            cause,
            from: Some("Bearer"),
        }
    }

    #[test]
    fn what_another_issuer_knows_is_no_guess() {
        for (cause, guessed) in [
            (Rejection::KeysUnavailable, false),
            (Rejection::Expired, false),
            (Rejection::WrongAudience, false),
            (Rejection::Unknown, true),
            (Rejection::WrongIssuer, true),
        ] {
            let presented = Presented {
                rejected: vec![
                    rejected("north", Rejection::WrongIssuer),
                    rejected("south", cause),
                ],
                ..Presented::default()
            };
            assert_eq!(presented.was_guessed(), guessed, "{cause:?}");
            // For an agent that does not look at the other issuer, it is a stranger's.
            let north = &presented.rejected[0];
            let only_north = |name: &Arc<str>| **name == *"north";
            assert!(!presented.is_anothers(north, only_north), "{cause:?}");
        }
    }

    #[test]
    fn what_stands_elsewhere_is_judged_by_itself() {
        let presented = Presented {
            rejected: vec![
                rejected("north", Rejection::WrongIssuer),
                Rejected {
                    from: None,
                    ..rejected("keys", Rejection::Expired)
                },
            ],
            ..Presented::default()
        };
        assert!(presented.was_guessed());
    }
}
