//! The numbers of one agent.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use switchboard_types::ErrorKind;
use switchboard_types::model::TaskState;
use switchboard_types::operation::Method;

use super::Counter;
use super::asking::{Asked, Asking};
use super::histogram::{DEPTHS, Histogram, SECONDS};

/// All states, in the order in which they are counted.
pub(super) const STATES: [TaskState; 9] = [
    TaskState::Submitted,
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::AuthRequired,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::Rejected,
    TaskState::Unknown,
];

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It was answered.
    Ok,
    /// The caller went away before.
    Abandoned,
    /// It was refused, or failed.
    Error(ErrorKind),
}

/// How many ways there are.
pub(super) const STATUSES: usize = ErrorKind::ALL.len() + 2;

/// What is waited in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line of calls.
    Calls,
    /// The line of turns.
    Turns,
}

/// The numbers of one agent.
#[derive(Debug)]
pub struct Meter {
    /// The agent is there.
    pub(super) present: AtomicBool,
    pub(super) requests: [[Counter; STATUSES]; Method::ALL.len()],
    pub(super) durations: [Histogram; Method::ALL.len()],
    pub(super) first_event: Histogram,
    pub(super) stream_events: Counter,
    pub(super) open_streams: AtomicI64,
    pub(super) transitions: [Counter; STATES.len()],
    /// Tasks that are not over, by state.
    pub(super) live: [AtomicI64; STATES.len()],
    pub(super) turns: Histogram,
    pub(super) depth: Histogram,
    pub(super) loops: Counter,
    pub(super) too_deep: Counter,
    pub(super) rate_limited: Counter,
    pub(super) waits: [Histogram; 2],
    pub(super) asked: Asked,
}

impl Default for Meter {
    fn default() -> Self {
        let seconds = || Histogram::new(&SECONDS);
        Self {
            present: AtomicBool::new(false),
            requests: Default::default(),
            durations: std::array::from_fn(|_| seconds()),
            first_event: seconds(),
            stream_events: Counter::default(),
            open_streams: AtomicI64::new(0),
            transitions: Default::default(),
            live: Default::default(),
            turns: seconds(),
            depth: Histogram::new(&DEPTHS),
            loops: Counter::default(),
            too_deep: Counter::default(),
            rate_limited: Counter::default(),
            waits: std::array::from_fn(|_| seconds()),
            asked: Asked::default(),
        }
    }
}

impl Meter {
    /// The agent is there from now on. The numbers of others are told only as long as there are tasks of theirs that are not over:
    /// there may be any number of agents that were there once, or never came.
    pub(crate) fn comes(&self) {
        self.present.store(true, Ordering::Relaxed);
    }

    /// Whether it is told.
    pub(super) fn is_told(&self) -> bool {
        let mut live = self.live.iter().map(|live| live.load(Ordering::Relaxed));
        self.present.load(Ordering::Relaxed) || live.any(|live| live != 0)
    }

    /// A call was answered.
    pub(crate) fn answered(&self, method: Method, status: Status, took: Duration) {
        let place = Method::ALL.iter().position(|known| *known == method);
        let Some(place) = place else { return };
        self.requests[place][status.place()].add(1);
        self.durations[place].took(took);
    }

    /// A stream began.
    pub(crate) fn stream_opened(&self) {
        self.open_streams.fetch_add(1, Ordering::Relaxed);
    }

    /// The first event of a stream was read that long after the call.
    pub(crate) fn first_event(&self, took: Duration) {
        self.first_event.took(took);
    }

    /// A stream is over, of which so many events were read.
    pub(crate) fn stream_closed(&self, events: u64) {
        self.open_streams.fetch_sub(1, Ordering::Relaxed);
        self.stream_events.add(events);
    }

    /// A task went to `state`.
    pub(crate) fn goes_to(&self, state: TaskState) {
        self.transitions[place(state)].add(1);
    }

    /// A task that stood at `before` stands at `after`; only those that are not over are told apart.
    pub(crate) fn stands(&self, before: Option<TaskState>, after: Option<TaskState>) {
        for (state, by) in [(before, -1), (after, 1)] {
            if let Some(state) = state.filter(|state| !state.is_terminal()) {
                self.live[place(state)].fetch_add(by, Ordering::Relaxed);
            }
        }
    }

    /// A turn is over.
    pub(crate) fn took_turn(&self, took: Duration) {
        self.turns.took(took);
    }

    /// What stands behind the agent was asked for something; with the tokens that it has read and written.
    pub(crate) fn asked(&self, asking: &Asking, took: Duration, tokens: [Option<u64>; 2]) {
        self.asked.count(asking, took, tokens);
    }

    /// A call has come through that many agents.
    pub(crate) fn came_through(&self, agents: usize) {
        self.depth.was(agents);
    }

    /// A call was rejected because of a delegation loop, or because its hop path is too long.
    pub(crate) fn refused(&self, is_loop: bool) {
        match is_loop {
            true => self.loops.add(1),
            false => self.too_deep.add(1),
        }
    }

    /// A request exceeded the rate limit.
    pub(crate) fn rate_limited(&self) {
        self.rate_limited.add(1);
    }

    /// Someone has waited for room.
    pub(crate) fn waited(&self, line: Line, time: Duration) {
        self.waits[line as usize].took(time);
    }
}

impl Status {
    fn place(self) -> usize {
        match self {
            Self::Ok => 0,
            Self::Abandoned => 1,
            Self::Error(kind) => {
                let place = ErrorKind::ALL.iter().position(|known| *known == kind);
                place.map_or(1, |place| place + 2)
            }
        }
    }

    /// What is counted at a place.
    pub(super) fn name(place: usize) -> &'static str {
        match place {
            0 => "OK",
            1 => "ABANDONED",
            _ => ErrorKind::ALL[place - 2].reason(),
        }
    }
}

fn place(state: TaskState) -> usize {
    let place = STATES.iter().position(|known| *known == state);
    place.unwrap_or(STATES.len() - 1)
}
