//! What goes on, on standard error: a line whenever the task's state or its words change.

use switchboard_types::model::{Event, TaskState, TaskStatus};
use switchboard_types::printable;

use crate::cli::err;

/// What was told last.
#[derive(Debug, Default)]
pub(super) struct Progress {
    told: Option<(TaskState, String)>,
}

impl Progress {
    /// Tells of an event, if it says something new.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Task(task) => self.status(&task.status),
            Event::Status(update) => self.status(&update.status),
            Event::Artifact(_) | Event::Message(_) => {}
        }
    }

    /// Tells of a status, unless it is the end: that is the result.
    pub(super) fn status(&mut self, status: &TaskStatus) {
        if status.state.is_terminal() || status.state.is_interrupted() {
            return;
        }
        let said = status.message.as_ref().map(|message| message.text());
        // Some agents say everything so far each time: the newest line is what is new.
        let said = said.unwrap_or_default();
        let line = said.lines().next_back().unwrap_or_default().to_owned();
        let now = (status.state, line);
        if self.told.as_ref() == Some(&now) {
            return;
        }
        let (state, line) = &now;
        let colon = if line.is_empty() { "" } else { ": " };
        let (state, line) = (state.name(), printable::line(line));
        // If nobody reads there is nobody to tell.
        drop(err(format_args!("{state}{colon}{line}\n")));
        self.told = Some(now);
    }
}
