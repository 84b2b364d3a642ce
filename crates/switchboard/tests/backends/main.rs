//! What stands behind agents elsewhere, in front of the real binary: processes and sockets.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod exec;
mod exec_crash;
mod keeper;
mod langgraph;
mod langgraph_crash;
mod langgraph_credentials;
mod langgraph_found;
mod langgraph_router;
mod langgraph_server;
mod langgraph_withdrawn;
mod mid_task;
mod openai;
mod openai_crash;
mod openclaw;
mod openclaw_card;
mod openclaw_crash;
mod openclaw_http;
mod openclaw_stop;
mod outage;
mod refused_in_stream;
mod remote;
mod remote_cancel;
mod remote_card;
mod remote_circle;
mod remote_claims;
mod remote_crash;
mod remote_credentials;
mod remote_files;
mod remote_late;
mod remote_refused;
mod spans;
mod stranger;
mod wrap;
