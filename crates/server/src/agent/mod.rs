//! The interface of agents: the [`Agent`] trait and what it is given.
//!
//! An agent is handed a [`Turn`], speaks through [`Progress`] while it works, and *returns* an
//! [`Outcome`]. So it cannot forget to end a task, nor speak after ending it. An error or a panic
//! makes the task fail.

mod errand;
mod events;
mod turn;
mod voice;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use hyper::header::HeaderName;
use serde_json::Value;
use switchboard_types::Error;
use switchboard_types::model::{Artifact, Message, Object, Part, TaskId};
use switchboard_types::operation::SendMessage;

use crate::backend::{Drift, Health};
use crate::budget::Spent;
use crate::principal::Principal;

pub use errand::{Ask, Errand};
pub(crate) use events::{bare_message, status, status_event};
pub use turn::Turn;
pub(crate) use turn::TurnContext;
pub(crate) use voice::Voice;

/// Something that can take a turn. [`run`](Self::run) is what an agent is; [`release`](Self::release) is for those that
/// call an upstream. Everything else has a default.
#[async_trait]
pub trait Agent: Send + Sync + fmt::Debug {
    /// Takes one turn: from a message to an outcome.
    ///
    /// When [`Turn::canceled`] fires the agent has a short grace to stop by itself; then the future is
    /// dropped.
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError>;

    /// A task ended, and the upstream may not know it: the task waited for its caller and was canceled, or no answer came
    /// in time; or its last turn [could not tell](AgentError::release_pending). `turn` is the last one it had. Releasing
    /// twice must be harmless: it is called once more after a restart.
    ///
    /// # Errors
    ///
    /// If the upstream cannot be reached now. The release is retried with backoff, for a day.
    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        drop(turn);
        Ok(())
    }

    /// What becomes of this turn, which a restart cut off.
    async fn on_restart(&self, turn: &Turn) -> Restart {
        let _ = turn;
        Restart::Fail
    }

    /// Whether running a turn touches the world outside Switchboard. If it does, the turn begins only
    /// once the task is durable, so that a crash cannot leave work done for a task nobody knows.
    fn has_effects(&self) -> bool {
        true
    }

    /// Whether the agent can take such a message at all. One that it cannot is refused before there is a task; media
    /// types that its card does not have were refused already.
    ///
    /// # Errors
    ///
    /// If it cannot, with the error that the caller gets.
    fn require_input(&self, message: &Message) -> Result<(), Error> {
        let _ = message;
        Ok(())
    }

    /// Whether the backend can work, checked now. Takes no longer than a few seconds.
    async fn health(&self) -> Health {
        Health::unknown("not checked")
    }

    /// The upstream that the agent calls, as log lines of its turns name it: a URL without credentials. An agent that
    /// names none has no span around its turns to pay for.
    fn upstream(&self) -> Option<String> {
        None
    }

    /// What had changed upstream when that was noticed last, since the start.
    fn drift(&self) -> Option<Arc<Drift>> {
        None
    }

    /// The headers of a caller's request that the agent is to see, in [`Principal::forwarded`](crate::principal::Principal::forwarded): it may need them to
    /// act on the caller's behalf upstream. None by default.
    fn forwarded_headers(&self) -> &[HeaderName] {
        &[]
    }
}

/// What becomes of a turn that a restart cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Run it again and go on: [`Turn::is_resumed`] holds, and [`Turn::emitted`] tells how far it came.
    Resume,
    /// Run it again, only to end what the restart left behind; then it fails.
    CleanUp,
    /// It cannot be known how far it came: fail the task with a reason.
    Fail,
}

/// Decides which agent takes a new task, in place of the one that was called: a hook of the engine for routing rules.
pub trait Router: Send + Sync + fmt::Debug {
    /// Whether [`Router::decide`] may look at what a message says.
    fn reads_messages(&self) -> bool;

    /// Decides about a new task; `None` leaves it to the agent that was called. The decision is stored with the task and
    /// holds for all its turns. Here it is known what the caller may do; after a restart it is not.
    fn decide(&self, send: &SendMessage, caller: &Principal) -> Option<Value>;

    /// The agent that takes the turns of a task about which this was decided.
    ///
    /// # Errors
    ///
    /// If the decision cannot be read.
    fn agent(&self, decision: &Value) -> Result<Arc<dyn Agent>, AgentError>;
}

/// How an agent speaks while it works. Each call waits while too much is not yet stored, so a slow
/// store slows the agent, never a reader.
#[derive(Debug, Clone)]
pub struct Progress {
    pub(crate) voice: Voice,
}

impl Progress {
    /// Says something about the work: a status update, still working.
    ///
    /// # Errors
    ///
    /// If the task is over (canceled, timed out): the agent should stop.
    pub async fn working(&self, said: Said) -> Result<(), AgentError> {
        self.voice.working(said).await
    }

    /// Waits until the task is durable, so that what is done now is not done for a task nobody knows. There is a task from
    /// now on, and no direct message.
    ///
    /// # Errors
    ///
    /// If it cannot be stored, or is over.
    pub async fn safe(&self) -> Result<(), AgentError> {
        self.voice.safe().await
    }

