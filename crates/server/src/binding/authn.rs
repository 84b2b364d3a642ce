//! Authentication of requests, before their bodies are read, and of who reads cards.

use std::sync::Arc;

use switchboard_types::Error;

use super::Service;
use crate::access_log::AccessDetails;
use crate::auth::{Audit, Carried, KeyDesk, Presented, Refusal, reader, refused_certificate};
use crate::directory::{Listing, MAX_LISTED_AGENTS, no_such_agent_but};
use crate::http::Head;
use crate::limit::Caller;
use crate::net::Peer;
use crate::principal::Principal;
use crate::store::access::AuditEntry;

/// Who a request may come from, and whom it asks.
#[derive(Debug, Default)]
pub(super) struct Authentication {
    pub(super) presented: Presented,
    /// The agent that the head of the request names, if the caller may know of it.
    pub(super) destination: Option<Destination>,
}

/// An agent that a request asks. Its access is evaluated once for each request: who needs the outcome finds it here.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) listing: Arc<Listing>,
    pub(super) admitted: Result<Principal, Refusal>,
}

impl Destination {
    /// Evaluates the access of an agent; `None` if the caller may not know of it.
    pub(super) fn evaluate(
        listing: Arc<Listing>,
        presented: &Presented,
        carried: &Carried<'_>,
    ) -> Option<Self> {
        let admitted = listing.admit(presented, carried)?;
        Some(Self { listing, admitted })
    }

    /// The agent, and who reads its card.
    fn into_reader(self, carried: &Carried<'_>) -> (Arc<Listing>, Principal) {
        (self.listing, reader(self.admitted, carried))
    }
}

impl Service {
    /// Finds out who asks, before anything but the head is read. Turns those away whom the agent does not let in;
    /// where the body may still name another one, those whom no agent lets in.
    pub(super) async fn authenticate(
        &self,
        head: &Head,
        peer: &Peer,
        agent: Option<&str>,
    ) -> Result<Authentication, Refusal> {
        let carried = Carried::new(head, peer, &self.base_url);
        let listing = self.directory.find(agent);
        let named = listing.as_ref().filter(|_| agent.is_some());
        let at = named.map_or(carried, |listing| carried.at(&listing.name));
        let presented = self.identify(&at).await;
        let destination =
            listing.and_then(|listing| Destination::evaluate(listing, &presented, &carried));
        let Some(destination) = destination else {
            // Whoever it is: there is no such agent.
            return Ok(Authentication {
                presented,
                destination: None,
            });
        };
        let Destination { listing, admitted } = &destination;
        let (name, rate) = (&listing.name, listing.access.rate());
        if agent.is_some()
            && let Some(details) = AccessDetails::of(head)
        {
            details.set_agent(name);
        }
        let caller = || match admitted {
            Ok(caller) => Caller::of(caller),
            Err(_) => Caller::at(carried.address()),
        };
        let counted = self.tallies.count(&head.extensions, name, rate, caller);
        // The body may mean another agent: only then is it sure who refuses.
        let elsewhere = |other: &Arc<Listing>| other.access.admits(&other.name, &presented);
        let later =
            agent.is_none() && (admitted.is_ok() || self.directory.list().iter().any(elsewhere));
        if admitted.is_ok() && !later {
            counted.inspect_err(|_| listing.meter.rate_limited())?;
        }
        match destination {
            Destination {
                listing,
                admitted: Err(refusal),
            } if !later => {
                self.note_certificate(&listing.name, &presented, &carried);
                Err(refusal)
            }
            destination => Ok(Authentication {
                presented,
                destination: Some(destination),
            }),
        }
    }

    /// Writes down that a certificate alone, which no scheme knows, was not enough for this agent.
    fn note_certificate(&self, agent: &str, presented: &Presented, carried: &Carried<'_>) {
        if presented.is_nothing() && carried.certificate().is_some() {
            self.audit().note(AuditEntry {
                agent: Some(agent.to_owned()),
                ..refused_certificate(carried.address(), "Unknown")
            });
        }
    }

    /// Everyone the request may come from.
    async fn identify(&self, carried: &Carried<'_>) -> Presented {
        let presented = self.authenticator.identify(carried).await;
        if presented.has_failed {
            self.metrics.authentication_failed();
        }
        presented
    }

    /// Counts a request to this agent, if it was not; now it is sure that it is this one.
    pub(super) fn count(
        &self,
        head: &Head,
        listing: &Listing,
        caller: &Principal,
    ) -> Result<(), Error> {
        let (name, rate) = (&listing.name, listing.access.rate());
        let caller = || Caller::of(caller);
        let counted = self.tallies.count(&head.extensions, name, rate, caller);
        counted.inspect_err(|_| listing.meter.rate_limited())
    }

    /// The agent of that name, as far as this caller may know.
    ///
    /// # Errors
    ///
    /// That there is none, with the names of others that the caller may know of.
    pub(super) async fn visible_agent(
        &self,
        head: &Head,
        peer: &Peer,
        agent: Option<&str>,
    ) -> Result<(Arc<Listing>, Principal), Error> {
        let carried = Carried::new(head, peer, &self.base_url);
        let listing = self.directory.find(agent);
        // Once only: each failed attempt counts as a guess.
        let presented = match &listing {
            Some(listing) if !listing.access.knows_callers() => Presented::default(),
            Some(listing) => self.identify(&carried.at(&listing.name)).await,
            None => self.identify(&carried).await,
        };
        let destination =
            listing.and_then(|listing| Destination::evaluate(listing, &presented, &carried));
        let Some(destination) = destination else {
            let known = self.visible_names(&presented, &carried);
            return Err(no_such_agent_but(agent.unwrap_or_default(), &known));
        };
        if let Some(details) = AccessDetails::of(head) {
            details.set_agent(&destination.listing.name);
        }
        Ok(destination.into_reader(&carried))
    }

    /// All agents, as far as this caller may know.
    pub(super) async fn visible_agents(
        &self,
        head: &Head,
        peer: &Peer,
    ) -> Vec<(Arc<Listing>, Principal)> {
        let carried = Carried::new(head, peer, &self.base_url);
        let presented = self.identify(&carried).await;
        let agents = self.directory.list().into_iter();
        let visible =
            agents.filter_map(|listing| Destination::evaluate(listing, &presented, &carried));
        visible.map(|agent| agent.into_reader(&carried)).collect()
    }

    /// The names of agents that this caller may know of, for an error about one that it may not: in order, and one more
    /// than are listed if there are more.
    pub(super) fn visible_names(
        &self,
        presented: &Presented,
        carried: &Carried<'_>,
    ) -> Vec<Arc<str>> {
        let mut known = self.directory.list();
        known.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let is_visible = |listing: &&Arc<Listing>| {
            listing.access.is_visible() || listing.admit(presented, carried).is_some()
        };
        let visible = known.iter().filter(is_visible);
        let names = visible.map(|listing| Arc::clone(&listing.name));
        names.take(MAX_LISTED_AGENTS + 1).collect()
    }

    /// Where denials are written down.
    pub(super) fn audit(&self) -> &Audit {
        self.authenticator.audit()
    }

    /// Where keys are made, if they are.
    pub(super) fn key_desk(&self) -> Option<&KeyDesk> {
        self.authenticator.desk()
    }
}
