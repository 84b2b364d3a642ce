//! One agent's door: is one of the identities enough for it?

use std::iter;
use std::sync::Arc;

use hyper::header::HeaderValue;
use switchboard_types::model::SecurityRequirement;
use switchboard_types::{Error, ErrorKind};

use super::{AllowAll, Carried, Identity, Policy, Presented, Principal, Rejection, Scheme};
use crate::engine::Profile;

/// Who may ask an agent, and for what.
#[derive(Debug)]
pub struct Access {
    alternatives: Vec<Alternative>,
    policy: Arc<dyn Policy>,
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

/// The identities that open a door, or the credentials that spoil it, if there were any.
type Met = Result<Vec<Arc<Identity>>, Option<(Arc<str>, Rejection)>>;

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
        }
    }

    /// The same door with rules behind it.
    #[must_use]
    pub fn ruled_by(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// The rules for those who are in.
    pub(super) fn policy(&self) -> &dyn Policy {
        &*self.policy
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
        met.map_err(|cause| self.refuse(cause.as_ref(), carried))
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
            Ok(identities) => Ok(Principal::known(identities).at(carried.address())),
            Err(cause) => Err(self.refuse(cause.as_ref(), carried)),
        }
    }

    fn meet(&self, agent: &str, presented: &Presented) -> Met {
        let mut rejected = presented.rejected.iter();
        if let Some(bad) = rejected.find(|(name, _)| self.looks_at(name)) {
            return Err(Some(bad.clone()));
        }
        let mut identities = presented.identities.iter();
        if let Some(foreign) = identities.find(|i| !i.opens(agent) && self.looks_at(&i.scheme)) {
            let scheme = Arc::clone(&foreign.scheme);
            return Err(Some((scheme, Rejection::WrongAudience)));
        }
        let known = |scheme: &Arc<dyn Scheme>| {
            let mut identities = presented.identities.iter();
            let found = identities.find(|identity| identity.scheme == *scheme.name());
            found.map(Arc::clone)
        };
        let mut met = self.alternatives.iter();
        met.find_map(|alternative| alternative.0.iter().map(known).collect())
            .ok_or(None)
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

    fn refuse(&self, cause: Option<&(Arc<str>, Rejection)>, carried: &Carried<'_>) -> Refusal {
        if let Some((_, cause @ Rejection::KeysUnavailable)) = cause {
            return Error::new(ErrorKind::Unavailable, cause.told()).into();
        }
        let message = match cause {
            Some((_, cause)) => format!("authentication is needed: {}", cause.told()),
            None => "authentication is needed".to_owned(),
        };
        let names: Vec<&str> = self.schemes().map(|scheme| &**scheme.name()).collect();
        let challenges = self.schemes().map(|scheme| {
            let at_fault = cause.filter(|(name, _)| name == scheme.name());
            scheme.challenge(at_fault.map(|(_, cause)| *cause), carried)
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
