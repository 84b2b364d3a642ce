//! What a task is: its states, its events, and the records that are stored about it. Pure: nothing here waits, reads a
//! clock or does I/O, so that stores, log and engine agree on it.
//!
//! - [`lifecycle`]: which event may follow in which state, and what a task is after it.
//! - `entry`: one event of a task, with its wire forms.
//! - `origin`, `owner`, `ids`: where a task comes from, whose it is, how it is named.
//! - `head`: a task as it is stored; `change`: what a commit can change; `holder`: who works on it.
//! - `turn_record`, `step`, `release`, `webhook`, `idempotency`: the records beside its events.
//! - `question`: what a task asks its caller, and the messages that answer.

mod change;
mod entry;
mod head;
mod holder;
mod idempotency;
mod ids;
pub mod lifecycle;
mod origin;
mod owner;
mod question;
mod release;
mod step;
mod turn_record;
mod webhook;

pub use change::Change;
pub use entry::{Entry, LARGE};
pub use head::{Append, Head, Snapshot, StoredTask};
pub use holder::Holder;
pub use idempotency::{Answer, Answered, IdempotencyKey};
pub(crate) use ids::{fresh_id, fresh_ids, named};
pub use origin::Origin;
pub use owner::Owner;
pub(crate) use question::{
    InputRequest, asked_for_secret, awaits_credentials_out_of_band, leave_out_question_data,
    open_request, redacted, tool_result_id, unasked,
};
pub use question::{OUT_OF_BAND, asks_for_secret, is_redacted, question_data};
pub use release::PendingRelease;
pub use step::{Step, StoredStep};
pub use turn_record::TurnRecord;
pub use webhook::{DeadLetter, Delivery, Webhook};
