//! One attempt: a POST that goes where the guard lets it and nowhere else.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{Body, Response, Url};
use switchboard_keys::{sha256_hex, sha256_hex_of};
use switchboard_types::backoff::retry_after;
use switchboard_types::model::Secret;

use super::Settings;
use super::clients::Clients;
use super::render::{Notice, NoticeBody};
use crate::clock;
use crate::egress::Guard;
use crate::sign::{Outgoing, Signer};
use crate::task::Webhook;
use crate::trace::Trace;

/// The token that the client gave, so that it knows its own (A2A 0.3 §9.5).
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
/// `{task}:{seq}`: the same for every repetition, so that receivers can drop those, and rising within a task.
const EVENT_ID: HeaderName = HeaderName::from_static("x-a2a-event-id");
/// A JWT that proves where a notification comes from, and what it says.
const SIGNATURE: HeaderName = HeaderName::from_static("x-a2a-signature");
const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// How much of an answer is read, and how long: only so that the connection can be used again.
const MAX_ANSWER: usize = 64 << 10;
const MAX_ANSWER_TIME: Duration = Duration::from_secs(1);
/// How long a stored error may be, in characters.
const MAX_REASON: usize = 240;

/// Makes attempts.
#[derive(Debug)]
pub(super) struct Poster {
    guard: Arc<Guard>,
    timeout: Duration,
    clients: Clients,
    signer: Option<Arc<Signer>>,
}

/// A body on its way, and what must be known of it before it leaves.
struct Measured {
    body: Body,
    /// Its length, if it does not tell by itself.
    length: Option<u64>,
    /// Its digest, if it is signed.
    sha256: Option<String>,
}

impl Measured {
    /// A large body is rendered twice, first to be measured: it is never in memory as a whole.
    async fn of(body: &NoticeBody, signed: bool) -> Self {
        if let NoticeBody::Whole(bytes) = body {
            return Self {
                sha256: signed.then(|| sha256_hex(bytes)),
                body: bytes.clone().into(),
                length: None,
            };
        }
        let pieces = body.pieces();
        let measured = tokio::task::spawn_blocking(move || {
            let mut length = 0;
            let pieces = pieces.inspect(|piece| length += piece.len() as u64);
            if signed {
                let sha256 = sha256_hex_of(pieces);
                return (length, Some(sha256));
            }
            pieces.for_each(drop);
            (length, None)
        });
        let (length, sha256) = measured.await.unwrap_or_default();
        let pieces = stream::unfold(body.pieces(), |mut pieces| async move {
            // Others have their turn between the pieces.
            tokio::task::yield_now().await;
            Some((Ok::<_, Infallible>(pieces.next()?), pieces))
        });
        Self {
            body: Body::wrap_stream(pieces),
            length: Some(length),
            sha256,
        }
    }
}

