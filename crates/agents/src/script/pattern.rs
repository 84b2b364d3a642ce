//! Regular expressions in scripts and rules.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};

use super::search::SearchCost;

/// A regular expression; upper and lower case are the same to it. It is read with its file and, unless it may be too large
/// to be made ready at all, made ready when it is first used: that takes hundreds of times the room of its text, and most
/// scripts are never run.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    ready: OnceLock<Option<Regex>>,
    cost: SearchCost,
}

/// An expression that takes no more bytes than this can be made ready for sure: the limit is higher.
const SURE: usize = 8 << 20;

impl Pattern {
    /// Whether it is found in a text.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// How long it may take to look for it.
    #[must_use]
    pub fn cost(&self) -> SearchCost {
        self.cost
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Ready to look for. There is none for what could not be made ready, which was refused when it was read.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let made = || made_ready(&self.text).ok();
        self.ready.get_or_init(made).as_ref()
    }
}

fn made_ready(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).case_insensitive(true).build()
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = ParserBuilder::new()
            .case_insensitive(true)
            .build()
            .parse(&text)
            .map_err(de::Error::custom)?;
        let ready = OnceLock::new();
        if most(&read) > SURE {
            let regex = made_ready(&text).map_err(de::Error::custom)?;
            ready.get_or_init(|| Some(regex));
        }
        let cost = SearchCost::of(&read);
        Ok(Self { text, ready, cost })
    }
}

/// How many bytes an expression takes at most, with its repetitions written out: a state for each byte that it looks for,
/// and dozens for a range of characters that take more than one.
fn most(expression: &Hir) -> usize {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => 64,
        HirKind::Literal(literal) => 64 * literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => 2048 * class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => 64 * class.ranges().len(),
        HirKind::Repetition(again) => {
            let times = again.max.unwrap_or(again.min).max(1);
            most(&again.sub)
                .saturating_add(128)
                .saturating_mul(times as usize)
        }
        HirKind::Capture(group) => most(&group.sub).saturating_add(128),
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            let each = all.iter().map(|one| most(one).saturating_add(64));
            each.fold(64, usize::saturating_add)
        }
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A regular expression; upper and lower case are the same to it.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Pattern, String> {
        let json = serde_json::to_string(text).unwrap();
        serde_json::from_str(&json).map_err(|error| error.to_string())
    }

    /// Whatever is read can be looked for: what is too large is refused when it is read, not never found.
    #[test]
    fn a_pattern_that_is_read_can_be_used() {
        for one in ["1", "a", "[^a]", r"\w", r"\W", ".", "(?:ab|c)", "(x)"] {
            let mut refused = false;
            for times in [1, 8, 64, 512, 4096, 32_768, 262_144, 4_000_000] {
                match read(&format!("{one}{{{times}}}")) {
                    Ok(pattern) => assert!(pattern.regex().is_some(), "{one} {times}"),
                    Err(error) => {
                        assert!(error.contains("size limit"), "{error}");
                        refused = true;
                        break;
                    }
                }
            }
            assert!(refused, "{one} is never too large");
        }
    }

    #[test]
    fn a_usual_pattern_is_made_ready_late_and_a_broken_one_is_refused_at_once() {
        let usual = r"(?s)^(?<topic>.*?)\W*\b(?<n>\d{1,4}) chunks?\W*$";
        assert!(read(usual).unwrap().ready.get().is_none());
        assert!(read("(a").unwrap_err().contains("unclosed group"));
    }
}
