//! At start, no task is left hanging: each one that is not over is resumed, waits on, or fails with a reason.

use std::collections::HashMap;
use std::sync::Arc;

use switchboard_types::model::TaskState;
use tokio_util::sync::CancellationToken;

use super::events::failure;
use super::{Engine, release};
use crate::agent::{Restart, status_event};
use crate::clock;
use crate::log::{Log, TaskLog};
use crate::principal::Principal;
use crate::store::Error;
use crate::task::{Change, Head, is_redacted};

/// How many tasks are looked at in one go.
const PAGE: usize = 256;

/// What became of the tasks that a restart interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Continue where they were.
    pub resumed: u64,
    /// Wait for their caller, as before.
    pub waiting: u64,
    /// Cannot continue: they have failed, or fail as soon as what they left behind is cleaned up.
    pub failed: u64,
}

/// Sees to every task that is not over. Call it before the server answers.
///
/// # Errors
///
/// If the store cannot be read or written.
pub async fn recover(log: &Log, engines: &HashMap<Arc<str>, Engine>) -> Result<Recovered, Error> {
    count(log).await?;
    let mut recovered = Recovered::default();
    let mut after = None;
    loop {
        let page = log.store().live(after, PAGE).await?;
        let Some(last) = page.last() else {
            break;
        };
        after = Some(last.id.clone());
        for head in page {
            // Another log on the same store may be working on it.
            if !log.claim(&head.id).await? {
                continue;
            }
            let Some(task) = log.open_internal(&head.id).await? else {
                continue;
            };
            match engines.get(&head.agent) {
                Some(engine) => engine.revive(&task, &head, &mut recovered).await?,
                None => {
                    let text = format!("the agent {:?} no longer exists", head.agent);
                    // Its upstream is released when the agent is there again.
                    let release = Some(release::pending(task.origin(), None));
                    recovered.failed += u64::from(fail(&task, head.seq, &text, release));
                }
            }
        }
    }
    release_pending(engines).await?;
    Ok(recovered)
}

/// Goes on releasing the upstreams of these agents. Releasing one twice is harmless.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn release_pending(engines: &HashMap<Arc<str>, Engine>) -> Result<(), Error> {
    let Some(one) = engines.values().next() else {
        return Ok(());
    };
    let mut after = None;
    loop {
        let page = one.shared.log.store().pending_releases(after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.id.clone());
        for head in page {
            if let Some(engine) = engines.get(&head.agent) {
                engine.release_at_start(head);
            }
        }
    }
}

/// Counts the tasks that are not over. Before any of them goes on: it may change others, and make new ones, which count
/// themselves.
async fn count(log: &Log) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = log.store().live(after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.id.clone());
        for head in page {
            let meter = log.metrics().agent(&head.agent);
            meter.stands(None, Some(head.state));
        }
    }
}

impl Engine {
    async fn revive(
        &self,
        log: &Arc<TaskLog>,
        head: &Head,
        recovered: &mut Recovered,
    ) -> Result<(), Error> {
        if head.state.is_interrupted() {
            recovered.waiting += 1;
            let deadline = head.updated.as_micros().saturating_add(
                i64::try_from(self.shared.settings.input_timeout.as_micros()).unwrap_or(i64::MAX),
            );
            let left = clock::until(switchboard_types::model::Timestamp::from_micros(deadline));
            self.expire_input_after(head.id.clone(), head.seq, left);
            return Ok(());
        }
        let record = log.turn();
        // What had not begun yet can begin, whatever it does.
        let queued = record.queued || head.state == TaskState::Submitted;
        let principal: Principal = head.owner.clone().into();
        let trace = self.shared.log.trace_in(&record).map(Arc::new);
        let canceled = CancellationToken::new();
        let mut turn = self.resumed_turn(principal, log, record, canceled).await?;
        turn.is_resumed = !queued;
        let restart = match self.agent_for(&turn) {
            Ok(_) if is_redacted(&turn.message) => Restart::Fail,
            Ok(_) if queued => Restart::Resume,
            Ok(agent) => agent.on_restart(&turn).await,
            Err(_) => Restart::Fail,
        };
        if restart == Restart::Fail {
            let text = "interrupted by a restart: send the message again";
            // Whatever it left upstream is released; an agent that has nothing there does nothing.
            let release = Some(release::pending(log.origin(), None));
            if fail(log, head.seq, text, release) {
                recovered.failed += 1;
                self.release_in_background(log, turn.principal);
            }
            return Ok(());
        }
        let Some(canceled) = log.resume_turn(head.seq, trace) else {
            return Ok(());
        };
        turn.canceled = canceled;
        turn.trace = log.trace().map(|trace| Box::new(trace.child()));
        let ticket = self.promised_ticket(&turn.principal);
        // One that was at work goes on at once: another task may wait for it.
        let ticket = if queued { ticket } else { ticket.or_none() };
        self.start(log, turn, ticket);
        match restart {
            Restart::Resume => recovered.resumed += 1,
            Restart::CleanUp | Restart::Fail => recovered.failed += 1,
        }
        Ok(())
    }
}

/// Fails a task that still stands at `last`. One that does not was begun or continued since it was looked up, by a turn
/// that was resumed before it: tasks call each other.
fn fail(log: &Arc<TaskLog>, last: u64, text: &str, release: Option<Change>) -> bool {
    let event = status_event(log.origin(), TaskState::Failed, failure(text, "RESTARTED"));
    log.append_if_idle(last, event, release)
}
