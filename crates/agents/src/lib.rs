//! What can stand behind an agent.
//!
//! # Layout
//!
//! - [`delegate`]: how one agent of ours gives work to another.
//! - [`exec`]: agents that are a command, run for each message.
//! - [`identity`]: who an agent is to what stands behind it. Every agent that calls others over the network uses it.
//! - [`langgraph`]: agents that are an assistant of a LangGraph server.
//! - [`openai`]: agents that are a model behind an OpenAI-compatible chat endpoint.
//! - [`openclaw`]: agents of an OpenClaw gateway.
//! - [`profile`]: what an agent's card says about it, whatever stands behind it.
//! - [`refresh`]: reads what an upstream says about itself again and again.
//! - [`remote`]: any A2A agent elsewhere.
//! - [`script`]: agents that follow a scenario written in YAML. The built-in agents are scripts, and so are
//!   mocks for tests and CI.

pub mod delegate;
pub mod exec;
mod fetch;
pub mod identity;
pub mod langgraph;
pub mod openai;
pub mod openclaw;
pub mod profile;
pub mod refresh;
pub mod remote;
pub mod script;
mod upstream;
mod writer;
