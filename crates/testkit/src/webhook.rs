//! A webhook receiver that accepts and keeps everything.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::eventually;

/// One notification.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Where it was sent to.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Delivery {
    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// The receiver; gone when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    /// Where it is, without a path.
    pub origin: String,
    got: Arc<Mutex<Vec<Delivery>>>,
    _owner: JoinSet<()>,
}

impl Receiver {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let got: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let kept = Arc::clone(&got);
        let take = post(
            move |uri: Uri, headers: HeaderMap, body: Bytes| async move {
                let path = uri.path().to_owned();
                let mut kept = kept.lock();
                kept.push(Delivery {
                    path,
                    headers,
                    body,
                });
                StatusCode::NO_CONTENT
            },
        );
        let app = Router::new().fallback(take);
        let mut owner = JoinSet::new();
        owner.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            origin,
            got,
            _owner: owner,
        }
    }

    /// Everything so far.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.got.lock().clone()
    }

    /// All that came to a path, once it is as wanted.
    pub async fn until(&self, path: &str, wanted: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
        eventually(&format!("enough at {path}"), async || {
            let mut got = self.deliveries();
            got.retain(|got| got.path == path);
            wanted(&got).then_some(got)
        })
        .await
    }
}
