//! Who answers requests, as the transport sees it.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};

use super::{Body, Limits};
use crate::metrics::Metrics;
use crate::net::{BaseUrl, Peer};
use crate::shutdown::Tasks;

/// The head of a request.
pub(crate) type Head = hyper::http::request::Parts;

/// A request and where it comes from. The head is boxed: it goes through many hands, and each future that passes it on
/// has room for it twice.
#[derive(Debug)]
pub struct InboundRequest {
    pub(crate) head: Box<Head>,
    pub(crate) incoming: Incoming,
    pub(crate) peer: Arc<Peer>,
}

impl InboundRequest {
    pub(super) fn new(request: Request<Incoming>, peer: Arc<Peer>) -> Self {
        let (head, incoming) = request.into_parts();
        Self {
            head: Box::new(head),
            incoming,
            peer,
        }
    }
}

/// Answers the requests of all connections that [`serve`](super::serve()) accepts.
pub trait Responder: Send + Sync + 'static {
    /// Answers one request.
    fn respond(&self, request: InboundRequest) -> impl Future<Output = Response<Body>> + Send;

    /// How many connections there may be, and how long they may take.
    fn limits(&self) -> &Limits;

    /// Who owns connections, and says when to stop.
    fn tasks(&self) -> &Tasks;

    /// Where connections are counted.
    fn metrics(&self) -> &Arc<Metrics>;

    /// How our own address and those of callers are found out.
    fn base_url(&self) -> &BaseUrl;

    /// A TLS handshake failed because of the client's certificate.
    fn certificate_refused(&self, address: IpAddr, cause: &'static str);
}
