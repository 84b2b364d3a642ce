//! Who watches the agent: a turn is a tracked, cancellable, timed future, and it always ends.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, poll};
use switchboard_types::ErrorKind;
use switchboard_types::model::{Event, Message, TaskState};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::events::{failure, with_refused_cancel};
use super::idempotency::Claim;
use super::watched::{Watched, Work};
use super::{Engine, recorded, untold};
use crate::agent::{AgentError, AgentErrorKind, Outcome, Progress, Said, Turn};
use crate::agent::{Voice, bare_message, status_event};
use crate::budget::Spent;
use crate::limit::{AtWork, Caller, TurnTicket};
use crate::log::{TaskLog, Waited};
use crate::metrics::Line;
use crate::principal::Principal;
use crate::task::{Change, leave_out_question_data};

/// How soon a store that could not be asked is asked again.
pub(super) const AGAIN: Duration = Duration::from_millis(500);

/// How a turn ends.
enum Ending {
    Status(TaskState, Said),
    Reply(Said),
}

impl Engine {
    /// Starts a turn.
    pub(super) fn start(&self, log: &Arc<TaskLog>, turn: Turn, ticket: TurnTicket) {
        let running = self.prepare(log, turn, None, ticket);
        self.launch(log, running);
    }

    /// Starts a turn that was promised to someone who is not there to be told that there is no room.
    pub(super) fn start_when_there_is_room(&self, log: &Arc<TaskLog>, turn: Turn) {
        let ticket = self.promised_ticket(&turn);
        self.start(log, turn, ticket);
    }

