//! Room for so many, and a line before it in which everyone gets their turn, however many places others have.
//!
//! As long as there is room, coming and going is one atomic operation each; the line has a lock.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Caller;

/// Said in [`Fair::state`] while someone stands in line. Then room is given away under the lock only, to the next one.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// Room for so many, and a line.
#[derive(Debug)]
pub(crate) struct Fair {
    /// How many more there is room for, and whether someone waits.
    state: AtomicUsize,
    line: Mutex<Line>,
    /// How many there is room for.
    room: usize,
    /// How many may wait.
    length: usize,
}

/// There is no room, nor in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// Room, or a place in the line for it.
#[derive(Debug)]
pub(crate) enum Ticket<G: Deref<Target = Fair>> {
    /// Come in.
    Now(Permit<G>),
    /// Wait.
    Later(Place<G>),
}

/// Room for one, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<G: Deref<Target = Fair>>(G);

/// A place in the line, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place<G: Deref<Target = Fair>> {
    gate: Option<G>,
    who: Caller,
    number: u64,
    called: oneshot::Receiver<()>,
}

#[derive(Debug, Default)]
struct Line {
    waiting: usize,
    last_number: u64,
    by_caller: HashMap<Caller, VecDeque<Waiter>, RandomState>,
    /// Everyone who waits, once, the next one first.
    order: VecDeque<Caller>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    call: oneshot::Sender<()>,
}

impl Fair {
    /// Room for so many, and so many places in the line, half of them for one caller.
    pub(crate) fn new(room: usize, length: usize) -> Self {
        Self {
            state: AtomicUsize::new(room.min(AWAITED - 1)),
            line: Mutex::default(),
            room,
            length,
        }
    }

    /// Whether more than half of the room is taken.
    pub(crate) fn is_scarce(&self) -> bool {
        self.state.load(Ordering::Relaxed) & !AWAITED < self.room / 2
    }

    /// Asks for room.
    ///
    /// # Errors
    ///
    /// If there is none, nor in the line.
    pub(crate) fn ticket<G: Deref<Target = Self>>(
        gate: G,
        who: impl FnOnce() -> Caller,
    ) -> Result<Ticket<G>, Full> {
        if gate.try_enter() {
            return Ok(Ticket::Now(Permit(gate)));
        }
        let who = who();
        let mut line = gate.line.lock();
        if gate.enters(&line) {
            drop(line);
            return Ok(Ticket::Now(Permit(gate)));
        }
        let share = gate.length.div_ceil(2);
        if line.waiting >= gate.length || line.places_of(&who) >= share {
            gate.settle(&line);
            return Err(Full);
        }
        let place = line.join(who.clone());
        drop(line);
        Ok(Ticket::Later(Place::new(gate, who, place)))
    }

    /// The same for one who is not turned away, however many wait.
    pub(crate) fn promised<G: Deref<Target = Self>>(
        gate: G,
        who: impl FnOnce() -> Caller,
    ) -> Ticket<G> {
        if gate.try_enter() {
            return Ticket::Now(Permit(gate));
        }
        let mut line = gate.line.lock();
        if gate.enters(&line) {
            drop(line);
            return Ticket::Now(Permit(gate));
        }
        let who = who();
        let place = line.join(who.clone());
        drop(line);
        Ticket::Later(Place::new(gate, who, place))
    }

    fn try_enter(&self) -> bool {
        let one_less = |state: usize| (state & AWAITED == 0).then(|| state.checked_sub(1))?;
        let (took, failed) = (Ordering::Acquire, Ordering::Relaxed);
        self.state.fetch_update(took, failed, one_less).is_ok()
    }

    /// Whether there is room after all. From here on nobody comes or goes without the lock, until [`Fair::settle`].
    fn enters(&self, line: &Line) -> bool {
        let before = self.state.fetch_or(AWAITED, Ordering::AcqRel);
        let enters = before & !AWAITED > 0;
        if enters {
            self.state.fetch_sub(1, Ordering::AcqRel);
            self.settle(line);
        }
        enters
    }

