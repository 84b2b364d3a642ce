//! Is there room? Every call is let in here, once it is known what it asks for and before it is answered.
//!
//! - `caller`: whom a limit counts by.
//! - `rate`: how often a caller may ask an agent; `tally`: what a request was counted as.
//! - `fair`: room for so many, and a line before it. Calls pass one, turns ([`Turns`]) others.
//! - `counts`: how many of something each one has.

mod caller;
mod counts;
mod fair;
mod rate;
mod tally;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_types::operation::Operation;
use switchboard_types::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::clock;

pub(crate) use caller::Caller;
pub(crate) use counts::{Counted, Counts};
use fair::{Fair, Permit, Place, Ticket};
pub use rate::Rate;
pub(crate) use tally::Tallies;
pub(crate) use turns::{AtWork, Begins, TurnTicket};
pub use turns::{Gate, Turns};

/// A line of calls that wait for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// How many may wait, half of them of one caller.
    pub length: usize,
    /// How long each may.
    pub wait: Duration,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            length: 4096,
            wait: Duration::from_secs(5),
        }
    }
}

/// Lets calls in as long as there is room.
#[derive(Debug)]
pub(crate) struct Admission {
    /// For those that wait for an agent.
    sends: Fair,
    /// For all others: they are over soon, and must not wait for those that are not.
    others: Fair,
    most_calls: usize,
    /// Sends of those who are known, once more than half of the room is taken.
    sends_of: Counts<Caller>,
    /// The same of those who cancel: an agent may take its time to let go.
    cancels_of: Counts<Caller>,
    wait: Duration,
    streams: Arc<Semaphore>,
    most_streams: usize,
    streams_of: Counts<Caller>,
    /// Also addresses have so many streams and no more.
    by_address: bool,
}

/// Where a call is answered, until it is; and that it is one of its caller's.
pub(crate) type Room<'a> = (Permit<&'a Fair>, Option<Share>);

/// One of the requests of a caller. Boxed: few calls have one, and the future of each has room for it.
pub(crate) type Share = Box<Counted<Caller>>;

/// Room for a call, now or later.
pub(crate) enum Entrance<'a> {
    /// Come in.
    Now(Room<'a>),
    /// Wait. Boxed: a clock is a large thing to keep in the future of every call.
    Later(BoxFuture<'a, Result<Room<'a>, Error>>),
}

/// The room of one stream, given back when it is over.
#[derive(Debug)]
pub(crate) struct Admitted {
    _stream: Option<Stream>,
    revoked: Option<CancellationToken>,
    /// When the stream ends at the latest.
    expires: Option<Instant>,
}

type Stream = (OwnedSemaphorePermit, Option<Counted<Caller>>);

impl Admitted {
    /// Ends when what the caller has shown is taken back, or expires: its streams end with it.
    pub(crate) async fn revoked(&self) {
        match (&self.revoked, self.expires) {
            (None, None) => std::future::pending().await,
            (Some(revoked), None) => revoked.cancelled().await,
            // Boxed: other streams need no room for a clock.
            (None, Some(expires)) => Box::pin(sleep_until(expires)).await,
            (Some(revoked), Some(expires)) => {
                drop(Box::pin(timeout_at(expires, revoked.cancelled())).await);
            }
        }
    }

    /// Whether that has happened.
    pub(crate) fn is_revoked(&self) -> bool {
        let revoked = self.revoked.as_ref();
        revoked.is_some_and(CancellationToken::is_cancelled)
            || self
                .expires
                .is_some_and(|expires| expires <= Instant::now())
    }
}

impl Admission {
    /// Room for so many calls at work, and so many event streams: of all callers, and of each.
    pub(crate) fn new(
        calls: usize,
        queue: Queue,
        streams: usize,
        streams_of_one: Option<usize>,
    ) -> Self {
        Self {
            sends: Fair::new(calls, queue.length),
            others: Fair::new(calls, queue.length),
            most_calls: calls,
            sends_of: Counts::new(calls.div_ceil(4)),
            cancels_of: Counts::new(calls.div_ceil(4)),
            wait: queue.wait,
            streams: Arc::new(Semaphore::new(streams)),
            most_streams: streams,
            streams_of: Counts::new(streams_of_one.unwrap_or(streams.div_ceil(4))),
            by_address: streams_of_one.is_some(),
        }
    }

    /// Finds room for the stream that a call asks for. Before it is answered: a message whose stream is refused must
    /// not start a task.
    ///
    /// # Errors
    ///
    /// If too many streams are open.
    pub(crate) fn admit(&self, call: &Call) -> Result<Admitted, Error> {
        let (stream, expires) = if call.operation.method().streams() {
            let left = call.principal.expires().map(clock::until);
            // One that far away is none.
            let expires = left.and_then(|left| Instant::now().checked_add(left));
            (Some(self.stream(call)?), expires)
        } else {
            (None, None)
        };
        Ok(Admitted {
            _stream: stream,
            revoked: call.principal.revoked().cloned(),
            expires,
        })
    }

