//! HTTP: one client for cards, tokens and every binding, so that certificates, limits, redirects and deadlines are
//! the same for all. It knows no agents and no credentials.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, Method, StatusCode};
use reqwest::Response;
use switchboard_types::backoff;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::failure::{failed, too_slow};
use super::record::{self, Exchange, Recorder, Redaction, Secrets};
use super::tls::Tls;
use crate::error::{Error, Kind, Reach};

/// The target of the log lines that hold whole requests and answers, credentials apart. Whoever must not log messages
/// leaves it out.
pub const CONTENT_LOG: &str = "switchboard::content";

/// How often a request is sent elsewhere before we give up.
const MOST_REDIRECTS: usize = 5;

/// How often a connection that is silent is asked whether it still is one, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);

/// HTTP, with our rules. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    /// HTTP/1.1, or HTTP/2 where TLS agrees on it.
    usual: reqwest::Client,
    /// HTTP/2 from the first byte, which gRPC wants without TLS; made when it is needed.
    h2: Arc<OnceLock<reqwest::Client>>,
    tls: Arc<Tls>,
    recorder: Option<Recorder>,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Speak HTTP/2 even without TLS.
    pub(crate) h2: bool,
    /// What must not be shown of it.
    pub(crate) redaction: Redaction,
    /// Nothing of it may be shown, nor of the answer.
    pub(crate) private: bool,
}

/// An answer whose body is not read yet.
#[derive(Debug)]
pub(crate) struct Opened {
    response: Response,
    url: Url,
    /// What it was shown.
    secrets: Secrets,
    private: bool,
    record: Option<(Recorder, Exchange)>,
}

impl Outgoing {
    /// A request that takes JSON or a stream: there are agents that refuse whoever does not name both.
    pub(crate) fn new(method: Method, url: Url) -> Self {
        let mut headers = HeaderMap::new();
        let both = http::HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        Self {
            method,
            url,
            headers,
            body: Bytes::new(),
            h2: false,
            redaction: Redaction::default(),
            private: false,
        }
    }

    /// Keeps the whole exchange to itself: it is about secrets.
    pub(crate) fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// With a body of that media type.
    pub(crate) fn body(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers
            .insert(CONTENT_TYPE, http::HeaderValue::from_static(media_type));
        self.body = body.into();
        self
    }
}

impl Http {
    pub(crate) fn new(tls: &Tls, recorder: Option<Recorder>) -> Result<Self, Error> {
        Ok(Self {
            usual: tls.client(reqwest::Client::builder())?,
            h2: Arc::default(),
            tls: Arc::new(tls.clone()),
            recorder,
        })
    }

    /// The client for a request.
    fn client(&self, out: &Outgoing, url: &Url) -> Result<&reqwest::Client, Error> {
        if !out.h2 || url.scheme() != "http" {
            return Ok(&self.usual);
        }
        if let Some(made) = self.h2.get() {
            return Ok(made);
        }
        let builder = reqwest::Client::builder()
            .http2_prior_knowledge()
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PING);
        let made = self.tls.client(builder)?;
        Ok(self.h2.get_or_init(|| made))
    }

    /// Sends a request and waits for the head of the answer. Redirects are followed on the same host and port only, or
    /// from HTTP to HTTPS on the usual ports: another server must not get what was meant for this one.
    pub(crate) async fn open(&self, out: Outgoing, deadline: Instant) -> Result<Opened, Error> {
        let mut url = out.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.send(&out, &url, deadline).await?;
            let Some(next) = redirected(&url, &response)? else {
                let record = self.recorder.clone().filter(|_| !out.private);
                let record = record.map(|recorder| (recorder, head_of(&out, &url, &response)));
                return Ok(Opened {
                    response,
                    url,
                    secrets: out.redaction.secrets(&out.headers),
                    private: out.private,
                    record,
                });
            };
            if response.status() == StatusCode::SEE_OTHER && out.method != Method::GET {
                let shown = record::shown(&url);
                let message = format!("{shown} answers elsewhere, which no binding does");
                return Err(Error::new(Kind::Unintelligible, message).reached(Reach::Answered));
            }
            url = next;
        }
        let shown = record::shown(&out.url);
        let message = format!("{shown} leads to more than {MOST_REDIRECTS} redirects");
        Err(Error::new(Kind::Unreachable, message).reached(Reach::Answered))
    }

    async fn send(&self, out: &Outgoing, url: &Url, deadline: Instant) -> Result<Response, Error> {
        let tell = !out.private && !out.h2 && !out.body.is_empty();
        if tell && tracing::enabled!(target: CONTENT_LOG, tracing::Level::DEBUG) {
            tracing::debug!(
                target: CONTENT_LOG,
                "A2A Request: {}",
                Redaction::indented(&out.headers, &out.body)
            );
        }
        let request = self
            .client(out, url)?
            .request(out.method.clone(), url.clone())
            .headers(out.headers.clone())
            .body(out.body.clone());
        let began = Instant::now();
        let answered = match timeout_at(deadline, request.send()).await {
            Ok(answered) => answered.map_err(|error| failed(&record::shown(url), error)),
            Err(_) => Err(too_slow(&record::shown(url))),
        };
        if tracing::enabled!(tracing::Level::DEBUG) {
            let (method, url, duration_ms) = (&out.method, record::shown(url), millis(began));
            match &answered {
                Ok(response) => {
                    let status = response.status().as_u16();
                    tracing::debug!(%method, url, status, duration_ms, "upstream request");
                }
                Err(error) => {
                    tracing::debug!(%method, url, %error, duration_ms, "upstream request failed");
                }
            }
        }
        let recorder = self.recorder.as_ref().filter(|_| !out.private);
        if let (Err(error), Some(recorder)) = (&answered, recorder) {
            let mut exchange = asked(out, &out.url);
            exchange.response_body = error.to_string();
            recorder.see(exchange);
        }
        // For whoever debugs: callers get the error, and know whether it is the first of many.
        answered.inspect_err(|error| tracing::debug!("HTTP error invoking agent: {error}"))
    }

    /// Sends a request and reads the whole answer, whatever its status.
    pub(crate) async fn fetch(
        &self,
        out: Outgoing,
        limit: usize,
        deadline: Instant,
    ) -> Result<http::Response<Bytes>, Error> {
        let opened = self.open(out, deadline).await?;
        let mut answer = http::Response::new(Bytes::new());
        *answer.status_mut() = opened.status();
        answer.headers_mut().clone_from(opened.headers());
        *answer.body_mut() = opened.read(limit, deadline).await?;
        Ok(answer)
    }
}

