//! Package `lf.a2a.v1`: A2A 1.0 over gRPC.
//!
//! - `read`, `write`: messages, tasks, events and webhooks, from the wire and onto it.
//! - `request`, `answer`: what is asked and what is answered, both ways.
//! - `card`: the agent card, both ways.

pub(super) mod answer;
pub(super) mod card;
mod read;
pub(super) mod request;
mod write;
