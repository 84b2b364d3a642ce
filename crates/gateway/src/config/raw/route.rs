//! A rule by which messages go to other agents, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_agents::script::Pattern;

/// A rule: which messages, and what becomes of them (`to` or `answer`). All that is said must hold; a rule that says
/// nothing takes every message.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Route {
    /// Its name; by default its path in this file.
    pub(crate) name: Option<String>,
    /// What it is for, for people.
    pub(crate) description: Option<String>,
    /// Rules of higher priority are asked first; of the same, in the order of this file.
    #[schemars(extend("default" = 0))]
    pub(crate) priority: Option<i64>,
    /// It is asked at all.
    #[schemars(extend("default" = true))]
    pub(crate) enabled: Option<bool>,
    /// The text of the message must match.
    pub(crate) text: Option<Pattern>,
    /// The message must ask for this skill, or for one of these.
    pub(crate) skill: Option<OneOrMore>,
    /// This CEL expression must be true: about `text`, `skill`, `caller`, `metadata` and `parts`.
    pub(crate) when: Option<String>,
    /// The agent that takes the task.
    pub(crate) to: Option<String>,
    /// The answer, without asking any agent; `{{text}}` and the like are filled in as in scripts.
    pub(crate) answer: Option<String>,
}

/// One text, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}
