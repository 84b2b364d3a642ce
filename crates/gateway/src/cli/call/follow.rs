//! Waiting for a task: by its stream, or by asking again and again; until it is over, wants something, or the
//! user has had enough.

use std::sync::Arc;

use switchboard_client::{Error, Events, Item, Kind, Sent};
use switchboard_types::model::{Event, Task, TaskState};
use switchboard_types::{Dialect, wire};

use super::connect::{failure, timed_out};
use super::progress::Progress;
use super::{Connected, Failure, json_line};
use crate::cli::heard;

/// How waiting ended.
#[derive(Debug)]
pub(super) enum Followed {
    /// With an outcome.
    To(Sent),
    /// By the user, who may want to go on with the task later.
    Left(Option<Arc<Task>>),
    /// Nobody reads any more.
    Unheard,
}

/// What happens next while a stream is read.
enum Next {
    Item(Option<Result<Item, Error>>),
    Timeout,
    Interrupt,
}

/// Someone who waits.
pub(super) struct Follower<'a> {
    connected: &'a Connected,
    progress: Progress,
    /// Whether each event is printed.
    prints: bool,
    /// How much of its history a task is asked for.
    history: Option<u32>,
}

impl<'a> Follower<'a> {
    pub(super) fn new(connected: &'a Connected, prints: bool, history: Option<u32>) -> Self {
        Self {
            connected,
            progress: Progress::default(),
            prints,
            history,
        }
    }

    /// Reads a stream to its end. One that breaks for good is no reason to give up: its task can be asked for.
    pub(super) async fn stream(mut self, mut events: Events) -> Result<Followed, Failure> {
        loop {
            let next = tokio::select! {
                item = events.next() => Next::Item(item),
                () = self.connected.too_late() => Next::Timeout,
                _ = tokio::signal::ctrl_c() => Next::Interrupt,
            };
            // Not held while events come in: each of them would copy the task.
            let task = || events.task().cloned();
            match next {
                Next::Item(Some(Ok(item))) => {
                    if !self.tell(&item.event)? {
                        return Ok(Followed::Unheard);
                    }
                }
                Next::Item(Some(Err(error))) => match task() {
                    Some(task) if error.kind() == Kind::Interrupted => {
                        return self.poll(task).await;
                    }
                    task => return Err(self.with_way_on(failure(&error), task.as_deref())),
                },
                Next::Item(None) => break,
                Next::Timeout => return Err(self.late(task().as_deref())),
                Next::Interrupt => return Ok(Followed::Left(task())),
            }
        }
        let sent = events.finish().await.map_err(|error| failure(&error))?;
        match sent {
            Sent::Task(task) if goes_on(&task) => self.poll(task).await,
            sent => Ok(Followed::To(sent)),
        }
    }

    /// Asks for a task until it is over or wants something.
    pub(super) async fn poll(mut self, mut task: Arc<Task>) -> Result<Followed, Failure> {
        let interval = self.connected.settings.poll_interval;
        while goes_on(&task) {
            self.progress.status(&task.status);
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = self.connected.too_late() => return Err(self.late(Some(&task))),
                _ = tokio::signal::ctrl_c() => return Ok(Followed::Left(Some(task))),
            }
            let asked = self.connected.client.get(&task.id, self.history);
            let asked = self.connected.ask(asked).await;
            task = asked.map_err(|failure| self.with_way_on(failure, Some(&task)))?;
        }
        if self.prints {
            self.tell(&Event::Task(Arc::clone(&task)))?;
        }
        Ok(Followed::To(Sent::Task(task)))
    }

    /// Tells of an event, and whether someone listens.
    fn tell(&mut self, event: &Event) -> Result<bool, Failure> {
        if !self.prints {
            self.progress.event(event);
            return Ok(true);
        }
        let text = if self.connected.json() {
            json_line(|out| wire::encode_event(Dialect::V1, event, false, out))
        } else {
            let mut page = self.connected.page();
            page.event(event);
            page.into_text()
        };
        Ok(heard(format_args!("{text}"))?)
    }

    fn late(&self, task: Option<&Task>) -> Failure {
        let timeout = self.connected.settings.timeout.unwrap_or_default();
        self.with_way_on(timed_out(timeout), task)
    }

    /// A failure beside which the task goes on, with the command that finds it again.
    fn with_way_on(&self, failure: Failure, task: Option<&Task>) -> Failure {
        let command = task.and_then(|task| self.connected.resume_command(task));
        match command {
            Some(command) => failure.hint(format!("the task continues: {command}")),
            None => failure,
        }
    }
}

/// Whether more will come by itself. A state that nobody knows may still become one.
fn goes_on(task: &Task) -> bool {
    let state = task.status.state;
    state == TaskState::Unknown || !(state.is_terminal() || state.is_interrupted())
}
