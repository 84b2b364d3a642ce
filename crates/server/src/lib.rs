//! How to be an agent.