    /// One goes: the next one in line comes.
    fn leave(&self) {
        let one_more = |state: usize| (state & AWAITED == 0).then_some(state + 1);
        let (left, failed) = (Ordering::Release, Ordering::Relaxed);
        if self.state.fetch_update(left, failed, one_more).is_ok() {
            return;
        }
        let mut line = self.line.lock();
        let mut next = std::iter::from_fn(|| line.next());
        if !next.any(|next| next.call.send(()).is_ok()) {
            self.state.fetch_add(1, Ordering::AcqRel);
        }
        self.settle(&line);
    }

    /// One does not wait any longer.
    fn give_up(&self, who: &Caller, number: u64) {
        let mut line = self.line.lock();
        let waited = line.remove(who, number);
        self.settle(&line);
        drop(line);
        if !waited {
            // It was called, and did not come.
            self.leave();
        }
    }

    /// Lets everyone in without the lock again once nobody waits.
    fn settle(&self, line: &Line) {
        if line.waiting == 0 {
            self.state.fetch_and(!AWAITED, Ordering::AcqRel);
        }
    }
}

impl Line {
    fn places_of(&self, who: &Caller) -> usize {
        self.by_caller.get(who).map_or(0, VecDeque::len)
    }

    fn join(&mut self, who: Caller) -> (u64, oneshot::Receiver<()>) {
        let (call, called) = oneshot::channel();
        self.waiting += 1;
        self.last_number += 1;
        let number = self.last_number;
        let places = self.by_caller.entry(who.clone()).or_default();
        places.push_back(Waiter { number, call });
        if places.len() == 1 {
            self.order.push_back(who);
        }
        (number, called)
    }

    /// The next one: callers in turn, each in the order in which it came.
    fn next(&mut self) -> Option<Waiter> {
        let who = self.order.pop_front()?;
        let places = self.by_caller.get_mut(&who)?;
        let next = places.pop_front()?;
        self.waiting -= 1;
        if places.is_empty() {
            self.by_caller.remove(&who);
        } else {
            self.order.push_back(who);
        }
        Some(next)
    }

    /// Tells whether it was there.
    fn remove(&mut self, who: &Caller, number: u64) -> bool {
        let Some(places) = self.by_caller.get_mut(who) else {
            return false;
        };
        let Some(at) = places.iter().position(|waiter| waiter.number == number) else {
            return false;
        };
        places.remove(at);
        self.waiting -= 1;
        if places.is_empty() {
            self.by_caller.remove(who);
            self.order.retain(|other| other != who);
        }
        true
    }
}

impl<G: Deref<Target = Fair>> Place<G> {
    fn new(gate: G, who: Caller, (number, called): (u64, oneshot::Receiver<()>)) -> Self {
        Self {
            gate: Some(gate),
            who,
            number,
            called,
        }
    }

    /// Waits for room.
    pub(crate) async fn admitted(mut self) -> Permit<G> {
        let called = (&mut self.called).await;
        match (called, self.gate.take()) {
            (Ok(()), Some(gate)) => Permit(gate),
            // The line is never dropped before its gate.
            _ => std::future::pending().await,
        }
    }
}

impl<G: Deref<Target = Fair>> Drop for Place<G> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            gate.give_up(&self.who, self.number);
        }
    }
}

