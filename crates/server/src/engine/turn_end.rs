//! How a turn ends: what the task's last event of the turn says, and whether the upstream must still be released. Pure.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::future::{BoxFuture, CatchUnwind};
use switchboard_types::ErrorKind;
use switchboard_types::model::TaskState;

use super::events::{failure, with_refused_cancel};
use crate::agent::{AgentError, AgentErrorKind, Outcome, Said};
use crate::budget::Spent;

/// What an agent returned, or the panic that stopped it.
pub(super) type Returned = Result<Result<Outcome, AgentError>, Box<dyn Any + Send>>;

/// An agent at work.
pub(super) type Work<'a> =
    CatchUnwind<AssertUnwindSafe<BoxFuture<'a, Result<Outcome, AgentError>>>>;

/// Why the run of an agent stopped, and what it returned.
pub(super) enum AgentRun {
    /// By itself.
    Ended(Returned),
    /// The task was canceled; what the agent returned within the grace, if anything.
    Canceled(Option<Returned>),
    /// It took too long; likewise.
    TimedOut(Option<Returned>),
}

/// How a turn ends.
#[derive(Debug)]
pub(super) struct TurnEnd {
    pub(super) ending: Ending,
    /// The upstream may not know that the task ended, and must be released.
    pub(super) release: Option<Release>,
}

#[derive(Debug)]
pub(super) enum Ending {
    Status(TaskState, Said),
    Reply(Said),
}

/// What is known about a release.
#[derive(Debug, Default)]
pub(super) struct Release {
    /// The question that the agent asked though its task is over: nobody will answer it.
    pub(super) question: Option<(TaskState, Said)>,
}

/// What the time of a turn is limited by.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimits {
    /// For each turn.
    pub(super) task_timeout: Duration,
    /// What the budget of the task has left.
    pub(super) budget: Option<Duration>,
}

impl TimeLimits {
    pub(super) fn shortest(self) -> Duration {
        let limit = self.task_timeout;
        self.budget.map_or(limit, |left| left.min(limit))
    }
}

impl TurnEnd {
    /// What follows from how the agent stopped. `is_canceled`: whatever the agent returned comes too late, since a cancel
    /// is never overwritten.
    pub(super) fn of(run: AgentRun, is_canceled: bool, limits: TimeLimits) -> Self {
        let release = release(&run, is_canceled);
        let refused = refused_cancel(&run);
        let ending = match ending(run, is_canceled, limits) {
            Ending::Status(state, said) => {
                Ending::Status(state, with_refused_cancel(said, refused))
            }
            reply @ Ending::Reply(_) => reply,
        };
        Self { ending, release }
    }

    /// A turn that fails before its agent runs.
    pub(super) fn failed(error: AgentError) -> Self {
        Self {
            ending: returned(Err(error)),
            release: None,
        }
    }
}

fn ending(run: AgentRun, is_canceled: bool, limits: TimeLimits) -> Ending {
    let canceled = || Ending::Status(TaskState::Canceled, Said::default());
    match run {
        AgentRun::Canceled(_) => canceled(),
        AgentRun::Ended(Ok(_)) if is_canceled => canceled(),
        AgentRun::Ended(Ok(outcome)) => returned(outcome),
        AgentRun::Ended(Err(_)) => {
            let reason = ErrorKind::Internal.reason();
            Ending::Status(TaskState::Failed, failure("the agent panicked", reason))
        }
        AgentRun::TimedOut(late) => {
            let spent = late.and_then(|late| late.ok()?.err()?.spent);
            let failed = match limits.budget {
                Some(left) if left < limits.task_timeout => failure(
                    "the budget of this task has no time left",
                    "BUDGET_EXHAUSTED",
                ),
                _ => {
                    let limit = limits.task_timeout.as_secs_f64();
                    let text = format!("the task took longer than {limit} s");
                    failure(&text, "TASK_TIMEOUT")
                }
            };
            Ending::Status(TaskState::Failed, with_spent(failed, spent))
        }
    }
}

