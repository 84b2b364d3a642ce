//! A routing rule, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_agents::script::Pattern;

/// A routing rule: conditions, and a target (`to` or `answer`). All conditions must match; a rule without conditions
/// matches every message.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Route {
    /// Name of the rule. Default: its path in this file.
    pub(crate) name: Option<String>,
    /// Description for people.
    pub(crate) description: Option<String>,
    /// Rules with a higher priority are evaluated first; rules with the same priority in the order of this file.
    #[schemars(extend("default" = 0))]
    pub(crate) priority: Option<i64>,
    /// Whether the rule is evaluated.
    #[schemars(extend("default" = true))]
    pub(crate) enabled: Option<bool>,
    /// The text of the message must match this regular expression.
    pub(crate) text: Option<Pattern>,
    /// The message must request this skill, or one of these.
    pub(crate) skill: Option<OneOrMore>,
    /// This CEL expression over `text`, `skill`, `caller`, `metadata` and `parts` must be true.
    pub(crate) when: Option<String>,
    /// Handoff: the agent that takes over the task.
    pub(crate) to: Option<String>,
    /// A fixed answer, without calling an agent. `{{text}}` and other templates of scripts are replaced.
    pub(crate) answer: Option<String>,
}

/// One text or a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    /// One text.
    One(String),
    /// A list of texts.
    More(Vec<String>),
}

impl OneOrMore {
    /// All texts, as a list.
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}
