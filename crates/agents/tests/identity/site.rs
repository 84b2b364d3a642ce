//! A server that answers as a test tells it to, and remembers what it was asked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use switchboard_server::shutdown::Tasks;
use tokio::net::TcpListener;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn authorization(&self) -> &str {
        let value = self.headers.get("authorization");
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// A JSON-RPC call; nothing, if it is none.
    pub(crate) fn rpc(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The fields of a form.
    pub(crate) fn form(&self) -> BTreeMap<String, String> {
        let form = url::form_urlencoded::parse(&self.body);
        form.into_owned().collect()
    }
}

/// What is answered: a status and a body; nothing at all, if there is none.
type Answer = Option<(u16, String)>;
type Answering = dyn Fn(&Asked, usize) -> Answer + Send + Sync;

/// The server; gone when it is dropped.
pub(crate) struct Site {
    pub(crate) url: String,
    /// Nobody is answered as long as someone holds it.
    pub(crate) gate: Arc<tokio::sync::Mutex<()>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    tasks: Tasks,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Site {
    /// Answers the nth request, from 1, as `answer` says.
    pub(crate) async fn open(
        answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (asked, tasks) = (Arc::default(), Tasks::default());
        let (seen, serving) = (Arc::clone(&asked), tasks.clone());
        let gate: Arc<tokio::sync::Mutex<()>> = Arc::default();
        let before = Arc::clone(&gate);
        let answer: Arc<Answering> = Arc::new(answer);
        let stop = tasks.stopping().clone();
        tasks.spawn(async move {
            let all = async {
                while let Ok((stream, _)) = listener.accept().await {
                    let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                    let gate = Arc::clone(&before);
                    let stop = serving.stopping().clone();
                    serving.spawn(async move {
                        let service = hyper::service::service_fn(|request| {
                            let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                            reply(request, seen, answer, Arc::clone(&gate))
                        });
                        let connection = hyper::server::conn::http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service);
                        drop(stop.run_until_cancelled(connection).await);
                    });
                }
            };
            stop.run_until_cancelled(all).await;
        });
        Self {
            url,
            gate,
            asked,
            tasks,
        }
    }

    /// An issuer that gives tokens named by their number.
    pub(crate) async fn issuer() -> Self {
        Self::open(|_, n| {
            let token = format!(r#"{{"access_token":"token-{n}","expires_in":3600}}"#);
            Some((200, token))
        })
        .await
    }

    /// Someone who answers everyone.
    pub(crate) async fn upstream() -> Self {
        Self::open(|_, _| Some((200, "done".to_owned()))).await
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn reply(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<Answering>,
    gate: Arc<tokio::sync::Mutex<()>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    let asked = Asked {
        path: head.uri.path().to_owned(),
        headers: head.headers,
        body: body.unwrap_or_default(),
    };
    let count = {
        let mut seen = seen.lock().unwrap();
        seen.push(asked.clone());
        seen.len()
    };
    drop(gate.lock().await);
    let Some((status, body)) = answer(&asked, count) else {
        return std::future::pending().await;
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status.try_into().unwrap();
    Ok(response)
}
