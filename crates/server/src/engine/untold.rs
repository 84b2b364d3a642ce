//! Tasks that are over, of which what stands behind their agents may not know it yet. That is noted with the end of a
//! task, and told until it was heard: also after a restart.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_types::backoff::Backoff;
use switchboard_types::model::{Event, TaskId, TaskStatus, Timestamp};
use switchboard_types::wire;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Engine;
use super::run::last_message;
use crate::agent::AgentError;
use crate::clock;
use crate::log::{TaskLog, internal_note};
use crate::principal::Principal;
use crate::task::{Change, Head, Note, Origin, UNTOLD};

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(90);
/// How soon it is told again; each pause is twice the last.
const AGAIN: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// For how long after the end of the task.
const GIVE_UP: Duration = Duration::from_secs(24 * 60 * 60);
/// How many attempts are made at once for an agent: after a restart there may be many to make.
pub(super) const AT_ONCE: usize = 8;

/// What is to be stored with the end of such a task. `asked`: a question that comes with the end, and that nobody is told.
pub(super) fn noted(origin: &Origin, asked: Option<&Event>) -> Change {
    let asked = asked.and_then(|asked| {
        let mut json = Vec::new();
        wire::encode_stored(asked, &origin.id, &origin.context, &mut json);
        serde_json::from_slice(&json).ok()
    });
    note(&origin.id, asked.unwrap_or(Value::Bool(true)))
}

fn note(task: &TaskId, value: Value) -> Change {
    Change::Note(Note {
        task: task.clone(),
        name: UNTOLD.to_owned(),
        value,
    })
}

impl Engine {
    /// Tells what stands behind the agent that a task is over, on behalf of `caller`, as soon as that is stored.
    pub(super) fn tell(&self, log: &Arc<TaskLog>, caller: Principal) {
        let (engine, log) = (self.clone(), Arc::clone(log));
        self.shared.tasks.spawn(async move {
            log.kept(log.last().0).await;
            let id = log.id().clone();
            // It may take a while.
            drop(log);
            engine.tell_until_heard(id, caller, clock::now()).await;
        });
    }

    /// The same, of a task from before a restart.
    pub(super) fn tell_again(&self, task: Head) {
        let engine = self.clone();
        self.shared.tasks.spawn(async move {
            let caller = task.owner.into();
            engine.tell_until_heard(task.id, caller, task.updated).await;
        });
    }

    async fn tell_until_heard(mut self, id: TaskId, caller: Principal, ended: Timestamp) {
        let give_up = i64::try_from(GIVE_UP.as_micros()).unwrap_or(i64::MAX);
        let give_up = Timestamp::from_micros(ended.as_micros().saturating_add(give_up));
        let stopping = self.shared.tasks.stopping().clone();
        let mut backoff = Backoff::new(AGAIN, LONGEST);
        loop {
            self = self.latest();
            let stopped = async {
                stopping.cancelled().await;
                sleep(self.shared.settings.cancel_grace).await;
            };
            let told = tokio::select! {
                told = self.attempt(&id, &caller) => told,
                // It is noted: the next start tells it.
                () = stopped => return,
            };
            let agent = &*self.shared.name;
            match &told {
                Ok(()) => break,
                Err(error) if let Some(reason) = error.refused_cancel() => {
                    tracing::warn!(agent, task = %id, reason, "upstream refused to cancel and may go on");
                    self.note_refusal(&id, reason).await;
                    break;
                }
                Err(error) if clock::until(give_up).is_zero() => {
                    tracing::warn!(%error, agent, task = %id, "upstream release gave up");
                    break;
                }
                Err(error) if backoff.failures() == 0 => {
                    tracing::warn!(%error, agent, task = %id, "could not release upstream, will retry");
                }
                Err(error) => {
                    tracing::debug!(%error, agent, task = %id, "could not release upstream, will retry")
                }
            }
            tokio::select! {
                () = sleep(backoff.next_delay()) => {}
                () = stopping.cancelled() => return,
            }
        }
        if let Err(error) = self.shared.log.commit(note(&id, Value::Null)).await {
            tracing::warn!(agent = %self.shared.name, task = %id, %error, "could not record upstream release, will retry");
        }
    }

    /// Notes for operators that the upstream refused to stop: the task is over, so its status cannot say so any more.
    async fn note_refusal(&self, id: &TaskId, reason: &str) {
        let value =
            json!({ "error": format!("the upstream refused to cancel and may go on: {reason}") });
        let note = internal_note(id, 0, "cancel-refused", value);
        if let Err(error) = self.shared.log.commit(Change::Note(note)).await {
            tracing::warn!(agent = %self.shared.name, task = %id, %error, "could not record that the upstream refused to cancel");
        }
    }

    async fn attempt(&self, id: &TaskId, caller: &Principal) -> Result<(), AgentError> {
        let _one_of_few = self.shared.line.telling.acquire().await;
        let telling = timeout(ATTEMPT, self.let_go(id, caller.clone()));
        telling
            .await
            .unwrap_or_else(|_| Err(AgentError::unavailable("it took too long")))
    }

    async fn let_go(&self, id: &TaskId, caller: Principal) -> Result<(), AgentError> {
        let unreadable = |error: crate::store::Error| AgentError::new(error.to_string());
        let notes = self.shared.log.store().notes(id).await;
        let notes = notes.map_err(unreadable)?;
        let Some(note) = notes.into_iter().find(|note| note.name == UNTOLD) else {
            return Ok(());
        };
        let Some(log) = self
            .shared
            .log
            .open_internal(id)
            .await
            .map_err(unreadable)?
        else {
            return Ok(());
        };
        let Some(message) = last_message(&log) else {
            return Ok(());
        };
        let mut turn = self.turn_for(caller, &log, message, 0, CancellationToken::new());
        if let Some(status) = asked(&note.value, log.origin()) {
            turn.question.clone_from(&status.message);
            Arc::make_mut(&mut turn.task).status = status;
        }
        let released = self.shared.agent.let_go(turn);
        match self.upstream_span(id) {
            Some(span) => released.instrument(span).await,
            None => released.await,
        }
    }
}

/// The question that came with the end, if one did.
fn asked(noted: &Value, origin: &Origin) -> Option<TaskStatus> {
    if !noted.is_object() {
        return None;
    }
    match wire::decode_stored(&noted.to_string(), &origin.id, &origin.context).ok()? {
        Event::Status(update) => Some(update.status),
        _ => None,
    }
}
