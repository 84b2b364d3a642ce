//! What an agent says about its work to whoever runs it, and to nobody else: it is kept beside the task, for the view of
//! its trace, and never leaves by A2A.

use serde_json::{Value, json};
use switchboard_types::model::TaskId;

use super::{TaskLog, lock};
use crate::clock;
use crate::task::{Change, Note};

/// How the names of such notes begin. After it comes what keeps them in order.
pub const INTERNAL: &str = "internal:";

/// How many are kept of one task, until the next start.
const MOST: u32 = 200;
/// How long one may be, as JSON.
const LARGEST: usize = 4 << 10;

impl TaskLog {
    /// Keeps something that happened. It is stored with the next event, so it costs no commit of its own.
    pub fn internal(&self, name: &str, value: Value) {
        let mut inner = lock(&self.inner);
        if inner.internal == MOST {
            return;
        }
        inner.internal += 1;
        let note = internal_note(self.id(), inner.internal, name, value);
        inner.beside.push(Change::Note(note));
    }
}

/// The note of something that happens now; `number` tells it from others of the same moment.
pub(crate) fn internal_note(task: &TaskId, number: u32, name: &str, value: Value) -> Note {
    let at = clock::now();
    let size = value.to_string().len();
    let value = match size <= LARGEST {
        true => value,
        false => json!({ "left_out": format!("{size} bytes: more than {LARGEST}") }),
    };
    let order = format!("{:016x}-{number:03}", at.as_micros());
    Note {
        task: task.clone(),
        name: format!("{INTERNAL}{order}"),
        value: json!({ "name": name, "at": at.to_string(), "value": value }),
    }
}
