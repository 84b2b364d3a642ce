//! What can stand behind an agent.
