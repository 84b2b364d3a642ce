//! What others look up about us: the keys we sign with, and who issues tokens for us.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::Service;
use crate::http::{Body, Head, status};
use crate::net::Peer;

/// The keys that our signatures are checked with. Short-lived in caches: a new key is published before it signs.
pub(super) fn jwks(service: &Service) -> Response<Body> {
    match &service.signer {
        Some(signer) => answer(Body::Full(signer.jwks())),
        None => status(StatusCode::NOT_FOUND),
    }
}

/// Who issues tokens for an agent, if its door asks for tokens that someone issues.
pub(super) fn resource(
    service: &Service,
    head: &Head,
    peer: &Peer,
    agent: Option<&str>,
) -> Response<Body> {
    let listing = service.directory.find(agent);
    // Who may not know of an agent learns nothing of it here.
    let Some(listing) = listing.filter(|listing| listing.access.is_visible()) else {
        return status(StatusCode::NOT_FOUND);
    };
    let issuers = listing.access.issuers();
    if issuers.is_empty() {
        return status(StatusCode::NOT_FOUND);
    }
    let base = service.base_url.of(head, peer);
    let resource = match agent {
        Some(name) => format!("{base}/a2a/{name}"),
        None => base.to_string(),
    };
    let body = json!({
        "resource": resource,
        "authorization_servers": issuers,
        "bearer_methods_supported": ["header"],
    });
    let mut response = answer(Body::from(body.to_string().into_bytes()));
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Host"));
    response
}

fn answer(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=300"),
    );
    response
}
