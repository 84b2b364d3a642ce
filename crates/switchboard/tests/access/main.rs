//! Who gets in, by every way, on the real binary with a configuration file: the table in `docs/authentication.md` is
//! what these tests compare with.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod cards;
mod certificates;
mod credentials;
mod keys;
mod matrix;
mod owners;
mod secrets;
mod skills;
mod ways;
mod webhooks;
mod world;
