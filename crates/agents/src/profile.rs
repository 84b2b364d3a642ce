//! What an agent's card says about it, whatever stands behind it. The gateway adds addresses,
//! capabilities and security, which are not the agent's to decide.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_types::model::{AgentCard, Skill};

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

/// Something a card says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of the card by that name")]
pub enum Fact {
    Name,
    Description,
    Version,
    Provider,
    Documentation,
    Icon,
    Skills,
    /// Skills beside those that ours has.
    MoreSkills,
    InputModes,
    OutputModes,
}

/// Takes over from another card what ours has `gaps` for. What asks callers for something there does not here.
pub fn fill(card: &mut AgentCard, gaps: &[Fact], from: &AgentCard) {
    for gap in gaps {
        match gap {
            Fact::Name if !from.name.is_empty() => card.name.clone_from(&from.name),
            Fact::Description if !from.description.is_empty() => {
                card.description.clone_from(&from.description);
            }
            Fact::Version if !from.version.is_empty() => card.version.clone_from(&from.version),
            Fact::Provider => card.provider.clone_from(&from.provider),
            Fact::Documentation => card.documentation_url.clone_from(&from.documentation_url),
            Fact::Icon => card.icon_url.clone_from(&from.icon_url),
            Fact::Skills if !from.skills.is_empty() => {
                card.skills = from.skills.iter().cloned().map(unguarded).collect();
            }
            Fact::MoreSkills => {
                let known: Vec<String> = card.skills.iter().flat_map(names).collect();
                let more = from.skills.iter();
                let more = more.filter(|skill| !names(skill).any(|name| known.contains(&name)));
                card.skills.extend(more.cloned().map(unguarded));
            }
            Fact::InputModes if !from.default_input_modes.is_empty() => {
                card.default_input_modes
                    .clone_from(&from.default_input_modes);
            }
            Fact::OutputModes if !from.default_output_modes.is_empty() => {
                card.default_output_modes
                    .clone_from(&from.default_output_modes);
            }
            // An empty one is no better than ours.
            _ => {}
        }
    }
}

/// What a skill goes by.
fn names(skill: &Skill) -> impl Iterator<Item = String> {
    [&skill.id, &skill.name]
        .into_iter()
        .map(|name| name.to_lowercase())
}

fn unguarded(skill: Skill) -> Skill {
    Skill {
        security: Vec::new(),
        ..skill
    }
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
