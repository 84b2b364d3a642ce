//! What is logged of requests.

use http::Method;
use reqwest::Response;
use tokio::time::Instant;
use url::Url;

use super::record;
use crate::error::Error;

/// The target of the log lines that hold whole requests and answers, credentials apart. Whoever must not log messages
/// leaves it out.
pub const CONTENT_LOG: &str = "switchboard::content";

/// Logs a request at `debug`: where it went, what came of it and how long it took; nothing of its content.
pub(super) fn log_request(
    method: &Method,
    url: &Url,
    began: Instant,
    answered: &Result<Response, Error>,
) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let url = record::shown(url);
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    match answered {
        Ok(response) => {
            let status = response.status().as_u16();
            tracing::debug!(%method, url, status, duration_ms, "upstream request");
        }
        Err(error) => tracing::debug!(%method, url, %error, duration_ms, "upstream request failed"),
    }
}
