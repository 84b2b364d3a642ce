//! How much an engine takes: parts of a message, messages of a task, turns at once.

use switchboard_types::Error;
use switchboard_types::model::{Message, Role};

use super::{Engine, Scope};
use crate::budget::Budget;
use crate::call::Origin;
use crate::hops::Hops;
use crate::limit::{Begins, Caller, TurnTicket};
use crate::log::TaskLog;

impl Engine {
    /// # Errors
    ///
    /// If a message says that it is an agent's: who calls is the user, and what an agent has said is known here.
    pub(super) fn require_user(message: &Message) -> Result<(), Error> {
        match message.role {
            Role::User => Ok(()),
            Role::Agent => {
                let must = "must be the user role: agents answer, they do not send";
                Err(Error::invalid_params("message.role", must))
            }
        }
    }

    /// # Errors
    ///
    /// If a message has too many parts.
    pub(super) fn require_few_parts(&self, message: &Message) -> Result<(), Error> {
        let most = self.shared.settings.most_parts;
        if message.parts.len() <= most {
            return Ok(());
        }
        let description = format!("must hold no more than {most} parts");
        Err(Error::invalid_params("message.parts", description))
    }

    /// # Errors
    ///
    /// If a message has come through this agent before, or through too many; or brings a budget that cannot be read.
    pub(super) fn reject_loops(&self, message: &Message) -> Result<(), Error> {
        Budget::of(message)?;
        let hops = Hops::of(message)?;
        if hops.is_empty() {
            return Ok(());
        }
        let (here, meter) = (self.shared.turn_context.hop.name(), &self.shared.meter);
        let allowed = hops.reject_loops(here, self.shared.settings.deepest);
        match &allowed {
            Ok(()) => meter.came_through(hops.len()),
            Err(_) => meter.refused(hops.goes_through(here)),
        }
        allowed
    }

    /// # Errors
    ///
    /// If a task that is not over has too many messages to take another one.
    pub(super) fn require_short_history(&self, log: &TaskLog) -> Result<(), Error> {
        let most = self.shared.settings.longest_history;
        let messages = log.view().map_or(0, |(_, task)| task.history.len());
        if messages < most || log.last().1.is_terminal() {
            return Ok(());
        }
        let message = format!(
            "the task has {messages} messages, the maximum: send a new message without taskId, in the same context"
        );
        let error = Error::unsupported(message).fact("limit", most.to_string());
        Err(error.fact("taskId", log.id().as_str()))
    }

    /// The right to a turn of this caller's. Asked for before there is a task: what is refused leaves none.
    pub(super) fn turn_ticket(&self, scope: &Scope) -> Result<TurnTicket, Error> {
        let begins = match scope.origin {
            Origin::Network => Begins::Called,
            Origin::Agent(_) => Begins::Delegated,
        };
        let turns = &self.shared.settings.turns;
        turns.ticket(begins, || Caller::of(&scope.principal))
    }
}
