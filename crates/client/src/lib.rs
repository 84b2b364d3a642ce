//! How to talk to any agent.
