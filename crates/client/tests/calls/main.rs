//! The client against the real engine, over real sockets, and against servers that behave oddly.

mod support;

mod agent;
mod credentials;
mod failures;
mod front_page;
mod langgraph;
mod logs;
mod odd_streams;
mod resume;
mod router;
mod stream_request;
mod tls;
