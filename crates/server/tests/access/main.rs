//! Doors and rules from outside: a server on a socket, with agents that let some in and others not, asked by every
//! binding in every version.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod crowds;
mod doors;
mod forwarded;
mod house;
mod issuer;
mod keys;
mod lists;
mod logins;
mod once;
mod order;
mod pages;
mod rates;
mod rules;
mod schemes;
mod skills;
mod tokens;
mod unseen;
mod wire;
