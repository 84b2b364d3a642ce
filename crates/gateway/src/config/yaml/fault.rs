//! Why a tree cannot be read into types, in our own words instead of serde's.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::{Entry, Node};
use crate::config::problem::{did_you_mean, synonym};

/// Why a tree cannot be read, and which part is to blame.
#[derive(Debug)]
pub(crate) struct Fault {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
    /// The node at fault.
    pub(crate) id: Option<usize>,
    /// The mapping an unknown key stands in.
    pub(crate) owner: Option<usize>,
    /// Whether the user has been told already.
    pub(crate) reported: bool,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>, hint: Option<String>) -> Self {
        Self {
            message: message.into(),
            hint,
            id: None,
            owner: None,
            reported: false,
        }
    }

    /// A scalar that could not be filled.
    pub(super) fn reported() -> Self {
        Self {
            reported: true,
            ..Self::new("cannot be filled from the environment", None)
        }
    }

    /// The unknown variant was written as a key.
    pub(super) fn of_key(mut self) -> Self {
        self.message = self.message.replace("unknown value", "unknown key");
        self
    }

    /// The innermost place wins.
    pub(super) fn at(mut self, node: &Node) -> Self {
        if self.id.is_none() {
            self.id = Some(node.id);
        }
        self
    }

    pub(super) fn at_key(mut self, map: &Node, entry: &Entry) -> Self {
        if self.id.is_none() {
            self.id = Some(entry.value.id);
            self.owner = Some(map.id);
        }
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string(), None)
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = in_plain_words(&expected.to_string());
        Self::new(
            format!("expected {expected}, found {}", describe(found)),
            None,
        )
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(
            format!("unknown key `{field}`"),
            synonym(field, known).or_else(|| did_you_mean(field, known.iter().copied())),
        )
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Self::new(
            format!("unknown value `{variant}`"),
            did_you_mean(variant, known.iter().copied()),
        )
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is missing"), None)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is given twice"), None)
    }
}

/// What serde expects, without the names of our types.
fn in_plain_words(expected: &str) -> String {
    let words = match expected {
        "a sequence" => "a list",
        "a map" => "a mapping",
        "a string" => "text",
        struct_ if struct_.starts_with("struct ") => "a mapping",
        enum_ if enum_.starts_with("enum ") => "a word or a mapping",
        other => other,
    };
    words.to_owned()
}

fn describe(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => format!("`{text}`"),
        Unexpected::Map => "a mapping".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("`{value}`"),
        Unexpected::Signed(value) => format!("`{value}`"),
        Unexpected::Float(value) => format!("`{value}`"),
        other => other.to_string(),
    }
}
