//! What stands behind an engine: the [`Agent`] trait and what it is given.
//!
//! An agent is handed a [`Turn`], speaks through [`Progress`] while it works, and *returns* an
//! [`Outcome`]. So it cannot forget to end a task, nor speak after ending it. An error or a panic
//! makes the task fail.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use hyper::header::HeaderName;
use serde_json::Value;
use switchboard_types::Error;
use switchboard_types::model::{Artifact, ContextId, Message, Object, Part, Task, TaskId};
use tokio_util::sync::CancellationToken;

use crate::auth::Principal;
use crate::backend::{Drift, Health};
use crate::budget::{Allowance, Budget};
use crate::engine::Voice;
use crate::store;
use crate::trace::Trace;

/// Something that can take a turn.
#[async_trait]
pub trait Agent: Send + Sync + fmt::Debug {
    /// Takes one turn: from a message to an outcome.
    ///
    /// When [`Turn::canceled`] fires the agent has a short grace to stop by itself; then the future is
    /// dropped.
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError>;

    /// Whether a turn cut off by a restart can be taken again.
    fn on_restart(&self) -> Restart {
        Restart::Fail
    }

    /// Whether this turn, which a restart cut off, can be taken again.
    async fn resumes(&self, _turn: &Turn) -> bool {
        self.on_restart() == Restart::Resume
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
    /// If it cannot, with what the caller is told.
    fn require_input(&self, message: &Message) -> Result<(), Error> {
        let _ = message;
        Ok(())
    }

    /// A task that waited for its caller was canceled: `turn` is the last one it had. What stands behind the agent may
    /// wait, too, and can be told within the grace.
    async fn let_go(&self, turn: Turn) {
        drop(turn);
    }

    /// Whether what stands behind the agent can work, looked at now. Takes no longer than a few seconds.
    async fn health(&self) -> Health {
        Health::unknown("not checked")
    }

    /// What had changed behind the agent when that was noticed last, since the start.
    fn drift(&self) -> Option<Arc<Drift>> {
        None
    }

    /// The headers of a caller's request that the agent is to see, in [`Principal::forwarded`]: it may need them to
    /// act on the caller's behalf elsewhere. None, unless it says so.
    fn forwards(&self) -> &[HeaderName] {
        &[]
    }
}

/// What becomes of a turn that a restart cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Run it again; [`Turn::emitted`] tells how far it came.
    Resume,
    /// It cannot be known how far it came: fail the task with a reason.
    Fail,
}

/// One turn of a task.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The task as it stands, this turn's message included in its history.
    pub task: Arc<Task>,
    /// What was said to begin this turn.
    pub message: Arc<Message>,
    /// The request's own metadata.
    pub metadata: Option<Object>,
    /// Media types the caller can take; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// On whose behalf.
    pub principal: Principal,
    /// How many events this turn had stored before it was cut off; 0 unless it is run again.
    pub emitted: u64,
    /// Nobody answered the agent's question in time, and it is to go on without.
    pub input_timed_out: bool,
    /// Fires when the task is to stop.
    pub canceled: CancellationToken,
    pub(crate) trace: Option<Trace>,
    pub(crate) conversation: Conversation,
}

impl Turn {
    /// The agent whose turn it is.
    #[must_use]
    pub fn agent(&self) -> &Arc<str> {
        &self.conversation.agent
    }

