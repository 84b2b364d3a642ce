//! A proxy before our own server that spoils one thing: so that each check is seen to fail when it should.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderName;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A request on its way to the server.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// The method of JSON-RPC, or else the path.
    pub(crate) what: String,
    /// The path with its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The parameters of JSON-RPC, or else the body.
    pub(crate) params: Value,
    body: Value,
}

/// An answer on its way back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body as text: all events of a stream at once.
    pub(crate) text: String,
    /// The body, if it is JSON; it wins over the text.
    pub(crate) json: Value,
}

/// What is spoiled.
#[derive(Clone, Copy)]
pub(crate) enum Spoil {
    Ask(fn(&mut Ask)),
    Reply(fn(&Ask, &mut Reply)),
}

/// What a proxy does.
struct Way {
    target: String,
    interface: String,
    spoil: Spoil,
}

/// Those that ask the server; gRPC has one of its own.
#[derive(Clone)]
struct Clients {
    plain: reqwest::Client,
    h2: reqwest::Client,
}

/// A proxy. Ends when dropped.
pub(crate) struct Proxy {
    pub(crate) base: String,
    _serving: JoinSet<()>,
}

impl Proxy {
    /// Stands before a server at `target`, with no other interface than this one; `card` leaves all.
    pub(crate) async fn start(target: &str, interface: &str, spoil: Spoil) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let way = Arc::new(Way {
            target: target.to_owned(),
            interface: interface.to_owned(),
            spoil,
        });
        let http = Clients {
            plain: reqwest::Client::builder().build().expect("a client"),
            h2: reqwest::Client::builder()
                .http2_prior_knowledge()
                .build()
                .expect("a client"),
        };
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (way, http) = (Arc::clone(&way), http.clone());
                connections.spawn(async move {
                    let service =
                        service_fn(move |request| pass(Arc::clone(&way), http.clone(), request));
                    let serving = auto::Builder::new(TokioExecutor::new());
                    drop(
                        serving
                            .serve_connection(TokioIo::new(socket), service)
                            .await,
                    );
                });
            }
        });
        Self {
            base,
            _serving: serving,
        }
    }
}

async fn pass(
    way: Arc<Way>,
    http: Clients,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let kind = request.headers().get("content-type");
    if kind.is_some_and(|kind| kind == "application/grpc") {
        return Ok(rpc(&way, &http.h2, request).await);
    }
    let (head, body) = request.into_parts();
    let bytes = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let path = head
        .uri
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let enveloped = body.get("method").is_some();
    let mut ask = Ask {
        what: body["method"]
            .as_str()
            .map_or_else(|| path.clone(), str::to_owned),
        path,
        headers: head.headers,
        params: if enveloped {
            body["params"].clone()
        } else {
            body.clone()
        },
        body,
    };
    if let Spoil::Ask(spoil) = way.spoil {
        spoil(&mut ask);
    }
    let sent = match &ask.body {
        Value::Null => bytes,
        _ if enveloped => {
            let mut body = ask.body.clone();
            body["params"] = ask.params.clone();
            body.to_string().into()
        }
        _ => ask.params.to_string().into(),
    };
    let mut headers = ask.headers.clone();
    headers.remove("content-length");
    let request = http
        .plain
        .request(head.method, format!("{}{}", way.target, ask.path))
        .headers(headers)
        .body(sent);
    let answer = request.send().await.expect("the server answers");
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    headers.remove("content-length");
    headers.remove("transfer-encoding");
    let text = answer.text().await.unwrap_or_default();
    let mut json: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(interfaces) = json
        .get_mut("supportedInterfaces")
        .and_then(Value::as_array_mut)
    {
        let name = |one: &Value| {
            format!("{} {}", one["protocolBinding"], one["protocolVersion"]).replace('"', "")
        };
        interfaces.retain(|one| way.interface == "card" || name(one) == way.interface);
    }
    let mut reply = Reply {
        status,
        headers,
        text,
        json,
    };
    if let Spoil::Reply(spoil) = way.spoil {
        spoil(&ask, &mut reply);
    }
    let text = if reply.json.is_null() {
        reply.text
    } else {
        reply.json.to_string()
    };
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    Ok(response)
}

/// The same for gRPC. Messages pass as they are; the trailers of an answer are among its headers.
async fn rpc(
    way: &Way,
    http: &reqwest::Client,
    request: Request<Incoming>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    let path = head.uri.path().to_owned();
    let mut ask = Ask {
        what: path.clone(),
        path,
        headers: head.headers,
        params: Value::Null,
        body: Value::Null,
    };
    if let Spoil::Ask(spoil) = way.spoil {
        spoil(&mut ask);
    }
    let mut headers = ask.headers.clone();
    headers.remove("content-length");
    let request = http
        .post(format!("{}{}", way.target, ask.path))
        .headers(headers)
        .body(body.unwrap_or_default());
    let answer = request.send().await.expect("the server answers");
    let (head, body) = hyper::Response::from(answer).into_parts();
    let body = body.collect().await.expect("an answer to its end");
    let mut reply = Reply {
        status: head.status,
        headers: head.headers,
        text: String::new(),
        json: Value::Null,
    };
    reply
        .headers
        .extend(body.trailers().cloned().unwrap_or_default());
    if let Spoil::Reply(spoil) = way.spoil {
        spoil(&ask, &mut reply);
    }
    let mut trailers = HeaderMap::new();
    for name in ["grpc-status", "grpc-message", "grpc-status-details-bin"] {
        if let (Some(value), Ok(name)) = (reply.headers.remove(name), name.parse::<HeaderName>()) {
            trailers.insert(name, value);
        }
    }
    reply.headers.remove("content-length");
    let body = Full::new(body.to_bytes());
    let body = body.with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = Response::new(body.boxed());
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    response
}
