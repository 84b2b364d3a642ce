//! A receiver that keeps what it gets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::any;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What was posted.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct Receiver {
    /// Where it is, without a path.
    pub(crate) origin: String,
    got: Arc<Mutex<Vec<Got>>>,
    _owner: JoinSet<()>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let kept = Arc::clone(&got);
        let take = any(
            move |uri: Uri, headers: HeaderMap, body: Bytes| async move {
                let path = uri.path().to_owned();
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(Got {
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

    /// All that came to a path, once there is something that is as wanted.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&[Got]) -> bool) -> Vec<Got> {
        for _ in 0..1000 {
            let mut got = self
                .got
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            got.retain(|got| got.path == path);
            if wanted(&got) {
                return got;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{path} got too little");
    }
}
