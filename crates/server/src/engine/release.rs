//! Releases upstreams: makes sure that a backend learns that its task has ended.
//!
//! A cancel is acknowledged to the caller as soon as it is committed, even if the upstream is unreachable at that
//! moment. The commit that ends the task therefore also records that the upstream must still be released; this module
//! retries `Agent::release` with backoff until it succeeds, across restarts, for at most a day. Releasing twice is
//! harmless, so no attempt to deduplicate is made.

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
use crate::agent::AgentError;
use crate::clock;
use crate::log::{INTERNAL, TaskLog};
use crate::principal::Principal;
use crate::task::{Change, Head, Origin, PendingRelease, Step};

/// How long one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(90);
/// Backoff between attempts: starts here, doubles, and stays at `MAX_RETRY_DELAY`.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);
/// For how long after the end of the task attempts are made.
const MAX_RELEASE_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many attempts are made at once for an agent: after a restart there may be many to make.
pub(super) const MAX_CONCURRENT_RELEASES: usize = 8;

/// The change to be committed with the end of a task whose upstream must be released. `question` is a status that the agent
/// returned as the task ended, and that nobody is shown.
pub(super) fn pending(origin: &Origin, question: Option<&Event>) -> Change {
    let question = question.and_then(|asked| {
        let mut json = Vec::new();
        wire::encode_stored(asked, &origin.id, &origin.context, &mut json);
        serde_json::from_slice(&json).ok()
    });
    Change::ReleasePending(PendingRelease {
        task: origin.id.clone(),
        question,
    })
}

impl Engine {
    /// Releases the upstream of an ended task in the background, once the end is committed.
    ///
    /// `caller` is whose credentials are used where the backend forwards identities.
    pub(super) fn release_in_background(&self, log: &Arc<TaskLog>, caller: Principal) {
        let (engine, log) = (self.clone(), Arc::clone(log));
        self.shared.tasks.spawn(async move {
            log.kept(log.last().0).await;
            let id = log.id().clone();
            // It may take a while, and the task need not stay in memory for it.
            drop(log);
            engine.release_with_retry(id, caller, clock::now()).await;
        });
    }

    /// The same, for a task that ended before a restart.
    pub(super) fn release_at_start(&self, task: Head) {
        let engine = self.clone();
        self.shared.tasks.spawn(async move {
            let caller = task.owner.into();
            engine
                .release_with_retry(task.id, caller, task.updated)
                .await;
        });
    }

    async fn release_with_retry(mut self, id: TaskId, caller: Principal, ended: Timestamp) {
        let max_age = i64::try_from(MAX_RELEASE_AGE.as_micros()).unwrap_or(i64::MAX);
        let last_attempt = Timestamp::from_micros(ended.as_micros().saturating_add(max_age));
        let stopping = self.shared.tasks.stopping().clone();
        let mut backoff = Backoff::new(FIRST_RETRY_DELAY, MAX_RETRY_DELAY);
        loop {
            self = self.latest();
            let stopped = async {
                stopping.cancelled().await;
                sleep(self.shared.settings.cancel_grace).await;
            };
            let released = tokio::select! {
                released = self.attempt_release(&id, &caller) => released,
                // The release stays pending, and the next start retries it.
                () = stopped => return,
            };
            let agent = &*self.shared.name;
            match &released {
                Ok(()) => break,
                Err(error) if let Some(reason) = error.refused_cancel() => {
                    tracing::warn!(agent, task = %id, reason, "upstream refused to cancel and may go on");
                    self.record_refusal(&id, reason).await;
                    break;
                }
                Err(error) if clock::until(last_attempt).is_zero() => {
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
        if let Err(error) = self.shared.log.commit(Change::Released(id.clone())).await {
            tracing::warn!(agent = %self.shared.name, task = %id, %error, "could not record upstream release, will retry");
        }
    }

    /// Records for operators that the upstream refused to stop: the task is over, so its status cannot say so any more.
    async fn record_refusal(&self, id: &TaskId, reason: &str) {
        let error = format!("the upstream refused to cancel and may go on: {reason}");
        let step = Step {
            task: id.clone(),
            turn: 0,
            at: clock::now(),
            name: format!("{INTERNAL}cancel-refused"),
            value: json!({ "error": error }),
        };
        if let Err(error) = self.shared.log.commit(Change::Step(step)).await {
            tracing::warn!(agent = %self.shared.name, task = %id, %error, "could not record that the upstream refused to cancel");
        }
    }

    async fn attempt_release(&self, id: &TaskId, caller: &Principal) -> Result<(), AgentError> {
        let _permit = self.shared.lineage.releases.acquire().await;
        let releasing = timeout(ATTEMPT_TIMEOUT, self.release(id, caller.clone()));
        releasing
            .await
            .unwrap_or_else(|_| Err(AgentError::unavailable("it took too long")))
    }

    async fn release(&self, id: &TaskId, caller: Principal) -> Result<(), AgentError> {
        let unreadable = |error: crate::store::Error| AgentError::new(error.to_string());
        let store = self.shared.log.store();
        let pending = store.pending_release(id).await.map_err(unreadable)?;
        let turn = store.turn(id).await.map_err(unreadable)?;
        let log = self.shared.log.open_internal(id).await;
        let log = log.map_err(unreadable)?;
        let (Some(pending), Some(record), Some(log)) = (pending, turn, log) else {
            return Ok(());
        };
        let canceled = CancellationToken::new();
        let turn = self.resumed_turn(caller, &log, record, canceled).await;
        let mut turn = turn.map_err(unreadable)?;
        // What its message answered is no longer open.
        turn.question = None;
        if let Some(status) = asked(pending.question.as_ref(), log.origin()) {
            turn.question.clone_from(&status.message);
            Arc::make_mut(&mut turn.task).status = status;
        }
        let agent = self.agent_for(&turn)?;
        let released = agent.release(turn);
        match self.upstream_span(id) {
            Some(span) => released.instrument(span).await,
            None => released.await,
        }
    }
}

/// The question that the agent asked as the task ended, if it did.
fn asked(question: Option<&Value>, origin: &Origin) -> Option<TaskStatus> {
    let json = question?.to_string();
    match wire::decode_stored(&json, &origin.id, &origin.context).ok()? {
        Event::Status(update) => Some(update.status),
        _ => None,
    }
}
