//! What the turns of a task record privately: steps, and whether a turn still waits for capacity.

use serde_json::{Value, json};

use super::{TaskLog, lock};
use crate::clock;
use crate::store::Error;
use crate::task::{Change, Step, TurnRecord};

/// How the names of operator notes begin. They are shown in the trace of the task and never leave by A2A.
pub const INTERNAL: &str = "internal:";
/// How long an operator note may be, as JSON.
const MAX_OPERATOR_NOTE: usize = 4 << 10;

impl TaskLog {
    /// Records a step. When this returns it is durable.
    ///
    /// # Errors
    ///
    /// If the store could not.
    pub async fn record(&self, name: &str, value: Value) -> Result<(), Error> {
        // A step follows from the events before it, so it must not be committed without them. Together they cost one
        // commit.
        let (seq, alone) = {
            let mut state = lock(&self.state);
            let step = Change::Step(self.step(state.turn_number(), name, value));
            let alone = match state.ahead.pending.is_empty() {
                true => Some(step),
                false => {
                    state.ahead.changes.push(step);
                    None
                }
            };
            (state.ahead.seq, alone)
        };
        self.stored_up_to(seq).await?;
        match alone {
            Some(step) => self.shared.commit(step).await,
            None => Ok(()),
        }
    }

    /// Records a step of a draft, to be stored with the task if it is published. Whether it is a draft.
    pub(crate) fn record_in_draft(&self, name: &str, value: &Value) -> bool {
        let is_draft = self.is_draft();
        if is_draft {
            self.push_step(name, value.clone());
        }
        is_draft
    }

    /// Records something for operators. It is committed with the next event, so it costs no commit of its own.
    pub fn operator_note(self: &std::sync::Arc<Self>, name: &str, value: Value) {
        let size = value.to_string().len();
        let value = match size <= MAX_OPERATOR_NOTE {
            true => value,
            false => json!({ "left_out": format!("{size} bytes: more than {MAX_OPERATOR_NOTE}") }),
        };
        self.push_step(&format!("{INTERNAL}{name}"), value);
        self.enqueue();
    }

    fn push_step(&self, name: &str, value: Value) {
        let mut state = lock(&self.state);
        let step = self.step(state.turn_number(), name, value);
        state.ahead.changes.push(Change::Step(step));
    }

    fn step(&self, turn: u32, name: &str, value: Value) -> Step {
        Step {
            task: self.id().clone(),
            turn,
            at: clock::now(),
            name: name.to_owned(),
            value,
        }
    }

    /// The turn has capacity and begins. When this returns that is durable: a restart then knows that it may have done
    /// something.
    ///
    /// # Errors
    ///
    /// If the store could not.
    pub(crate) async fn dequeue(&self) -> Result<(), Error> {
        let (seq, record) = {
            let state = lock(&self.state);
            let queued = state.record.as_deref().filter(|record| record.queued);
            let Some(record) = queued else { return Ok(()) };
            let begins = TurnRecord {
                queued: false,
                ..record.clone()
            };
            (state.ahead.seq, begins)
        };
        self.stored_up_to(seq).await?;
        self.shared.commit(Change::Turn(record)).await?;
        if let Some(record) = &mut lock(&self.state).record {
            record.queued = false;
        }
        Ok(())
    }
}
