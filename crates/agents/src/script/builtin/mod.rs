//! The agents that come with Switchboard: they need no model, no key and no network.

use super::{AgentFile, InvalidScript, Script};
use crate::profile::Profile;

/// Their files, by name.
const FILES: [(&str, &str); 5] = [
    ("echo", include_str!("echo.yaml")),
    ("research", include_str!("research.yaml")),
    ("approver", include_str!("approver.yaml")),
    ("flaky", include_str!("flaky.yaml")),
    ("desk", include_str!("desk.yaml")),
];

/// A built-in agent.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Its name in paths.
    pub name: &'static str,
    /// What its card says.
    pub profile: Profile,
    /// What it does.
    pub script: Script,
}

/// All built-in agents.
///
/// # Errors
///
/// If a file is damaged, which a test rules out.
pub fn agents() -> Result<Vec<Builtin>, InvalidScript> {
    let agents = FILES.into_iter().map(|(name, yaml)| {
        let AgentFile { profile, script } = AgentFile::parse(yaml)?;
        Ok(Builtin {
            name,
            profile,
            script,
        })
    });
    agents.collect()
}
