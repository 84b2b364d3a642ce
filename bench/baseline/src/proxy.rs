//! A proxy that owns nothing.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;

/// What there is to know about a call.
#[derive(Deserialize)]
struct Call {
    method: String,
}

#[derive(Clone)]
struct Before {
    client: reqwest::Client,
    upstream: Arc<str>,
}

/// Passes on every call to the server at that address.
pub fn before(upstream: String) -> Router {
    let before = Before {
        client: reqwest::Client::new(),
        upstream: upstream.into(),
    };
    Router::new()
        .route("/{*path}", post(pass_on))
        .route("/", post(pass_on))
        .with_state(before)
}

async fn pass_on(
    State(before): State<Before>,
    uri: Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> Response {
    match serde_json::from_slice(&body) {
        Ok(Call { method }) if !method.is_empty() => {}
        _ => return StatusCode::BAD_REQUEST.into_response(),
    }
    headers.remove(header::HOST);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let call = before.client.post(format!("{}{path}", before.upstream));
    match call.headers(headers).body(body).send().await {
        Ok(answer) => {
            let (status, headers) = (answer.status(), answer.headers().clone());
            (status, headers, Body::from_stream(answer.bytes_stream())).into_response()
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