impl Opened {
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Whether it is a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        let said = self.headers().get(CONTENT_TYPE);
        let said = said
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let media_type = said.split(';').next().unwrap_or_default().trim();
        self.status().is_success() && media_type.eq_ignore_ascii_case("text/event-stream")
    }

    /// Its address, as it may be shown.
    pub(crate) fn shown(&self) -> String {
        record::shown(&self.url)
    }

    /// What it was shown.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// How long we are asked to wait before we try again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(self.headers())
    }

    /// The whole body.
    pub(crate) async fn read(self, limit: usize, deadline: Instant) -> Result<Bytes, Error> {
        let Self {
            mut response,
            url,
            secrets,
            private,
            mut record,
        } = self;
        let shown = || record::shown(&url);
        let mut body = BytesMut::new();
        loop {
            let chunk = match timeout_at(deadline, response.chunk()).await {
                Ok(chunk) => chunk.map_err(|error| failed(&shown(), error))?,
                Err(_) => return Err(too_slow(&shown())),
            };
            let Some(chunk) = chunk else { break };
            if body.len() + chunk.len() > limit {
                let message = format!("the answer of {} is larger than {limit} bytes", shown());
                return Err(Error::new(Kind::TooLarge, message).reached(Reach::Answered));
            }
            body.extend_from_slice(&chunk);
        }
        if !private && tracing::enabled!(target: CONTENT_LOG, tracing::Level::DEBUG) {
            let shown = Redaction::indented(response.headers(), &body);
            tracing::debug!(target: CONTENT_LOG, "A2A Response: {}", secrets.hide(&shown));
        }
        if let Some((recorder, mut exchange)) = record.take() {
            exchange.response_body = Redaction::body(response.headers(), &body);
            recorder.see(exchange);
        }
        let refused = !response.status().is_success();
        Ok(match secrets.without(refused, &body) {
            Some(hidden) => hidden.into(),
            None => body.freeze(),
        })
    }

    /// The answer itself, to be read as it comes.
    pub(crate) fn into_response(self) -> Response {
        if let Some((recorder, exchange)) = self.record {
            recorder.see(exchange);
        }
        self.response
    }
}

/// The milliseconds since then.
fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Where an answer sends us, if it does and we may go there.
fn redirected(from: &Url, response: &Response) -> Result<Option<Url>, Error> {
    let status = response.status();
    let moved = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(to) = response.headers().get(LOCATION).filter(|_| moved) else {
        return Ok(None);
    };
    let to = to.to_str().ok().and_then(|to| from.join(to).ok());
    let refused = |why: String| Error::new(Kind::Unreachable, why).reached(Reach::Answered);
    let Some(to) = to else {
        let from = record::shown(from);
        return Err(refused(format!("{from} redirects to what is no URL")));
    };
    let same_host = to.host() == from.host();
    let downgraded = from.scheme() == "https" && to.scheme() != "https";
    let same_port = to.port_or_known_default() == from.port_or_known_default();
    let ports = (from.port_or_known_default(), to.port_or_known_default());
    let upgraded = to.scheme() == "https" && ports == (Some(80), Some(443));
    if same_host && !downgraded && (same_port || upgraded) {
        return Ok(Some(to));
    }
    let (from, to) = (record::shown(from), record::shown(&to));
    let message = format!("{from} redirects to {to}, which is not followed");
    Err(refused(message).hinting("if that is right, name the other address"))
}

/// `Retry-After`, in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    backoff::retry_after(value, crate::clock::now())
}

fn asked(out: &Outgoing, url: &Url) -> Exchange {
    Exchange {
        request: format!("{} {}", out.method, out.redaction.url(url)),
        request_headers: out.redaction.headers(&out.headers),
        request_body: Redaction::body(&out.headers, &out.body),
        status: 0,
        response_headers: Vec::new(),
        response_body: String::new(),
    }
}

fn head_of(out: &Outgoing, url: &Url, response: &Response) -> Exchange {
    Exchange {
        status: response.status().as_u16(),
        response_headers: out.redaction.headers(response.headers()),
        ..asked(out, url)
    }
}
