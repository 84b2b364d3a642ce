//! The transport: sockets, TLS, bodies and limits. It knows nothing of A2A: a [`Responder`] answers what it reads.
//!
//! - `serve`: accepts, bounds and drains connections; `pulse` notices those that stall, `h2_streams` their streams.
//! - [`tls`]: encrypted connections.
//! - `body`, `outgoing`: request bodies within limits, and responses on their way; `whole`: those that need room.
//! - `cors`, `origin`: which web pages may call.

mod bind;
mod body;
mod cors;
mod h2_streams;
mod limits;
mod origin;
mod outgoing;
mod pulse;
mod responder;
mod serve;
pub mod tls;
pub(crate) mod whole;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};

pub use bind::{BIND_TIMEOUT, bind};
pub use body::Body;
pub(crate) use body::{PIECES_AT_ONCE, read as read_body};
pub use cors::Cors;
pub use limits::Limits;
pub(crate) use origin::Pages;
pub(crate) use responder::Head;
pub use responder::{InboundRequest, Responder};
pub use serve::serve;
pub(crate) use whole::WholeAnswers;

/// The media type of a stream of events.
pub(crate) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An empty answer with a status.
pub(crate) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
