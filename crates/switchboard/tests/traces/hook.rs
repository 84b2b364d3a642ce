//! A receiver of webhooks that keeps the heads of what it gets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) struct Hook {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<HeaderMap>>>,
    _owner: JoinSet<()>,
}

impl Hook {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let got: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
        let kept = Arc::clone(&got);
        let take = move |headers: HeaderMap| async move {
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(headers);
            StatusCode::NO_CONTENT
        };
        let app = Router::new().route("/hook", post(take));
        let mut owner = JoinSet::new();
        owner.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url,
            got,
            _owner: owner,
        }
    }

    /// Waits for so many calls.
    pub(crate) async fn heads(&self, many: usize) -> Vec<HeaderMap> {
        for _ in 0..1000 {
            let got = self
                .got
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            if got.len() >= many {
                return got;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("not called {many} times");
    }
}
