//! gRPC, on the port of all bindings: the package in the path is the version.
//!
//! No generated services: all rpcs of both packages are one function over bytes, as every binding is. tonic frames
//! messages and writes trailers; the messages are `switchboard_types::wire::grpc`'s.
//!
//! - `body`: frames in small pieces.
//! - `codec`: messages stay bytes; `frame`: what they come in.
//! - `deadline`: how long a caller waits.
//! - `messages`: events become a stream of messages.
//! - `services`: health and reflection.

mod body;
mod codec;
mod deadline;
mod frame;
mod messages;
mod services;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Request, Response, Version};
use switchboard_types::operation::Method;
use switchboard_types::wire::grpc::{self, Spoken};
use switchboard_types::{Error, ErrorKind, ProtocolVersion};
use tonic::metadata::MetadataMap;
use tonic::server::{Grpc, ServerStreamingService};
use tonic::{Code, Status};

use self::body::Framed;
use self::codec::Bytewise;
use self::deadline::Deadline;
use self::messages::Messages;
use super::{
    Authentication, RequestHead, Service, challenge, file_bytes, no_grpc, tell_extensions,
    tell_scopes, tell_when_to_retry,
};
use crate::auth::Refusal;
use crate::call::{Call, ReplyBody};
use crate::http::Body;
use crate::net::Peer;

/// Names an agent: the path of an rpc has no room for it, and only 1.0 has a tenant.
const AGENT: &str = "x-agent";
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// Answers one rpc.
pub(super) async fn answer(
    service: &Service,
    head: &Parts,
    incoming: Incoming,
    peer: &Peer,
) -> Response<Body> {
    if head.version != Version::HTTP_2 {
        return no_grpc("gRPC needs HTTP/2: this request came over an older version");
    }
    if !is_plain(head) {
        return no_grpc("gRPC-Web is not supported: use application/grpc over HTTP/2");
    }
    let Some((version, method)) = grpc::read_path(head.uri.path()) else {
        return services::answer(service, head, incoming).await;
    };
    let authentication = match service.authenticate(head, peer, agent(head)).await {
        Ok(authentication) => authentication,
        Err(refusal) => {
            service.refused(head);
            // A peer that is still sending would take the answer for a broken stream.
            drop(service.read_refused(head, incoming).await);
            return refuse(turned_away(version, &refusal));
        }
    };
    let read = match authentication.destination {
        // As for calls over HTTP: whoever asks an agent that is not there is heard no longer.
        None if agent(head).is_some() => service.read_refused(head, incoming).await,
        _ => service.read_body(head, incoming).await,
    };
    let found = method.ok_or_else(|| Error::new(ErrorKind::MethodNotFound, "no such method"));
    let checked = read.and_then(|body| frame::check(&body).map(|()| body));
    let (method, body) = match found.and_then(|method| Ok((method, checked?))) {
        Ok(found) => found,
        Err(error) => {
            service.refused(head);
            return refuse(status(version, &error));
        }
    };
    let destination = authentication.destination.as_ref();
    let listing = destination.map(|known| &*known.listing);
    let files = file_bytes::of_caller(listing, &head.headers);
    let rpc = Rpc {
        service,
        head,
        peer,
        authentication,
        spoken: Spoken::new(version, files),
        method,
    };
    let mut request = Request::new(Full::new(body));
    if let Some(encoding) = head.headers.get(ENCODING) {
        request.headers_mut().insert(ENCODING, encoding.clone());
    }
    let response = Grpc::new(Bytewise)
        .max_decoding_message_size(service.limits.body)
        .server_streaming(rpc, request)
        .await;
    framed(response)
}

/// One rpc on its way to a call. An answer that is no stream is a stream of one: the wire knows no difference.
struct Rpc<'a> {
    service: &'a Service,
    head: &'a Parts,
    peer: &'a Peer,
    authentication: Authentication,
    spoken: Spoken,
    method: Method,
}