/// Whether the upstream must be released. It must if the agent was stopped before it could see to that, says that it could
/// not, or asked a question as the task ended.
fn release(run: &AgentRun, is_canceled: bool) -> Option<Release> {
    let returned = match run {
        AgentRun::Ended(returned) => Some(returned),
        AgentRun::Canceled(late) | AgentRun::TimedOut(late) => late.as_ref(),
    };
    let is_over = is_canceled || !matches!(run, AgentRun::Ended(_));
    let question = match returned {
        Some(Ok(Ok(Outcome::InputRequired(said)))) if is_over => {
            Some((TaskState::InputRequired, said.clone()))
        }
        Some(Ok(Ok(Outcome::AuthRequired(said)))) if is_over => {
            Some((TaskState::AuthRequired, said.clone()))
        }
        _ => None,
    };
    let is_pending = match returned {
        Some(Ok(Ok(_))) => question.is_some(),
        Some(Ok(Err(error))) => error.release_pending,
        // It panicked or was dropped in the middle of something.
        Some(Err(_)) | None => true,
    };
    is_pending.then_some(Release { question })
}

/// Why the upstream refused to stop, if it did.
fn refused_cancel(run: &AgentRun) -> Option<String> {
    let returned = match run {
        AgentRun::Ended(returned) => Some(returned),
        AgentRun::Canceled(late) | AgentRun::TimedOut(late) => late.as_ref(),
    };
    let error = returned?.as_ref().ok()?.as_ref().err()?;
    error.refused_cancel().map(str::to_owned)
}

fn returned(outcome: Result<Outcome, AgentError>) -> Ending {
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
            Ending::Status(TaskState::Failed, with_spent(failed, error.spent))
        }
    }
}

/// The same, and what was spent.
fn with_spent(said: Said, spent: Option<Spent>) -> Said {
    match spent {
        Some(spent) => Said {
            metadata: Some(spent.marked(said.metadata.as_ref())),
            ..said
        },
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TimeLimits = TimeLimits {
        task_timeout: Duration::from_secs(10),
        budget: None,
    };

    /// The state that a turn leaves, whether a release is pending, and whether it withdraws a question.
    fn end(run: AgentRun, is_canceled: bool) -> (Option<TaskState>, bool, bool) {
        let end = TurnEnd::of(run, is_canceled, LIMITS);
        let state = match end.ending {
            Ending::Status(state, _) => Some(state),
            Ending::Reply(_) => None,
        };
        let asked = end.release.as_ref().is_some_and(|r| r.question.is_some());
        (state, end.release.is_some(), asked)
    }

    fn asks() -> Returned {
        Ok(Ok(Outcome::InputRequired(Said::text("which?"))))
    }

    #[test]
    fn every_way_to_stop_has_its_end() {
        use TaskState::{Canceled, Completed, Failed, InputRequired};
        let done = || Ok(Ok(Outcome::Completed(Said::default())));
        let pending = || Ok(Err(AgentError::new("no").release_pending()));
        let panicked = || Err(Box::new("boom") as Box<dyn Any + Send>);
        let table = [
            (
                AgentRun::Ended(done()),
                false,
                (Some(Completed), false, false),
            ),
            (
                AgentRun::Ended(done()),
                true,
                (Some(Canceled), false, false),
            ),
            (
                AgentRun::Ended(asks()),
                false,
                (Some(InputRequired), false, false),
            ),
            (AgentRun::Ended(asks()), true, (Some(Canceled), true, true)),
            (
                AgentRun::Ended(pending()),
                false,
                (Some(Failed), true, false),
            ),
            (
                AgentRun::Ended(panicked()),
                false,
                (Some(Failed), true, false),
            ),
            (
                AgentRun::Canceled(None),
                true,
                (Some(Canceled), true, false),
            ),
            (
                AgentRun::Canceled(Some(asks())),
                true,
                (Some(Canceled), true, true),
            ),
            (
                AgentRun::Canceled(Some(pending())),
                true,
                (Some(Canceled), true, false),
            ),
            (
                AgentRun::Canceled(Some(Ok(Err(AgentError::over())))),
                true,
                (Some(Canceled), false, false),
            ),
            (AgentRun::TimedOut(None), true, (Some(Failed), true, false)),
            (
                AgentRun::TimedOut(Some(done())),
                true,
                (Some(Failed), false, false),
            ),
            (
                AgentRun::TimedOut(Some(asks())),
                true,
                (Some(Failed), true, true),
            ),
        ];
        for (row, (run, is_canceled, expected)) in table.into_iter().enumerate() {
            assert_eq!(end(run, is_canceled), expected, "row {row}");
        }
    }

    #[test]
    fn a_reply_is_no_status() {
        let reply = Ok(Ok(Outcome::Reply(Said::text("hi"))));
        assert_eq!(end(AgentRun::Ended(reply), false), (None, false, false));
    }
}
