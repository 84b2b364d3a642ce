//! A webhook receiver that does as it is told and remembers what it got.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use switchboard_server::shutdown::Tasks;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Receiver {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    tasks: Tasks,
    got: Mutex<Vec<Got>>,
    answers: Mutex<VecDeque<Answer>>,
    /// What is answered when nothing else is told.
    usual: Mutex<Answer>,
    /// Answers to all requests whose path begins so, however many.
    by_path: Mutex<Vec<(&'static str, Answer)>>,
    changed: Notify,
    gate: Semaphore,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    gated: bool,
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap(),
            headers: Vec::new(),
            body: Bytes::new(),
            gated: false,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(self, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }

    /// Only once the gate is open.
    pub(crate) fn gated(self) -> Self {
        Self {
            gated: true,
            ..self
        }
    }
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            tasks: Tasks::default(),
            got: Mutex::default(),
            answers: Mutex::default(),
            usual: Mutex::new(Answer::new(200)),
            by_path: Mutex::default(),
            changed: Notify::new(),
            gate: Semaphore::new(0),
        });
        let receiver = Self { shared, address };
        let accepting = receiver.clone();
        receiver.shared.tasks.spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let serving = accepting.clone();
                accepting.shared.tasks.spawn(async move {
                    let service = service_fn(|request| serving.serve(request));
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service);
                    drop(connection.await);
                });
            }
        });
        receiver
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Answers the next request so.
    pub(crate) fn then(&self, answer: Answer) {
        self.shared.answers.lock().unwrap().push_back(answer);
    }

    /// Answers everything else so.
    pub(crate) fn always(&self, answer: Answer) {
        *self.shared.usual.lock().unwrap() = answer;
    }

    /// Answers every request whose path begins so.
    pub(crate) fn at(&self, path: &'static str, answer: Answer) {
        self.shared.by_path.lock().unwrap().push((path, answer));
    }

    pub(crate) fn open_gate(&self) {
        self.shared.gate.add_permits(Semaphore::MAX_PERMITS >> 1);
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.shared.got.lock().unwrap().clone()
    }

    /// Waits for `count` requests in all.
    pub(crate) async fn after(&self, count: usize) -> Vec<Got> {
        let enough = async {
            loop {
                let ring = self.shared.changed.notified();
                tokio::pin!(ring);
                ring.as_mut().enable();
                let got = self.got();
                if got.len() >= count {
                    return got;
                }
                ring.await;
            }
        };
        soon(enough).await
    }

    fn answer(&self, path: &str) -> Answer {
        let by_path = self.shared.by_path.lock().unwrap();
        if let Some((_, answer)) = by_path.iter().find(|(start, _)| path.starts_with(start)) {
            return answer.clone();
        }
        let told = self.shared.answers.lock().unwrap().pop_front();
        told.unwrap_or_else(|| self.shared.usual.lock().unwrap().clone())
    }

    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let path = head.uri.to_string();
        let got = Got {
            method: head.method,
            path: path.clone(),
            headers: head.headers,
            body: body.collect().await.unwrap().to_bytes(),
        };
        self.shared.got.lock().unwrap().push(got);
        let answer = self.answer(&path);
        self.shared.changed.notify_waiters();
        if answer.gated {
            drop(self.shared.gate.acquire().await);
        }
        let mut response = Response::new(Full::new(answer.body));
        *response.status_mut() = answer.status;
        for (name, value) in answer.headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        Ok(response)
    }
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The place of the event, from its id.
    pub(crate) fn seq(&self) -> u64 {
        let (_, seq) = self
            .header("x-a2a-event-id")
            .unwrap()
            .rsplit_once(':')
            .unwrap();
        seq.parse().unwrap()
    }
}

pub(crate) fn seqs(got: &[Got]) -> Vec<u64> {
    got.iter().map(Got::seq).collect()
}

/// Fails the test rather than hanging it.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("soon")
}
