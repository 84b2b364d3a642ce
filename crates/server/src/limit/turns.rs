//! How many turns may be at work: of one agent, and of all together.

use std::sync::Arc;

use switchboard_types::{Error, ErrorKind};

use super::{Caller, Fair, Permit, Ticket, at_limit};

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
    /// Of all agents.
    pub everywhere: Option<Gate>,
    /// Of this agent.
    pub here: Option<Gate>,
}

/// Who begins a turn, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// A caller from outside.
    Called,
    /// Another agent's turn, which waits for it: it takes no room, since it could wait for its own end.
    Delegated,
}

/// The right to a turn, now or later; nothing at all where there are no gates.
#[derive(Debug)]
pub(crate) struct TurnTicket(Option<Box<Tickets>>);

#[derive(Debug)]
struct Tickets {
    here: Option<Ticket<Arc<Fair>>>,
    everywhere: Everywhere,
}

/// Room among all agents. It is asked for once there is room at the agent itself: nobody keeps what they cannot use yet.
#[derive(Debug)]
enum Everywhere {
    Any,
    Asked(Ticket<Arc<Fair>>),
    ToAsk(Gate, Caller),
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
        if !self.has_gates() || begins == Begins::Delegated {
            return Ok(TurnTicket(None));
        }
        let ask = |gate: &Gate| {
            let ticket = Fair::ticket(Arc::clone(&gate.fair), &who);
            ticket.map_err(|_| {
                let most = gate.most;
                let message = at_limit("the agent", most, "task");
                Error::new(ErrorKind::ResourceExhausted, message).fact("limit", most.to_string())
            })
        };
        let here = self.here.as_ref().map(ask).transpose()?;
        let everywhere = match &self.everywhere {
            None => Everywhere::Any,
            Some(gate) if matches!(here, Some(Ticket::Later(_))) => {
                Everywhere::ToAsk(gate.clone(), who())
            }
            Some(gate) => Everywhere::Asked(ask(gate)?),
        };
        Ok(TurnTicket(Some(Box::new(Tickets { here, everywhere }))))
    }

    /// A turn that was promised before: it is let in, if not at once.
    pub(crate) fn promised(&self, who: impl Fn() -> Caller) -> TurnTicket {
        if !self.has_gates() {
            return TurnTicket(None);
        }
        let ask = |gate: &Gate| Fair::promised(Arc::clone(&gate.fair), &who);
        let here = self.here.as_ref().map(ask);
        let everywhere = match &self.everywhere {
            None => Everywhere::Any,
            Some(gate) if matches!(here, Some(Ticket::Later(_))) => {
                Everywhere::ToAsk(gate.clone(), who())
            }
            Some(gate) => Everywhere::Asked(ask(gate)),
        };
        TurnTicket(Some(Box::new(Tickets { here, everywhere })))
    }

    fn has_gates(&self) -> bool {
        self.everywhere.is_some() || self.here.is_some()
    }
}

impl TurnTicket {
    /// The right to a turn that takes no room.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Room for a turn that goes on in any case: it is counted if there is room, and else not.
    pub(crate) fn or_none(self) -> Self {
        if self.waits() { Self::none() } else { self }
    }

    /// Whether there is no room yet.
    pub(crate) fn waits(&self) -> bool {
        let waits = |tickets: &Tickets| {
            matches!(tickets.here, Some(Ticket::Later(_)))
                || matches!(
                    tickets.everywhere,
                    Everywhere::ToAsk(..) | Everywhere::Asked(Ticket::Later(_))
                )
        };
        self.0.as_deref().is_some_and(waits)
    }

    /// Begins, if there is room already.
    pub(crate) fn now(self) -> Result<AtWork, Self> {
        let Some(tickets) = self.0 else {
            return Ok(AtWork::default());
        };
        match *tickets {
            Tickets {
                here: here @ (None | Some(Ticket::Now(_))),
                everywhere: Everywhere::Any,
            } => Ok(AtWork {
                _here: here.and_then(permit),
                _everywhere: None,
            }),
            Tickets {
                here: here @ (None | Some(Ticket::Now(_))),
                everywhere: Everywhere::Asked(Ticket::Now(everywhere)),
            } => Ok(AtWork {
                _here: here.and_then(permit),
                _everywhere: Some(everywhere),
            }),
            waits => Err(Self(Some(Box::new(waits)))),
        }
    }

    /// Waits for room, first at the agent.
    pub(crate) async fn later(self) -> AtWork {
        let Some(tickets) = self.0 else {
            return AtWork::default();
        };
        let here = wait(tickets.here).await;
        let everywhere = match tickets.everywhere {
            Everywhere::Any => None,
            Everywhere::Asked(ticket) => Some(ticket),
            // It was promised: however many wait by now.
            Everywhere::ToAsk(gate, who) => Some(Fair::promised(gate.fair, || who)),
        };
        AtWork {
            _here: here,
            _everywhere: wait(everywhere).await,
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
