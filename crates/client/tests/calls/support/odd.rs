//! A server that says what a test tells it to.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use switchboard_server::shutdown::Tasks;
use tokio::net::TcpListener;

pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// `http://127.0.0.1:PORT` of the server itself.
    pub(crate) base: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The JSON-RPC method.
    pub(crate) fn rpc(&self) -> String {
        self.json()["method"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A JSON-RPC answer to it.
    pub(crate) fn result(&self, result: &Value) -> Response<Body> {
        let id = &self.json()["id"];
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result});
        json(200, &answer.to_string())
    }

    /// A card of this server that speaks JSON-RPC in that version.
    pub(crate) fn card(&self, version: &str) -> Response<Body> {
        let card = serde_json::json!({
            "name": "odd",
            "capabilities": {"streaming": true, "pushNotifications": true},
            "supportedInterfaces": [{
                "url": format!("{}/rpc", self.base),
                "protocolBinding": "JSONRPC",
                "protocolVersion": version,
            }],
        });
        json(200, &card.to_string())
    }
}

/// How a stream goes on after its frames.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    Close,
    Cut,
    /// A sign of life after a moment, and then the cut.
    BeatAndCut,
    Hang,
}

/// A server; it stops when it is dropped.
pub(crate) struct Odd {
    pub(crate) base: String,
    tasks: Tasks,
}

impl Drop for Odd {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Odd {
    pub(crate) async fn serve<R>(answer: impl Fn(Asked) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Response<Body>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let tasks = Tasks::default();
        type Answer = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
        let answer: Arc<dyn Fn(Asked) -> Answer + Send + Sync> =
            Arc::new(move |asked| Box::pin(answer(asked)));
        let (own, address) = (tasks.clone(), base.clone());
        tasks.spawn(async move {
            let stopping = own.stopping().clone();
            loop {
                let accepted = tokio::select! {
                    () = stopping.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                let Ok((socket, _)) = accepted else { return };
                let (answer, base) = (Arc::clone(&answer), address.clone());
                let stopping = stopping.clone();
                own.spawn(async move {
                    let service = service_fn(move |request: http::Request<Incoming>| {
                        let (answer, base) = (Arc::clone(&answer), base.clone());
                        async move {
                            let (head, body) = request.into_parts();
                            let body = body.collect().await.map(|body| body.to_bytes());
                            let asked = Asked {
                                base,
                                method: head.method,
                                path: head.uri.path().to_owned(),
                                query: head.uri.query().unwrap_or_default().to_owned(),
                                headers: head.headers,
                                body: body.unwrap_or_default(),
                            };
                            Ok::<_, Infallible>(answer(asked).await)
                        }
                    });
                    let serving = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service);
                    tokio::select! {
                        () = stopping.cancelled() => {}
                        // A body that fails cuts the connection: that is what some tests are about.
                        _ = serving => {}
                    }
                });
            }
        });
        Self { base, tasks }
    }
}

fn full(body: &str) -> Body {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    body.map_err(|never| match never {}).boxed_unsync()
}

/// A JSON answer.
pub(crate) fn json(status: u16, body: &str) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status.try_into().unwrap();
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", json);
    response
}

/// An answer in plain text.
pub(crate) fn plain(status: u16, body: &str) -> Response<Body> {
    let mut response = json(status, body);
    let text = http::HeaderValue::from_static("text/plain");
    response.headers_mut().insert("content-type", text);
    response
}

/// An answer that is nothing but a status.
pub(crate) fn status(status: u16) -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = status.try_into().unwrap();
    response
}

/// A stream of these texts, whatever they are, each written by itself.
pub(crate) fn sse(texts: Vec<String>, then: Then) -> Response<Body> {
    let written = stream::iter(
        texts
            .into_iter()
            .map(|text| Ok(Frame::data(Bytes::from(text)))),
    );
    let end = stream::unfold(then, |then| async move {
        match then {
            Then::Close => None,
            Then::Cut => {
                // What was written before should leave first.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                Some((Err(std::io::Error::other("cut")), Then::Close))
            }
            Then::BeatAndCut => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                let beat = Frame::data(Bytes::from_static(b": beat\n\n"));
                Some((Ok(beat), Then::Cut))
            }
            Then::Hang => std::future::pending().await,
        }
    });
    let body = StreamBody::new(futures_util::StreamExt::chain(written, end));
    let mut response = Response::new(body.boxed_unsync());
    let events = http::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert("content-type", events);
    response
}