    fn stream(&self, call: &Call) -> Result<Stream, Error> {
        let open = Arc::clone(&self.streams).try_acquire_owned();
        let open = open.map_err(|_| {
            let most = self.most_streams;
            no_room(format!(
                "the server is at its limit of {most} open event streams; retry after 1 s"
            ))
        })?;
        let caller = Caller::of(&call.principal);
        if matches!(caller, Caller::At(_)) && !self.by_address {
            return Ok((open, None));
        }
        let own = self.streams_of.take(caller);
        let own = own.ok_or_else(|| {
            let most = self.streams_of.most();
            no_room(format!(
                "you are at your limit of {most} open event streams: close one, or retry after 1 s"
            ))
        })?;
        Ok((open, Some(own)))
    }

    /// Lets a call in: now, or once there is room for it.
    ///
    /// # Errors
    ///
    /// If too many wait already; later, if it has waited too long.
    pub(crate) fn room(&self, call: &Call) -> Result<Entrance<'_>, Error> {
        let (gate, waits) = match call.operation {
            Operation::Send(_) => (&self.sends, Some(&self.sends_of)),
            Operation::Cancel(_) => (&self.others, Some(&self.cancels_of)),
            _ => (&self.others, None),
        };
        match Fair::ticket(gate, || Caller::of(&call.principal)) {
            Ok(Ticket::Now(room)) => match waits.filter(|_| gate.is_scarce()) {
                Some(counts) => {
                    let own = share(counts, Caller::of(&call.principal))?;
                    Ok(Entrance::Now((room, own)))
                }
                None => Ok(Entrance::Now((room, None))),
            },
            Ok(Ticket::Later(place)) => {
                let who = waits.map(|counts| (counts, Caller::of(&call.principal)));
                Ok(Entrance::Later(Box::pin(self.in_line(place, who))))
            }
            Err(_) => Err(self.too_many()),
        }
    }

    async fn in_line<'a>(
        &'a self,
        place: Place<&'a Fair>,
        who: Option<(&'a Counts<Caller>, Caller)>,
    ) -> Result<Room<'a>, Error> {
        let called = tokio::time::timeout(self.wait, place.admitted()).await;
        let room = called.map_err(|_| self.too_many())?;
        let own = who.map(|(counts, who)| share(counts, who)).transpose()?;
        Ok((room, own.flatten()))
    }

    fn too_many(&self) -> Error {
        let most = self.most_calls;
        no_room(at_limit("the server", most, "request"))
    }
}

/// One more of a caller's calls that wait for an agent, when there is not much room left: nobody may take all of it. At
/// one address there may be many callers.
fn share(counts: &Counts<Caller>, who: Caller) -> Result<Option<Share>, Error> {
    if matches!(who, Caller::At(_)) {
        return Ok(None);
    }
    let own = counts.take(who).ok_or_else(|| {
        no_room("you are at your share of concurrent requests; retry after 1 s".to_owned())
    })?;
    Ok(Some(Box::new(own)))
}

/// What is said to a caller for whom there is no room and no place in the queue, either.
fn at_limit(what: &str, limit: usize, unit: &str) -> String {
    let plural = if limit == 1 { "" } else { "s" };
    format!("{what} is at its limit of {limit} concurrent {unit}{plural}; retry after 1 s")
}

fn no_room(message: String) -> Error {
    Error::new(ErrorKind::ResourceExhausted, message)
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::TaskId;
    use switchboard_types::operation::Subscribe;

    use super::*;
    use crate::call::{Origin, ServiceParams, Target};
    use crate::principal::Principal;
    use crate::task::Owner;

    fn watch(principal: Principal) -> Call {
        Call {
            operation: Operation::Subscribe(Subscribe {
                id: TaskId::new("t").unwrap(),
            }),
            target: Target::default(),
            principal,
            params: ServiceParams::internal(),
            origin: Origin::Network,
        }
    }

    #[test]
    fn who_is_known_by_address_shares_it_unless_it_is_said() {
        let nobody = watch(Principal::anonymous().at("10.0.0.1".parse().unwrap()));
        let ann = watch(Principal::from(Owner::new("ann")));
        let open = |admission: &Admission, call: &Call| -> usize {
            let open: Vec<_> = (0..9).map_while(|_| admission.admit(call).ok()).collect();
            open.len()
        };
        let by_default = Admission::new(1, Queue::default(), 8, None);
        assert_eq!(
            (open(&by_default, &ann), open(&by_default, &nobody)),
            (2, 8)
        );
        let said = Admission::new(1, Queue::default(), 8, Some(3));
        assert_eq!((open(&said, &ann), open(&said, &nobody)), (3, 3));
    }
}
