//! The client against the real engine, over real sockets, and against servers that behave oddly.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop where it is surprised"
)]

mod support;

mod agent;
mod answered;
mod credentials;
mod extended_card;
mod failures;
mod files;
mod front_page;
mod grpc;
mod interfaces;
mod langgraph;
mod late;
mod logs;
mod odd_grpc;
mod odd_streams;
mod origins;
mod quiet;
mod raw;
mod repeats;
mod resume;
mod router;
mod stream_request;
mod tls;
mod tokens;
mod trust;
mod webhook;
#[cfg(feature = "webhook")]
mod webhook_axum;