    /// A ticket for a turn that cannot be refused any more.
    pub(super) fn promised_ticket(&self, turn: &Turn) -> TurnTicket {
        let turns = &self.shared.settings.turns;
        turns.promised(|| Caller::of(&turn.principal))
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
        if ticket.waits() {
            log.stands_in_line();
        }
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

    /// Runs a turn, and those that follow from messages that came meanwhile.
    async fn run(
        mut self,
        log: Arc<TaskLog>,
        mut turn: Turn,
        claim: Option<Claim>,
        ticket: TurnTicket,
    ) {
        let canceled = turn.canceled.clone();
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
        let begins = log.last().1 == TaskState::Submitted;
        if begins && !self.begin_working(&log).await {
            return;
        }
        while let Err(error) = log.leaves_line().await {
            tracing::warn!(agent = %self.shared.name, task = %log.id(), %error, "turn cannot begin yet, retrying");
            tokio::time::sleep(AGAIN).await;
        }
        self.recall_inbox(&log).await;
        loop {
            let caller = turn.principal.clone();
            let (ending, untold) = self.take_turn(&log, turn).await;
            let event = match ending {
                Ending::Reply(said) if log.decide_to_reply() => {
                    Box::pin(self.reply(&log, said, claim.as_ref())).await;
                    return;
                }
                Ending::Reply(said) => status_event(log.origin(), TaskState::Completed, said),
                Ending::Status(state, said) => status_event(log.origin(), state, said),
            };
            if log.is_held() {
                log.publish();
            }
            let question = match &event {
                Event::Status(update) => update.status.message.clone(),
                _ => None,
            };
            match self.end_turn(&log, event, untold, caller) {
                Some(next) => {
                    self = self.latest();
                    let Waited { from, at, .. } = next;
                    turn = self.turn_for(from, &log, next.recorded, at, canceled.clone());
                    turn.message = next.message;
                    turn.question = question;
                }
                None => break,
            }
        }
        self.watch_input(&log);
    }

    /// Ends a turn with `event`, and with the note that what stands behind the agent is to be told, if it is. Returns the
    /// message that the next turn begins with, if one waits.
    fn end_turn(
        &self,
        log: &Arc<TaskLog>,
        event: Event,
        mut untold: Option<Change>,
        caller: Principal,
    ) -> Option<Waited> {
        let working = || status_event(log.origin(), TaskState::Working, Said::default());
        let ended = log.end_turn(event, untold.clone(), working);
        let next = ended.unwrap_or_else(|asked| {
            // It was canceled just now.
            let canceled = status_event(log.origin(), TaskState::Canceled, Said::default());
            untold = Some(untold::noted(log.origin(), Some(&asked)));
            let ended = log.end_turn(canceled, untold.clone(), working);
            ended.unwrap_or_default()
        });
        if untold.is_some() {
            self.latest().tell(log, caller);
        }
        next
    }

    /// Waits until there is room for a turn; until then the task stands as it was made. `None` if it will not run.
    fn wait_for_room<'a>(
        &'a self,
        log: &'a Arc<TaskLog>,
        ticket: TurnTicket,
        turn: &'a Turn,
    ) -> BoxFuture<'a, Option<AtWork>> {
        Box::pin(async move {
            if log.is_held() {
                // Who waits in line is a task: it is found again, and lasts.
                log.publish();
            }
            tokio::select! {
                biased;
                () = turn.canceled.cancelled() => {
                    let ended = status_event(log.origin(), TaskState::Canceled, Said::default());
                    // The agent may know of the task from turns before.
                    let knows = log.last().1 != TaskState::Submitted;
                    let untold = knows.then(|| untold::noted(log.origin(), None));
                    self.end_turn(log, ended, untold, turn.principal.clone());
                    None
                }
                // A task that is stored begins at the next start.
                () = self.shared.tasks.stopping().cancelled() => None,
                at_work = ticket.later() => Some(at_work),
            }
        })
    }

    /// The first turn of a task: says that work begins. An agent that touches the world waits until the task
    /// is safe.
    async fn begin_working(&self, log: &Arc<TaskLog>) -> bool {
        if self.shared.agent.has_effects() && !log.is_held() && log.stored_up_to(1).await.is_err() {
            return false;
        }
        let working = status_event(log.origin(), TaskState::Working, Said::default());
        log.work_begins(working).is_ok()
    }

    /// Lets the agent take its turn; whatever happens, there is an ending, and maybe the note that what stands behind the
    /// agent does not know of it.
    async fn take_turn(&self, log: &Arc<TaskLog>, turn: Turn) -> (Ending, Option<Change>) {
        let (canceled, began) = (turn.canceled.clone(), Instant::now());
        let affordable = turn.budget().time_left();
        let mut recording = self.record(&turn);
        let progress = Progress {
            voice: Voice {
                log: Arc::clone(log),
            },
        };
        let span = self.upstream_span(log.id());
        let mut running = self.shared.agent.run(turn, progress);
        if let Some(span) = span {
            running = Box::pin(running.instrument(span));
        }
        let mut work: Work<'_> = AssertUnwindSafe(running).catch_unwind();
        let ended = match poll!(&mut work) {
            Poll::Ready(ended) => Watched::Ended(ended),
            // Boxed: clocks are large things, and a quick agent needs none.
            Poll::Pending => Box::pin(self.watch(work, affordable, &canceled)).await,
        };
        self.shared.meter.took_turn(began.elapsed());
        // Once: a cancel that comes from now on is seen when the turn ends.
        let is_canceled = canceled.is_cancelled();
        let untold = match ended.asks_in_vain(is_canceled) {
            Some((state, said)) => {
                let asked = status_event(log.origin(), state, said.clone());
                Some(untold::noted(log.origin(), Some(&asked)))
            }
            None => ended.is_untold().then(|| untold::noted(log.origin(), None)),
        };
        let refused = ended.refused_cancel();
        let ending = match self.ending(log, ended, affordable, is_canceled) {
            Ending::Status(state, said) => {
                Ending::Status(state, with_refused_cancel(said, refused))
            }
            reply @ Ending::Reply(_) => reply,
        };
        if let (Some(recording), Ending::Status(state, _)) = (&mut recording, &ending) {
            recorded::ends(recording, *state);
        }
        (ending, untold)
    }

    /// What a turn came to.
    fn ending(
        &self,
        log: &Arc<TaskLog>,
        ended: Watched,
        affordable: Option<Duration>,
        is_canceled: bool,
    ) -> Ending {
        match ended {
            // What the agent returns now comes too late: a cancel is never overwritten.
            Watched::Ended(Ok(_)) if is_canceled => {
                Ending::Status(TaskState::Canceled, Said::default())
            }
            Watched::Canceled(_) => Ending::Status(TaskState::Canceled, Said::default()),
            Watched::Ended(Ok(outcome)) => self.asked_as_set(ending(outcome)),
            Watched::Ended(Err(panic)) => self.panicked(log, panic.as_ref()),
            Watched::TimedOut(late) => {
                let spent = late.and_then(|late| late.ok()?.err()?.spent);
                let limit = self.shared.settings.task_timeout;
                let failed = match affordable {
                    Some(time) if time < limit => failure(
                        "the budget of this task has no time left",
                        "BUDGET_EXHAUSTED",
                    ),
                    _ => {
                        let limit = limit.as_secs_f64();
                        let text = format!("the task took longer than {limit} s");
                        failure(&text, "TASK_TIMEOUT")
                    }
                };
                Ending::Status(TaskState::Failed, costing(failed, spent))
            }
        }
    }

    /// The ending, with its question in the form that the settings want.
    fn asked_as_set(&self, mut ending: Ending) -> Ending {
        if let Ending::Status(state, said) = &mut ending
            && state.is_interrupted()
            && !self.shared.settings.question_data
        {
            leave_out_question_data(&mut said.parts);
        }
        ending
    }

    /// Waits for the agent, until it is told to stop or takes too long. Then it has a little time to tell others.
    async fn watch(
        &self,
        mut work: Work<'_>,
        affordable: Option<Duration>,
        canceled: &CancellationToken,
    ) -> Watched {
        let settings = &self.shared.settings;
        let limit = settings.task_timeout;
        let limit = affordable.map_or(limit, |time| time.min(limit));
        let stopped = tokio::select! {
            biased;
            () = canceled.cancelled() => Watched::Canceled,
            ended = tokio::time::timeout(limit, &mut work) => match ended {
                Ok(ended) => return Watched::Ended(ended),
                Err(_) => Watched::TimedOut,
            },
        };
        canceled.cancel();
        let late = tokio::time::timeout(settings.cancel_grace, work).await;
        stopped(late.ok())
    }

    fn panicked(&self, log: &TaskLog, panic: &(dyn Any + Send)) -> Ending {
        let cause = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(agent = %self.shared.name, task = %log.id(), cause, "agent panicked");
        let reason = ErrorKind::Internal.reason();
        Ending::Status(TaskState::Failed, failure("the agent panicked", reason))
    }

    /// A bare answer; remembered first if the request had a key.
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

