//! How a chat endpoint is asked: until it answers, or there is no use in asking again.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, StatusCode};
use reqwest::{Client, Response};
use serde_json::Value;
use switchboard_client::Retry;
use switchboard_server::agent::{AgentError, Ask, Errand, Progress, Turn};
use switchboard_server::backend::Health;
use switchboard_server::trace::{TRACEPARENT, names};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::events::reported;
use super::{Invalid, Settings};
use crate::fetch::{self, CONNECT, chain, place, quoted, retry_after, whole, without};
use crate::identity::{IdentityError, Outbound};
use crate::upstream::{Down, Outage, root_cause};

/// How long it may take to find out whether it answers.
const HEALTH: Duration = Duration::from_secs(5);
const IDENTITY: Duration = Duration::from_secs(30);

/// The most of a refusal that is read.
const REFUSAL: usize = 64 << 10;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Refusal {
    Identity(IdentityError),
    Failed(AgentError),
}

/// Why this attempt brought no answer.
enum Missed {
    /// The endpoint is down: another attempt is made as long as `timeouts.upstream` allows.
    Down(AgentError, Down),
    /// Another may; not before the endpoint says, if it does.
    Now(AgentError, Option<Duration>),
    /// The identity is not taken.
    Unknown(AgentError),
    /// None will.
    Ever(AgentError),
}

impl Missed {
    fn error(&self) -> &AgentError {
        match self {
            Self::Down(error, _)
            | Self::Now(error, _)
            | Self::Unknown(error)
            | Self::Ever(error) => error,
        }
    }
}

/// An answer that has begun.
pub(super) struct Answering {
    pub(super) response: Response,
    /// What was shown to get it.
    pub(super) shown: HeaderMap,
    /// The call that goes on until the answer has come.
    pub(super) errand: Errand,
}

/// A chat endpoint. It is not to be shown: the URL may have a key in it.
pub(super) struct Endpoint {
    http: Client,
    url: Url,
    /// The base URL, as callers may see it.
    address: String,
    model: String,
    identity: Outbound,
    retry: Retry,
    silence: Duration,
}

impl Endpoint {
    pub(super) fn new(settings: &Settings, identity: Outbound) -> Result<Self, Invalid> {
        if !matches!(settings.base.scheme(), "http" | "https") {
            return Err(Invalid::Base);
        }
        let mut url = settings.base.clone();
        let path = url.path_segments_mut();
        path.map_err(|()| Invalid::Base)?
            .pop_if_empty()
            .extend(["chat", "completions"]);
        let http = fetch::trusting(settings.roots.as_deref(), |builder| builder);
        let http = http.map_err(Invalid::Client)?;
        Ok(Self {
            http,
            url,
            address: place(settings.base.as_str()),
            model: settings.model.clone(),
            identity,
            retry: settings.retry,
            silence: settings.idle_timeout,
        })
    }

    pub(super) fn wants(&self) -> &[HeaderName] {
        self.identity.wants()
    }

