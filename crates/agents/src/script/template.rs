//! Strings with holes: `{{text}}`, `{{metadata.KEY|default}}`. Names are checked when the script is
//! loaded; what they stand for is looked up in the [`Scope`] when a step is taken.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use super::scope::Scope;

/// A string in which `{{name}}` is replaced when the step is taken, and `{{name|default}}` by the default
/// if there is nothing to put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole { variable: Variable, default: String },
}

/// What can be put into a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variable {
    /// The text parts of the message.
    Text,
    /// The word of this round of `repeat: {words}`.
    Word,
    /// The number of this round of `repeat`, from 1.
    N,
    /// The id of the message.
    MessageId,
    /// The id of the task.
    TaskId,
    /// The id of the conversation.
    ContextId,
    /// The number of this message within the task, from 1.
    Turn,
    /// How many earlier tasks the conversation has.
    Earlier,
    /// What was said in the earlier tasks, a line each.
    EarlierText,
    /// A named group of the last pattern that matched.
    Match(String),
    /// A member of the message's metadata, or else of the request's.
    Metadata(String),
    /// What a call brought back.
    Call(String, CallField),
}

/// What a call brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallField {
    /// The answer, or why there is none.
    Text,
    /// The state the other task ended in.
    State,
    /// The other task's id.
    Task,
}

/// Why a string cannot be a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTemplate {
    /// A hole that does not end.
    #[error("`{{{{` without `}}}}`")]
    Open,
    /// A hole for something that does not exist.
    #[error(
        "unknown variable `{0}`; there are text, word, n, message_id, task_id, context_id, turn, earlier, \
         earlier.text, match.GROUP, metadata.KEY, call.NAME.text, call.NAME.state and call.NAME.task"
    )]
    Unknown(String),
}

impl Template {
    /// The text with every hole filled.
    pub(super) fn render(&self, scope: &Scope) -> String {
        if let Some(text) = self.fixed() {
            return text.to_owned();
        }
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Hole { variable, default } => {
                    let value = scope.value(variable);
                    out.push_str(if value.is_empty() { default } else { &value });
                }
            }
        }
        out
    }

    /// The text, if it has no holes.
    pub(super) fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// What is put in.
    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Hole { variable, .. } => Some(variable),
        })
    }

    /// Whether it needs the earlier tasks of the context.
    pub(super) fn looks_back(&self) -> bool {
        let mut variables = self.variables();
        variables.any(|v| matches!(v, Variable::Earlier | Variable::EarlierText))
    }
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidTemplate> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (hole, after) = after.split_once("}}").ok_or(InvalidTemplate::Open)?;
            let (name, default) = hole.split_once('|').unwrap_or((hole, ""));
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Hole {
                variable: name.trim().parse()?,
                default: default.trim().to_owned(),
            });
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }
}

impl FromStr for Variable {
    type Err = InvalidTemplate;

    fn from_str(name: &str) -> Result<Self, InvalidTemplate> {
        let unknown = || InvalidTemplate::Unknown(name.to_owned());
        Ok(match name {
            "text" => Self::Text,
            "word" => Self::Word,
            "n" => Self::N,
            "message_id" => Self::MessageId,
            "task_id" => Self::TaskId,
            "context_id" => Self::ContextId,
            "turn" => Self::Turn,
            "earlier" => Self::Earlier,
            "earlier.text" => Self::EarlierText,
            _ => match name.split_once('.') {
                Some(("match", group)) if !group.is_empty() => Self::Match(group.to_owned()),
                Some(("metadata", key)) if !key.is_empty() => Self::Metadata(key.to_owned()),
                Some(("call", rest)) => {
                    let (call, field) = rest.rsplit_once('.').ok_or_else(unknown)?;
                    let field = match field {
                        "text" => CallField::Text,
                        "state" => CallField::State,
                        "task" => CallField::Task,
                        _ => return Err(unknown()),
                    };
                    Self::Call(call.to_owned(), field)
                }
                _ => return Err(unknown()),
            },
        })
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Text in which {{name}} is replaced: text, word, n, message_id, task_id, context_id, \
                            turn, earlier, earlier.text, match.GROUP, metadata.KEY, call.NAME.text, \
                            call.NAME.state, call.NAME.task. {{name|default}} gives a default.",
        })
    }
}

/// Any JSON, in which every string is a template.
#[derive(Debug, Clone, PartialEq)]
pub struct Data(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Fixed(Value),
    Text(Template),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Data {
    /// The value with every hole filled.
    pub(super) fn render(&self, scope: &Scope) -> Value {
        self.0.render(scope)
    }

    /// Its templates.
    pub(super) fn templates<'a>(&'a self, out: &mut Vec<&'a Template>) {
        self.0.templates(out);
    }
}

impl Node {
    fn new(value: Value) -> Result<Self, InvalidTemplate> {
        Ok(match value {
            Value::String(text) => Self::Text(text.parse()?),
            Value::Array(items) => {
                Self::List(items.into_iter().map(Self::new).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => Self::Map(
                members
                    .into_iter()
                    .map(|(key, value)| Ok((key, Self::new(value)?)))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Fixed(value),
        })
    }

    fn render(&self, scope: &Scope) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(template) => Value::String(template.render(scope)),
            Self::List(items) => items.iter().map(|item| item.render(scope)).collect(),
            Self::Map(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), value.render(scope)))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    fn templates<'a>(&'a self, out: &mut Vec<&'a Template>) {
        match self {
            Self::Fixed(_) => {}
            Self::Text(template) => out.push(template),
            Self::List(items) => items.iter().for_each(|item| item.templates(out)),
            Self::Map(members) => members.iter().for_each(|(_, value)| value.templates(out)),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Node::new(Value::deserialize(deserializer)?)
            .map(Self)
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for Data {
    fn schema_name() -> Cow<'static, str> {
        "Data".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "description": "Any JSON; its strings are templates." })
    }
}
