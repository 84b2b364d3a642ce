//! Health and reflection, for tools and load balancers.

use bytes::Bytes;
use futures_util::future::{Ready, ready};
use futures_util::{StreamExt, stream};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use switchboard_types::wire::grpc::{read_health, reflect, write_health};
use switchboard_types::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;
use tonic::server::{Grpc, StreamingService};
use tonic::{Code, Status, Streaming};

use super::codec::Bytewise;
use super::messages::Messages;
use super::{framed, refuse};
use crate::binding::Service;
use crate::http::Body;

/// The largest question.
const MOST: usize = 64 << 10;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Reflection,
    Health,
    /// Health, now and whenever it changes.
    Watch,
}

/// Answers what is none of the agents' services.
pub(super) async fn answer(service: &Service, head: &Parts, incoming: Incoming) -> Response<Body> {
    let asks = match head.uri.path() {
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        | "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => Asks::Reflection,
        "/grpc.health.v1.Health/Check" => Asks::Health,
        "/grpc.health.v1.Health/Watch" => Asks::Watch,
        _ => return refuse(Status::unimplemented("no such service")),
    };
    let stopping = service.tasks.stopping().clone();
    let response = Grpc::new(Bytewise)
        .max_decoding_message_size(MOST)
        .streaming(Desk { asks, stopping }, Request::new(incoming))
        .await;
    framed(response)
}

/// Answers questions one by one, as they come.
struct Desk {
    asks: Asks,
    stopping: CancellationToken,
}

impl StreamingService<Bytes> for Desk {
    type Response = Bytes;
    type ResponseStream = Messages;
    type Future = Ready<Result<tonic::Response<Messages>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        let (asks, stopping) = (self.asks, self.stopping.clone());
        let serving = !stopping.is_cancelled();
        let answers = request.into_inner().map(move |question| {
            let question = question?;
            let answer = match asks {
                Asks::Reflection => reflect(&question),
                Asks::Health | Asks::Watch => health(asks, &question, serving),
            };
            answer.map(Bytes::from).map_err(|error| said(&error))
        });
        let ended = stopping.clone().cancelled_owned();
        let messages: Messages = if asks == Asks::Watch {
            // Healthy until the end, which is told as well.
            let last = stream::once(async move {
                stopping.cancelled().await;
                Ok(Bytes::from(write_health(Some(false))))
            });
            Box::pin(answers.take(1).chain(last))
        } else {
            Box::pin(answers.take_until(ended))
        };
        ready(Ok(tonic::Response::new(messages)))
    }
}

fn health(asks: Asks, question: &[u8], serving: bool) -> Result<Vec<u8>, Error> {
    let known = read_health(question)?;
    if !known && asks == Asks::Health {
        return Err(Error::new(ErrorKind::TaskNotFound, "no such service"));
    }
    Ok(write_health(known.then_some(serving)))
}

/// Tools know no details.
fn said(error: &Error) -> Status {
    let code = match error.kind() {
        ErrorKind::TaskNotFound => Code::NotFound,
        _ => Code::InvalidArgument,
    };
    Status::new(code, error.message())
}
