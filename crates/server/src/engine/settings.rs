//! How an engine treats its tasks: timeouts, limits and choices that the configuration of an agent makes.

use std::time::Duration;

use crate::budget::Allowance;
use crate::hops::{self, Hop};
use crate::limit::Turns;

/// How an engine treats its tasks.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The agent may answer with a bare message.
    pub reply_with_message: bool,
    /// How long one turn may take.
    pub task_timeout: Duration,
    /// How long a task waits for an answer to its question, or for credentials.
    pub input_timeout: Duration,
    /// What happens then.
    pub on_input_timeout: OnInputTimeout,
    /// How long a blocking send waits before it returns the task as it stands.
    pub blocking_deadline: Duration,
    /// How long a backend retries an upstream that is down before the message was sent: see
    /// [`Turn::upstream_timeout`](crate::agent::Turn::upstream_timeout).
    pub upstream_timeout: Duration,
    /// How long an agent may take to stop when told to.
    pub cancel_grace: Duration,
    /// What a client that goes away means for its task.
    pub on_disconnect: OnDisconnect,
    /// A message id names a request, as an `Idempotency-Key` does.
    pub dedupe_by_message_id: bool,
    /// How many turns may be at work.
    pub turns: Turns,
    /// How many parts a message may have.
    pub most_parts: usize,
    /// With how many messages a task takes no more.
    pub longest_history: usize,
    /// A message without a task id answers the question of the only task of its caller that waits in its context.
    pub answers_by_context: bool,
    /// Parts of every media type are taken: what the card says of them is for callers, and the backend decides.
    pub any_input: bool,
    /// Questions keep the data parts that [`question_data`](crate::task::question_data) has made.
    pub question_data: bool,
    /// What the agent is called in hop paths; its name by default.
    pub hop: Option<Hop>,
    /// How many agents a call may have come through.
    pub deepest: usize,
    /// What a task may cost.
    pub allowed: Allowance,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            reply_with_message: false,
            task_timeout: Duration::from_secs(600),
            input_timeout: Duration::from_secs(24 * 3600),
            on_input_timeout: OnInputTimeout::Fail,
            blocking_deadline: Duration::from_secs(300),
            upstream_timeout: Duration::from_secs(120),
            cancel_grace: Duration::from_secs(5),
            on_disconnect: OnDisconnect::Keep,
            dedupe_by_message_id: false,
            turns: Turns::default(),
            most_parts: 1_000,
            longest_history: 10_000,
            answers_by_context: false,
            any_input: false,
            question_data: true,
            hop: None,
            deepest: hops::DEEPEST,
            allowed: Allowance::default(),
        }
    }
}

/// What happens when nobody answers a task's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInputTimeout {
    /// The agent goes on without.
    Continue,
    /// The task fails.
    Fail,
}

/// What a client that goes away means for its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisconnect {
    /// Nothing.
    Keep,
    /// It is canceled.
    Cancel,
}
