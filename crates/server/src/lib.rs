//! How to be an agent: bindings, engine, durable log, stores, push.
//!
//! To serve an agent of one's own, implement [`agent::Agent`] and hand it to [`Server::builder`]:
//!
//! ```no_run
#![doc = include_str!("../examples/counter.rs")]
//! ```
//!
//! # The path of a request
//!
//! | module | question |
//! |---|---|
//! | [`http`] | is this request bearable? |
//! | [`auth`] | who are you? |
//! | [`binding`] | what do you ask? (bytes become a [`call::Call`]) |
//! | [`limit`] | is there room for you? |
//! | [`table`] | which agent? |
//! | [`authorize`] | may you? |
//! | [`engine`] | new task or next turn? who watches the agent? |
//! | [`agent`] | what is the answer? |
//! | [`task`] | may that happen now? |
//! | [`log`] | is it safe? (append, then wake readers) |
//! | [`store`] | where is it kept? |
//! | [`push`] | who wants to be called? |
//!
//! What a call is part of, and everything done for it, is its [`trace`]; [`metrics`] count it. What goes out in our name,
//! cards and notifications, is signed by [`sign`].
//!
//! An event is real only when it is in the log. SSE, subscriptions, blocking sends and webhooks are all
//! [`log::Cursor`]s on it; no event travels from agent to socket by any other way.
//!
//! Modules use each other in one direction only: ARCHITECTURE.md draws their order.

pub mod access_log;
pub mod agent;
pub mod auth;
pub mod authorize;
pub mod backend;
pub mod binding;
pub mod budget;
pub mod call;
pub mod card;
pub mod clock;
pub mod directory;
pub mod egress;
pub mod engine;
pub mod files;
pub mod hops;
pub mod http;
pub mod limit;
pub mod log;
mod metadata;
pub mod metrics;
pub mod net;
pub mod principal;
pub mod push;
pub mod serve;
pub mod shutdown;
pub mod sign;
pub mod store;
pub mod table;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trace;

pub use async_trait::async_trait;
pub use serve::Server;
pub use switchboard_types as types;

/// The examples of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust-agents.md")]
struct Guide;
