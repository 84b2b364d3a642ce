//! The product: one binary that puts every agent on one line.
//!
//! # Layout
//!
//! - `admin`: where operators look.
//! - `backends`: what stands behind agents, made from the configuration.
//! - `cel`: expressions that people write into the configuration.
//! - `claws`: OpenClaw gateways that agents share.
//! - [`cli`]: the commands. `main` calls [`cli::run`] and nothing else.
//! - [`config`]: from a YAML file, the environment and flags to a checked [`config::Config`].
//! - [`app`]: from a [`config::Config`] to a running server, the whole stack in one readable function.
//! - `discover`: agents that are not in the file, but found elsewhere.
//! - `listener`: binding the addresses to listen on.
//! - `otlp`: spans for a collector.
//! - [`policy`]: what callers may do, by rules.
//! - [`reload`]: a configuration that changes while the server runs.
//! - `remotes`: agents elsewhere that stand behind ours, and what their cards say.
//! - [`route`]: which agent a call is for.
//! - `running`: the agents as they run, made from a configuration.
//! - [`telemetry`]: what the process tells its operators.
//! - `traces`: what became of a task, and of those made for it.
//! - `trust`: from what the configuration says of trust to the parts that keep it.

mod admin;
pub mod app;
mod backends;
mod cel;
mod claws;
pub mod cli;
pub mod config;
mod data_dir;
mod discover;
mod listener;
mod otlp;
pub mod policy;
pub mod reload;
mod remotes;
pub mod route;
mod running;
pub mod telemetry;
mod traces;
mod trust;
