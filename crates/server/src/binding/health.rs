//! Liveness, readiness, version.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::Service;
use crate::http::Body;

/// The process answers.
pub(super) fn live() -> Response<Body> {
    json(StatusCode::OK, r#"{"status":"alive"}"#.to_owned())
}

/// The process takes requests.
pub(super) fn ready(service: &Service) -> Response<Body> {
    if service.tasks.stopping().is_cancelled() {
        let body = r#"{"status":"stopping"}"#.to_owned();
        return json(StatusCode::SERVICE_UNAVAILABLE, body);
    }
    if service.store.is_refusing() {
        // The cause is for operators: it may name files.
        let body = r#"{"status":"not ready","reason":"storage is not writable"}"#.to_owned();
        return json(StatusCode::SERVICE_UNAVAILABLE, body);
    }
    json(StatusCode::OK, r#"{"status":"ready"}"#.to_owned())
}

/// Which build this is.
pub(super) fn version() -> Response<Body> {
    let version = env!("CARGO_PKG_VERSION");
    let body =
        format!(r#"{{"name":"switchboard","version":"{version}","a2a":["1.0","0.3","0.2"]}}"#);
    json(StatusCode::OK, body)
}

fn json(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into_bytes()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
