//! Runs turns: a turn is a tracked, cancellable, timed future, and it always ends.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, poll};
use switchboard_types::model::{Event, TaskState};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::idempotency::Claim;
use super::turn_end::{AgentRun, Ending, TimeLimits, TurnEnd, Work};
use super::{Engine, recorded, release};
use crate::agent::{Agent, Progress, Said, Turn, Voice, bare_message, status_event};
use crate::limit::{AtWork, Caller, TurnTicket};
use crate::log::TaskLog;
use crate::metrics::Line;
use crate::principal::Principal;
use crate::task::{Change, leave_out_question_data};

/// How soon a store that could not be read or written is tried again.
pub(super) const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);

impl Engine {
    /// Starts a turn.
    pub(super) fn start(&self, log: &Arc<TaskLog>, turn: Turn, ticket: TurnTicket) {
        let running = self.prepare(log, turn, None, ticket);
        self.launch(log, running);
    }

    /// A ticket for a turn that cannot be refused any more.
    pub(super) fn promised_ticket(&self, principal: &Principal) -> TurnTicket {
        let turns = &self.shared.settings.turns;
        turns.promised(|| Caller::of(principal))
    }

    /// A turn that is to be [launched](Self::launch). Nothing of it runs before: it may be made under the lock on an
    /// idempotency key, where no agent may run.
    pub(super) fn prepare(
        &self,
        log: &Arc<TaskLog>,
        turn: Turn,
        claim: Option<Claim>,
        ticket: TurnTicket,
    ) -> BoxFuture<'static, ()> {
        Box::pin(self.clone().run(Arc::clone(log), turn, claim, ticket))
    }

    /// Polls a turn once, and spawns what is left of it. A quick agent often ends at the first poll, before anything
    /// could be stored: then all its events go into one commit, and there is nothing to spawn.
    pub(super) fn launch(&self, log: &Arc<TaskLog>, mut running: BoxFuture<'static, ()>) {
        // Whatever it waits for, the spawned task will ask again with a waker of its own.
        let mut context = Context::from_waker(Waker::noop());
        if running.as_mut().poll(&mut context).is_pending() {
            self.shared.tasks.spawn(running);
        }
        log.uncork();
    }

    /// Runs a turn to its end.
    async fn run(
        mut self,
        log: Arc<TaskLog>,
        turn: Turn,
        claim: Option<Claim>,
        ticket: TurnTicket,
    ) {
        let _at_work = match ticket.now() {
            Ok(at_work) => at_work,
            Err(ticket) => {
                let began = Instant::now();
                let room = self.wait_for_room(&log, ticket, &turn).await;
                let Some(at_work) = room else { return };
                self.shared.meter.waited(Line::Turns, began.elapsed());
                self = self.latest();
                at_work
            }
        };
        let caller = turn.principal.clone();
        let end = match self.agent_for(&turn) {
            Ok(agent) => {
                let begins = log.last().1 == TaskState::Submitted;
                if begins && !self.begin_working(&log, &*agent).await {
                    return;
                }
                while let Err(error) = log.dequeue().await {
                    tracing::warn!(agent = %self.shared.name, task = %log.id(), %error, "turn cannot begin yet, retrying");
                    tokio::time::sleep(STORE_RETRY_DELAY).await;
                }
                self.take_turn(&*agent, &log, turn).await
            }
            Err(error) => TurnEnd::failed(error),
        };
        let event = match end.ending {
            Ending::Reply(said) if log.decide_to_reply() => {
                Box::pin(self.reply(&log, said, claim.as_ref())).await;
                return;
            }
            Ending::Reply(said) => status_event(log.origin(), TaskState::Completed, said),
            Ending::Status(state, said) => status_event(log.origin(), state, said),
        };
        log.publish();
        let release = end.release.map(|release| {
            let asked = release.question;
            let asked = asked.map(|(state, said)| status_event(log.origin(), state, said));
            release::pending(log.origin(), asked.as_ref())
        });
        self.end_turn(&log, event, release, caller);
        self.watch_input(&log);
    }

    /// Ends a turn with `event`, and with the release of its upstream if one is pending.
    fn end_turn(
        &self,
        log: &Arc<TaskLog>,
        event: Event,
        mut release: Option<Change>,
        caller: Principal,
    ) {
        if let Err(asked) = log.end_turn(event, release.clone()) {
            // It was canceled just now: nobody will answer the question.
            let canceled = status_event(log.origin(), TaskState::Canceled, Said::default());
            release = Some(release::pending(log.origin(), Some(&asked)));
            // Only a question can be refused.
            log.end_turn(canceled, release.clone()).ok();
        }
        if release.is_some() {
            self.latest().release_in_background(log, caller);
        }
    }

    /// Waits until there is capacity for a turn; until then the task stands as it was made. `None` if it will not run.
    fn wait_for_room<'a>(
        &'a self,
        log: &'a Arc<TaskLog>,
        ticket: TurnTicket,
        turn: &'a Turn,
    ) -> BoxFuture<'a, Option<AtWork>> {
        Box::pin(async move {
            // What is queued is a task: it is found again, and lasts.
            log.publish();
            tokio::select! {
                biased;
                () = turn.canceled.cancelled() => {
                    let ended = status_event(log.origin(), TaskState::Canceled, Said::default());
                    // The upstream may know of the task from turns before.
                    let release = (turn.number > 1).then(|| release::pending(log.origin(), None));
                    self.end_turn(log, ended, release, turn.principal.clone());
                    None
                }
                // A task that is stored begins at the next start.
                () = self.shared.tasks.stopping().cancelled() => None,
                at_work = ticket.later() => Some(at_work),
            }
        })
    }

    /// The first turn of a task: appends that work begins. An agent that touches the world waits until the task is durable.
    async fn begin_working(&self, log: &Arc<TaskLog>, agent: &dyn Agent) -> bool {
        if agent.has_effects() && !log.is_draft() && log.stored_up_to(1).await.is_err() {
            return false;
        }
        let working = status_event(log.origin(), TaskState::Working, Said::default());
        log.append(working).is_ok()
    }

    /// Lets the agent take its turn; whatever happens, the turn has an end.
    async fn take_turn(&self, agent: &dyn Agent, log: &Arc<TaskLog>, turn: Turn) -> TurnEnd {
        let (canceled, began) = (turn.canceled.clone(), Instant::now());
        let limits = TimeLimits {
            task_timeout: self.shared.settings.task_timeout,
            budget: turn.budget().time_left(),
        };
        let mut recording = self.record(&turn);
        let progress = Progress {
            voice: Voice {
                log: Arc::clone(log),
            },
        };
        let span = self.upstream_span(log.id());
        let mut running = agent.run(turn, progress);
        if let Some(span) = span {
            running = Box::pin(running.instrument(span));
        }
        let mut work: Work<'_> = AssertUnwindSafe(running).catch_unwind();
        let run = match poll!(&mut work) {
            Poll::Ready(returned) => AgentRun::Ended(returned),
            // Boxed: timers are large, and a quick agent needs none.
            Poll::Pending => Box::pin(self.watch(work, limits, &canceled)).await,
        };
        self.shared.meter.took_turn(began.elapsed());
        if let AgentRun::Ended(Err(panic)) = &run {
            self.log_panic(log, panic.as_ref());
        }
        // Read once: a cancel that comes from now on is seen when the turn ends.
        let mut end = TurnEnd::of(run, canceled.is_cancelled(), limits);
        if let Ending::Status(state, said) = &mut end.ending {
            if state.is_interrupted() && !self.shared.settings.question_data {
                leave_out_question_data(&mut said.parts);
            }
            if let Some(recording) = &mut recording {
                recorded::ends(recording, *state);
            }
        }
        end
    }

    /// Waits for the agent until it is canceled or takes too long. Then it has a short grace to stop by itself.
    async fn watch(
        &self,
        mut work: Work<'_>,
        limits: TimeLimits,
        canceled: &CancellationToken,
    ) -> AgentRun {
        let stopped = tokio::select! {
            biased;
            () = canceled.cancelled() => AgentRun::Canceled,
            returned = tokio::time::timeout(limits.shortest(), &mut work) => match returned {
                Ok(returned) => return AgentRun::Ended(returned),
                Err(_) => AgentRun::TimedOut,
            },
        };
        canceled.cancel();
        let late = tokio::time::timeout(self.shared.settings.cancel_grace, work).await;
        stopped(late.ok())
    }

    fn log_panic(&self, log: &TaskLog, panic: &(dyn Any + Send)) {
        let cause = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(agent = %self.shared.name, task = %log.id(), cause, "agent panicked");
    }

    /// A direct message reply; stored first if the request had an idempotency key.
    async fn reply(&self, log: &TaskLog, said: Said, claim: Option<&Claim>) {
        let message = Arc::new(bare_message(&log.origin().context, said));
        if let Some(claim) = claim {
            let remembered = claim.answered_by_message(&message);
            if let Err(error) = self.shared.log.commit(remembered).await {
                tracing::error!(agent = %self.shared.name, %error, "could not store a direct message reply");
            }
        }
        log.end_with_reply(message);
    }
}
