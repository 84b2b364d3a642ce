//! Other projects' clients and servers against ours. Each test is a column of the table that
//! `conformance/peers/matrix` prints; what they run in is built by `conformance/peers/setup`.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod agent;
mod auth;
mod cards;
mod checked;
mod column;
mod environment;
mod files;
mod langgraph;
mod langgraph_behind;
mod our_client;
mod rows;
mod signatures;
mod strict;
mod their_clients;

use std::path::PathBuf;

/// `conformance/`.
fn conformance() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("../../conformance")
        .canonicalize()
        .expect("the repository")
}
