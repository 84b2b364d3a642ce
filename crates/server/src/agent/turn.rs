//! One turn of a task: what an agent is given, and what it can look up.

use std::sync::Arc;

use serde_json::Value;
use switchboard_types::model::{ContextId, Message, Object, Task, TaskId};
use tokio_util::sync::CancellationToken;

use super::AgentError;
use crate::auth::Principal;
use crate::budget::{Allowance, Budget};
use crate::store;
use crate::trace::Trace;

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
