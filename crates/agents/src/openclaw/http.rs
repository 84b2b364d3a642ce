//! One turn, taken over HTTP: where a gateway takes no socket, or has not paired us.
//!
//! `/v1/chat/completions`, or `/v1/responses` where there are files other than images. The run lives as long as the
//! connection does: to drop the request is to stop it. It has no name that would be known twice, so it is never sent
//! again.

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::Response;
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, AgentErrorKind, Outcome, Said};
use switchboard_server::trace::{TRACEPARENT, Trace};
use switchboard_types::model::Object;
use switchboard_types::wire::sse::Reader;
use tokio::time::timeout;
use url::Url;

use super::ANSWER;
use super::checkpoint::{Checkpoint, Way};
use super::prompt::Prompt;
use super::refused::Refused;
use super::responses::Responses;
use super::run::Run;
use super::socket::why;
use crate::fetch::{is_stream, retry_after, whole};
use crate::openai::events::{Answer, Broken, reported};
use crate::upstream::{Down, Outage, root_cause};
use crate::writer::Writer;

/// Where a conversation goes on.
const SESSION: HeaderName = HeaderName::from_static("x-openclaw-session-key");
/// The longest event of a stream.
const FRAME: usize = 4 << 20;
/// The most of a refusal that is read.
const REFUSAL: usize = 64 << 10;
/// How long a gateway may say nothing: a tool may take its time.
const SILENCE: Duration = Duration::from_secs(900);

/// Files that `/v1/responses` takes.
const READABLE: [&str; 6] = [
    "text/plain",
    "text/markdown",
    "text/html",
    "text/csv",
    "application/json",
    "application/pdf",
];

impl Run<'_> {
    /// Takes the turn, unless the gateway is down and has not begun anything. `refused`: why not over the socket.
    pub(super) async fn over_http(
        &self,
        prompt: &Prompt,
        refused: Option<&Refused>,
        outage: &mut Outage<'_>,
    ) -> Result<Result<Outcome, Down>, AgentError> {
        if let Some(file) = unreadable(prompt) {
            let text = format!(
                "the agent cannot read {file}: OpenClaw accepts text, images and PDF over HTTP"
            );
            return Ok(Ok(Outcome::Rejected(Said::text(text))));
        }
        let mut checkpoint = Checkpoint {
            way: Way::Http,
            known: false,
            boot: None,
            successor: None,
            unsent: false,
        };
        checkpoint.keep(self.progress).await?;
        let answered = self.exchange(prompt, refused, outage);
        match self.turn.canceled.run_until_cancelled(answered).await {
            Some(Ok(Err(down))) => {
                // After a restart it must be known that the message did not go out.
                checkpoint.unsent = true;
                checkpoint.keep(self.progress).await?;
                Ok(Err(down))
            }
            Some(outcome) => outcome.map_err(|error| {
                let text = self.gateway.quote(error.to_string());
                match error.kind() {
                    AgentErrorKind::Failed => AgentError::new(text),
                    AgentErrorKind::Unavailable => AgentError::unavailable(text),
                    AgentErrorKind::Over => error,
                }
            }),
            None => Err(AgentError::over()),
        }
    }

    async fn exchange(
        &self,
        prompt: &Prompt,
        refused: Option<&Refused>,
        outage: &mut Outage<'_>,
    ) -> Result<Result<Outcome, Down>, AgentError> {
        let files = prompt.needs_chat();
        let (path, body) = if files {
            ("v1/responses", responses(prompt, &self.settings.agent))
        } else {
            ("v1/chat/completions", chat(prompt, &self.settings.agent))
        };
        let url = below(&self.gateway.place.url, path);
        let request = self
            .gateway
            .http
            .post(url)
            .headers(self.headers()?)
            .body(body.to_string());
        let sent = timeout(SILENCE, request.send()).await;
        let response = match sent.map_err(|_| silent())? {
            Ok(response) => response,
            Err(error) if error.is_connect() => {
                return Ok(Err(Down::unreachable(root_cause(&error.without_url()))));
            }
            Err(error) => {
                tracing::warn!(error = why(error), "OpenClaw gateway did not answer");
                let text = "the OpenClaw gateway closed the connection before it answered: it is unknown whether it was processed";
                return Err(AgentError::unavailable(text));
            }
        };
        if let (StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS, Some(asked)) =
            (response.status(), retry_after(response.headers()))
        {
            let status = response.status().as_u16();
            return Ok(Err(Down::status(status, Some(asked))));
        }
        if !response.status().is_success() {
            return Err(self.refusal(response, refused).await);
        }
        outage.over().await?;
        let limit = self.settings.max_answer_bytes;
        let mut speech = if files {
            Speech::Responses(Responses::new(limit))
        } else {
            Speech::Chat(Answer::new(limit))
        };
        let mut writer = Writer::new(self.progress, ANSWER, self.settings.coalesce);
        if let Err(error) = listen(response, &mut speech, &mut writer, limit).await {
            writer.flush().await?;
            return Err(error);
        }
        let metadata = speech.finish()?;
        writer.close(metadata.clone()).await?;
        Ok(Ok(Outcome::Completed(Said {
            metadata,
            ..Said::default()
        })))
    }

    async fn refusal(&self, response: Response, refused: Option<&Refused>) -> AgentError {
        let status = response.status();
        let body = timeout(Duration::from_secs(10), whole(response, REFUSAL)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let error: Value = serde_json::from_slice(&body).unwrap_or_default();
        let said = match error.get("error").unwrap_or(&Value::Null) {
            Value::Null => String::new(),
            error => self.gateway.quote(reported(error)),
        };
        tracing::warn!(
            status = status.as_u16(),
            reason = said,
            "OpenClaw gateway refused a request"
        );
        refusal_text(status, &said, refused)
    }

    /// All headers that go out with a turn.
    fn headers(&self) -> Result<HeaderMap, AgentError> {
        let text = |text: &str| {
            let value = HeaderValue::from_str(text);
            value.map_err(|_| AgentError::new("the token or the agent is not a valid header value"))
        };
        let mut token = text(&format!("Bearer {}", self.gateway.place.token.reveal()))?;
        token.set_sensitive(true);
        // Which trace it belongs to, and nothing else of it: what is behind it need not know what others have written there.
        let trace = self.turn.trace().into_iter().flat_map(Trace::headers);
        let trace = trace.filter(|(name, _)| *name == TRACEPARENT);
        let headers = [
            (AUTHORIZATION, token),
            (SESSION, text(&self.session)?),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (
                ACCEPT,
                HeaderValue::from_static("text/event-stream, application/json"),
            ),
        ];
        Ok(headers.into_iter().chain(trace).collect())
    }
}

fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path.split('/'));
    }
    url
}

/// Only the new message: the gateway knows what was said before.
fn chat(prompt: &Prompt, agent: &str) -> Value {
    let text = &prompt.text;
    let content = if prompt.files.is_empty() {
        json!(text)
    } else {
        let images = prompt.files.iter();
        let images =
            images.map(|f| json!({ "type": "image_url", "image_url": { "url": f.url() } }));
        let parts = std::iter::once(json!({ "type": "text", "text": text })).chain(images);
        parts.collect()
    };
    json!({
        "model": format!("openclaw/{agent}"),
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": content }],
    })
}

fn responses(prompt: &Prompt, agent: &str) -> Value {
    let files = prompt.files.iter().map(|file| {
        let mut source =
            json!({ "type": "base64", "media_type": file.media, "data": file.content });
        let kind = if file.is_image() {
            "input_image"
        } else {
            source["filename"] = file.name.as_str().into();
            "input_file"
        };
        json!({ "type": kind, "source": source })
    });
    let text = std::iter::once(json!({ "type": "input_text", "text": prompt.text }));
    let content: Value = text.chain(files).collect();
    json!({
        "model": format!("openclaw/{agent}"),
        "stream": true,
        "input": [{ "type": "message", "role": "user", "content": content }],
    })
}

/// A file that HTTP does not take, in words.
fn unreadable(prompt: &Prompt) -> Option<String> {
    let mut files = prompt.files.iter();
    let file = files.find(|f| !f.is_image() && !READABLE.contains(&f.media.as_str()))?;
    Some(format!("the file {:?} ({})", file.name, file.media))
}

async fn listen(
    mut response: Response,
    speech: &mut Speech,
    writer: &mut Writer<'_>,
    limit: usize,
) -> Result<(), AgentError> {
    if !is_stream(&response) {
        let body = timeout(SILENCE, whole(response, limit.saturating_add(FRAME))).await;
        let body = body
            .map_err(|_| silent())?
            .map_err(|unread| told(unread.into()))?;
        writer.add(&speech.read_whole(&body)?);
        return Ok(());
    }
    let mut frames = Reader::new(FRAME);
    loop {
        let read = tokio::select! {
            biased;
            read = timeout(SILENCE, response.chunk()) => read,
            () = writer.due() => {
                writer.flush().await?;
                continue;
            }
        };
        let is_over = match read.map_err(|_| silent())? {
            Ok(Some(bytes)) => {
                frames.push(&bytes);
                false
            }
            Ok(None) => {
                frames.end();
                true
            }
            Err(error) => {
                tracing::warn!(error = why(error), "OpenClaw answer broke off");
                true
            }
        };
        for frame in frames.by_ref() {
            let frame = frame.map_err(|_| told(Broken::TooLong))?;
            writer.add(&speech.read(&frame.data)?);
        }
        if is_over || speech.is_done() {
            return Ok(());
        }
        if writer.is_due() {
            writer.flush().await?;
        }
    }
}

