//! A webhook receiver that refuses now and then, and remembers what it took.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::plan::Dice;

/// What one webhook has got: each event once, with its body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Got {
    pub(crate) task: String,
    pub(crate) events: BTreeMap<u64, Bytes>,
}

/// The receiver; cheap to clone.
#[derive(Clone)]
pub(crate) struct Receiver {
    port: u16,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    dice: Dice,
    /// By the path of the webhook.
    got: HashMap<String, Got>,
    faults: Vec<String>,
    taken: u64,
    repeated: u64,
    refused: u64,
    /// Refuse nothing any more.
    calm: bool,
}

impl Receiver {
    /// Listens as long as `tasks` lives.
    pub(crate) async fn start(dice: Dice, tasks: &mut JoinSet<()>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let receiver = Self {
            port: listener.local_addr().expect("an address").port(),
            shared: Arc::new(Mutex::new(Shared {
                dice,
                got: HashMap::new(),
                faults: Vec::new(),
                taken: 0,
                repeated: 0,
                refused: 0,
                calm: false,
            })),
        };
        let serving = receiver.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = serving.clone();
                connections.spawn(async move {
                    let service = service_fn(|request| receiver.serve(request));
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service);
                    // A caller that is killed says no goodbye.
                    drop(connection.await);
                });
                while connections.try_join_next().is_some() {}
            }
        });
        receiver
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address of a webhook.
    pub(crate) fn url(&self, hook: &str) -> String {
        format!("http://127.0.0.1:{}/{hook}", self.port)
    }

    /// Takes everything from now on.
    pub(crate) fn calm_down(&self) {
        self.lock().calm = true;
    }

    /// What a webhook has got so far.
    pub(crate) fn got(&self, hook: &str) -> Got {
        self.lock().got.get(hook).cloned().unwrap_or_default()
    }

    /// What was wrong with the way things came.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    /// Taken, repeated, refused.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let shared = self.lock();
        (shared.taken, shared.repeated, shared.refused)
    }

    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let hook = request.uri().path().trim_start_matches('/').to_owned();
        let header = |name: &str| {
            request
                .headers()
                .get(name)?
                .to_str()
                .ok()
                .map(str::to_owned)
        };
        let (id, version) = (header("x-a2a-event-id"), header("a2a-version"));
        let mut response = Response::new(Full::default());
        // Half a request is not taken.
        let Ok(body) = request.into_body().collect().await else {
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(response);
        };
        let every = version.as_deref() == Some("1.0");
        let taken = self
            .lock()
            .take(&hook, id.as_deref(), every, &body.to_bytes());
        if !taken {
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        Ok(response)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Takes an event, or refuses it. `every`: this webhook hears every event.
    fn take(&mut self, hook: &str, id: Option<&str>, every: bool, body: &Bytes) -> bool {
        let number = id.and_then(|id| id.rsplit_once(':'));
        let Some((task, Ok(seq))) = number.map(|(task, seq)| (task, seq.parse::<u64>())) else {
            self.faults.push(format!("{hook}: no event id: {id:?}"));
            return true;
        };
        if !self.calm && self.dice.chance(7) {
            self.refused += 1;
            return false;
        }
        self.taken += 1;
        let got = self.got.entry(hook.to_owned()).or_default();
        if got.task.is_empty() {
            task.clone_into(&mut got.task);
        }
        let highest = got.events.last_key_value().map_or(0, |(seq, _)| *seq);
        let fault = if got.task != task {
            Some(format!("is of another task than {}", got.task))
        } else if let Some(before) = got.events.get(&seq) {
            self.repeated += 1;
            (before != body).then(|| format!("is told differently: {before:?}, then {body:?}"))
        } else {
            got.events.insert(seq, body.clone());
            let in_order = if every {
                seq == highest + 1
            } else {
                seq > highest
            };
            (!in_order).then(|| format!("comes after event {highest}"))
        };
        if let Some(fault) = fault {
            self.faults
                .push(format!("webhook {hook}: event {task}:{seq} {fault}"));
        }
        true
    }
}