    /// Asks until there is an answer that is none of a failure.
    pub(super) async fn ask(
        &self,
        turn: &Turn,
        progress: &Progress,
        body: Bytes,
    ) -> Result<Answering, Refusal> {
        let caller = &turn.principal;
        let mut attempt = 0;
        let mut failed = 0;
        let mut renewed = false;
        let mut outage = Outage::new(turn, Some(progress), &self.address).with_backoff(self.retry);
        loop {
            let by = Instant::now() + IDENTITY;
            let shown = match self.identity.headers(caller, by).await {
                Err(IdentityError::Unavailable(why)) => {
                    let down = Down::without_token(why);
                    outage.wait(&down).await.map_err(Refusal::Failed)?;
                    continue;
                }
                shown => shown.map_err(Refusal::Identity)?,
            };
            attempt += 1;
            let errand = self.errand(turn, progress, attempt);
            let (kind, missed) = match self.once(&shown, &errand, body.clone()).await {
                Ok(response) => {
                    outage.over().await.map_err(Refusal::Failed)?;
                    return Ok(Answering {
                        response,
                        shown,
                        errand,
                    });
                }
                Err(missed) => missed,
            };
            errand.failed(kind, missed.error().to_string());
            drop(errand);
            let (error, asked) = match missed {
                Missed::Ever(error) => return Err(Refusal::Failed(error)),
                Missed::Unknown(error) => {
                    if !renewed && self.identity.refused(caller, &shown) {
                        renewed = true;
                        continue;
                    }
                    // Where it is the caller's own, the caller can bring another.
                    let is_ours = self.identity.wants().is_empty();
                    return Err(if is_ours {
                        Refusal::Failed(error)
                    } else {
                        Refusal::Identity(IdentityError::NoCredential)
                    });
                }
                Missed::Down(_, down) => {
                    outage.wait(&down).await.map_err(Refusal::Failed)?;
                    continue;
                }
                Missed::Now(error, asked) => (error, asked),
            };
            failed += 1;
            let too_late = asked.is_some_and(|asked| asked > self.retry.longest);
            if failed >= self.retry.attempts || too_late {
                return Err(Refusal::Failed(error));
            }
            let pause = self.retry.delay_after(failed, asked);
            tracing::info!(%error, failed, ?pause, "retrying the model endpoint");
            sleep(pause).await;
        }
    }

    /// One attempt, as operators see it.
    fn errand(&self, turn: &Turn, progress: &Progress, attempt: u32) -> Errand {
        let model = &self.model;
        let errand = progress.asks(turn, Ask::Model { model, attempt });
        errand.set(names::PROVIDER, "openai");
        errand.at(self.url.host_str(), self.url.port_or_known_default());
        errand
    }

    /// Its URL, as logs may show it.
    pub(super) fn place(&self) -> String {
        fetch::place(self.url.as_str())
    }

