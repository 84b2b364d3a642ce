//! From a request to what it asks for, by its path.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Response};

use super::place::Place;
use super::{Asks, Body, Head, Service, health, wellknown};
use crate::access_log::AccessDetails;
use crate::binding::{self, Asked};
use crate::directory::Listing;
use crate::net::Peer;

impl Service {
    /// Reads one request. What asks for no call is answered here, and what cannot be read is refused: `Err`.
    pub(super) async fn read(&self, asks: Asks) -> Result<binding::Ready, binding::Otherwise> {
        let Asks {
            head,
            incoming,
            peer,
        } = asks;
        let path = head.uri.path();
        // An agent that not everyone may know of has no short address: that would tell of it.
        let in_view = |agent: Arc<Listing>| agent.access.is_visible();
        let place = Place::of(path, |name| {
            self.directory.find(Some(name)).is_some_and(in_view)
        });
        let (agent, rest) = match place {
            Place::Live
            | Place::Ready
            | Place::Version
            | Place::Agents
            | Place::Catalog
            | Place::Jwks
            | Place::Resource(_)
                if head.method != Method::GET && head.method != Method::HEAD =>
            {
                return Err(self.not_allowed(&head, &peer, None, "GET, HEAD").into());
            }
            Place::Live => return Err(health::live().into()),
            Place::Ready => return Err(health::ready(self).into()),
            Place::Version => return Err(health::version().into()),
            Place::Agents => {
                let told = binding::catalog::agents(self, &head, &peer);
                return Err(Box::pin(told).await.into());
            }
            Place::Catalog => {
                let told = binding::catalog::catalog(self, &head, &peer);
                return Err(Box::pin(told).await.into());
            }
            Place::Jwks => return Err(wellknown::jwks(self).into()),
            Place::Resource(agent) => {
                return Err(wellknown::resource(self, &head, &peer, agent).into());
            }
            Place::Card(agent) => {
                let shown = binding::card::answer(self, &head, &peer, agent);
                return Err(Box::pin(shown).await.into());
            }
            Place::CardElsewhere => return Err(binding::card::redirect(path).into()),
            Place::ExtendedCard(agent) => {
                let entered = self.enter(&head, &peer, agent).await;
                let entered = entered.map_err(|refusal| binding::card::refuse(&refusal))?;
                let asked = Asked::new(self, &head, &peer, agent, entered);
                return Err(binding::card::extended(self, asked).await.into());
            }
            Place::ApiKey(agent) => {
                let made = binding::api_key::answer(self, &head, incoming, &peer, agent);
                return Err(Box::pin(made).await.into());
            }
            Place::Chat(agent) if head.method != Method::POST => {
                return Err(self.not_allowed(&head, &peer, Some(agent), "POST").into());
            }
            Place::Chat(agent) => {
                let answered = self.chat(&head, incoming, &peer, agent);
                return Err(Box::pin(answered).await.into());
            }
            Place::Agent(agent, rest) => (agent, rest),
        };
        let rpc = rest.is_empty() || rest == "/";
        if rpc && (head.method == Method::GET || head.method == Method::HEAD) {
            // Several clients look for the card at the address that they are given for the agent.
            return Err(Box::pin(self.show(&head, &peer, agent)).await.into());
        }
        if rpc && head.method != Method::POST {
            let refused = self.not_allowed(&head, &peer, agent, "GET, HEAD, POST");
            return Err(refused.into());
        }
        let entered = match self.enter(&head, &peer, agent).await {
            Ok(entered) => entered,
            Err(refusal) => {
                self.refused(&head);
                let read = self.read_refused(&head, incoming).await;
                let asked = Asked::new(self, &head, &peer, agent, Default::default());
                return Err(if rpc {
                    binding::jsonrpc::refuse(&asked, read, &refusal)
                } else {
                    binding::rest::refuse(&asked, rest, &refusal)
                });
            }
        };
        let nobody = agent.is_some() && entered.1.is_none();
        let asked = Asked::new(self, &head, &peer, agent, entered);
        let read = match nobody {
            // It is refused whatever it says: strangers get no more room than that takes.
            true => self.read_refused(&head, incoming).await,
            false => self.read_body(&head, incoming).await,
        };
        let ready = match rpc {
            true => binding::jsonrpc::read(asked, read),
            false => binding::rest::read(asked, rest, read),
        };
        ready.inspect_err(|_| self.refused(&head))
    }

    /// A request is refused before it is a call.
    pub(crate) fn refused(&self, head: &Head) {
        self.metrics.unknown();
        if let Some(details) = AccessDetails::of(head) {
            details.set_refused();
        }
    }
}

impl Service {
    /// What is read at the address of an agent: its card, or at `/` a page for people who come with a browser.
    async fn show(&self, head: &Head, peer: &Peer, agent: Option<&str>) -> Response<Body> {
        let is_root = head.uri.path() == "/";
        if is_root && binding::landing::is_wanted(head) {
            return binding::landing::answer(self, head, peer).await;
        }
        let mut card = binding::card::answer(self, head, peer, agent).await;
        if is_root {
            binding::landing::vary_by_accept(&mut card);
        }
        card
    }

    async fn chat(
        &self,
        head: &Head,
        incoming: Incoming,
        peer: &Peer,
        agent: &str,
    ) -> Response<Body> {
        let entered = match self.enter(head, peer, Some(agent)).await {
            Ok(entered) => entered,
            Err(refusal) => return binding::chat::refuse(&refusal),
        };
        let read = match entered.1 {
            None => self.read_refused(head, incoming).await,
            Some(_) => self.read_body(head, incoming).await,
        };
        let asked = Asked::new(self, head, peer, Some(agent), entered);
        binding::chat::answer(self, asked, read).await
    }
}
