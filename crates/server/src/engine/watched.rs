//! How it went with an agent that was watched.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::future::{BoxFuture, CatchUnwind};
use switchboard_types::model::TaskState;

use crate::agent::{AgentError, Outcome, Said};

/// What an agent came to, or the panic that stopped it.
pub(super) type Worked = Result<Result<Outcome, AgentError>, Box<dyn Any + Send>>;

/// An agent at work.
pub(super) type Work<'a> =
    CatchUnwind<AssertUnwindSafe<BoxFuture<'a, Result<Outcome, AgentError>>>>;

/// How it went with an agent.
pub(super) enum Watched {
    /// It came to an end by itself.
    Ended(Worked),
    /// It was told to stop, and came to that.
    Canceled(Option<Worked>),
    /// It has taken too long, and came to that when it was told so.
    TimedOut(Option<Worked>),
}

impl Watched {
    /// Whether what stands behind the agent may not know that the task is over.
    pub(super) fn is_untold(&self) -> bool {
        match self {
            Self::Ended(worked) => is_untold(worked),
            Self::Canceled(late) | Self::TimedOut(late) => late.as_ref().is_none_or(is_untold),
        }
    }

    /// Why the upstream refused to stop, if it did.
    pub(super) fn refused_cancel(&self) -> Option<String> {
        let worked = match self {
            Self::Ended(worked) => Some(worked),
            Self::Canceled(late) | Self::TimedOut(late) => late.as_ref(),
        };
        let error = worked?.as_ref().ok()?.as_ref().err()?;
        error.refused_cancel().map(str::to_owned)
    }

    /// The question that it waits with, though its task is over and nobody will answer it.
    pub(super) fn asks_in_vain(&self, is_canceled: bool) -> Option<(TaskState, &Said)> {
        let came_to = match self {
            Self::Ended(worked) if is_canceled => Some(worked),
            Self::Ended(_) => None,
            Self::Canceled(late) | Self::TimedOut(late) => late.as_ref(),
        };
        match came_to? {
            Ok(Ok(Outcome::InputRequired(said))) => Some((TaskState::InputRequired, said)),
            Ok(Ok(Outcome::AuthRequired(said))) => Some((TaskState::AuthRequired, said)),
            _ => None,
        }
    }
}

fn is_untold(worked: &Worked) -> bool {
    match worked {
        Ok(Ok(_)) => false,
        Ok(Err(error)) => error.untold,
        // It was in the middle of something.
        Err(_) => true,
    }
}
