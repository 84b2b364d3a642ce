//! The client against the real engine, over real sockets, and against servers that behave oddly.

mod support;

mod agent;
mod failures;
mod front_page;
mod odd_streams;
mod resume;
mod router;
