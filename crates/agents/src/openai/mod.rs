//! Agents that are a model behind an OpenAI-compatible chat endpoint: OpenAI, Ollama, vLLM, LM Studio and their like.
//!
//! A turn is one `POST {base}/chat/completions` with `stream: true`. What the model writes becomes one artifact,
//! `answer`, that grows as the text comes. What comes faster than [`Settings::coalesce`] goes into one event.
//!
//! The model is told the system prompt, what was said before in the conversation as far as
//! [`Settings::history_tokens`] goes, and the message. Of an earlier task it is told the messages and the answer, if
//! there was one.
//!
//! | part | becomes |
//! |---|---|
//! | text | text |
//! | data | its JSON, as text |
//! | file `image/*`, bytes or URL | `image_url`; bytes as a `data:` URL |
//! | file with bytes that are text | text, with its name before it |
//! | any other file | the task is rejected, with a reason |
//!
//! # What is told about the answer
//!
//! The metadata of the finished artifact, and of the event that completes the task:
//!
//! - `model`: the model, as the endpoint names it.
//! - `finishReason`: why it stopped: `stop`, or `length` if the answer is cut short by a limit of the endpoint.
//! - `usage`: `inputTokens`, `outputTokens`, `totalTokens`, if the endpoint counts them.
//!
//! # Failures
//!
//! 408, 429, 5xx and connections that cannot be made are tried again by [`Settings::retry`], before the first byte of
//! an answer only; `Retry-After` is obeyed. A 401 is tried again once where [`Outbound`] can have another token. All
//! else fails the task, with what to do about it. A cancel closes the request.
//!
//! A chat completion leaves nothing behind, so a turn cut off by a restart is taken again: the new answer replaces
//! what there was of the old one.

pub(crate) mod api;
pub(crate) mod events;
mod messages;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderName;
use reqwest::Response;
use serde_json::{Map, Value, json};
use switchboard_client::Retry;
use switchboard_server::agent::{
    Agent, AgentError, AgentErrorKind, Outcome, Progress, Restart, Said, Turn,
};
use switchboard_server::backend::Health;
use switchboard_types::wire::sse::Reader;
use tokio::time::timeout;
use url::Url;

use self::api::{Answering, Endpoint, Refusal};
use self::events::Answer;
use crate::fetch::{self, quoted, without};
use crate::identity::Outbound;
use crate::writer::Writer;

/// The longest event of a stream.
const FRAME: usize = 1 << 20;

/// What the request says by itself.
const OURS: [&str; 5] = ["model", "messages", "stream", "stream_options", "n"];

/// What stands behind an agent that is a model, and how it is asked.
#[derive(Clone)]
pub struct Settings {
    /// What `/chat/completions` is put behind, such as `http://127.0.0.1:11434/v1`. A query stays.
    pub base: Url,
    /// Certificates to trust beside the system's, as PEM.
    pub roots: Option<Vec<u8>>,
    /// The model's name.
    pub model: String,
    /// What the model is told before all else.
    pub system: Option<String>,
    /// How much of what was said before the model is told, in tokens of four characters; the newest is kept. 8000.
    pub history_tokens: usize,
    /// How many earlier tasks of the conversation are looked at. 50.
    pub history_tasks: usize,
    /// What else the request says, such as `temperature` or `max_tokens`.
    pub parameters: Map<String, Value>,
    /// Whether to ask for the usage (`stream_options`); old servers may refuse that. Yes.
    pub ask_usage: bool,
    /// How often and how soon a request is sent again that was not answered.
    pub retry: Retry,
    /// How long the endpoint may say nothing. 300 s: a model may have to be loaded.
    pub idle_timeout: Duration,
    /// The longest answer, in bytes. 4 MiB.
    pub max_answer_bytes: usize,
    /// How long text is gathered before it becomes an event. 50 ms; the first text does not wait.
    pub coalesce: Duration,
}

impl Settings {
    /// This model at this endpoint, and the rest as it usually is.
    pub fn new(base: Url, model: impl Into<String>) -> Self {
        Self {
            base,
            roots: None,
            model: model.into(),
            system: None,
            history_tokens: 8000,
            history_tasks: 50,
            parameters: Map::new(),
            ask_usage: true,
            retry: Retry {
                attempts: 4,
                first: Duration::from_millis(500),
                longest: Duration::from_secs(30),
            },
            idle_timeout: Duration::from_secs(300),
            max_answer_bytes: 4 << 20,
            coalesce: Duration::from_millis(50),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL and the parameters may have keys in them.
        f.debug_struct("Settings")
            .field("host", &self.base.host_str())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Why there can be no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is not HTTP.
    #[error("the base URL must begin with http:// or https://")]
    Base,
    /// Nothing to ask for.
    #[error("the model has no name")]
    Model,
    /// It is said already.
    #[error("the parameter {0:?} is set by Switchboard")]
    Parameter(String),
    /// There is no HTTP client to be had.
    #[error("no HTTP client: {0}")]
    Client(String),
}

/// An agent that is a model.
pub struct OpenAiAgent {
    settings: Settings,
    endpoint: Endpoint,
}

impl fmt::Debug for OpenAiAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenAiAgent").field(&self.settings).finish()
    }
}

impl OpenAiAgent {
    /// The agent that asks as `settings` say, and shows `identity`.
    ///
    /// # Errors
    ///
    /// If it could never ask.
    pub fn new(settings: Settings, identity: Outbound) -> Result<Self, Invalid> {
        if settings.model.is_empty() {
            return Err(Invalid::Model);
        }
        if let Some(name) = OURS.iter().find(|n| settings.parameters.contains_key(**n)) {
            return Err(Invalid::Parameter((*name).to_owned()));
        }
        let endpoint = Endpoint::new(&settings, identity)?;
        Ok(Self { settings, endpoint })
    }

