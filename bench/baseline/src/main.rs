//! A bare axum server: what the machine can do at best.
//!
//! It reads each JSON-RPC request into typed structs and answers a task of the same shape as the gateway's,
//! made of typed structs and written by serde. It keeps nothing, checks nothing and runs no agent: everything
//! between its figures and ours is what owning the task costs.
//!
//! With a second address it is a bare proxy before the server there, instead: it reads which method is called and passes
//! on what comes, both ways.

mod proxy;
mod rpc;
mod task;

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::Json;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use futures_util::stream;

use rpc::{Method, Reply, Request};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1);
    let address: SocketAddr = address
        .as_deref()
        .unwrap_or("127.0.0.1:7499")
        .parse()
        .map_err(std::io::Error::other)?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    let listener = listener.tap_io(|stream| {
        // As the gateway does: small frames must not wait for more.
        drop(stream.set_nodelay(true));
    });
    let router = match std::env::args().nth(2) {
        Some(upstream) => proxy::before(upstream),
        None => Router::new().route("/", post(answer)),
    };
    axum::serve(listener, router).await
}

async fn answer(Json(request): Json<Request>) -> Response {
    let Request { id, params, .. } = request;
    match request.method {
        Method::SendMessage => {
            let task = task::completed(params.message);
            Json(Reply::new(id, task::Sent { task })).into_response()
        }
        Method::GetTask => Json(Reply::new(id, task::stored(params.id))).into_response(),
        Method::SendStreamingMessage => {
            let events = task::story(params.message);
            let frames = (1..).zip(events).map(move |(place, event): (u64, _)| {
                let frame = Event::default().id(place.to_string());
                let frame = frame.json_data(Reply::new(id.clone(), event));
                Ok::<_, Infallible>(frame.unwrap_or_default())
            });
            Sse::new(stream::iter(frames)).into_response()
        }
    }
}
