//! A command, as it is written in the file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Named;
use crate::config::value::{Bound, Size, Time};

/// A command that is run for each message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exec {
    /// The program and its arguments. No shell reads them. A program with a `/` in it is relative to this file.
    pub(crate) command: Words,
    /// Where it runs, relative to this file; by default where this file is.
    pub(crate) directory: Option<String>,
    /// Variables of Switchboard's own environment that it may see, beside `PATH`.
    #[schemars(extend("default" = []))]
    pub(crate) inherit: Option<Vec<String>>,
    /// Variables that it is given. Secrets are not to be written out here: `${NAME}`.
    pub(crate) environment: Option<Named<String>>,
    /// How it is talked to.
    #[schemars(extend("default" = "text"))]
    pub(crate) protocol: Option<Talk>,
    /// What becomes of a task whose command was interrupted by a restart of Switchboard. `retry` only commands that may be
    /// run twice for one message.
    #[schemars(extend("default" = "fail"))]
    pub(crate) on_restart: Option<OnRestart>,
    /// How long it may run; `timeouts.task` counts as well.
    #[schemars(extend("default" = "10m"))]
    pub(crate) timeout: Option<Bound>,
    /// How long it may take to end when it is told to; then it is killed. `timeouts.cancel_grace` counts as well.
    #[schemars(extend("default" = "2s"))]
    pub(crate) grace: Option<Time>,
    /// The most that it may print.
    #[schemars(extend("default" = "4MiB"))]
    pub(crate) max_output: Option<Size>,
    /// The longest line that it may print.
    #[schemars(extend("default" = "1MiB"))]
    pub(crate) max_line: Option<Size>,
    /// How long lines are gathered before they become an event. The first does not wait.
    #[schemars(extend("default" = "50ms"))]
    pub(crate) coalesce: Option<Time>,
}

/// What becomes of a command that a restart interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnRestart {
    /// The task fails.
    Fail,
    /// The command is run again from the beginning, with the same input.
    Retry,
}

/// How a command is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Talk {
    /// The text of the message in; what it prints is the answer.
    Text,
    /// A line of JSON in; lines of JSON out, for status, artifacts and questions.
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
            "description": "A program and its arguments, each by itself.",
        })
    }
}