/// Why an attempt failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// For people; without secrets.
    pub(super) reason: String,
    /// The receiver answered at all.
    pub(super) answered: bool,
    /// It says that it will never want this.
    pub(super) gone: bool,
    /// How long it asks us to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Poster {
    pub(super) fn new(guard: Arc<Guard>, settings: &Settings) -> Self {
        Self {
            clients: Clients::new(&guard, settings),
            timeout: settings.timeout,
            signer: settings.signer.clone(),
            guard,
        }
    }

    /// Makes an attempt, which has its place in a trace.
    pub(super) async fn post(
        &self,
        webhook: &Webhook,
        notice: &Notice,
        trace: Option<&Trace>,
    ) -> Result<(), Failure> {
        let config = &webhook.config;
        // Once more, as the operator may have changed the rules; this is also all there is between a
        // literal address and a connection, as nothing resolves it.
        let url = self
            .guard
            .target(&config.url)
            .map_err(|reason| Failure::unanswered(&format!("the url {reason}")))?;
        let client = self
            .clients
            .of(url.port_or_known_default())
            .map_err(|error| Failure::unanswered(&self.describe(&error)))?;
        let measured = Measured::of(&notice.body, self.signer.is_some()).await;
        let mut headers = self.headers(&url, webhook, notice, &measured)?;
        if let Some(trace) = trace {
            headers.extend(trace.headers());
        }
        let response = client
            .post(url)
            .headers(headers)
            .body(measured.body)
            .send()
            .await
            .map_err(|error| Failure::unanswered(&self.describe(&error)))?;
        let verdict = judge(&response);
        drop(tokio::time::timeout(MAX_ANSWER_TIME, drain(response)).await);
        verdict
    }

    fn headers(
        &self,
        url: &Url,
        webhook: &Webhook,
        notice: &Notice,
        measured: &Measured,
    ) -> Result<HeaderMap, Failure> {
        let id = format!("{}:{}", webhook.task, notice.seq);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(notice.content_type));
        if let Some(length) = measured.length {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        headers.insert(VERSION, HeaderValue::from_static(notice.version));
        headers.insert(EVENT_ID, value(&id, "the task id")?);
        if let Some(token) = &webhook.config.token {
            let token = self.open(token)?;
            headers.insert(TOKEN, secret(token.reveal(), "the token")?);
        }
        let authentication = webhook.config.authentication.as_ref();
        if let (Some(signer), Some(sha256)) = (&self.signer, &measured.sha256) {
            // Anew at each attempt: a signature holds for minutes, attempts may go on for a day.
            let signature = signer.sign_notice(&Outgoing {
                audience: &url.origin().ascii_serialization(),
                id: &id,
                task: webhook.task.as_str(),
                body_sha256: sha256,
            });
            // A bearer as well, as A2A's guide to webhooks has it, unless the receiver expects something else there.
            if authentication.is_none_or(|auth| auth.scheme.eq_ignore_ascii_case("bearer")) {
                let bearer = format!("Bearer {signature}");
                headers.insert(AUTHORIZATION, secret(&bearer, "the signature")?);
            }
            headers.insert(SIGNATURE, secret(&signature, "the signature")?);
        }
        if let Some(authentication) = authentication
            && let Some(credentials) = &authentication.credentials
        {
            let credentials = self.open(credentials)?;
            let text = format!("{} {}", authentication.scheme, credentials.reveal());
            headers.insert(AUTHORIZATION, secret(&text, "the credentials")?);
        }
        Ok(headers)
    }

    /// A secret as it is sent.
    fn open(&self, stored: &Secret) -> Result<Secret, Failure> {
        let why = "the secret of this webhook cannot be opened: it was sealed with another key";
        let opened = self.guard.opened(stored);
        opened.ok_or_else(|| Failure::unanswered(why))
    }

    /// What went wrong, without the URL: it may hold a secret.
    fn describe(&self, error: &reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("no answer within {:?}", self.timeout);
        }
        let what = if error.is_connect() {
            "could not connect"
        } else {
            "could not send"
        };
        // Only the deepest cause says something; reqwest's own message holds the URL.
        match error.source() {
            Some(cause) => format!("{what}: {}", deepest(cause)),
            None => what.to_owned(),
        }
    }
}

impl Failure {
    fn unanswered(reason: &str) -> Self {
        Self {
            reason: reason.chars().take(MAX_REASON).collect(),
            answered: false,
            gone: false,
            retry_after: None,
        }
    }
}

fn deepest<'a>(mut cause: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

fn value(text: &str, what: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| Failure::unanswered(&format!("{what} is not a valid header value")))
}

fn secret(text: &str, what: &str) -> Result<HeaderValue, Failure> {
    let mut value = value(text, what)?;
    value.set_sensitive(true);
    Ok(value)
}

fn judge(response: &Response) -> Result<(), Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let reason = if status.is_redirection() {
        format!("answered {}: redirects are not followed", status.as_u16())
    } else {
        format!("answered {}", status.as_u16())
    };
    let asked = response.headers().get(RETRY_AFTER);
    Err(Failure {
        reason,
        answered: true,
        gone: status == StatusCode::GONE,
        retry_after: asked
            .and_then(|value| value.to_str().ok())
            .and_then(|value| retry_after(value, clock::system_time())),
    })
}

async fn drain(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > MAX_ANSWER {
            return;
        }
    }
}
