//! The product: one binary that puts every agent on one line.
//!
//! # Layout
//!
//! - `cel`: expressions that people write into the configuration.
//! - [`cli`]: the commands. `main` calls [`cli::run`] and nothing else.
//! - [`config`]: from a YAML file, the environment and flags to a checked [`config::Config`].
//! - [`app`]: from a [`config::Config`] to a running server, the whole stack in one readable function.
//! - `conformance`: any agent against the specification.
//! - `deliveries`: what was not delivered.
//! - `discover`: agents that are not in the file, but found elsewhere.
//! - `make`: from an agent of the configuration to one that can be called.
//! - [`policy`]: what callers may do, by rules.
//! - `remotes`: agents elsewhere that stand behind ours, and what their cards say.
//! - [`route`]: which agent a call is for.
//! - [`telemetry`]: what the process tells its operators.
//! - `trust`: from what the configuration says of trust to the parts that keep it.

pub mod app;
mod cel;
pub mod cli;
pub mod config;
mod conformance;
mod deliveries;
mod discover;
mod make;
pub mod policy;
mod remotes;
pub mod route;
pub mod telemetry;
mod trust;
