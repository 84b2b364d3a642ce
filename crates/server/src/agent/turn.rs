//! One turn of a task: what an agent is given, and what it can look up.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard_types::model::{Artifact, ContextId, Event, Message, Object, Role, Task, TaskId};
use tokio_util::sync::CancellationToken;

use super::AgentError;
use crate::budget::{Allowance, Budget};
use crate::hops::Hop;
use crate::log::INTERNAL;
use crate::principal::Principal;
use crate::store::{self, Listed, TaskQuery};
use crate::task::{Note, is_redacted, lifecycle};
use crate::trace::{DELEGATION, Trace};

/// What the earlier tasks that an agent reads weigh together, roughly, in bytes.
const MAX_EARLIER: usize = 32 << 20;
/// How many events are read at once.
const EVENTS: usize = 256;

/// One turn of a task.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The task as it stands, this turn's message included in its history. There it is as it is kept: of a secret, only
    /// that it [came](crate::task::place_of).
    pub task: Arc<Task>,
    /// What was said to begin this turn.
    pub message: Arc<Message>,
    /// What the task had asked when it took the message, if it had. It need not stand before it: the message may have
    /// waited.
    pub question: Option<Arc<Message>>,
    /// The request's own metadata.
    pub metadata: Option<Object>,
    /// Media types the caller can take; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// On whose behalf.
    pub principal: Principal,
    /// How many events this turn had stored before it was cut off; 0 unless it is run again.
    pub emitted: u64,
    /// The number of the event it began with; 0 unless it is run again.
    pub(crate) began: u64,
    /// Nobody answered the agent's question in time, and it is to go on without.
    pub input_timed_out: bool,
    /// Fires when the task is to stop.
    pub canceled: CancellationToken,
    /// Boxed, as what was decided is: a turn is handed on often, and most have neither.
    pub(crate) trace: Option<Box<Trace>>,
    pub(crate) decided: Decided,
    pub(crate) place: Arc<Place>,
}

/// What an agent decided about a task when it began.
#[derive(Debug, Clone)]
pub(crate) enum Decided {
    /// It begins now. What was decided is not in the store yet.
    Now(Option<Box<Value>>),
    /// It began before: the store knows.
    Before,
}

/// The note that keeps a decision. Agents have no such names for theirs.
pub(crate) const DECISION: &str = "switchboard/decision";

impl Turn {
    /// The agent whose turn it is.
    #[must_use]
    pub fn agent(&self) -> &Arc<str> {
        &self.place.agent
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
        crate::task::named(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// What the agent is called in the hop paths of its own calls: see [`Hops`](crate::hops::Hops).
    #[must_use]
    pub fn hop(&self) -> &Hop {
        &self.place.hop
    }

    /// What the task may spend, with all tasks delegated from it.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget::of_task(&self.task, self.place.allowed)
    }

    /// How long a backend retries an upstream that is down before the message was sent. A message that may have arrived is
    /// another matter: see each backend.
    #[must_use]
    pub fn upstream_timeout(&self) -> Duration {
        self.place.upstream_timeout
    }

    /// The turn's place in the trace that it is part of, if it is part of one. What the agent asks of others in this turn
    /// carries the [`headers`](Trace::headers) of a [`child`](Trace::child).
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// What the agent [decided](super::Agent::decide) about this task when it began.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn decision(&self) -> Result<Option<Value>, AgentError> {
        match &self.decided {
            Decided::Now(decision) => Ok(decision.as_deref().cloned()),
            Decided::Before => self.note(DECISION).await,
        }
    }

    /// Whether the task begins with this turn: then nobody need ask the store about it.
    #[must_use]
    pub fn begins(&self) -> bool {
        matches!(self.decided, Decided::Now(_))
    }