    async fn take(&self, turn: &Turn, progress: &Progress) -> Result<Outcome, AgentError> {
        let affordable = turn.budget().tokens;
        if affordable == Some(0) {
            let text = "the budget of this task has no tokens left";
            return Ok(Outcome::Rejected(Said::text(text)));
        }
        let messages = match messages::of(turn, &self.settings).await? {
            Ok(messages) => messages,
            Err(unreadable) => return Ok(Outcome::Rejected(Said::text(unreadable.to_string()))),
        };
        let request = self.request(messages, affordable);
        let asked = self.endpoint.ask(turn, progress, request).await;
        let Answering {
            response,
            shown,
            errand,
        } = match asked {
            Ok(answering) => answering,
            Err(Refusal::Identity(error)) => return error.ending(),
            Err(Refusal::Failed(error)) => return Err(error),
        };
        let mut writer = Writer::new(progress, messages::ANSWER, self.settings.coalesce);
        let told = self.listen(response, &mut writer).await;
        let told = told.map_err(|error| match error.kind() {
            // Before it is cut: half a key is one, too.
            AgentErrorKind::Failed => AgentError::new(quoted(&without(&shown, error.to_string()))),
            AgentErrorKind::Unavailable | AgentErrorKind::Over => error,
        });
        let told = told.map(|metadata| {
            Outcome::Completed(Said {
                metadata: Some(metadata),
                ..Said::default()
            })
        });
        // Before the last word of the turn: with that it is stored.
        errand.ended(&told);
        drop(errand);
        match &told {
            Ok(outcome) => writer.close(outcome.said().metadata.clone()).await?,
            // What there is of the answer may still be of use.
            Err(_) => writer.flush().await?,
        }
        told
    }

    /// What is asked. The answer may have no more tokens than are `affordable`.
    fn request(&self, messages: Vec<Value>, affordable: Option<u64>) -> Bytes {
        let mut body = self.settings.parameters.clone();
        if let Some(affordable) = affordable {
            let name = match body.contains_key("max_completion_tokens") {
                true => "max_completion_tokens",
                false => "max_tokens",
            };
            let wanted = body.get(name).and_then(Value::as_u64);
            let most = wanted.unwrap_or(u64::MAX).min(affordable);
            body.insert(name.to_owned(), most.into());
        }
        body.insert("model".to_owned(), self.settings.model.as_str().into());
        body.insert("messages".to_owned(), messages.into());
        body.insert("stream".to_owned(), true.into());
        if self.settings.ask_usage {
            let options = json!({ "include_usage": true });
            body.insert("stream_options".to_owned(), options);
        }
        Value::Object(body).to_string().into()
    }

    /// Hears the answer out. What it is told about is the metadata of the answer.
    async fn listen(
        &self,
        response: Response,
        writer: &mut Writer<'_>,
    ) -> Result<switchboard_types::model::Object, AgentError> {
        let mut answer = Answer::new(self.settings.max_answer_bytes);
        if fetch::is_stream(&response) {
            self.follow(response, &mut answer, writer).await?;
        } else {
            // Some servers know no streams, and answer at once.
            let limit = self.settings.max_answer_bytes.saturating_add(FRAME);
            let read = timeout(self.settings.idle_timeout, fetch::whole(response, limit));
            let body = read.await.map_err(|_| self.silent())?;
            let body = body.map_err(events::Broken::from)?;
            writer.add(&answer.read_whole(&body)?);
        }
        Ok(answer.finish()?)
    }

    async fn follow(
        &self,
        mut response: Response,
        answer: &mut Answer,
        writer: &mut Writer<'_>,
    ) -> Result<(), AgentError> {
        let mut frames = Reader::new(FRAME);
        loop {
            let read = timeout(self.settings.idle_timeout, response.chunk());
            let read = tokio::select! {
                biased;
                read = read => read,
                () = writer.due() => {
                    writer.flush().await?;
                    continue;
                }
            };
            let is_over = match read.map_err(|_| self.silent())? {
                Ok(Some(bytes)) => {
                    frames.push(&bytes);
                    false
                }
                Ok(None) => {
                    frames.end();
                    true
                }
                Err(error) => {
                    tracing::warn!(error = %error.without_url(), "model answer broke off");
                    true
                }
            };
            for frame in frames.by_ref() {
                let frame =
                    frame.map_err(|_| AgentError::new(events::Broken::TooLong.to_string()))?;
                writer.add(&answer.read(&frame.data)?);
            }
            if is_over || answer.is_done() {
                return Ok(());
            }
            if writer.is_due() {
                writer.flush().await?;
            }
        }
    }

    fn silent(&self) -> AgentError {
        let seconds = self.settings.idle_timeout.as_secs_f64();
        AgentError::unavailable(format!("the model endpoint sent no data for {seconds} s"))
    }
}

#[async_trait]
impl Agent for OpenAiAgent {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        // To drop the request is to close it.
        let taken = Box::pin(self.take(&turn, &progress));
        let taken = turn.canceled.run_until_cancelled(taken).await;
        taken.unwrap_or_else(|| Err(AgentError::over()))
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    fn has_effects(&self) -> bool {
        false
    }

    fn upstream(&self) -> Option<String> {
        Some(self.endpoint.place())
    }

    async fn health(&self) -> Health {
        self.endpoint.health().await
    }

    fn forwarded_headers(&self) -> &[HeaderName] {
        self.endpoint.wants()
    }
}
