//! What rules can look at: the message, and who sends it.

use serde_json::{Map, Value as Json};
use switchboard_server::auth::skill_of;
use switchboard_server::principal::Principal;
use switchboard_types::model::{Content, Part};
use switchboard_types::operation::SendMessage;

use crate::cel::{Expression, Value, Values, Variable};
use crate::policy::{CALLER, caller_facts};

/// The largest metadata that rules look at, in bytes of JSON. Whoever sends a message decides how large it is.
const MAX_METADATA: usize = 64 << 10;

/// All names there are.
pub(super) const VARIABLES: [Variable; 5] = [
    CALLER,
    Variable {
        name: "text",
        fields: Some(&[]),
    },
    Variable {
        name: "skill",
        fields: Some(&[]),
    },
    Variable {
        name: "metadata",
        fields: None,
    },
    Variable {
        name: "parts",
        fields: Some(&[]),
    },
];

/// A message, as rules see it.
#[derive(Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) text: String,
    pub(crate) skill: Option<String>,
    pub(crate) caller: &'a Principal,
    /// Of the message, or else of the request.
    pub(crate) metadata: Map<String, Json>,
    /// Why the metadata was not read, if it was not: a rule that looks at it then fails.
    pub(crate) unread: Option<String>,
    /// What the parts are: `text`, `file`, `data`.
    pub(crate) parts: Vec<&'static str>,
}

impl<'a> Heard<'a> {
    /// A message that is sent.
    pub(crate) fn new(send: &SendMessage, caller: &'a Principal) -> Self {
        let places = [send.metadata.as_ref(), send.message.metadata.as_ref()];
        let places = places.into_iter().flatten();
        let oversized = places.clone().map(|one| one.as_str().len()).sum::<usize>() > MAX_METADATA;
        let mut metadata = Map::new();
        let mut unread =
            oversized.then(|| format!("the metadata is larger than {} KiB", MAX_METADATA >> 10));
        for object in places.filter(|_| !oversized) {
            match object.as_json().read::<Map<String, Json>>() {
                Some(members) => metadata.extend(members),
                // Not as if it were empty: the backend gets all of it.
                None => unread = Some("the metadata cannot be read".to_owned()),
            }
        }
        let kind = |part: &Part| match part.content {
            Content::Text(_) => "text",
            Content::Raw(_) | Content::Url(_) => "file",
            Content::Data(_) => "data",
        };
        Self {
            text: send.message.text(),
            skill: skill_of(send),
            caller,
            metadata,
            unread,
            parts: send.message.parts.iter().map(kind).collect(),
        }
    }

    /// Why an expression cannot be evaluated on this message, if it cannot.
    pub(super) fn refusal(&self, when: &Expression) -> Option<String> {
        self.unread.clone().filter(|_| when.mentions("metadata"))
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn skill(&self) -> Option<&str> {
        self.skill.as_deref()
    }

    /// Only what the expression looks at.
    pub(crate) fn values(&self, when: &Expression) -> Values {
        let names = VARIABLES.iter().map(|variable| variable.name);
        let used = names.filter(|name| when.mentions(name)).map(|name| {
            let value = match name {
                "text" => self.text().into(),
                "skill" => self.skill().unwrap_or_default().into(),
                "metadata" => Value::from(&self.metadata),
                "parts" => Value::texts(self.parts.iter().copied()),
                _ => caller_facts(self.caller),
            };
            (name, value)
        });
        used.collect()
    }
}
