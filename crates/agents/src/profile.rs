//! What an agent's card says about it, whatever stands behind it. The gateway adds addresses,
//! capabilities and security, which are not the agent's to decide.

use schemars::JsonSchema;
use serde::Deserialize;

/// How an agent presents itself on its card.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// The name on the card; the agent's key if left out.
    #[serde(rename = "title")]
    pub name: Option<String>,
    /// What it does, for people and for other agents that look for help.
    pub description: String,
    /// The agent's own version.
    pub version: String,
    /// What it can do, one by one.
    pub skills: Vec<SkillProfile>,
    /// Media types it takes.
    pub input_modes: Vec<String>,
    /// Media types it gives.
    pub output_modes: Vec<String>,
    /// Whether it may answer with a bare message instead of a task.
    pub reply: ReplyKind,
}

/// What an agent answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyKind {
    /// Always a task.
    #[default]
    Task,
    /// A bare message where the agent chooses so, otherwise a task.
    Message,
}

/// One thing an agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillProfile {
    /// Unique within the agent.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Key words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Requests it can take, as one would write them.
    #[serde(default)]
    pub examples: Vec<String>,
    /// Media types it takes, if they differ from the agent's.
    #[serde(default)]
    pub input_modes: Vec<String>,
    /// Media types it gives, if they differ from the agent's.
    #[serde(default)]
    pub output_modes: Vec<String>,
}

impl Profile {
    /// Whether the agent may answer with a bare message.
    #[must_use]
    pub fn reply_message(&self) -> bool {
        self.reply == ReplyKind::Message
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: None,
            description: String::new(),
            version: "1.0.0".to_owned(),
            skills: Vec::new(),
            input_modes: vec!["text/plain".to_owned()],
            output_modes: vec!["text/plain".to_owned()],
            reply: ReplyKind::Task,
        }
    }
}
