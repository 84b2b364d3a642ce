//! Turns that wait for room though their task counts as working: after a restart it is known that nothing was done yet.

use serde_json::Value;
use switchboard_types::model::TaskState;

use super::{TaskLog, lock};
use crate::store::Error;
use crate::task::{Change, Note};

/// The name of the note that says so. Agents have no such names for theirs.
const IN_LINE: &str = "switchboard/in-line";

impl TaskLog {
    /// The turn has to wait. With a message that begins it, that is stored in one commit.
    pub fn stands_in_line(&self) {
        let mut inner = lock(&self.inner);
        if inner.state == TaskState::Submitted {
            // Its state says it.
            return;
        }
        if let Some(turn) = &mut inner.turn {
            turn.in_line = true;
        }
        if inner.corked {
            inner.beside.push(Change::Note(self.in_line(true)));
        }
    }

    /// The turn begins. When this returns that is durable: what is done now is not done again.
    ///
    /// # Errors
    ///
    /// If the store could not.
    pub async fn leaves_line(&self) -> Result<(), Error> {
        if lock(&self.inner).turn.as_ref().is_none_or(|t| !t.in_line) {
            return Ok(());
        }
        self.stored_up_to(self.last().0).await?;
        self.shared.commit(self.out_of_line()).await?;
        if let Some(turn) = &mut lock(&self.inner).turn {
            turn.in_line = false;
        }
        Ok(())
    }

    /// Says that no turn stands in line any more.
    pub fn out_of_line(&self) -> Change {
        Change::Note(self.in_line(false))
    }

    /// Whether a turn stood in line when the server ended.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn stood_in_line(&self) -> Result<bool, Error> {
        let notes = self.shared.store.notes(self.id()).await?;
        let in_line = |note: &Note| note.name == IN_LINE && note.value == Value::Bool(true);
        Ok(notes.iter().any(in_line))
    }

    fn in_line(&self, waits: bool) -> Note {
        Note {
            task: self.id().clone(),
            name: IN_LINE.to_owned(),
            value: match waits {
                true => Value::Bool(true),
                false => Value::Null,
            },
        }
    }
}
