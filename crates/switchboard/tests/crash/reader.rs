//! A reader that comes back after every cut and goes on where it was.

use reqwest::Response;

use crate::wire::{Event, Events, Line, Sending, Trouble, is_over};
use crate::world::{Fault, Tale, World};

/// How far a reader goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The task is over, or it is the client's turn.
    Turn,
    /// The task is over.
    End,
}

/// Reads one task.
pub(crate) struct Reader<'w> {
    world: &'w World,
    line: Line,
    tale: Tale,
    /// The last event seen.
    last: u64,
    task: Option<String>,
    state: String,
    /// The task may be over before it is watched.
    late: bool,
}

impl<'w> Reader<'w> {
    pub(crate) fn new(world: &'w World, line: Line, agent: &'static str, who: &str) -> Self {
        let tale = Tale {
            who: who.to_owned(),
            agent,
            dialect: line.dialect,
            events: Vec::new(),
        };
        Self {
            world,
            line,
            tale,
            last: 0,
            task: None,
            state: String::new(),
            late: false,
        }
    }

    /// A reader of a task that it did not begin.
    pub(crate) fn of(self, task: &str) -> Self {
        let task = Some(task.to_owned());
        Self { task, ..self }
    }

    /// The task, once it is known, and its state.
    pub(crate) fn told(&self) -> Option<(&str, &str)> {
        Some((self.task.as_deref()?, &self.state))
    }

    /// Sends a message and follows what comes of it. A message that goes on with a task begins with the whole
    /// task in place of what was not read yet.
    pub(crate) async fn send(&mut self, sending: &Sending, until: Until) -> Result<(), Fault> {
        let mut jump = sending.task.is_some();
        loop {
            // Until the first event has come, nobody knows whether the message arrived.
            let request = match &self.task {
                Some(task) if !jump => self.line.subscribe(self.tale.agent, task, Some(self.last)),
                _ => self.line.send(sending, true),
            };
            match self.world.open(request).await {
                Ok(response) => {
                    if self.read(response, &mut jump, until).await? {
                        return Ok(());
                    }
                }
                Err(Trouble::Cut | Trouble::Unavailable) => {}
                Err(other) => return Err(self.wrong(&other.to_string())),
            }
            self.world.pause().await;
        }
    }

    /// Follows the task from the event after the last one seen.
    pub(crate) async fn follow(&mut self, until: Until) -> Result<(), Fault> {
        self.subscribe(false, until).await
    }

    /// Follows the task from now on, unless it is over.
    pub(crate) async fn watch(&mut self, until: Until) -> Result<(), Fault> {
        self.late = true;
        self.subscribe(true, until).await
    }

    async fn subscribe(&mut self, mut jump: bool, until: Until) -> Result<(), Fault> {
        let task = self.task.clone().ok_or("nothing to follow")?;
        loop {
            let last = (!jump).then_some(self.last);
            let request = self.line.subscribe(self.tale.agent, &task, last);
            match self.world.open(request).await {
                Ok(response) => {
                    if self.read(response, &mut jump, until).await? {
                        return Ok(());
                    }
                }
                Err(Trouble::Cut | Trouble::Unavailable) => {}
                Err(Trouble::Unsupported(_)) if self.late && jump => return Ok(()),
                Err(other) => return Err(self.wrong(&other.to_string())),
            }
            self.world.pause().await;
        }
    }

    /// Reads a stream to its end; tells whether the reader is where it wants to be. `jump`: the stream begins
    /// with the task as it stands.
    async fn read(
        &mut self,
        response: Response,
        jump: &mut bool,
        until: Until,
    ) -> Result<bool, Fault> {
        let mut events = Events::new(response);
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) | Err(Trouble::Unavailable) => return Ok(false),
                Err(Trouble::Unsupported(_)) if self.late && *jump => return Ok(true),
                Err(other) => return Err(self.wrong(&other.to_string())),
            };
            self.world.rings.event.notify_waiters();
            let arrived = self.see(event, jump)?;
            if arrived && (is_over(&self.state) || (until == Until::Turn && self.asks())) {
                return Ok(true);
            }
        }
    }

    fn asks(&self) -> bool {
        self.state == "input-required"
    }

    /// Takes in an event: each is the one after the last. Tells whether it says how the task stands.
    fn see(&mut self, event: Event, jump: &mut bool) -> Result<bool, Fault> {
        if *self.task.get_or_insert_with(|| event.task.clone()) != event.task {
            return Err(self.wrong(&format!("is told of another task: {event:?}")));
        }
        let state = event.state.clone();
        if *jump {
            *jump = false;
            if !event.whole || event.seq < self.last {
                return Err(self.wrong(&format!("does not begin with the task: {event:?}")));
            }
            self.last = event.seq;
        } else if event.seq == self.last + 1 {
            self.last = event.seq;
            self.tale.events.push(event);
        } else if !(event.seq == self.last && state.as_ref() == Some(&self.state)) {
            // A stream that begins with a task that is over says so once more.
            return Err(self.wrong(&format!("hears event {} now: {event:?}", event.seq)));
        }
        let says = state.is_some();
        self.state = state.unwrap_or_else(|| self.state.clone());
        Ok(says)
    }

    fn wrong(&self, what: &str) -> Fault {
        format!(
            "{} reads {} {:?} in {:?}, last event {}: {what}",
            self.tale.who, self.tale.agent, self.task, self.tale.dialect, self.last
        )
    }

    /// Hands in what was seen.
    pub(crate) fn hand_in(self) {
        self.world.ledger().tales.push(self.tale);
    }
}
