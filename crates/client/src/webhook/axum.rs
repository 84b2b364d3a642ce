//! A handler for axum.

use std::future::Future;
use std::sync::Arc;

use ::axum::Router;
use ::axum::body::{Bytes, to_bytes};
use ::axum::extract::Request;
use ::axum::http::StatusCode;
use ::axum::routing::post;

use super::flight::Flight;
use super::{Notification, Receiver};

/// The most bytes of a notification.
const MOST_BYTES: usize = 16 << 20;

/// Takes notifications at `path` and tells `told` of each, once. The agent hears of success when `told` is done; if it
/// goes away before that, what it posts again is told again. The same, posted meanwhile, waits for that.
pub fn handler<F, R>(path: &str, receiver: Arc<Receiver>, told: F) -> Router
where
    F: Fn(Notification) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let flight = Arc::new(Flight::default());
    let take = move |request: Request| {
        let (receiver, told) = (Arc::clone(&receiver), told.clone());
        let flight = Arc::clone(&flight);
        async move {
            let (head, body) = request.into_parts();
            let Ok(body) = to_bytes(body, MOST_BYTES).await else {
                return StatusCode::PAYLOAD_TOO_LARGE;
            };
            let body: Bytes = body;
            loop {
                let mut over = flight.next();
                match receiver.look(&head.headers, &body) {
                    Ok(Some((notification, marks))) => {
                        let Some(telling) = flight.begin(&marks) else {
                            // It counts as told only once it is; the sender of it is always there.
                            drop(over.changed().await);
                            continue;
                        };
                        told(notification).await;
                        receiver.remember(&marks);
                        drop(telling);
                        return StatusCode::NO_CONTENT;
                    }
                    Ok(None) => return StatusCode::NO_CONTENT,
                    Err(rejected) => {
                        tracing::warn!("{rejected}");
                        let status = StatusCode::from_u16(rejected.status());
                        return status.unwrap_or(StatusCode::BAD_REQUEST);
                    }
                }
            }
        }
    };
    Router::new().route(path, post(take))
}