    /// Records a step of the task under a name: a checkpoint, the id of a task upstream. It never leaves by A2A, and
    /// [`Turn::last_step`] finds the latest of a name, even after a restart. When this returns it is durable.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub async fn record(&self, name: &str, value: Value) -> Result<(), AgentError> {
        self.voice.record(name, value).await
    }

    /// The same, and a direct message can still be the answer where it could be before: then the step is stored with the
    /// task, if one comes of it.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub async fn record_with_task(&self, name: &str, value: Value) -> Result<(), AgentError> {
        self.voice.record_with_task(name, value).await
    }

    /// Records something for operators: a model was called, a tool was used. It is shown in the trace of the task as
    /// `internal:NAME`, and never leaves by A2A. The members `durationMs` and `error` of the value mean there what they
    /// say. Nothing that is long is kept.
    pub fn operator_note(&self, name: &str, value: Value) {
        self.voice.operator_note(name, value);
    }

    /// Hands over a whole artifact; replaces one of the same id.
    ///
    /// # Errors
    ///
    /// If the task is over: the agent should stop.
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), AgentError> {
        self.chunk(artifact, false, true).await
    }

    /// Hands over a piece of an artifact. `append` adds to what was given before; `last` closes it.
    ///
    /// # Errors
    ///
    /// If the task is over: the agent should stop.
    pub async fn chunk(
        &self,
        artifact: Artifact,
        append: bool,
        last: bool,
    ) -> Result<(), AgentError> {
        self.voice.chunk(artifact, append, last).await
    }
}

/// What an agent says with a status.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The parts of the message; none means no message.
    pub parts: Vec<Part>,
    /// Metadata of the message.
    pub message_metadata: Option<Object>,
    /// Metadata of the event.
    pub metadata: Option<Object>,
    /// The tasks that the message speaks of: those of other agents here that work for this one.
    pub references: Vec<TaskId>,
}

impl Said {
    /// Says plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::text(text)],
            ..Self::default()
        }
    }
}

/// How a turn ends.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The task is done.
    Completed(Said),
    /// The task waits for a message.
    InputRequired(Said),
    /// The task waits for credentials.
    AuthRequired(Said),
    /// The agent refuses the task.
    Rejected(Said),
    /// A direct message instead of a task; only for agents set to `reply: message`, and only if nothing
    /// was said before. Otherwise it ends the task as completed with this message.
    Reply(Said),
}

impl Outcome {
    /// What is said with it.
    #[must_use]
    pub fn said(&self) -> &Said {
        match self {
            Self::Completed(said)
            | Self::InputRequired(said)
            | Self::AuthRequired(said)
            | Self::Rejected(said)
            | Self::Reply(said) => said,
        }
    }

    /// The same, to be changed.
    pub fn said_mut(&mut self) -> &mut Said {
        match self {
            Self::Completed(said)
            | Self::InputRequired(said)
            | Self::AuthRequired(said)
            | Self::Rejected(said)
            | Self::Reply(said) => said,
        }
    }
}

/// How much of an upstream's reason not to stop is kept, in characters: it goes into the status of the task.
const MAX_REFUSAL: usize = 500;

/// Why a turn failed; the text goes to the caller.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    pub(crate) message: String,
    kind: AgentErrorKind,
    pub(crate) spent: Option<Spent>,
    pub(crate) references: Vec<TaskId>,
    pub(crate) release_pending: bool,
    refused_cancel: Option<String>,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentErrorKind {
    /// The agent failed.
    Failed,
    /// The upstream cannot be reached.
    Unavailable,
    /// The task is over; nobody listens any more.
    Over,
}

impl AgentError {
    /// The agent failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: AgentErrorKind::Failed,
            spent: None,
            references: Vec::new(),
            release_pending: false,
            refused_cancel: None,
        }
    }

    /// The upstream cannot be reached.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            kind: AgentErrorKind::Unavailable,
            ..Self::new(message)
        }
    }

    /// The task is over.
    #[must_use]
    pub fn over() -> Self {
        Self {
            kind: AgentErrorKind::Over,
            ..Self::new("the task is over")
        }
    }

    /// The same, after that was spent.
    #[must_use]
    pub fn costing(self, spent: Spent) -> Self {
        Self {
            spent: (spent != Spent::default()).then_some(spent),
            ..self
        }
    }

    /// The same, and the message about it speaks of these tasks: see [`Said::references`].
    #[must_use]
    pub fn speaking_of(mut self, tasks: Vec<TaskId>) -> Self {
        self.references = tasks;
        self
    }

    /// The same, and the upstream still runs, because it did not learn that the task ended: [`Agent::release`] is called
    /// until it does.
    #[must_use]
    pub fn release_pending(mut self) -> Self {
        self.release_pending = true;
        self
    }

    /// The same, and the upstream may go on: it was told that the task is over and refused to stop, for this reason. To
    /// tell it again would not help. The caller reads the reason in the status of the task, operators in its trace.
    #[must_use]
    pub fn cancel_refused(mut self, reason: impl Into<String>) -> Self {
        let reason: String = reason.into();
        self.refused_cancel = Some(reason.chars().take(MAX_REFUSAL).collect());
        self
    }

    /// The same, after the upstream was to be stopped and that failed with `stop`: it refused, or could not be told.
    #[must_use]
    pub fn not_stopped(self, stop: Self) -> Self {
        match stop.refused_cancel {
            Some(reason) => self.cancel_refused(reason),
            None => self.release_pending(),
        }
    }

    /// Why the upstream refused to stop, if it did.
    #[must_use]
    pub fn refused_cancel(&self) -> Option<&str> {
        self.refused_cancel.as_deref()
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> AgentErrorKind {
        self.kind
    }
}
