//! The product: one binary that puts every agent on one line.
//!
//! # Layout
//!
//! - `admin`: where operators look.
//! - `cel`: expressions that people write into the configuration.
//! - [`cli`]: the commands. `main` calls [`cli::run`] and nothing else.
//! - [`config`]: from a YAML file, the environment and flags to a checked [`config::Config`].
//! - [`app`]: from a [`config::Config`] to a running server, the whole stack in one readable function.
//! - `conformance`: any agent against the specification.
//! - `otlp`: spans for a collector.
//! - [`policy`]: what callers may do, by rules.
//! - [`route`]: which agent a call is for.
//! - [`telemetry`]: what the process tells its operators.
//! - `traces`: what became of a task, and of those made for it.
//! - `trust`: from what the configuration says of trust to the parts that keep it.

mod admin;
pub mod app;
mod cel;
pub mod cli;
pub mod config;
mod conformance;
mod otlp;
pub mod policy;
pub mod route;
pub mod telemetry;
mod traces;
mod trust;
