//! A configuration that changes while the real binary serves: files, signals, processes.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod agents;
mod bad;
mod doors;
mod load;
mod turns;
mod world;
