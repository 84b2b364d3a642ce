//! A webhook of our own, so that push notifications can be seen to arrive.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Error;

/// The largest notification that is taken.
const LARGEST: usize = 4 * 1024 * 1024;

/// What arrived.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// Where it was sent to.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Debug, Default)]
struct Kept {
    deliveries: Vec<Delivery>,
    /// Paths whose first delivery is answered by an error.
    fail_once: HashSet<String>,
}

/// Listens until it is dropped: the set aborts the listener, which owns the set of its connections.
#[derive(Debug)]
pub(crate) struct Receiver {
    host: String,
    address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
    arrived: watch::Receiver<usize>,
    _listener: JoinSet<()>,
}

impl Receiver {
    /// Listens on a port of the system's choice.
    pub(crate) async fn start(host: &str) -> Result<Self, Error> {
        let listener = TcpListener::bind((host, 0))
            .await
            .map_err(Error::start(&format!(
                "cannot listen on {host} for webhooks"
            )))?;
        let address = listener.local_addr();
        let address = address.map_err(Error::start("no address for webhooks"))?;
        let (tell, arrived) = watch::channel(0);
        let kept = Arc::new(Mutex::new(Kept::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&kept), Arc::new(tell)));
        Ok(Self {
            host: host.to_owned(),
            address,
            kept,
            arrived,
            _listener: tasks,
        })
    }

    /// An address for notifications that nothing else is sent to.
    pub(crate) fn hook(&self, path: &str) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        format!("http://{host}:{}{path}", self.address.port())
    }

    /// Answers the first delivery to a path by 503.
    pub(crate) fn fail_once(&self, path: &str) {
        let mut kept = self.kept.lock();
        kept.fail_once.insert(path.to_owned());
    }

    /// All that has arrived at a path so far.
    pub(crate) fn at(&self, path: &str) -> Vec<Delivery> {
        let kept = self.kept.lock();
        let here = kept
            .deliveries
            .iter()
            .filter(|delivery| delivery.path == path);
        here.cloned().collect()
    }

    /// Waits until what has arrived at a path is enough, and gives it; or what has arrived when time is up.
    pub(crate) async fn wait(
        &self,
        path: &str,
        patience: Duration,
        enough: impl Fn(&[Delivery]) -> bool + Send,
    ) -> Vec<Delivery> {
        let mut arrived = self.arrived.clone();
        let waited = async { while !enough(&self.at(path)) && arrived.changed().await.is_ok() {} };
        // What has come is looked at anyway.
        drop(tokio::time::timeout(patience, waited).await);
        self.at(path)
    }
}

async fn accept(listener: TcpListener, kept: Arc<Mutex<Kept>>, tell: Arc<watch::Sender<usize>>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((socket, _)) = listener.accept().await else {
            // Out of sockets, perhaps: give others time to close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (kept, tell) = (Arc::clone(&kept), Arc::clone(&tell));
        connections.spawn(async move {
            let service = service_fn(|request| take(request, &kept, &tell));
            let serve = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            // A connection that breaks is the sender's business.
            drop(serve.await);
        });
    }
}

async fn take(
    request: Request<Incoming>,
    kept: &Mutex<Kept>,
    tell: &watch::Sender<usize>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = Limited::new(body, LARGEST).collect().await;
    let bytes = bytes
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    let path = head.uri.path().to_owned();
    let fails = {
        let mut kept = kept.lock();
        kept.deliveries.push(Delivery {
            path: path.clone(),
            headers: head.headers,
            body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
        });
        kept.fail_once.remove(&path)
    };
    tell.send_modify(|count| *count += 1);
    let mut response = Response::new(Empty::new());
    *response.status_mut() = if fails {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::NO_CONTENT
    };
    Ok(response)
}
