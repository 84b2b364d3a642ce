//! All agents that a caller may know of: in short at `/agents`, and as an AI catalogue where others look for it.

use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use hyper::http::request::Parts;
use serde_json::{Value, json};
use switchboard_types::model::{AgentCard, Skill};

use super::PRIVATE;
use super::Service;
use super::card::{BY_CALLER, cached};
use crate::http::Body;
use crate::net::Peer;

/// Where the AI catalogue is.
pub(super) const CATALOG: &str = "/.well-known/ai-catalog.json";

const CATALOG_TYPE: HeaderValue = HeaderValue::from_static("application/ai-catalog+json");
const CARD_TYPE: &str = "application/a2a-agent-card+json";

/// One agent, as its reader may see it.
pub(super) struct Entry {
    pub(super) name: String,
    /// The agent's address.
    pub(super) url: String,
    pub(super) card: AgentCard,
}

impl Entry {
    pub(super) fn card_url(&self) -> String {
        format!("{}/.well-known/agent-card.json", self.url)
    }

    /// For people and their scripts.
    fn in_short(&self) -> Value {
        let skill = |skill: &Skill| {
            json!({
                "id": skill.id,
                "name": skill.name,
                "description": skill.description,
                "tags": skill.tags,
            })
        };
        json!({
            "name": self.name,
            "title": self.card.name,
            "description": self.card.description,
            "version": self.card.version,
            "url": self.url,
            "card": self.card_url(),
            "skills": self.card.skills.iter().map(skill).collect::<Vec<_>>(),
        })
    }

    /// For those who collect agents. Older readers look for `mediaType`, newer ones for `type`.
    fn in_catalog(&self) -> Value {
        let mut tags: Vec<&str> = Vec::new();
        for tag in self.card.skills.iter().flat_map(|skill| &skill.tags) {
            if !tags.contains(&tag.as_str()) {
                tags.push(tag);
            }
        }
        json!({
            "identifier": self.url,
            "name": self.name,
            "displayName": self.card.name,
            "description": self.card.description,
            "version": self.card.version,
            "type": CARD_TYPE,
            "mediaType": CARD_TYPE,
            "url": self.card_url(),
            "tags": tags,
        })
    }
}

/// The agents in short.
pub(super) async fn agents(service: &Service, head: &Parts, peer: &Peer) -> Response<Body> {
    let render = |_: &str, entries: &[Entry]| {
        let agents: Vec<Value> = entries.iter().map(Entry::in_short).collect();
        json!({ "agents": agents }).to_string().into_bytes()
    };
    answer(service, head, peer, render).await
}

/// The AI catalogue.
pub(super) async fn catalog(service: &Service, head: &Parts, peer: &Peer) -> Response<Body> {
    let render = |base: &str, entries: &[Entry]| {
        let entries: Vec<Value> = entries.iter().map(Entry::in_catalog).collect();
        let catalog = json!({
            "specVersion": "1.0",
            "host": { "displayName": "Switchboard", "identifier": base },
            "entries": entries,
        });
        catalog.to_string().into_bytes()
    };
    let mut response = answer(service, head, peer, render).await;
    response.headers_mut().insert(CONTENT_TYPE, CATALOG_TYPE);
    response
}

/// Those agents, rendered, with what a cache needs.
pub(super) async fn answer(
    service: &Service,
    head: &Parts,
    peer: &Peer,
    render: impl Fn(&str, &[Entry]) -> Vec<u8>,
) -> Response<Body> {
    let base = service.base_url.of(head, peer);
    let mut entries = Vec::new();
    // What anyone may see can be kept by anyone.
    let mut private = false;
    let mut since = service.changed();
    for (listing, caller) in service.visible_agents(head, peer).await {
        let mut card = listing.profile.card_at(&base, &listing.name);
        listing.access.show(&listing.name, &caller, &mut card);
        since = since.max(listing.since);
        private |= !caller.is_anonymous() || !listing.access.is_visible();
        entries.push(Entry {
            url: format!("{base}/a2a/{}", listing.name),
            name: listing.name.to_string(),
            card,
        });
    }
    let known = service.directory.list();
    let by_caller = known.iter().any(|agent| agent.access.knows_callers());
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let body = render(&base, &entries);
    let mut response = cached(head, body, since);
    let headers = response.headers_mut();
    if by_caller {
        headers.insert(VARY, HeaderValue::from_static(BY_CALLER));
    }
    if private {
        headers.insert(CACHE_CONTROL, PRIVATE);
    }
    response
}
