//! From a request to what it asks for, by its path.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Response};

use super::route::UrlRoute;
use super::{
    Authentication, Inbound, RequestHead, Service, api_key, card, catalog, chat, health, jsonrpc,
    landing, rest, wellknown,
};
use crate::access_log::AccessDetails;
use crate::directory::Listing;
use crate::http::{Body, Head, InboundRequest};
use crate::net::Peer;

impl Service {
    /// Reads one request. What asks for no call is answered here, and what cannot be read is refused.
    pub(super) async fn read(&self, request: InboundRequest) -> Inbound {
        let InboundRequest {
            head,
            incoming,
            peer,
        } = request;
        let path = head.uri.path();
        // An agent that not everyone may know of has no short address: that would tell of it.
        let in_view = |agent: Arc<Listing>| agent.access.is_visible();
        let route = UrlRoute::of(path, |name| {
            self.directory.find(Some(name)).is_some_and(in_view)
        });
        let is_get = head.method == Method::GET || head.method == Method::HEAD;
        let is_rpc = |path: &str| path.is_empty() || path == "/";
        let (agent, path) = match route {
            UrlRoute::Agent(agent, path) if !is_get || !is_rpc(path) => (agent, path),
            // Boxed: the future of every call would have room for it.
            page => {
                return Box::pin(self.page(&head, incoming, &peer, page))
                    .await
                    .into();
            }
        };
        let rpc = is_rpc(path);
        if rpc && head.method != Method::POST {
            let refused = self.not_allowed(&head, &peer, agent, "GET, HEAD, POST");
            return refused.into();
        }
        let authentication = match self.authenticate(&head, &peer, agent).await {
            Ok(authentication) => authentication,
            Err(refusal) => {
                self.refused(&head);
                let body = self.read_refused(&head, incoming).await;
                let authentication = Authentication::default();
                let head = RequestHead::new(self, &head, &peer, agent, authentication);
                return Inbound::Done(if rpc {
                    jsonrpc::refuse(&head, body, &refusal)
                } else {
                    rest::refuse(&head, path, &refusal)
                });
            }
        };
        let nobody = agent.is_some() && authentication.destination.is_none();
        let body = match nobody {
            // It is refused whatever it says: strangers get no more room than that takes.
            true => self.read_refused(&head, incoming).await,
            false => self.read_body(&head, incoming).await,
        };
        // Not before: the future of every request would have room for it.
        let request = RequestHead::new(self, &head, &peer, agent, authentication);
        let read = match rpc {
            true => jsonrpc::read(request, body),
            false => rest::read(request, path, body),
        };
        match read {
            Ok((call, frames)) => Inbound::Call(call, frames),
            Err(response) => {
                self.refused(&head);
                Inbound::Done(response)
            }
        }
    }

    /// A request is refused before it is a call.
    pub(super) fn refused(&self, head: &Head) {
        self.metrics.unknown();
        if let Some(details) = AccessDetails::of(head) {
            details.set_refused();
        }
    }
}

impl Service {
    /// Answers a request that asks for no call.
    async fn page(
        &self,
        head: &Head,
        incoming: Incoming,
        peer: &Peer,
        route: UrlRoute<'_>,
    ) -> Response<Body> {
        match route {
            UrlRoute::Live
            | UrlRoute::Ready
            | UrlRoute::Version
            | UrlRoute::Agents
            | UrlRoute::Catalog
            | UrlRoute::Jwks
            | UrlRoute::Resource(_)
                if head.method != Method::GET && head.method != Method::HEAD =>
            {
                self.not_allowed(head, peer, None, "GET, HEAD")
            }
            UrlRoute::Live => health::live(),
            UrlRoute::Ready => health::ready(self),
            UrlRoute::Version => health::version(),
            UrlRoute::Agents => catalog::agents(self, head, peer).await,
            UrlRoute::Catalog => catalog::catalog(self, head, peer).await,
            UrlRoute::Jwks => wellknown::jwks(self),
            UrlRoute::Resource(agent) => wellknown::resource(self, head, peer, agent),
            UrlRoute::Card(agent) => card::answer(self, head, peer, agent).await,
            UrlRoute::CardElsewhere => card::redirect(head.uri.path()),
            UrlRoute::ExtendedCard(agent) => match self.authenticate(head, peer, agent).await {
                Ok(authentication) => {
                    let head = RequestHead::new(self, head, peer, agent, authentication);
                    card::extended(self, head).await
                }
                Err(refusal) => card::refuse(&refusal),
            },
            UrlRoute::ApiKey(agent) => api_key::answer(self, head, incoming, peer, agent).await,
            UrlRoute::Chat(agent) if head.method != Method::POST => {
                self.not_allowed(head, peer, Some(agent), "POST")
            }
            UrlRoute::Chat(agent) => self.chat(head, incoming, peer, agent).await,
            // Several clients look for the card at the address that they are given for the agent.
            UrlRoute::Agent(agent, _) => self.show(head, peer, agent).await,
        }
    }

    /// What is read at the address of an agent: its card, or at `/` a page for people who come with a browser.
    async fn show(&self, head: &Head, peer: &Peer, agent: Option<&str>) -> Response<Body> {
        let is_root = head.uri.path() == "/";
        if is_root && landing::is_wanted(head) {
            return landing::answer(self, head, peer).await;
        }
        let mut card = card::answer(self, head, peer, agent).await;
        if is_root {
            landing::vary_by_accept(&mut card);
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
        let authentication = match self.authenticate(head, peer, Some(agent)).await {
            Ok(authentication) => authentication,
            Err(refusal) => return chat::refuse(&refusal),
        };
        let body = match authentication.destination {
            None => self.read_refused(head, incoming).await,
            Some(_) => self.read_body(head, incoming).await,
        };
        let head = RequestHead::new(self, head, peer, Some(agent), authentication);
        chat::answer(self, head, body).await
    }
}
