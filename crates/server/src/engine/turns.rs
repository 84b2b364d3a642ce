//! What an agent is given for a turn on a task that exists.

use std::sync::Arc;

use switchboard_types::model::{Event, Message, Role, Task, TaskState};
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::agent::{Agent, AgentError, Turn, status};
use crate::log::TaskLog;
use crate::principal::Principal;
use crate::store::Error;
use crate::task::{Entry, TurnRecord, is_redacted};

impl Engine {
    /// The agent that takes a turn: this engine's own, unless a routing rule decided otherwise when the task began.
    pub(super) fn agent_for(&self, turn: &Turn) -> Result<Arc<dyn Agent>, AgentError> {
        let router = self.shared.router.as_ref();
        match (turn.decision.as_deref(), router) {
            (None, _) => Ok(Arc::clone(&self.shared.agent)),
            (Some(decision), Some(router)) => router.agent(decision),
            (Some(_), None) => Err(AgentError::new(
                "a routing rule took this task, and the agent has no routing rules any more",
            )),
        }
    }

    /// A turn that begins on an existing task, with a message that need not be committed yet. `shown` is the message as
    /// the log shows it.
    pub(super) fn begun_turn(
        &self,
        principal: Principal,
        log: &TaskLog,
        record: TurnRecord,
        message: Arc<Message>,
        shown: Arc<Message>,
    ) -> Turn {
        let task = match log.view() {
            // Not by its id: clients may give one to several messages.
            Some((head, task)) if record.message_at.is_none_or(|at| head.seq >= at) => task,
            Some((_, task)) => Arc::new(with_message(&task, shown)),
            None => Arc::new(Task {
                id: log.id().clone(),
                context_id: log.origin().context.clone(),
                status: status(TaskState::Working, None),
                artifacts: Vec::new(),
                history: vec![shown],
                metadata: None,
            }),
        };
        Turn {
            metadata: task.metadata.clone(),
            task,
            message,
            question: None,
            accepted_output_modes: Vec::new(),
            principal,
            number: record.number,
            emitted: 0,
            is_resumed: false,
            is_secret: record.secret.is_some(),
            input_timed_out: record.message_at.is_none(),
            canceled: CancellationToken::new(),
            begins_at: record.begins_at,
            trace: log.trace().map(|trace| Box::new(trace.child())),
            decision: record.decision.map(Box::new),
            context: Arc::clone(&self.shared.turn_context),
        }
    }

    /// The latest turn of a task as its record tells it, to be run again or to be released. A secret that cannot be read
    /// any more is only known to have come.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(super) async fn resumed_turn(
        &self,
        principal: Principal,
        log: &TaskLog,
        record: TurnRecord,
        canceled: CancellationToken,
    ) -> Result<Turn, Error> {
        let shown = match record.message_at {
            Some(at) => self
                .event(log, at)
                .await?
                .and_then(|entry| message_in(&entry)),
            None => None,
        };
        let shown = shown.or_else(|| last_message(log));
        let shown = shown.ok_or_else(|| Error::Damaged("the task has no message".to_owned()))?;
        let message = match &record.secret {
            Some(sealed) => self.unseal(sealed),
            None => None,
        };
        let message = message.unwrap_or_else(|| Arc::clone(&shown));
        let asked = match record.answers {
            Some(at) => self.event(log, at).await?,
            None => None,
        };
        let question = asked.and_then(|entry| match &entry.event {
            Event::Status(update) => update.status.message.clone(),
            _ => None,
        });
        let emitted = log.last().0.saturating_sub(record.begins_at);
        let is_secret = record.secret.is_some() || is_redacted(&shown);
        Ok(Turn {
            question,
            canceled,
            emitted,
            is_resumed: true,
            is_secret,
            ..self.begun_turn(principal, log, record, message, shown)
        })
    }

    async fn event(&self, log: &TaskLog, at: u64) -> Result<Option<Arc<Entry>>, Error> {
        let store = self.shared.log.store();
        let page = store.events(log.id(), at.saturating_sub(1), 1).await?;
        Ok(page.into_iter().next().filter(|entry| entry.seq == at))
    }
}

/// The caller's message in an event.
fn message_in(entry: &Entry) -> Option<Arc<Message>> {
    match &entry.event {
        Event::Task(task) => task.history.last().cloned(),
        _ => entry.received.clone(),
    }
}

/// The latest message of the caller in a task.
pub(super) fn last_message(log: &TaskLog) -> Option<Arc<Message>> {
    let (_, task) = log.view()?;
    let from_caller = |m: &&Arc<Message>| m.role == Role::User;
    task.history.iter().rfind(from_caller).cloned()
}

/// The task as it is once its next message is taken: the question that was open belongs to its history then.
fn with_message(task: &Task, message: Arc<Message>) -> Task {
    let mut task = task.clone();
    if task.status.state.is_interrupted() {
        task.history.extend(task.status.message.take());
    }
    task.status = status(TaskState::Working, None);
    task.history.push(message);
    task
}