    /// Whether the task begins with this turn, and nothing was decided about it.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        matches!(self.decided, Decided::Now(None))
    }

    /// The nth message of callers in this task, if it was kept: what answers a question for credentials is not.
    #[must_use]
    pub fn heard(&self, nth: usize) -> Option<&Arc<Message>> {
        let mut heard = self.task.history.iter().filter(|m| m.role == Role::User);
        heard.nth(nth).filter(|message| !is_redacted(message))
    }

    /// What the agent has noted about this task under a name, in this turn or before, also before a restart.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn note(&self, name: &str) -> Result<Option<Value>, AgentError> {
        let mut notes = self.notes().await?;
        let named = notes.find(|note| note.name == name);
        Ok(named.map(|note| note.value))
    }

    /// The artifacts of the task as they were when this turn began, before a restart interrupted it. An agent that begins
    /// anew puts them in the place of what it had produced since.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn artifacts_at_start(&self) -> Result<Vec<Arc<Artifact>>, AgentError> {
        let mut task: Option<Task> = None;
        let mut after = 0;
        while after < self.began {
            let page = self.place.store.events(&self.task.id, after, EVENTS).await;
            let page = page.map_err(unreadable)?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for entry in page.iter().filter(|entry| entry.seq <= self.began) {
                match (&mut task, &entry.event) {
                    (Some(task), _) => lifecycle::apply(task, entry),
                    (None, Event::Task(first)) => task = Some(Task::clone(first)),
                    (None, _) => {}
                }
            }
        }
        Ok(task.map(|task| task.artifacts).unwrap_or_default())
    }

    /// The tasks that other agents here have begun for this one, in this turn or before, and whose they are.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn delegated(&self) -> Result<Vec<(String, TaskId)>, AgentError> {
        let notes = self.notes().await?;
        let begun = notes.filter_map(|note| {
            note.name.strip_prefix(INTERNAL)?;
            let begun = &note.value["value"];
            if note.value["name"] != DELEGATION || begun["elsewhere"] == true {
                return None;
            }
            let task = TaskId::new(begun["taskId"].as_str()?).ok()?;
            Some((begun["agent"].as_str()?.to_owned(), task))
        });
        Ok(begun.collect())
    }

    async fn notes(&self) -> Result<impl Iterator<Item = Note>, AgentError> {
        let notes = self.place.store.notes(&self.task.id).await;
        let notes = notes.map_err(|error| {
            tracing::error!(agent = %self.agent(), task = %self.task.id, %error, "could not read notes");
            AgentError::new("what the agent noted cannot be read")
        })?;
        Ok(notes.into_iter())
    }

    /// What `read` finds in what the agent has noted under a name about earlier tasks of this conversation, the latest
    /// first; at most `limit` tasks are looked at.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn in_earlier_notes<T: Send>(
        &self,
        name: &str,
        limit: usize,
        read: impl Fn(Value) -> Option<T> + Send + Sync,
    ) -> Result<Option<T>, AgentError> {
        for listed in self.others(limit, Some(0)).await? {
            let notes = self.place.store.notes(&listed.head.id).await;
            let notes = notes.map_err(unreadable)?.into_iter();
            let mut named = notes.filter(|note| note.name == name);
            if let Some(found) = named.find_map(|note| read(note.value)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The earlier tasks of this conversation, oldest first, at most `limit` of the latest; fewer if they are large.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn earlier(&self, limit: usize) -> Result<Vec<Arc<Task>>, AgentError> {
        let mut others = self.others(limit, None).await?.take(limit);
        let mut tasks: Vec<Arc<Task>> = Vec::new();
        // A task that alone is too large ends it: what came before it makes no sense without it.
        while let Some(Listed {
            task: Some(task), ..
        }) = others.next()
        {
            tasks.push(task);
        }
        tasks.reverse();
        Ok(tasks)
    }

    /// The other tasks of this conversation, the latest first: this many, or one more; with no history, without
    /// artifacts.
    async fn others(
        &self,
        limit: usize,
        history: Option<u32>,
    ) -> Result<impl Iterator<Item = Listed> + use<>, AgentError> {
        let place = &self.place;
        let mut query = TaskQuery {
            context: Some(self.task.context_id.clone()),
            limit: limit.saturating_add(1),
            artifacts: history != Some(0),
            history,
            bytes: MAX_EARLIER,
            ..TaskQuery::of(Arc::clone(&place.agent), self.principal.owner().clone())
        };
        let page = place.store.list(query.clone()).await.map_err(unreadable)?;
        let mut tasks = page.tasks;
        let this = |listed: &Listed| listed.head.id == self.task.id;
        if let Some(at) = tasks.iter().position(this) {
            let head = tasks.remove(at).head;
            if page.more && tasks.len() < limit {
                // This task has used up the bytes of the page, or a part of them.
                tasks.truncate(at);
                query.limit = limit - at;
                query.after = Some((head.updated, head.id));
                let rest = place.store.list(query).await.map_err(unreadable)?;
                tasks.extend(rest.tasks);
            }
        }
        Ok(tasks.into_iter())
    }
}

/// What all turns of an agent have in common.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) store: Arc<dyn store::Store>,
    pub(crate) agent: Arc<str>,
    pub(crate) hop: Hop,
    pub(crate) allowed: Allowance,
    pub(crate) upstream_timeout: Duration,
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err wants")]
fn unreadable(error: store::Error) -> AgentError {
    AgentError::new(error.to_string())
}
