//! What rules can look at: the message, and who sends it.

use serde_json::{Map, Value as Json};
use switchboard_server::auth::{Principal, skill_of};
use switchboard_types::model::{Content, Object, Part};
use switchboard_types::operation::SendMessage;

use crate::cel::{Expression, Value, Values, Variable};
use crate::policy::{CALLER, caller_facts};

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
    /// What the parts are: `text`, `file`, `data`.
    pub(crate) parts: Vec<&'static str>,
}

impl<'a> Heard<'a> {
    /// A message that is sent.
    pub(crate) fn new(send: &SendMessage, caller: &'a Principal) -> Self {
        let read = |metadata: Option<&Object>| -> Map<String, Json> {
            let members = metadata.and_then(|metadata| metadata.as_json().read());
            members.unwrap_or_default()
        };
        let mut metadata = read(send.metadata.as_ref());
        metadata.extend(read(send.message.metadata.as_ref()));
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
            parts: send.message.parts.iter().map(kind).collect(),
        }
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
