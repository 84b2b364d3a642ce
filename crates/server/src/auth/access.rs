//! One agent's door: is one of the identities enough for it?

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use switchboard_types::model::SecurityRequirement;
use switchboard_types::{Error, ErrorKind};

use super::{AllowAll, Carried, Identity, Policy, Presented, Principal, Rejection, Scheme};
use crate::engine::Profile;
use crate::limit::Rate;

/// Who may ask an agent, and for what.
#[derive(Debug)]
pub struct Access {
    alternatives: Vec<Alternative>,
    policy: Arc<dyn Policy>,
    rate: Option<Rate>,
}

/// Schemes that are enough together; none at all lets everyone in.
#[derive(Debug, Clone, Default)]
pub struct Alternative(pub Vec<Arc<dyn Scheme>>);

/// Why a caller is not let in.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: Error,
    /// What to say in `WWW-Authenticate`, one line each.
    pub(crate) challenges: Vec<HeaderValue>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            error,
            challenges: Vec::new(),
        }
    }
}

/// The caller who opens a door, or what keeps it shut.
type Met<'a> = Result<Principal, Shut<'a>>;

/// What keeps a door shut.
#[derive(Clone, Copy)]
enum Shut<'a> {
    /// Nothing that would open it was presented.
    Missing,
    /// A credential of this scheme that is no good.
    Bad(&'a Arc<str>, Rejection),
    /// The caller has failed too often.
    Wait(Duration),
}

impl Access {
    /// Lets everyone do everything.
    #[must_use]
    pub fn open() -> Self {
        Self::by(vec![Alternative::default()])
    }

    /// Lets those in who meet one of the alternatives: the first that is met counts.
    #[must_use]
    pub fn by(alternatives: Vec<Alternative>) -> Self {
        Self {
            alternatives,
            policy: Arc::new(AllowAll),
            rate: None,
        }
    }

    /// The same door with rules behind it.
    #[must_use]
    pub fn ruled_by(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// The same door, at which each caller may knock so often.
    #[must_use]
    pub fn limited_to(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// How often each caller may ask.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The rules for those who are in.
    pub(super) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// Whether everyone is let in.
    pub(crate) fn is_open(&self) -> bool {
        self.alternatives.iter().any(|either| either.0.is_empty())
    }

    /// Whether this caller would be let in.
    pub(crate) fn admits(&self, agent: &str, presented: &Presented) -> bool {
        self.meet(agent, presented).is_ok()
    }

    /// Lets nobody in yet, but turns those away whom [`Access::admit`] would not let in.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn check(
        &self,
        agent: &str,
        presented: &Presented,
        carried: &Carried<'_>,
    ) -> Result<(), Refusal> {
        let met = self.meet(agent, presented).map(drop);
        met.map_err(|shut| self.refuse(shut, carried))
    }

    /// Lets a caller in.
    ///
    /// # Errors
    ///
    /// If no alternative is met, or a credential that this agent looks at is no good.
    pub(crate) fn admit(
        &self,
        agent: &str,
        presented: &Presented,
        carried: &Carried<'_>,
    ) -> Result<Principal, Refusal> {
        match self.meet(agent, presented) {
            Ok(caller) => Ok(caller.at(carried.address())),
            Err(shut) => Err(self.refuse(shut, carried)),
        }
    }

    fn meet<'a>(&self, agent: &str, presented: &'a Presented) -> Met<'a> {
        if let Some(wait) = presented.wait
            && self.schemes().next().is_some()
        {
            return Err(Shut::Wait(wait));
        }
        // A token that one issuer does not know may be another's.
        let identities = || presented.callers.iter().filter_map(Principal::identity);
        let spoils = |(name, cause): &&(Arc<str>, Rejection)| {
            let known = || identities().any(|identity| self.looks_at(&identity.scheme));
            self.looks_at(name) && !(*cause == Rejection::WrongIssuer && known())
        };
        if let Some((scheme, cause)) = presented.rejected.iter().find(spoils) {
            return Err(Shut::Bad(scheme, *cause));
        }
        let foreign =
            |identity: &&Identity| !identity.opens(agent) && self.looks_at(&identity.scheme);
        if let Some(foreign) = identities().find(foreign) {
            return Err(Shut::Bad(&foreign.scheme, Rejection::WrongAudience));
        }
        let known = |scheme: &Arc<dyn Scheme>| {
            let is_it = |identity: &Identity| identity.scheme == *scheme.name();
            let mut callers = presented.callers.iter();
            callers.find(|caller| caller.identity().is_some_and(is_it))
        };
        let met = |alternative: &Alternative| match &*alternative.0 {
            [] => Some(Principal::anonymous()),
            [alone] => known(alone).cloned(),
            all => {
                let all: Option<Vec<_>> = all.iter().map(known).collect();
                all.map(|all| Principal::together(&all))
            }
        };
        self.alternatives.iter().find_map(met).ok_or(Shut::Missing)
    }

    fn looks_at(&self, name: &Arc<str>) -> bool {
        self.schemes().any(|scheme| scheme.name() == name)
    }

    /// Every scheme once, in the order of the alternatives.
    fn schemes(&self) -> impl Iterator<Item = &Arc<dyn Scheme>> {
        let all = || self.alternatives.iter().flat_map(|either| &either.0);
        all().enumerate().filter_map(move |(at, scheme)| {
            let known = all().take(at).any(|other| other.name() == scheme.name());
            (!known).then_some(scheme)
        })
    }

    fn refuse(&self, shut: Shut<'_>, carried: &Carried<'_>) -> Refusal {
        let cause = match shut {
            Shut::Wait(wait) => {
                let seconds = wait.as_secs() + 1;
                let message = format!("too many failed logins: try again in {seconds} s");
                let error = Error::new(ErrorKind::ResourceExhausted, message);
                return error.retry_in(seconds).into();
            }
            Shut::Bad(_, cause @ Rejection::KeysUnavailable) => {
                return Error::new(ErrorKind::Unavailable, cause.told()).into();
            }
            Shut::Bad(scheme, cause) => Some((scheme, cause)),
            Shut::Missing => None,
        };
        let message = match cause {
            Some((_, cause)) => format!("authentication is needed: {}", cause.told()),
            None => "authentication is needed".to_owned(),
        };
        let names: Vec<&str> = self.schemes().map(|scheme| &**scheme.name()).collect();
        let challenges = self.schemes().map(|scheme| {
            let at_fault = cause.filter(|(name, _)| *name == scheme.name());
            scheme.challenge(at_fault.map(|(_, cause)| cause), carried)
        });
        Refusal {
            error: Error::new(ErrorKind::Unauthenticated, message).fact("schemes", names.join(",")),
            challenges: challenges.collect(),
        }
    }

    /// Writes on an agent's cards who may ask it.
    pub fn declare(&self, profile: &mut Profile) {
        if self.schemes().next().is_none() {
            return;
        }
        for card in iter::once(&mut profile.card).chain(&mut profile.extended) {
            let schemes = self.schemes();
            let declared = schemes.map(|scheme| (scheme.name().to_string(), scheme.declared()));
            card.security_schemes = declared.collect();
            card.security = self.alternatives.iter().map(requirement).collect();
        }
    }
}

/// An alternative, as a card says it.
fn requirement(either: &Alternative) -> SecurityRequirement {
    let names = either.0.iter().map(|scheme| scheme.name().to_string());
    SecurityRequirement(names.map(|name| (name, Vec::new())).collect())
}
