//! Webhooks: every registered one hears of every event of its task, in order, at least once.
//!
//! The log is the outbox: a webhook is one more cursor on it, kept in the store. An event that is stored is
//! thereby due, so nothing can be lost between the two.

mod deliver;
mod fetch;

pub use deliver::{Outbox, Settings};
pub use fetch::{Fetched, Fetcher};
