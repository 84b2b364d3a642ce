//! What tests of several crates share. Never published, and no part of the product.
//!
//! - [`eventually`]: the one way to wait for something that another thread or process does.
//! - [`Server`]: the real binary as a process on a free port, in a directory that is removed with it.
//! - [`answer`] and [`events`]: whole answers and streams; [`say`] and its neighbours: messages in A2A 0.3.
//! - [`model`]: a chat endpoint that answers as a test tells it to.
//! - [`webhook`]: a receiver of notifications.
//! - [`openclaw`]: a small OpenClaw gateway; [`collector`]: a collector of OpenTelemetry spans.
//! - [`power_loss`]: what a process wrote and synced, and what a disk may hold after a loss of power.
//!
//! Of the workspace it depends on `keys` only, so that the tests of every other crate can use it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says why"
)]

pub mod collector;
mod exchange;
mod message;
pub mod model;
pub mod openclaw;
#[cfg(target_os = "linux")]
pub mod power_loss;
mod server;
mod wait;
pub mod webhook;

pub use exchange::{Answer, Events, SseEvent, answer, events};
pub use message::{begin, file, message, say, text_of, with};
pub use server::{KIT_TOKEN, Server, admin, binary, look, token};
pub use wait::{Condition, eventually};
