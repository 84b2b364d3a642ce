//! Agent cards, at every address where clients look for them.

use hyper::header::{
    CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED, LOCATION, VARY,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use switchboard_types::model::Timestamp;
use switchboard_types::operation::{Operation, Response as Answer};
use switchboard_types::wire::card::{CardShape, encode_card};
use switchboard_types::wire::rest;
use switchboard_types::{Dialect, Error, ErrorKind};

use super::Service;
use super::{
    JSON, PRIVATE, RequestHead, challenge, json, tell_scopes, tell_when_to_retry, version_in_query,
};
use crate::auth::Refusal;
use crate::call::ReplyBody;
use crate::http::{Body, status};
use crate::net::Peer;

/// What the card of an agent differs by that knows its callers.
pub(super) const BY_CALLER: &str = "A2A-Version, Host, Authorization, X-API-Key, Cookie";

/// Answers a request for a public card.
pub(super) async fn answer(
    service: &Service,
    head: &Parts,
    peer: &Peer,
    agent: Option<&str>,
) -> Response<Body> {
    if head.method != Method::GET && head.method != Method::HEAD {
        return service.not_allowed(head, peer, agent, "GET, HEAD");
    }
    let query = head.uri.query().unwrap_or_default();
    let name = agent.or_else(|| assistant_id(query));
    let (listing, caller) = match service.visible_agent(head, peer, name).await {
        Ok(visible) => visible,
        Err(error) => return no_card(&error),
    };
    let header = head.headers.get(super::A2A_VERSION);
    let header = header.and_then(|value| value.to_str().ok());
    let shape = listing.profile.shape;
    let shape = shape.requested(version_in_query(query), header);
    let base_url = service.base_url.of(head, peer);
    let mut card = listing.profile.card_at(&base_url, &listing.name);
    listing.access.show(&listing.name, &caller, &mut card);
    service.sign(shape, &mut card);
    let mut body = Vec::with_capacity(2048);
    encode_card(shape, &card, &mut body);
    let mut response = cached(head, body, listing.since);
    let headers = response.headers_mut();
    if listing.access.knows_callers() {
        headers.insert(VARY, HeaderValue::from_static(BY_CALLER));
    }
    if !caller.is_anonymous() || !listing.access.is_visible() {
        headers.insert(CACHE_CONTROL, PRIVATE);
    }
    response
}

/// The card with what a cache needs; nothing but that if the caller has it already.
pub(super) fn cached(head: &Parts, body: Vec<u8>, since: Timestamp) -> Response<Body> {
    let tag = etag(&body);
    let known = head.headers.get(IF_NONE_MATCH);
    let unchanged = known
        .and_then(|value| value.to_str().ok())
        .is_some_and(|tags| tags == "*" || tags.split(',').any(|t| t.trim() == tag));
    let mut response = if unchanged {
        status(StatusCode::NOT_MODIFIED)
    } else {
        json(StatusCode::OK, JSON, body)
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    if let Ok(date) = HeaderValue::from_str(&http_date(since)) {
        headers.insert(LAST_MODIFIED, date);
    }
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=60"),
    );
    headers.insert(VARY, HeaderValue::from_static("A2A-Version, Host"));
    response
}

/// An old address: the card is beside it.
pub(super) fn redirect(path: &str) -> Response<Body> {
    let mut response = status(StatusCode::FOUND);
    if let Ok(to) = HeaderValue::from_str(&format!("{path}-card.json")) {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

/// Answers the GET by which 0.2 asks for the extended card.
pub(super) async fn extended(service: &Service, head: RequestHead<'_>) -> Response<Body> {
    let reply = match head.call(Dialect::V0Json, Operation::ExtendedCard, None) {
        Ok(call) => service.dispatch(call).await,
        Err(refusal) => return refuse(&refusal),
    };
    match reply.map(|(reply, _)| reply.body) {
        Ok(ReplyBody::Response(Answer::Card(card))) => {
            let mut body = Vec::with_capacity(2048);
            encode_card(CardShape::V0, &card, &mut body);
            let mut response = json(StatusCode::OK, JSON, body);
            response.headers_mut().insert(CACHE_CONTROL, PRIVATE);
            response
        }
        Ok(_) => status(StatusCode::INTERNAL_SERVER_ERROR),
        Err(error) => refuse(&error.into()),
    }
}

/// Refuses the GET by which 0.2 asks for the extended card.
pub(super) fn refuse(refusal: &Refusal) -> Response<Body> {
    let (_, body) = rest::write_error(Dialect::V0Json, &refusal.error);
    let status = match refusal.error.kind() {
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        ErrorKind::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::NOT_FOUND,
    };
    let mut response = json(status, JSON, body);
    challenge(response.headers_mut(), refusal);
    tell_scopes(response.headers_mut(), &refusal.error);
    tell_when_to_retry(response.headers_mut(), &refusal.error);
    response
}

fn no_card(error: &Error) -> Response<Body> {
    let (_, body) = rest::write_error(Dialect::V0Json, error);
    json(StatusCode::NOT_FOUND, JSON, body)
}

/// `?assistant_id=` names an agent, as LangGraph servers have it.
fn assistant_id(query: &str) -> Option<&str> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("assistant_id="))
        .filter(|name| !name.is_empty())
}

/// A tag that changes with the bytes: FNV-1a.
fn etag(body: &[u8]) -> String {
    let hash = body.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("\"{hash:016x}\"")
}

/// A moment as HTTP headers write it.
fn http_date(moment: Timestamp) -> String {
    let seconds = u64::try_from(moment.as_micros() / 1_000_000).unwrap_or(0);
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
}
