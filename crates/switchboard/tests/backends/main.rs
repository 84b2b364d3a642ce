//! What stands behind agents elsewhere, in front of the real binary: processes and sockets.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

#[path = "../support/mod.rs"]
mod support;

mod langgraph;
mod langgraph_crash;
mod langgraph_found;
mod langgraph_router;
mod langgraph_server;
mod remote;
mod remote_card;
mod remote_crash;
mod stranger;