    /// Whether it answers: the list of its models costs nothing.
    pub(super) async fn health(&self) -> Health {
        let by = Instant::now() + HEALTH;
        let shown = match self.identity.own_headers(by).await {
            Ok(shown) => shown,
            Err(_) => return Health::down("no credentials configured for the upstream"),
        };
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop().pop().push("models");
        }
        // Where it is somebody only with a caller, nobody can be shown.
        let only_with_caller = shown.is_none() && !self.identity.is_nothing();
        let asked = self.http.get(url).headers(shown.unwrap_or_default());
        let asked = asked.timeout(HEALTH).send();
        match asked.await.map(|response| response.status()) {
            Ok(status) if status.is_success() => Health::up("answers"),
            Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) if only_with_caller => {
                Health::up("answers, and asks callers who they are")
            }
            Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Health::down("refuses the credentials of the agent")
            }
            Ok(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => {
                Health::up("answers, but does not list its models")
            }
            Ok(status) => Health::down(format!("answers with {status}")),
            Err(error) if error.is_timeout() => Health::down("does not answer in time"),
            Err(_) => Health::down("cannot be reached"),
        }
    }

    async fn once(
        &self,
        shown: &HeaderMap,
        errand: &Errand,
        body: Bytes,
    ) -> Result<Response, (String, Missed)> {
        // Which trace it belongs to, and nothing else of it: a vendor need not know what others have written there.
        let trace = errand.headers().filter(|(name, _)| *name == TRACEPARENT);
        let request = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .headers(trace.collect())
            .headers(shown.clone())
            .body(body);
        let sent = timeout(self.silence, request.send()).await;
        let sent = sent.map_err(|_| {
            let seconds = self.silence.as_secs_f64();
            let text = format!("the model endpoint did not answer within {seconds} s");
            let missed = Missed::Ever(AgentError::unavailable(text));
            ("timeout".to_owned(), missed)
        })?;
        let response = sent.map_err(|error| {
            let connecting = error.is_connect();
            let error = error.without_url();
            tracing::debug!(error = %chain(&error), "could not reach the model endpoint");
            if connecting {
                let down = Down::unreachable(root_cause(&error));
                let text = format!(
                    "the model endpoint cannot be reached: {}",
                    root_cause(&error)
                );
                let missed = Missed::Down(AgentError::unavailable(text), down);
                ("unreachable".to_owned(), missed)
            } else {
                let text = "the model endpoint closed the connection before it answered";
                let missed = Missed::Ever(AgentError::unavailable(text));
                ("closed".to_owned(), missed)
            }
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let missed = self.refused(response, shown).await;
        Err((status.as_str().to_owned(), missed))
    }

    async fn refused(&self, response: Response, shown: &HeaderMap) -> Missed {
        let status = response.status();
        let asked = retry_after(response.headers());
        let body = timeout(CONNECT, whole(response, REFUSAL)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let error: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = error.get("error").unwrap_or(&error);
        let spent = error.get("code").and_then(Value::as_str) == Some("insufficient_quota");
        let said = match error {
            Value::Null => String::new(),
            error => format!(": {}", quoted(&without(shown, reported(error)))),
        };
        let fails = |text: String| AgentError::new(text + &said);
        let away = |text: String| AgentError::unavailable(text + &said);
        let missed = match status {
            // What it says may show the key in part.
            StatusCode::UNAUTHORIZED => Missed::Unknown(AgentError::new(
                "the model endpoint rejected the agent's API key: set a valid one for the agent",
            )),
            StatusCode::FORBIDDEN => Missed::Ever(AgentError::new(
                "the model endpoint denies the agent's API key access to this model: grant it, or set another key",
            )),
            StatusCode::NOT_FOUND => Missed::Ever(fails(
                "the model endpoint has no such model or path: check the agent's model and base URL".to_owned(),
            )),
            StatusCode::PAYLOAD_TOO_LARGE => Missed::Ever(fails(
                "the message is too large for the model endpoint: send less".to_owned(),
            )),
            StatusCode::TOO_MANY_REQUESTS if spent => Missed::Ever(fails(
                "the quota at the model endpoint is used up: raise it there".to_owned(),
            )),
            StatusCode::TOO_MANY_REQUESTS => {
                let text = "the model endpoint has too many requests: try again later";
                self.not_now(status, away(text.to_owned()), asked)
            }
            status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
                let text = format!("the model endpoint failed with {}: try again later", status.as_u16());
                self.not_now(status, away(text), asked)
            }
            status if status.is_redirection() => Missed::Ever(AgentError::new(
                "the model endpoint redirects to another URL; redirects are not followed: set the agent's base URL to the target",
            )),
            status => Missed::Ever(fails(format!(
                "the model endpoint refused the request with {}",
                status.as_u16()
            ))),
        };
        let status = status.as_u16();
        match missed {
            Missed::Ever(_) | Missed::Unknown(_) => {
                tracing::warn!(status, reason = said, "model endpoint refused a request");
            }
            Missed::Down(..) | Missed::Now(..) => {
                tracing::debug!(status, reason = said, "model endpoint refused a request");
            }
        }
        missed
    }
}

impl Endpoint {
    /// A status after which another attempt may succeed. A completion leaves nothing behind, so it may be repeated; but it
    /// costs, so only what says that there is nobody to answer counts as an outage, and nothing does if `retry.attempts` is 1.
    fn not_now(&self, status: StatusCode, error: AgentError, asked: Option<Duration>) -> Missed {
        let is_down = match status {
            _ if self.retry.attempts <= 1 => false,
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => true,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::GATEWAY_TIMEOUT => asked.is_some(),
            _ => false,
        };
        // Whoever asks for more than the longest backoff is not waited for.
        match is_down && asked.is_none_or(|asked| asked <= self.retry.longest) {
            true => Missed::Down(error, Down::status(status.as_u16(), asked)),
            false => Missed::Now(error, asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_put_behind_the_base() {
        for (base, url) in [
            ("http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("http://h:1", "http://h:1/chat/completions"),
            ("https://h/x?v=2", "https://h/x/chat/completions?v=2"),
        ] {
            let settings = Settings::new(base.parse().unwrap(), "m");
            let endpoint = Endpoint::new(&settings, Outbound::none()).unwrap();
            assert_eq!(endpoint.url.as_str(), url);
        }
        let odd = Settings::new("data:x".parse().unwrap(), "m");
        let refused = Endpoint::new(&odd, Outbound::none()).err();
        assert_eq!(refused, Some(Invalid::Base));
    }
}