    /// The task's id.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        &self.task.id
    }

    /// A name for this conversation elsewhere, always the same. Two callers may give the same name to theirs, and must
    /// not meet there.
    #[must_use]
    pub fn own_context(&self) -> ContextId {
        let owner = self.principal.owner().as_str();
        let text = format!("{}\n{owner}\n{}", self.agent(), self.task.context_id);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&switchboard_keys::sha256(text.as_bytes())[..16]);
        crate::engine::named(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// What the agent is called on the way of a call through agents. What it asks of others goes on from there: see
    /// [`Hops`](crate::hops::Hops).
    #[must_use]
    pub fn hop(&self) -> &Arc<str> {
        &self.conversation.hop
    }

    /// What the task may cost, with all that it hands on.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget::of_task(&self.task, self.conversation.allowed)
    }

    /// The turn's place in the trace that it is part of, if it is part of one. What the agent asks of others in this turn
    /// carries the [`headers`](Trace::headers) of a [`child`](Trace::child).
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// What the agent has noted about this task under a name, in this turn or before, also before a restart.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn note(&self, name: &str) -> Result<Option<Value>, AgentError> {
        let notes = self.conversation.store.notes(&self.task.id).await;
        let notes = notes.map_err(|error| {
            tracing::error!(%error, task = %self.task.id, "notes cannot be read");
            AgentError::new("what the agent noted cannot be read")
        })?;
        let named = notes.into_iter().find(|note| note.name == name);
        Ok(named.map(|note| note.value))
    }

    /// What the agent has noted under a name about the latest of the earlier tasks of this conversation that has such a
    /// note; at most `limit` tasks are looked at.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn earlier_note(
        &self,
        name: &str,
        limit: usize,
    ) -> Result<Option<Value>, AgentError> {
        let found = self.conversation.earlier_note(&self.task.id, name, limit);
        found.await.map_err(|e| AgentError::new(e.to_string()))
    }

    /// The earlier tasks of this conversation, oldest first, at most `limit` of the latest.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn earlier(&self, limit: usize) -> Result<Vec<Arc<Task>>, AgentError> {
        self.conversation
            .earlier(&self.task.id, limit)
            .await
            .map_err(|e| AgentError::new(e.to_string()))
    }
}

/// Access to the other tasks of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(crate) store: Arc<dyn store::Store>,
    pub(crate) agent: Arc<str>,
    pub(crate) hop: Arc<str>,
    pub(crate) allowed: Allowance,
    pub(crate) principal: Principal,
    pub(crate) context: ContextId,
}

impl Conversation {
    /// This many tasks, the latest first, and one more.
    fn latest(&self, limit: usize) -> store::TaskQuery {
        store::TaskQuery {
            context: Some(self.context.clone()),
            limit: limit.saturating_add(1),
            ..store::TaskQuery::of(Arc::clone(&self.agent), self.principal.owner().clone())
        }
    }

    async fn earlier_note(
        &self,
        but: &TaskId,
        name: &str,
        limit: usize,
    ) -> Result<Option<Value>, store::Error> {
        let page = self.store.list(self.latest(limit)).await?;
        for stored in page.tasks.iter().filter(|stored| stored.head.id != *but) {
            let notes = self.store.notes(&stored.head.id).await?;
            if let Some(note) = notes.into_iter().find(|note| note.name == name) {
                return Ok(Some(note.value));
            }
        }
        Ok(None)
    }

    async fn earlier(&self, but: &TaskId, limit: usize) -> Result<Vec<Arc<Task>>, store::Error> {
        let page = self.store.list(self.latest(limit)).await?;
        let mut tasks = Vec::with_capacity(page.tasks.len());
        for stored in page.tasks {
            if stored.head.id != *but {
                tasks.push(Arc::new(crate::engine::lifecycle::fold(stored)?));
            }
        }
        tasks.truncate(limit);
        tasks.reverse();
        Ok(tasks)
    }
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

    /// Keeps something about the task under a name, in place of what was kept under it before. It never leaves by
    /// A2A. When this returns it is durable.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub async fn note(&self, name: &str, value: Value) -> Result<(), AgentError> {
        self.voice.note(name, value).await
    }

    /// The same, and a bare message can still be the answer where it could be before: then nothing is stored but with the
    /// task, if one comes of it.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub async fn note_with_task(&self, name: &str, value: Value) -> Result<(), AgentError> {
        self.voice.note_with_task(name, value).await
    }

    /// Says something about the work to whoever runs the agent: a model was asked, a tool was used. It is kept with the
    /// task, shown in the view of its trace as `internal:NAME`, and never leaves by A2A. The members `durationMs` and
    /// `error` of the value mean what they say there. Only so much is kept of one task, and nothing that is long.
    pub fn internal(&self, name: &str, value: Value) {
        self.voice.internal(name, value);
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
    /// A bare message instead of a task; only for agents set to `reply: message`, and only if nothing
    /// was said before. Otherwise it ends the task as completed with this message.
    Reply(Said),
}

/// Why a turn failed; the text goes to the caller.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    message: String,
    kind: AgentErrorKind,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentErrorKind {
    /// The agent failed.
    Failed,
    /// What stands behind the agent cannot be reached.
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
        }
    }

    /// What stands behind the agent cannot be reached.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: AgentErrorKind::Unavailable,
        }
    }

    /// The task is over.
    #[must_use]
    pub fn over() -> Self {
        Self {
            message: "the task is over".to_owned(),
            kind: AgentErrorKind::Over,
        }
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> AgentErrorKind {
        self.kind
    }
}
