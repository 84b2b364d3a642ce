//! A handler for axum.

use std::future::Future;
use std::sync::Arc;

use ::axum::Router;
use ::axum::body::{Bytes, to_bytes};
use ::axum::extract::Request;
use ::axum::http::StatusCode;
use ::axum::routing::post;

use super::{Notification, Receiver};

/// The most bytes of a notification.
const MOST_BYTES: usize = 16 << 20;

/// Takes notifications at `path` and tells `told` of each, once. The agent hears of success when `told` is done; if it
/// goes away before that, what it posts again is told again.
pub fn handler<F, R>(path: &str, receiver: Arc<Receiver>, told: F) -> Router
where
    F: Fn(Notification) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let take = move |request: Request| {
        let (receiver, told) = (Arc::clone(&receiver), told.clone());
        async move {
            let (head, body) = request.into_parts();
            let Ok(body) = to_bytes(body, MOST_BYTES).await else {
                return StatusCode::PAYLOAD_TOO_LARGE;
            };
            let body: Bytes = body;
            match receiver.look(&head.headers, &body) {
                Ok(Some((notification, marks))) => {
                    told(notification).await;
                    receiver.remember(&marks);
                    StatusCode::NO_CONTENT
                }
                Ok(None) => StatusCode::NO_CONTENT,
                Err(rejected) => {
                    tracing::warn!("{rejected}");
                    StatusCode::from_u16(rejected.status()).unwrap_or(StatusCode::BAD_REQUEST)
                }
            }
        }
    };
    Router::new().route(path, post(take))
}
