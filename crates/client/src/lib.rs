//! How to talk to any agent: discovery, every binding and version, streams that survive.
//!
//! ```no_run
#![doc = include_str!("../examples/ask.rs")]
//! ```
//!
//! # What is where
//!
//! | module | question |
//! |---|---|
//! | `connect` | which agent, which of its interfaces, at which address? |
//! | `auth` | who are we, and where does the agent want to be told? |
//! | `transport` | how does an operation reach it, and the answer us? |
//! | `stream` | what happened, all of it and in order, whatever the connection does? |
//! | `retry` | what may be asked again? |
//!
//! # What to expect
//!
//! A call takes 300 seconds at most, unless set. It is sent again only where that can do no harm: reads always, a
//! message only if it never left, if the agent turned it away unseen, or with an idempotency key. Nothing runs in
//! the background: a future or a stream that is dropped closes its connection, and the task goes on.
//!
//! Redirects are followed on the same host and port only. Credentials go to the origin that the user named and to those
//! that [`Builder::credentials_to`] lists, whatever the card says, and never into logs, errors or recorded exchanges.

mod answer;
mod auth;
mod builder;
mod client;
mod clock;
mod connect;
mod error;
mod input;
mod keys;
mod message;
mod operations;
mod options;
mod pages;
mod raw;
mod reach;
mod reference;
mod relations;
mod retry;
mod stream;
mod transport;
mod wait;
pub mod webhook;

pub use answer::{HasAnswer, answer_parts, answer_text};
pub use auth::{
    AccessToken, Credential, Credentials, ExchangeTarget, Prompt, TokenClient, TokenEndpoint,
    Tokens,
};
pub use builder::Builder;
pub use client::{Answer, Client, Sent};
pub use connect::address::Address;
pub use connect::cache::CardCache;
pub use connect::choose::{Chosen, Preference, Why};
pub use connect::origin::{Origin, TrustedOrigins};
pub use connect::quirks::Quirks;
pub use connect::verify::{SignatureState, Signatures};
pub use error::{Error, Kind};
pub use input::{InputRequest, Question, QuestionKind};
pub use keys::Keys;
pub use message::{in_task, parts, reply, text};
pub use options::{CallOptions, Limits};
pub use pages::Pages;
pub use raw::Raw;
pub use reference::Reference;
pub use relations::Relations;
pub use retry::Retry;
pub use stream::difference::difference;
pub use stream::fold::fold;
pub use stream::{Events, Item};
pub use transport::http::CONTENT_LOG;
pub use transport::record::{Exchange, Recorder};
pub use transport::tls::Tls;
pub use wait::Wait;

/// The examples of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/client.md")]
struct Guide;
