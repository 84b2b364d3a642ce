//! How many turns may be at work: of one agent, and of all together.

use std::sync::Arc;

use switchboard_types::{Error, ErrorKind};

use super::{Caller, Fair, Permit, Ticket};

/// Room for so many turns. Engines that share one count together.
#[derive(Debug, Clone)]
pub struct Gate {
    most: usize,
    fair: Arc<Fair>,
}

impl Gate {
    /// Room for `most` turns; `length` more may wait for it, half of them of one caller.
    #[must_use]
    pub fn new(most: usize, length: usize) -> Self {
        Self {
            most,
            fair: Arc::new(Fair::new(most, length)),
        }
    }
}

/// How many turns may be at work; without gates, any number.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// Of all agents. A turn that another one waits for does not count: it would wait for its own end.
    pub everywhere: Option<Gate>,
    /// Of this agent.
    pub here: Option<Gate>,
}

/// Who begins a turn, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// A caller from outside.
    Called,
    /// Another agent's turn.
    Delegated,
    /// What was promised before: it is let in, if not at once.
    Promised,
}

/// The right to a turn, now or later; nothing at all where there are no gates.
#[derive(Debug)]
pub(crate) struct TurnTicket(Option<Box<Tickets>>);

#[derive(Debug)]
struct Tickets {
    here: Option<Ticket<Arc<Fair>>>,
    everywhere: Option<Ticket<Arc<Fair>>>,
}

/// A turn at work, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct AtWork {
    _here: Option<Permit<Arc<Fair>>>,
    _everywhere: Option<Permit<Arc<Fair>>>,
}

impl Turns {
    /// Asks for a turn, before there is a task.
    ///
    /// # Errors
    ///
    /// If too many wait for one.
    pub(crate) fn ticket(
        &self,
        begins: Begins,
        who: impl Fn() -> Caller,
    ) -> Result<TurnTicket, Error> {
        if self.everywhere.is_none() && self.here.is_none() {
            return Ok(TurnTicket(None));
        }
        let bound = begins != Begins::Promised;
        let ask = |gate: &Gate| {
            let ticket = Fair::ticket(Arc::clone(&gate.fair), &who, bound);
            ticket.map_err(|_| {
                let most = gate.most;
                let message =
                    format!("{most} tasks are at work, and too many wait: try again later");
                Error::new(ErrorKind::ResourceExhausted, message).fact("limit", most.to_string())
            })
        };
        let everywhere = self.everywhere.as_ref();
        let everywhere = everywhere.filter(|_| begins != Begins::Delegated);
        Ok(TurnTicket(Some(Box::new(Tickets {
            here: self.here.as_ref().map(ask).transpose()?,
            everywhere: everywhere.map(ask).transpose()?,
        }))))
    }
}

impl TurnTicket {
    /// Begins, if there is room already.
    pub(crate) fn now(self) -> Result<AtWork, Self> {
        let waits = |ticket: &Option<Ticket<_>>| matches!(ticket, Some(Ticket::Later(_)));
        match self.0 {
            None => Ok(AtWork::default()),
            Some(tickets) if waits(&tickets.here) || waits(&tickets.everywhere) => {
                Err(Self(Some(tickets)))
            }
            Some(tickets) => Ok(AtWork {
                _here: tickets.here.and_then(permit),
                _everywhere: tickets.everywhere.and_then(permit),
            }),
        }
    }

    /// Waits for room. Room of one kind is kept while waiting for the other.
    pub(crate) async fn later(self) -> AtWork {
        let Some(tickets) = self.0 else {
            return AtWork::default();
        };
        AtWork {
            _here: wait(tickets.here).await,
            _everywhere: wait(tickets.everywhere).await,
        }
    }
}

fn permit(ticket: Ticket<Arc<Fair>>) -> Option<Permit<Arc<Fair>>> {
    match ticket {
        Ticket::Now(permit) => Some(permit),
        Ticket::Later(_) => None,
    }
}

async fn wait(ticket: Option<Ticket<Arc<Fair>>>) -> Option<Permit<Arc<Fair>>> {
    match ticket? {
        Ticket::Now(permit) => Some(permit),
        Ticket::Later(place) => Some(place.admitted().await),
    }
}
