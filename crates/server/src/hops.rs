//! The hop path of a call: the agents it has passed through, so that no delegation loops.
//!
//! It is in the metadata of messages, so it goes wherever they go and is stored with them. Between gateways it is in a
//! header, too, because what is between them may drop metadata. A path from outside is trusted: a forged one shortens
//! nobody's path but the caller's own.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use switchboard_types::model::{Message, Object};
use switchboard_types::{Error, ErrorKind};

use crate::metadata;

/// The member of a message's metadata.
pub const METADATA: &str = "switchboard/hops";
/// The header.
pub const HEADER: &str = "x-switchboard-hops";
/// The member of the metadata of what a task says, and of what it makes, that names the other agent here whose it was, and
/// its task.
pub const DELEGATE: &str = "delegate";
/// How many agents a call may pass through by default.
pub const DEEPEST: usize = 5;

/// The agents that a call has passed through, the first one first. An agent is `name@gateway`, or something in place of the
/// name if not everyone may know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hops(Vec<String>);

impl Hops {
    /// The path of a message.
    ///
    /// # Errors
    ///
    /// If it cannot be read: it must not pass for none.
    pub fn of(message: &Message) -> Result<Self, Error> {
        let wrong = || {
            let field = format!("message.metadata[{METADATA:?}]");
            Error::invalid_params(field, "must be a list of agents, as texts")
        };
        match metadata::get(message, METADATA).map_err(|_| wrong())? {
            None => Ok(Self::default()),
            Some(path) => serde_json::from_value(path).map(Self).map_err(|_| wrong()),
        }
    }

    /// The path in a header.
    #[must_use]
    pub(crate) fn from_header(text: &str) -> Self {
        let hops = text.split(',').map(str::trim).filter(|hop| !hop.is_empty());
        Self(hops.map(str::to_owned).collect())
    }

    /// The path as a header.
    #[must_use]
    pub fn to_header(&self) -> String {
        self.0.join(",")
    }

    /// Whether it has passed through no agent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many agents it has passed through.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has passed through this agent.
    #[must_use]
    pub(crate) fn goes_through(&self, here: &str) -> bool {
        self.0.iter().any(|hop| hop == here)
    }

    /// The path, and one agent more.
    #[must_use]
    pub fn then(mut self, hop: &str) -> Self {
        self.0.push(hop.to_owned());
        self
    }

    /// The metadata of a message with this path.
    #[must_use]
    pub fn marked(&self, metadata: Option<&Object>) -> Object {
        let path: Value = self.0.iter().map(String::as_str).collect();
        metadata::set(metadata, METADATA, path)
    }

    /// Rejects a call that passed through `here` before, or through too many agents.
    ///
    /// # Errors
    ///
    /// The text is for the agent that calls, which may well be a model.
    pub(crate) fn reject_loops(&self, here: &str, deepest: usize) -> Result<(), Error> {
        if self.goes_through(here) {
            let path = self.clone().then(here);
            let text = format!(
                "delegation loop: {path}; answer without calling {} again",
                name(here)
            );
            return Err(refused(text, "DELEGATION_LOOP", &path));
        }
        if self.0.len() >= deepest {
            let text = format!(
                "maximum delegation depth of {} agents reached ({self}); answer without calling other agents",
                self.0.len()
            );
            return Err(refused(text, "DELEGATION_TOO_DEEP", self));
        }
        Ok(())
    }
}

/// What an agent is called in hop paths: no other has that name, anywhere. It is made when it is first needed,
/// which for most agents is never.
#[derive(Clone)]
pub struct Hop(Arc<LazyLock<Arc<str>, Make>>);

type Make = Box<dyn FnOnce() -> Arc<str> + Send>;

impl Hop {
    /// The name that `make` makes.
    pub fn new(make: impl FnOnce() -> Arc<str> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.0
    }
}

impl std::fmt::Debug for Hop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hop")
    }
}

