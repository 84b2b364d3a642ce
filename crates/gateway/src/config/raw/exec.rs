//! A command backend, as written in the file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Named;
use crate::config::value::{Bound, Size, Time};

/// A command that runs once per message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exec {
    /// Program and arguments, without a shell. A program with a `/` is relative to this file.
    pub(crate) command: Words,
    /// Working directory, relative to this file. Default: the directory of this file.
    pub(crate) directory: Option<String>,
    /// Environment variables of Switchboard to pass through, in addition to `PATH`.
    #[schemars(extend("default" = []))]
    pub(crate) inherit: Option<Vec<String>>,
    /// Environment variables to set. Use `${NAME}` for secrets.
    pub(crate) environment: Option<Named<String>>,
    /// Protocol on standard input and output.
    #[schemars(extend("default" = "text"))]
    pub(crate) protocol: Option<Talk>,
    /// What happens to a task whose command a restart of Switchboard interrupted. Use `retry` only for commands that
    /// may run twice for one message.
    #[schemars(extend("default" = "fail"))]
    pub(crate) on_restart: Option<OnRestart>,
    /// Maximum run time; `timeouts.task` applies as well.
    #[schemars(extend("default" = "10m"))]
    pub(crate) timeout: Option<Bound>,
    /// Time between SIGTERM and SIGKILL when the command is stopped; `timeouts.cancel_grace` applies as well.
    #[schemars(extend("default" = "2s"))]
    pub(crate) grace: Option<Time>,
    /// Maximum size of the output.
    #[schemars(extend("default" = "4MiB"))]
    pub(crate) max_output: Option<Size>,
    /// Maximum length of an output line.
    #[schemars(extend("default" = "1MiB"))]
    pub(crate) max_line: Option<Size>,
    /// How long output lines are buffered before they become one event. The first line is not delayed.
    #[schemars(extend("default" = "50ms"))]
    pub(crate) coalesce: Option<Time>,
}

/// What happens to a command that a restart interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnRestart {
    /// The task fails.
    Fail,
    /// The command runs again from the beginning, with the same input.
    Retry,
}

/// Protocol between Switchboard and a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Talk {
    /// Text: the text of the message on standard input, the answer on standard output.
    Text,
    /// JSON Lines: one JSON object on standard input; one per line on standard output, for status, artifacts and
    /// questions.
    Json,
}

/// A program and its arguments.
#[derive(Debug)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneByOne;

        impl<'de> Visitor<'de> for OneByOne {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of a program and its arguments, such as [python3, agent.py]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = items.next_element()? {
                    words.push(word);
                }
                Ok(Words(words))
            }
        }

        deserializer.deserialize_seq(OneByOne)
    }
}

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": { "type": ["string", "number", "boolean"] },
            "minItems": 1,
            "description": "Program and arguments, each as one entry.",
        })
    }
}
