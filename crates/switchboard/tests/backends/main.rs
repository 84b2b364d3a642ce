//! What stands behind agents elsewhere, in front of the real binary: processes and sockets.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

#[path = "../support/mod.rs"]
mod support;

mod claw;
mod claw_http;
mod claw_socket;
mod exec;
mod exec_crash;
mod langgraph;
mod langgraph_crash;
mod langgraph_found;
mod langgraph_router;
mod langgraph_server;
#[path = "../../../agents/tests/openai/model.rs"]
mod model;
mod openai;
mod openai_crash;
mod openclaw;
mod openclaw_card;
mod openclaw_crash;
mod openclaw_http;
mod remote;
mod remote_card;
mod remote_circle;
mod remote_crash;
mod stranger;
mod wrap;