/// The latest message of the client in a task.
pub(super) fn last_message(log: &TaskLog) -> Option<Arc<Message>> {
    let (_, task) = log.view()?;
    let from_user = |m: &&Arc<Message>| m.role == switchboard_types::model::Role::User;
    task.history.iter().rfind(from_user).cloned()
}

fn ending(outcome: Result<Outcome, AgentError>) -> Ending {
    match outcome {
        Ok(Outcome::Completed(said)) => Ending::Status(TaskState::Completed, said),
        Ok(Outcome::InputRequired(said)) => Ending::Status(TaskState::InputRequired, said),
        Ok(Outcome::AuthRequired(said)) => Ending::Status(TaskState::AuthRequired, said),
        Ok(Outcome::Rejected(said)) => Ending::Status(TaskState::Rejected, said),
        Ok(Outcome::Reply(said)) => Ending::Reply(said),
        Err(error) => {
            let reason = match error.kind() {
                AgentErrorKind::Unavailable => ErrorKind::AgentUnavailable.reason(),
                AgentErrorKind::Failed | AgentErrorKind::Over => "AGENT_FAILED",
            };
            let failed = Said {
                references: error.references,
                ..failure(&error.message, reason)
            };
            Ending::Status(TaskState::Failed, costing(failed, error.spent))
        }
    }
}

/// The same, and what was spent.
fn costing(said: Said, spent: Option<Spent>) -> Said {
    match spent {
        Some(spent) => Said {
            metadata: Some(spent.marked(said.metadata.as_ref())),
            ..said
        },
        None => said,
    }
}
