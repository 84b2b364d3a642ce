//! Agents that are an assistant of a LangGraph server.
//!
//! A turn is one `message/stream` at `{base}/a2a/{assistant}`, in the words of A2A 0.3, which all releases have in
//! common. What the assistant writes becomes one artifact, `answer`, that grows as the text comes. Each of our
//! conversations is a thread of its own there.
//!
//! | part | becomes |
//! |---|---|
//! | text | text; several texts are sent as one |
//! | data | its keys become the state of the graph; not `messages` and `resume`, see [`Settings::data_keys`] |
//! | file | a file, if the release takes files (0.12 or newer); else the task is rejected, with a reason |
//!
//! An `interrupt` of the graph becomes `input-required`, with its value as text and as data
//! (`{"interrupts": [{"id", "value"}]}`); the next message is the answer: its text, or its data part.
//!
//! # What A2A cannot tell there
//!
//! The endpoint has its traps: it tells canceled runs as completed, it cannot be subscribed to, and releases before 0.7.12
//! know neither questions nor cancel. So the server's own interface (`/threads`) is asked beside it: how a run has ended if
//! that is not certain, to cancel it, and to find it again after either side was restarted. What is needed for that is kept
//! in a checkpoint, so that nothing is sent twice.
//!
//! - `api`: the server. `line`: the assistant and its card.
//! - `run`: one turn. `hear`: what it sends and hears. `follow`: a run that is not heard any more. `checkpoint` and `keep`:
//!   what is written down about it.
//! - `message`, `events`: what is said to it and by it. Pure.

mod api;
mod checkpoint;
mod events;
mod follow;
mod hear;
mod keep;
mod line;
mod message;
mod run;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderName;
use switchboard_server::agent::{Agent, AgentError, Ask, Outcome, Progress, Restart, Turn};
use switchboard_server::backend::{Drift, Health};
use switchboard_server::trace::names;
use switchboard_types::Dialect;
use switchboard_types::model::AgentCard;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

pub use self::api::Assistant;
use self::line::Line;
use self::run::Run;
use crate::fetch::place;
use crate::identity::Outbound;

/// Which assistant stands behind an agent, and how it is talked to.
#[derive(Clone)]
pub struct Settings {
    /// Where the server is: what `/a2a/{assistant}` is put behind.
    pub base: Url,
    /// The id of the assistant, or the name of its graph, or its own.
    pub assistant: String,
    /// How long a turn may take; then its run is canceled. 300 s.
    pub timeout: Duration,
    /// How long a server that cannot be reached in the middle of a turn is waited for. 30 s.
    pub reconnect: Duration,
    /// Whether to ask for a stream. If not, the answer comes in one piece, with `message/send`. Yes.
    pub streaming: bool,
    /// The keys that data of callers may have. If none are named: all but `messages` and `resume`.
    pub data_keys: Option<Vec<String>>,
    /// Whether callers are told what a graph says when it fails. It may say more than it should. No.
    pub show_errors: bool,
    /// How often the assistant is looked at again. 5 min.
    pub refresh: Duration,
    /// The longest answer, in bytes. 4 MiB.
    pub max_answer_bytes: usize,
    /// How long text is gathered before it becomes an event. 50 ms; the first text does not wait.
    pub coalesce: Duration,
}

impl Settings {
    /// This assistant of this server, and the rest as it usually is.
    #[must_use]
    pub fn new(base: Url, assistant: impl Into<String>) -> Self {
        Self {
            base,
            assistant: assistant.into(),
            timeout: Duration::from_secs(300),
            reconnect: Duration::from_secs(30),
            streaming: true,
            data_keys: None,
            show_errors: false,
            refresh: Duration::from_secs(300),
            max_answer_bytes: 4 << 20,
            coalesce: Duration::from_millis(50),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may have a key in it.
        f.debug_struct("Settings")
            .field("host", &self.base.host_str())
            .field("assistant", &self.assistant)
            .finish_non_exhaustive()
    }
}

/// Why there can be no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is not HTTP.
    #[error("the URL must begin with http:// or https://")]
    Base,
    /// Nobody to talk to.
    #[error("the assistant has no name")]
    Assistant,
    /// There is no HTTP client to be had.
    #[error("no HTTP client: {0}")]
    Client(String),
}

/// An agent that is an assistant.
pub struct LangGraphAgent {
    line: Line,
    /// The words that all releases understand.
    dialect: Dialect,
}

impl fmt::Debug for LangGraphAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LangGraphAgent")
            .field(&self.line.settings)
            .finish()
    }
}

impl LangGraphAgent {
    /// The agent that talks as `settings` say, and shows `identity`.
    ///
    /// # Errors
    ///
    /// If it could never talk.
    pub fn new(settings: Settings, identity: Outbound) -> Result<Self, Invalid> {
        if settings.assistant.is_empty() {
            return Err(Invalid::Assistant);
        }
        let dialect = Dialect::from_tag("0.3").ok_or(Invalid::Assistant)?;
        let line = Line::new(settings, identity)?;
        Ok(Self { line, dialect })
    }

    /// What the assistant's card says, as soon as it is known, and whenever it changes.
    #[must_use]
    pub fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        self.line.card()
    }

    /// Looks at the assistant now and then, until `stop`. `name` is for the log.
    pub async fn keep_card(&self, name: &str, stop: &CancellationToken) {
        self.line.keep(name, stop).await;
    }
}

#[async_trait]
impl Agent for LangGraphAgent {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let settings = &self.line.settings;
        let errand = progress.asks(&turn, Ask::Agent(&settings.assistant));
        errand.set(names::PROVIDER, "langgraph");
        let (host, port) = (
            settings.base.host_str(),
            settings.base.port_or_known_default(),
        );
        errand.at(host, port);
        let turn = turn.within(&errand);
        let mut run = Run::new(&self.line, self.dialect, &turn, Some(&progress)).await?;
        run.errand = Some(&errand);
        let taken = Box::pin(run.take()).await;
        errand.ended(&taken);
        taken
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    /// A turn writes down what it will do before it does it, and with that the task is durable.
    fn has_effects(&self) -> bool {
        false
    }

    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        let mut run = Run::new(&self.line, self.dialect, &turn, None).await?;
        run.cancel().await
    }

    fn upstream(&self) -> Option<String> {
        Some(place(self.line.settings.base.as_str()))
    }

    async fn health(&self) -> Health {
        self.line.health().await
    }

    fn drift(&self) -> Option<Arc<Drift>> {
        self.line.drift()
    }

    fn forwarded_headers(&self) -> &[HeaderName] {
        self.line.identity.wants()
    }
}

/// All assistants of a server.
///
/// # Errors
///
/// If it cannot be asked, in words for a log.
pub async fn assistants(base: &Url, identity: &Outbound) -> Result<Vec<Assistant>, String> {
    line::assistants(base, identity).await
}
