//! The commands that talk to agents, as their users meet them: the real binary against the real server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod agent;
mod card;
mod chat;
mod errors;
mod login;
mod send;
mod settings;
mod tasks;
