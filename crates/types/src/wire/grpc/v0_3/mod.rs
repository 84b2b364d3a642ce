//! Package `a2a.v1`: A2A 0.3 over gRPC. Resources have names here: `tasks/{id}`.
//!
//! - `read`, `write`: messages, tasks, events and webhooks, from the wire and onto it.
//! - `request`, `answer`: what is asked and what is answered, both ways.
//! - `card`: the agent card, both ways.

pub(super) mod answer;
pub(super) mod card;
mod read;
pub(super) mod request;
mod write;