impl<'a> ServerStreamingService<Bytes> for Rpc<'a> {
    type Response = Bytes;
    type ResponseStream = Messages;
    type Future = BoxFuture<'a, Result<tonic::Response<Messages>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let bytes = request.into_inner();
        let deadline = Deadline::of(&self.head.headers);
        let version = self.spoken.version;
        let call = self.read(&bytes);
        let (service, spoken, method) = (self.service, self.spoken, self.method);
        let head = self.head;
        async move {
            let call = call.map_err(|refusal| {
                service.refused(head);
                turned_away(version, &refusal)
            })?;
            let deadline = deadline?;
            let (reply, admitted) = deadline
                .wait(service.dispatch(call))
                .await?
                .map_err(|error| status(version, &error))?;
            let messages = match reply.body {
                ReplyBody::Response(response) => {
                    let answers = &service.whole_answers;
                    let taken = match method {
                        Method::Send | Method::Cancel => answers.take_executed(response).await,
                        _ => answers.take(response.weight()).map(|room| (response, room)),
                    };
                    let (response, room) = taken.map_err(|error| status(version, &error))?;
                    let bytes = messages::encode_response(spoken, response, room.is_some()).await?;
                    messages::one(bytes, room)
                }
                ReplyBody::Stream(stream) => {
                    messages::of(service, admitted, stream, spoken, deadline)
                }
            };
            let mut response = tonic::Response::new(messages);
            let mut headers = std::mem::take(response.metadata_mut()).into_headers();
            tell_extensions(&mut headers, &reply.extensions);
            *response.metadata_mut() = MetadataMap::from_headers(headers);
            Ok(response)
        }
        .boxed()
    }
}

impl Rpc<'_> {
    fn read(&mut self, bytes: &[u8]) -> Result<Call, Refusal> {
        let authentication = std::mem::take(&mut self.authentication);
        let agent = agent(self.head);
        let head = RequestHead::new(self.service, self.head, self.peer, agent, authentication);
        head.require_headers()?;
        head.require_agent()?;
        grpc::require_version(self.spoken.version, head.version)?;
        let request = grpc::decode_request(self.spoken, self.method, bytes)?;
        head.call(self.spoken.dialect(), request.operation, request.tenant)
    }
}

/// The agent that the metadata name.
fn agent(head: &Parts) -> Option<&str> {
    let agent = head.headers.get(AGENT);
    agent.map(|name| name.to_str().unwrap_or_default())
}

fn is_plain(head: &Parts) -> bool {
    let said = head.headers.get(hyper::header::CONTENT_TYPE);
    let said = said.and_then(|value| value.to_str().ok());
    said.is_some_and(|said| !said.starts_with("application/grpc-web"))
}

/// An error as tonic writes it.
fn status(version: ProtocolVersion, error: &Error) -> Status {
    if error.kind() == ErrorKind::Unavailable {
        // Not a warning for each caller: the store, or whoever else is the cause, has its own.
        tracing::debug!(%error, "request refused, retry later");
    }
    let said = grpc::write_status(version, error);
    let code = Code::from_i32(said.code);
    let mut headers = HeaderMap::new();
    tell_scopes(&mut headers, error);
    tell_when_to_retry(&mut headers, error);
    let metadata = MetadataMap::from_headers(headers);
    Status::with_details_and_metadata(code, said.message, said.details.into(), metadata)
}

/// The same for a caller who is not let in, with how to get in.
fn turned_away(version: ProtocolVersion, refusal: &Refusal) -> Status {
    let mut status = status(version, &refusal.error);
    let mut headers = std::mem::take(status.metadata_mut()).into_headers();
    challenge(&mut headers, refusal);
    *status.metadata_mut() = MetadataMap::from_headers(headers);
    status
}

/// A response that is nothing but an error.
fn refuse(status: Status) -> Response<Body> {
    status.into_http::<()>().map(|()| Body::empty())
}

/// What tonic made, as a body of ours.
fn framed(response: Response<tonic::body::Body>) -> Response<Body> {
    response.map(|body| {
        if body.is_end_stream() {
            Body::empty()
        } else {
            Body::Framed(Box::pin(Framed::new(body)))
        }
    })
}
