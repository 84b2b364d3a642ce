//! What stands in for gRPC where it is not built in.

use hyper::Response;
use hyper::body::Incoming;
use hyper::http::request::Parts;

use super::Service;
use super::no_grpc;
use crate::http::Body;
use crate::net::Peer;

/// Refuses every rpc.
pub(super) async fn answer(_: &Service, _: &Parts, _: Incoming, _: &Peer) -> Response<Body> {
    no_grpc("gRPC is not built into this server")
}