impl std::fmt::Display for Hops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, hop) in self.0.iter().enumerate() {
            let arrow = if number > 0 { " → " } else { "" };
            write!(f, "{arrow}{}", name(hop))?;
        }
        Ok(())
    }
}

fn refused(text: String, reason: &'static str, path: &Hops) -> Error {
    Error::new(ErrorKind::UnsupportedOperation, text)
        .fact("cause", reason)
        .fact("path", path.to_string())
}

/// What an agent is called by people.
fn name(hop: &str) -> &str {
    hop.rsplit_once('@').map_or(hop, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::{Json, MessageId, Part, Role};

    use super::*;

    fn message(metadata: &str) -> Message {
        let metadata = Json::parse(metadata).unwrap();
        Message {
            metadata: Some(Object::try_from(metadata).unwrap()),
            ..Message::new(
                MessageId::new("m").unwrap(),
                Role::User,
                vec![Part::text("x")],
            )
        }
    }

    #[test]
    fn a_path_is_added_to_other_metadata() {
        let path = Hops::default().then("desk@a").then("poet@a");
        for (before, after) in [
            ("{}", r#"{"switchboard/hops":["desk@a","poet@a"]}"#),
            (
                r#"{ "z": 123456789012345678901234567890, "a": 1.50 }"#,
                r#"{ "z": 123456789012345678901234567890, "a": 1.50 ,"switchboard/hops":["desk@a","poet@a"]}"#,
            ),
            (
                r#"{"switchboard/hops":["old@b"]}"#,
                r#"{"switchboard/hops":["desk@a","poet@a"]}"#,
            ),
        ] {
            let marked = path.marked(message(before).metadata.as_ref());
            assert_eq!(marked.as_str(), after);
            assert_eq!(Hops::of(&message(after)).unwrap(), path);
        }
        assert_eq!(
            path.marked(None).as_str(),
            r#"{"switchboard/hops":["desk@a","poet@a"]}"#
        );
        assert_eq!(Hops::from_header(&path.to_header()), path);
        assert_eq!(path.to_string(), "desk → poet");
        assert!(Hops::of(&message("{}")).unwrap().is_empty());
        assert!(Hops::from_header(" , ").is_empty());
    }

    #[test]
    fn rejects_a_malformed_hop_path() {
        let long = format!(r#"{{"switchboard/hops": ["{}"]}}"#, "a".repeat(16 << 10));
        for metadata in [
            r#"{"switchboard/hops": "desk"}"#,
            r#"{"switchboard/hops": [1]}"#,
            r#"{"switchboard/hops": null}"#,
            &long,
        ] {
            assert!(Hops::of(&message(metadata)).is_err(), "{metadata}");
        }
        // However it is written, and whatever stands beside it.
        let beside = "x".repeat(20_000);
        let escaped = format!(r#"{{"switchboard\/hops": ["a@x"], "beside": "{beside}"}}"#);
        let path = Hops::of(&message(&escaped)).unwrap();
        assert_eq!(path.to_header(), "a@x");
        // It stands elsewhere.
        let inner = message(r#"{"a": {"switchboard/hops": 1}}"#);
        assert!(Hops::of(&inner).unwrap().is_empty());
    }

    #[test]
    fn rejects_loops_and_long_paths_with_a_reason() {
        let path = Hops::default().then("desk@a").then("poet@a");
        assert!(path.reject_loops("critic@a", 5).is_ok());
        // Another gateway may have an agent of that name.
        assert!(path.reject_loops("desk@b", 5).is_ok());
        let looped = path.reject_loops("desk@a", 5).unwrap_err();
        assert_eq!(
            looped.message(),
            "delegation loop: desk → poet → desk; answer without calling desk again"
        );
        let named = ("path".into(), "desk → poet → desk".to_owned());
        assert!(looped.facts().contains(&named), "{:?}", looped.facts());
        let deep = path.reject_loops("critic@a", 2).unwrap_err();
        assert!(deep.message().contains("depth of 2 agents"), "{deep}");
    }
}
