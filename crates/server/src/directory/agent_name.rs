//! Which names agents may have: a name is part of the agent's URL.

/// The longest name of an agent; longer ones make URLs that nobody can read.
const MAX_NAME_LENGTH: usize = 63;

/// Names that paths of Switchboard itself begin with, now or soon.
const RESERVED_NAMES: [&str; 28] = [
    "a2a",
    "admin",
    "agent-card",
    "agents",
    "api",
    "assets",
    "auth",
    "bot-instances",
    "console",
    "docs",
    "events",
    "favicon.ico",
    "healthz",
    "livez",
    "login",
    "message",
    "metrics",
    "openapi.json",
    "readyz",
    "robots.txt",
    "rpc",
    "static",
    "tasks",
    "v1",
    "v2",
    "version",
    "webhooks",
    "well-known",
];

/// Why a text cannot be the name of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentNameError {
    /// It cannot be a segment of a URL path, or is too long.
    #[error("`{0}` cannot be the name of an agent")]
    Malformed(String),
    /// The server has pages of its own there.
    #[error("`{0}` cannot be the name of an agent: addresses of Switchboard begin with it")]
    Reserved(String),
}

impl AgentNameError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Malformed(_) => format!(
                "use lower-case letters, digits, `-`, `_` and `.`, a letter or digit first, {MAX_NAME_LENGTH} at most"
            ),
            Self::Reserved(_) => "choose another name".to_owned(),
        }
    }
}

/// Checks that `name` can be the name of an agent.
///
/// # Errors
///
/// If it cannot be part of a URL, or the server needs it for itself.
pub fn check_agent_name(name: &str) -> Result<(), AgentNameError> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = |c: char| word(c) || matches!(c, '-' | '_' | '.');
    let well_formed = name.starts_with(word) && name.chars().all(inner);
    if !well_formed || name.len() > MAX_NAME_LENGTH {
        return Err(AgentNameError::Malformed(name.to_owned()));
    }
    if RESERVED_NAMES.contains(&name) {
        return Err(AgentNameError::Reserved(name.to_owned()));
    }
    Ok(())
}
