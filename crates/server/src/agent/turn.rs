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
use crate::task::{is_redacted, lifecycle};
use crate::trace::{DELEGATION, Trace};

/// What the earlier tasks that an agent reads weigh together, roughly, in bytes.
const MAX_EARLIER: usize = 32 << 20;
/// How many events are read at once, and how many steps.
const EVENTS: usize = 256;
const STEPS: usize = 256;

/// One turn of a task.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The task as it stands with the message of this turn: that is the last one of the caller in its history. Of a secret
    /// the history shows only that it came.
    pub task: Arc<Task>,
    /// The message that began this turn. If nobody answered in time, the last one before.
    pub message: Arc<Message>,
    /// What the task had asked when it took the message, if it had.
    pub question: Option<Arc<Message>>,
    /// The request's own metadata.
    pub metadata: Option<Object>,
    /// Media types the caller can take; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// On whose behalf.
    pub principal: Principal,
    /// 1, 2, 3 … within the task.
    pub number: u32,
    /// How many events this turn had stored before it was cut off; 0 unless it is run again.
    pub emitted: u64,
    /// A restart cut the turn off, and it is run again.
    pub is_resumed: bool,
    /// The message is a secret that the log does not show: it is only for the agent that asked for it.
    pub is_secret: bool,
    /// Nobody answered the agent's question in time, and it is to go on without.
    pub input_timed_out: bool,
    /// Fires when the task is to stop.
    pub canceled: CancellationToken,
    /// The event `working` that it began with.
    pub(crate) begins_at: u64,
    /// Boxed, as the decision is: a turn is moved often, and most have neither.
    pub(crate) trace: Option<Box<Trace>>,
    /// What the routing rules decided about the task.
    pub(crate) decision: Option<Box<Value>>,
    pub(crate) context: Arc<TurnContext>,
}

impl Turn {
    /// The agent whose turn it is.
    #[must_use]
    pub fn agent(&self) -> &Arc<str> {
        &self.context.agent
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
        &self.context.hop
    }

    /// What the task may spend, with all tasks delegated from it.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget::of_task(&self.task, self.context.allowed)
    }

    /// How long a backend retries an upstream that is down before the message was sent. A message that may have arrived is
    /// another matter: see each backend.
    #[must_use]
    pub fn upstream_timeout(&self) -> Duration {
        self.context.upstream_timeout
    }

    /// The turn's place in the trace that it is part of, if it is part of one. What the agent asks of others in this turn
    /// carries the [`headers`](Trace::headers) of a [`child`](Trace::child).
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// Whether the task begins with this turn: then there is nothing of it in the store to read.
    #[must_use]
    pub fn begins_task(&self) -> bool {
        self.number == 1 && !self.is_resumed
    }

    /// Which of the caller's messages in the history began this turn.
    #[must_use]
    pub fn message_index(&self) -> usize {
        let received = self.task.history.iter().filter(|m| m.role == Role::User);
        received.count().saturating_sub(1)
    }

    /// The nth message of the caller in this task, unless it was a secret.
    #[must_use]
    pub fn received(&self, nth: usize) -> Option<&Arc<Message>> {
        let mut received = self.task.history.iter().filter(|m| m.role == Role::User);
        received.nth(nth).filter(|message| !is_redacted(message))
    }

    /// What was said in the task but the message of this turn, oldest first: the question that it answers, or that nobody
    /// answered, is the last.
    pub fn history_before(&self) -> impl Iterator<Item = &Arc<Message>> {
        let history = self.task.history.iter();
        let at = history.clone().rposition(|m| m.role == Role::User);
        let others = history.enumerate().filter(move |(n, _)| Some(*n) != at);
        others.map(|(_, message)| message)
    }

    /// The latest step of this task under a name, recorded in this turn or before; nothing if it was withdrawn.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn last_step(&self, name: &str) -> Result<Option<Value>, AgentError> {
        let step = self.context.store.step(&self.task.id, name).await;
        let step = step.map_err(|error| self.unreadable_steps(&error))?;
        let value = step.map(|stored| stored.step.value);
        Ok(value.filter(|value| !value.is_null()))
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
        while after < self.begins_at {
            let page = self
                .context
                .store
                .events(&self.task.id, after, EVENTS)
                .await;
            let page = page.map_err(unreadable)?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for entry in page.iter().filter(|entry| entry.seq <= self.begins_at) {
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
        let name = format!("{INTERNAL}{DELEGATION}");
        let mut begun = Vec::new();
        let mut after = 0;
        loop {
            let page = self.context.store.steps(&self.task.id, after, STEPS).await;
            let page = page.map_err(|error| self.unreadable_steps(&error))?;
            let Some(last) = page.last() else {
                return Ok(begun);
            };
            after = last.number;
            let named = page.iter().filter(|stored| stored.step.name == name);
            begun.extend(named.filter_map(|stored| delegated_task(&stored.step.value)));
        }
    }

    fn unreadable_steps(&self, error: &store::Error) -> AgentError {
        tracing::error!(agent = %self.agent(), task = %self.task.id, %error, "could not read steps");
        AgentError::new("what the agent recorded cannot be read")
    }

    /// What `read` finds in the latest steps under a name of earlier tasks of this context, the latest task first; at most
    /// `limit` tasks are looked at.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn in_earlier_steps<T: Send>(
        &self,
        name: &str,
        limit: usize,
        read: impl Fn(Value) -> Option<T> + Send + Sync,
    ) -> Result<Option<T>, AgentError> {
        for listed in self.others(limit, Some(0)).await? {
            let step = self.context.store.step(&listed.head.id, name).await;
            let value = step.map_err(unreadable)?.map(|stored| stored.step.value);
            if let Some(found) = value.and_then(&read) {
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
        let place = &self.context;
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

/// A task of another agent here that a step tells of.
fn delegated_task(begun: &Value) -> Option<(String, TaskId)> {
    if begun["elsewhere"] == true {
        return None;
    }
    let task = TaskId::new(begun["taskId"].as_str()?).ok()?;
    Some((begun["agent"].as_str()?.to_owned(), task))
}

/// What all turns of an agent have in common.
#[derive(Debug)]
pub(crate) struct TurnContext {
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