/// What is spoken.
enum Speech {
    Chat(Answer),
    Responses(Responses),
}

impl Speech {
    fn read(&mut self, data: &str) -> Result<String, AgentError> {
        match self {
            Self::Chat(answer) => answer.read(data).map_err(told),
            Self::Responses(answer) => answer.read(data).map_err(told),
        }
    }

    fn read_whole(&mut self, body: &[u8]) -> Result<String, AgentError> {
        match self {
            Self::Chat(answer) => answer.read_whole(body).map_err(told),
            Self::Responses(answer) => answer.read_whole(body).map_err(told),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Chat(answer) => answer.is_done(),
            Self::Responses(answer) => answer.done,
        }
    }

    fn finish(self) -> Result<Option<Object>, AgentError> {
        match self {
            Self::Chat(answer) => answer.finish().map(Some).map_err(told),
            Self::Responses(answer) if answer.done => Ok(None),
            Self::Responses(_) => Err(told(Broken::CutOff)),
        }
    }
}

/// The same in the words of this kind of agent.
fn told(broken: Broken) -> AgentError {
    AgentError::new(match broken {
        Broken::Reported(text) => format!("the agent failed: {text}"),
        Broken::Unreadable(text) => {
            format!("the OpenClaw gateway returned an invalid response: {text}")
        }
        Broken::CutOff => {
            "the agent's response was cut off; OpenClaw stops a run when its connection closes"
                .to_owned()
        }
        Broken::Empty | Broken::Tool => "the agent gave an empty answer".to_owned(),
        Broken::Filtered => "the answer was stopped by a content filter".to_owned(),
        Broken::TooLong => "the answer of the agent is too long".to_owned(),
    })
}

fn silent() -> AgentError {
    let minutes = SILENCE.as_secs() / 60;
    AgentError::unavailable(format!(
        "the OpenClaw gateway sent no data for {minutes} min"
    ))
}

fn refusal_text(status: StatusCode, said: &str, refused: Option<&Refused>) -> AgentError {
    match status {
        StatusCode::UNAUTHORIZED => Refused::Token.told(),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            let socket = refused.map(|refused| format!("; over the WebSocket {refused}"));
            AgentError::unavailable(format!(
                "the OpenClaw gateway does not accept messages over HTTP: enable its gateway.http.endpoints{}",
                socket.unwrap_or_default()
            ))
        }
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            Refused::Starting(None).told()
        }
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            Refused::Away(String::new()).told()
        }
        _ if said.is_empty() => AgentError::new(format!(
            "the OpenClaw gateway refused the message with {}",
            status.as_u16()
        )),
        _ => AgentError::new(format!("the agent failed: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openclaw::prompt::Attached;

    fn prompt(media: &str) -> Prompt {
        Prompt {
            text: "read".to_owned(),
            files: vec![Attached {
                name: "a".to_owned(),
                media: media.to_owned(),
                content: "eA==".to_owned(),
            }],
        }
    }

    #[test]
    fn images_and_files_go_where_they_are_taken() {
        let image = chat(&prompt("image/png"), "main");
        assert_eq!(image["model"], "openclaw/main");
        let parts = &image["messages"][0]["content"];
        assert_eq!(parts[1]["image_url"]["url"], "data:image/png;base64,eA==");
        let file = responses(&prompt("text/plain"), "main");
        let source =
            json!({"type": "base64", "media_type": "text/plain", "data": "eA==", "filename": "a"});
        let part = &file["input"][0]["content"][1];
        assert_eq!(part, &json!({"type": "input_file", "source": source}));
        assert_eq!(unreadable(&prompt("text/csv")), None);
        let zip = unreadable(&prompt("application/zip"));
        assert_eq!(zip.as_deref(), Some("the file \"a\" (application/zip)"));
    }

    #[test]
    fn the_path_is_put_behind_the_address() {
        for (base, url) in [
            ("http://h:1", "http://h:1/v1/responses"),
            ("http://h:1/", "http://h:1/v1/responses"),
            ("http://h/claw/", "http://h/claw/v1/responses"),
        ] {
            assert_eq!(below(&base.parse().unwrap(), "v1/responses").as_str(), url);
        }
    }

    #[test]
    fn a_refusal_names_both_ways_if_neither_works() {
        let unpaired = Refused::Unpaired(Some("98ca".to_owned()));
        let error = refusal_text(StatusCode::NOT_FOUND, "", Some(&unpaired)).to_string();
        assert!(
            error.contains("enable its gateway.http.endpoints"),
            "{error}"
        );
        assert!(error.contains("openclaw devices approve 98ca"), "{error}");
        let error = refusal_text(StatusCode::BAD_REQUEST, "Unknown agent 'x'.", None);
        assert_eq!(error.to_string(), "the agent failed: Unknown agent 'x'.");
    }
}