impl<G: Deref<Target = Fair>> Drop for Permit<G> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::*;
    use crate::shutdown::Tasks;
    use crate::task::Owner;

    fn caller(name: &str) -> Caller {
        Caller::Known(Owner::new(name))
    }

    fn ask(gate: &Arc<Fair>, name: &str) -> Result<Ticket<Arc<Fair>>, Full> {
        Fair::ticket(Arc::clone(gate), || caller(name))
    }

    fn come_in(gate: &Arc<Fair>, name: &str) -> Permit<Arc<Fair>> {
        match ask(gate, name) {
            Ok(Ticket::Now(permit)) => permit,
            other => panic!("{other:?}"),
        }
    }

    fn wait(gate: &Arc<Fair>, name: &str) -> Place<Arc<Fair>> {
        match ask(gate, name) {
            Ok(Ticket::Later(place)) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_greedy_caller_does_not_keep_modest_ones_waiting() {
        let gate = Arc::new(Fair::new(1, 100));
        let mut working = Some(come_in(&gate, "greedy"));
        let mut line: Vec<_> = (0..50).map(|_| ("greedy", wait(&gate, "greedy"))).collect();
        for name in ["b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            line.push((name, wait(&gate, name)));
        }
        let mut served = Vec::new();
        let mut waiting: Vec<_> = line
            .into_iter()
            .map(|(name, place)| (name, Box::pin(place.admitted())))
            .collect();
        while !waiting.is_empty() {
            drop(working.take());
            let mut called = Vec::new();
            waiting.retain_mut(|(name, place)| match place.now_or_never() {
                Some(permit) => {
                    called.push((*name, permit));
                    false
                }
                None => true,
            });
            let (name, permit) = called.pop().unwrap();
            assert!(called.is_empty(), "there is room for one");
            served.push(name);
            working = Some(permit);
        }
        assert_eq!(served.len(), 59);
        assert_eq!(
            served[..11],
            [
                "greedy", "b", "c", "d", "e", "f", "g", "h", "i", "j", "greedy"
            ]
        );
    }

    #[test]
    fn one_caller_fills_half_of_the_line() {
        let gate = Arc::new(Fair::new(1, 4));
        let _working = come_in(&gate, "a");
        let _first = wait(&gate, "a");
        let second = wait(&gate, "a");
        assert!(matches!(ask(&gate, "a"), Err(Full)));
        let _others = (wait(&gate, "b"), wait(&gate, "c"));
        assert!(matches!(ask(&gate, "d"), Err(Full)), "the line is full");
        drop(second);
        let _another = wait(&gate, "d");
        let promised = Fair::promised(Arc::clone(&gate), || caller("a"));
        assert!(matches!(promised, Ticket::Later(_)));
    }

    #[test]
    fn without_a_line_nobody_waits_and_room_comes_back() {
        let gate = Arc::new(Fair::new(2, 0));
        let both = (come_in(&gate, "a"), come_in(&gate, "b"));
        assert!(matches!(ask(&gate, "c"), Err(Full)));
        drop(both);
        let _both = (come_in(&gate, "c"), come_in(&gate, "d"));
        assert!(matches!(ask(&gate, "e"), Err(Full)));
    }

    #[test]
    fn who_is_called_and_does_not_come_passes_it_on() {
        let gate = Arc::new(Fair::new(1, 10));
        let working = come_in(&gate, "a");
        let (gone, next) = (wait(&gate, "b"), wait(&gate, "c"));
        drop(working);
        drop(gone);
        let permit = next.admitted().now_or_never().unwrap();
        assert!(matches!(ask(&gate, "d"), Ok(Ticket::Later(_))));
        drop(permit);
        come_in(&gate, "d");
        assert_eq!(gate.state.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn there_are_never_more_than_there_is_room_for() {
        let gate = Arc::new(Fair::new(3, 1_000));
        let (inside, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks = Tasks::default();
        for n in 0..12 {
            let (gate, inside, done) = (Arc::clone(&gate), Arc::clone(&inside), Arc::clone(&done));
            tasks.spawn(async move {
                for round in 0..2_000 {
                    let permit = match ask(&gate, ["a", "b", "c"][n % 3]).unwrap() {
                        Ticket::Now(permit) => permit,
                        // Some do not wait.
                        Ticket::Later(place) if round % 7 == 0 => {
                            drop(place);
                            continue;
                        }
                        Ticket::Later(place) => place.admitted().await,
                    };
                    assert!(inside.fetch_add(1, Ordering::AcqRel) < 3);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::AcqRel);
                    drop(permit);
                }
                done.fetch_add(1, Ordering::AcqRel);
            });
        }
        assert!(tasks.drain(std::time::Duration::from_secs(60)).await);
        assert_eq!(done.load(Ordering::Relaxed), 12, "all came through");
        assert_eq!(gate.state.load(Ordering::Relaxed), 3);
        assert_eq!(gate.line.lock().waiting, 0);
    }
}
