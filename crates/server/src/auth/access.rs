//! One agent's door: is one of the identities enough for it?

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::header::{HeaderMap, HeaderValue};
use switchboard_types::model::{SecurityRequirement, SecurityScheme};
use switchboard_types::{Error, ErrorKind};

use super::{
    AllowAll, Authenticator, Carried, Policy, Presented, Rejected, Rejection, Scheme, SkillAccess,
};
use crate::card::Profile;
use crate::limit::Rate;
use crate::net::{BaseUrl, Peer};
use crate::principal::{Identity, Principal};

/// Who may ask an agent, and for what.
#[derive(Debug)]
pub struct Access {
    alternatives: Vec<Alternative>,
    pub(super) policy: Option<Arc<dyn Policy>>,
    pub(super) scopes: Vec<Arc<str>>,
    pub(super) skills: Vec<SkillAccess>,
    visible: bool,
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

/// Who reads a card: everyone may, and a caller who is not let in is nobody in particular.
pub(crate) fn reader(admitted: Result<Principal, Refusal>, carried: &Carried<'_>) -> Principal {
    admitted.unwrap_or_else(|_| Principal::anonymous().at(carried.address()))
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
    /// The caller has failed too often, and fails again.
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
            policy: None,
            scopes: Vec::new(),
            skills: Vec::new(),
            visible: true,
            rate: None,
        }
    }

    /// The same door with rules behind it.
    #[must_use]
    pub fn ruled_by(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The same door, for those who have been granted all of this.
    #[must_use]
    pub fn needing(mut self, scopes: Vec<Arc<str>>) -> Self {
        self.scopes = scopes;
        self
    }

    /// The same door to an agent with these skills: all it has, whatever they ask for.
    #[must_use]
    pub fn with_skills(mut self, skills: Vec<SkillAccess>) -> Self {
        self.skills = skills;
        self
    }

    /// The same door, which only those see who may use it.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.visible = false;
        self
    }

    /// Whether everyone may know that there is this agent.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        self.visible
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
    pub(crate) fn policy(&self) -> &dyn Policy {
        self.policy.as_deref().unwrap_or(&AllowAll)
    }

    /// Whether anyone can show who they are here.
    pub(crate) fn knows_callers(&self) -> bool {
        self.schemes().next().is_some()
    }

    /// Turns a caller away who is let in, but has to show who it is for what it asks.
    ///
    /// # Errors
    ///
    /// Always, if anyone can show who they are.
    pub(crate) fn ask_who(&self, agent: &str, carried: &Carried<'_>) -> Result<(), Refusal> {
        if self.knows_callers() {
            return Err(self.refuse(Shut::Missing, carried.at(agent)));
        }
        Ok(())
    }

    /// Lets someone in of whom these identities are known, whatever they were shown by.
    ///
    /// # Errors
    ///
    /// If they open no way in.
    pub fn admit_known(&self, agent: &str, identities: Vec<Identity>) -> Result<Principal, Error> {
        let presented = Presented {
            callers: identities
                .into_iter()
                .map(|identity| Principal::from(identity).into())
                .collect(),
            ..Presented::default()
        };
        let met = self.meet(agent, &presented);
        met.map_err(|shut| self.error(shut))
    }

    /// Whether everyone is let in.
    pub(crate) fn is_open(&self) -> bool {
        self.alternatives.iter().any(|either| either.0.is_empty())
    }

    /// Whether this caller would be let in.
    pub(crate) fn admits(&self, agent: &str, presented: &Presented) -> bool {
        self.meet(agent, presented).is_ok()
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
            Err(shut) => Err(self.refuse(shut, carried.at(agent))),
        }
    }

    /// Lets someone in who shows this in the headers of a request.
    ///
    /// # Errors
    ///
    /// If it opens no way in.
    pub async fn admit_showing(
        &self,
        agent: &str,
        headers: HeaderMap,
        authenticator: &Authenticator,
    ) -> Result<Principal, Error> {
        let (mut head, ()) = Request::new(()).into_parts();
        head.headers = headers;
        let (base_url, peer) = (BaseUrl::default(), Peer::here());
        let carried = Carried::new(&head, &peer, &base_url);
        let presented = authenticator.identify(&carried).await;
        let met = self.meet(agent, &presented);
        met.map_err(|shut| self.error(shut))
    }

    fn meet<'a>(&self, agent: &str, presented: &'a Presented) -> Met<'a> {
        if let [Alternative(schemes)] = &*self.alternatives
            && schemes.is_empty()
        {
            return Ok(Principal::anonymous());
        }
        let callers = || presented.callers.iter().map(|taken| &taken.caller);
        // A token that one issuer does not know may be another's.
        let spoils = |rejected: &&Rejected| {
            let counts = |name: &Arc<str>| self.looks_at(name);
            self.looks_at(&rejected.scheme) && !presented.is_anothers(rejected, counts)
        };
        let spoilers = presented.rejected.iter().filter(spoils);
        if let Some(bad) = spoilers.min_by_key(|bad| bad.cause != Rejection::KeysUnavailable) {
            return Err(match presented.wait {
                // That nobody can tell is not the caller's fault.
                Some(wait) if bad.cause != Rejection::KeysUnavailable => Shut::Wait(wait),
                _ => Shut::Bad(&bad.scheme, bad.cause),
            });
        }
        let foreign =
            |identity: &&Identity| !identity.opens(agent) && self.looks_at(&identity.scheme);
        if let Some(foreign) = callers().filter_map(Principal::identity).find(foreign) {
            return Err(Shut::Bad(&foreign.scheme, Rejection::WrongAudience));
        }
        let known = |scheme: &Arc<dyn Scheme>| {
            let is_it = |identity: &Identity| identity.scheme == *scheme.name();
            callers().find(|caller| caller.identity().is_some_and(is_it))
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

    /// Whether credentials of that scheme can open the door.
    pub(crate) fn looks_at(&self, name: &Arc<str>) -> bool {
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

    fn refuse(&self, shut: Shut<'_>, carried: Carried<'_>) -> Refusal {
        let error = self.error(shut);
        if error.kind() != ErrorKind::Unauthenticated {
            return error.into();
        }
        let challenges = self.schemes().map(|scheme| match shut {
            Shut::Bad(name, cause) if name == scheme.name() => {
                scheme.challenge(Some(cause), &carried)
            }
            _ => scheme.challenge(None, &carried),
        });
        Refusal {
            error,
            challenges: challenges.collect(),
        }
    }

    /// The addresses of those who issue what opens the door, each once.
    pub(crate) fn issuers(&self) -> Vec<&str> {
        let mut issuers: Vec<&str> = Vec::new();
        for issuer in self.schemes().filter_map(|scheme| scheme.issuer()) {
            if !issuers.contains(&issuer) {
                issuers.push(issuer);
            }
        }
        issuers
    }

    fn error(&self, shut: Shut<'_>) -> Error {
        let message = match shut {
            Shut::Wait(wait) => {
                let seconds = wait.as_secs() + 1;
                let message = format!("too many failed logins; retry after {seconds} s");
                let error = Error::new(ErrorKind::ResourceExhausted, message);
                return error.retry_in(seconds);
            }
            Shut::Bad(_, cause @ Rejection::KeysUnavailable) => {
                return Error::new(ErrorKind::Unavailable, cause.told());
            }
            Shut::Bad(_, cause) => format!("authentication required: {}", cause.told()),
            Shut::Missing => "authentication required".to_owned(),
        };
        let names: Vec<&str> = self.schemes().map(|scheme| &**scheme.name()).collect();
        Error::new(ErrorKind::Unauthenticated, message).fact("schemes", names.join(","))
    }

    /// Writes on an agent's cards who may ask it.
    pub fn declare(&self, profile: &mut Profile) {
        if !self.knows_callers() {
            return;
        }
        for card in iter::once(&mut profile.card).chain(&mut profile.extended) {
            let schemes = self.schemes();
            let declared = schemes.map(|scheme| (scheme.name().to_string(), scheme.declared()));
            card.security_schemes = declared.collect();
            let requirements = self.alternatives.iter();
            card.security = requirements.map(|way| self.requirement(way, &[])).collect();
            for skill in &mut card.skills {
                let Some(own) = self.skills.iter().find(|own| *own.id == *skill.id) else {
                    continue;
                };
                if !own.scopes.is_empty() {
                    // Nobody in particular has been granted anything.
                    let ways = self.alternatives.iter().filter(|way| !way.0.is_empty());
                    skill.security = ways.map(|way| self.requirement(way, &own.scopes)).collect();
                }
            }
        }
    }

    /// An alternative, as a card says it: tokens must grant the scopes.
    fn requirement(&self, way: &Alternative, more: &[Arc<str>]) -> SecurityRequirement {
        let needed = |scheme: &Arc<dyn Scheme>| match scheme.declared() {
            SecurityScheme::OAuth2 { .. } | SecurityScheme::OpenIdConnect { .. } => true,
            SecurityScheme::Http { scheme, .. } => scheme == "bearer",
            SecurityScheme::ApiKey { .. } | SecurityScheme::MutualTls { .. } => false,
        };
        let entry = |scheme: &Arc<dyn Scheme>| {
            let needed = needed(scheme);
            let scopes = self.scopes.iter().chain(more).filter(|_| needed);
            let scopes = scopes.map(|scope| scope.to_string());
            (scheme.name().to_string(), scopes.collect())
        };
        SecurityRequirement(way.0.iter().map(entry).collect())
    }
}
