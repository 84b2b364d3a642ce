//! What do you ask? Bytes become a [`Call`], a [`Reply`](crate::call::Reply) becomes bytes.
//!
//! Each binding only frames: the codecs are in `switchboard_types::wire`, the rules in the engine.

pub(crate) mod card;
pub(crate) mod jsonrpc;
pub(crate) mod rest;
mod sse;

use std::sync::Arc;

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use switchboard_types::operation::Operation;
use switchboard_types::{Dialect, Error, ErrorKind};

use crate::auth::Principal;
use crate::call::{Call, ServiceParams, Target};
use crate::http::{Body, Peer, Service};

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const LAST_EVENT_ID: &str = "last-event-id";

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");
const A2A_VERSION: &str = "a2a-version";
const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// As 0.x names it.
const X_A2A_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// A request's head, read once for every binding.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) query: Option<String>,
    pub(crate) agent: Option<Arc<str>>,
    /// `A2A-Version`, by header or query; empty if absent.
    pub(crate) version: String,
    /// The media type of the body, without parameters; empty if absent.
    content_type: String,
    /// `Content-Encoding`; empty if absent.
    content_encoding: String,
    accept: String,
    extensions: Vec<String>,
    idempotency_key: Option<String>,
    last_event_id: Option<String>,
    base_url: Arc<str>,
    principal: Principal,
    /// A header that cannot be read: it must not pass for one that is absent.
    odd: Option<Error>,
}

impl Asked {
    pub(crate) fn new(
        service: &Service,
        head: &Parts,
        peer: &Peer,
        agent: Option<&str>,
        principal: Principal,
    ) -> Self {
        let mut odd = None;
        let mut text = |name: &'static str| {
            read_header(&head.headers, name).unwrap_or_else(|error| {
                odd.get_or_insert(error);
                None
            })
        };
        let query = head.uri.query();
        let version = text(A2A_VERSION)
            .or_else(|| query.and_then(version_in_query))
            .unwrap_or_default();
        let content_type = text("content-type").unwrap_or_default();
        let content_encoding = text("content-encoding").unwrap_or_default();
        let accept = text("accept").unwrap_or_default();
        let idempotency_key = text(IDEMPOTENCY_KEY);
        let last_event_id = text(LAST_EVENT_ID);
        Self {
            method: head.method.clone(),
            query: query.map(str::to_owned),
            agent: agent.map(Arc::from),
            version: version.to_owned(),
            content_type: content_type
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase(),
            content_encoding: content_encoding.trim().to_owned(),
            accept: accept.to_owned(),
            extensions: extensions(&head.headers),
            idempotency_key: idempotency_key.map(str::to_owned),
            last_event_id: last_event_id.map(str::to_owned),
            base_url: service.base_url.of(head, peer),
            principal,
            odd,
        }
    }

    /// The call, once the binding knows the operation.
    fn call(
        self,
        dialect: Dialect,
        operation: Operation,
        tenant: Option<String>,
    ) -> Result<Call, Error> {
        let last_event_id = match self.last_event_id.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(text) => Some(text.parse().map_err(|_| {
                Error::invalid_params("Last-Event-ID", "must be the id of an event of this task")
            })?),
        };
        if self
            .idempotency_key
            .as_ref()
            .is_some_and(|k| k.is_empty() || k.len() > 255)
        {
            return Err(Error::invalid_params(
                "Idempotency-Key",
                "must be 1 to 255 characters",
            ));
        }
        Ok(Call {
            operation,
            target: Target {
                agent: self.agent,
                tenant,
            },
            principal: self.principal,
            params: ServiceParams {
                dialect,
                extensions: self.extensions,
                idempotency_key: self.idempotency_key,
                last_event_id,
                base_url: self.base_url,
            },
        })
    }

    /// The caller takes nothing but an event stream.
    fn wants_only_events(&self) -> bool {
        let mut types = self
            .accept
            .split(',')
            .map(|t| t.split(';').next().unwrap_or_default().trim());
        !self.accept.is_empty() && types.all(|t| t.eq_ignore_ascii_case("text/event-stream"))
    }

    /// The caller names plain JSON and not A2A's own media type.
    fn prefers_plain_json(&self) -> bool {
        self.accept.contains("application/json") && !self.accept.contains("application/a2a+json")
    }

    /// # Errors
    ///
    /// If a header cannot be read.
    fn require_headers(&self) -> Result<(), Error> {
        self.odd.clone().map_or(Ok(()), Err)
    }

    /// # Errors
    ///
    /// If the body is announced as something else than JSON, or as compressed.
    fn require_json(&self) -> Result<(), Error> {
        let encoding = self.content_encoding.as_str();
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(Error::new(
                ErrorKind::ContentTypeNotSupported,
                format!("the request body must not be compressed, not even by {encoding}"),
            ));
        }
        let json = self.content_type.is_empty()
            || self.content_type == "application/json"
            || self.content_type.ends_with("+json");
        if json {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::ContentTypeNotSupported,
            format!(
                "the request body must be application/json, not {}",
                self.content_type
            ),
        ))
    }
}

/// The text of a header.
///
/// # Errors
///
/// If it is no text, or given more than once in different ways.
fn read_header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Error> {
    let mut values = headers.get_all(name).into_iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if name != ACCEPT && values.any(|other| other != first) {
        return Err(Error::invalid_params(
            spelling(name),
            "is given more than once",
        ));
    }
    match first.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Error::invalid_params(spelling(name), "must be ASCII text")),
    }
}

/// How people write a header's name.
fn spelling(name: &'static str) -> &'static str {
    match name {
        A2A_VERSION => "A2A-Version",
        IDEMPOTENCY_KEY => "Idempotency-Key",
        LAST_EVENT_ID => "Last-Event-ID",
        "content-type" => "Content-Type",
        "content-encoding" => "Content-Encoding",
        _ => "Accept",
    }
}

/// `A2A-Version` as a query parameter (A2A 1.0 §3.6.1).
fn version_in_query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(A2A_VERSION).then_some(value)
    })
}

/// Extensions asked for, under both header names, in one list.
fn extensions(headers: &HeaderMap) -> Vec<String> {
    let values = headers
        .get_all(A2A_EXTENSIONS)
        .into_iter()
        .chain(headers.get_all(X_A2A_EXTENSIONS));
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
        .map(str::to_owned)
        .collect()
}

/// An answer with a JSON body.
fn json(status: StatusCode, media_type: HeaderValue, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Tells which extensions are active, under the name the caller's version knows.
fn tell_extensions(response: &mut Response<Body>, extensions: &[String]) {
    if extensions.is_empty() {
        return;
    }
    if let Ok(value) = HeaderValue::from_str(&extensions.join(", ")) {
        response.headers_mut().insert(A2A_EXTENSIONS, value.clone());
        response.headers_mut().insert(X_A2A_EXTENSIONS, value);
    }
}

/// The agent a path names does not exist.
fn no_such_agent(name: &str) -> Error {
    Error::new(
        ErrorKind::MethodNotFound,
        format!("there is no agent named {name:?}"),
    )
    .fact("agent", name)
}

/// Adds what every refusal for lack of room says: when to come again.
fn tell_when_to_retry(response: &mut Response<Body>, error: &Error) {
    if matches!(
        error.kind(),
        ErrorKind::ResourceExhausted | ErrorKind::Unavailable
    ) {
        let value = HeaderValue::from_static("1");
        response
            .headers_mut()
            .insert(hyper::header::RETRY_AFTER, value);
    }
}
