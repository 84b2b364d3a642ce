//! Identifiers. One generic newtype, told apart by a marker, so a task id is never taken for a context id.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

/// The longest identifier we accept, in bytes. Peers use UUIDs; 512 leaves room for any sane scheme.
const MAX_LEN: usize = 512;

/// An opaque identifier of a `K`: not empty, bounded, free of control characters, cheap to clone.
pub struct Id<K> {
    text: Arc<str>,
    kind: PhantomData<fn() -> K>,
}

/// Marker types behind the identifier aliases.
pub mod kind {
    /// Marks a task id.
    #[derive(Debug)]
    pub enum Task {}
    /// Marks a context id.
    #[derive(Debug)]
    pub enum Context {}
    /// Marks a message id.
    #[derive(Debug)]
    pub enum Message {}
    /// Marks an artifact id.
    #[derive(Debug)]
    pub enum Artifact {}
    /// Marks a push notification config id.
    #[derive(Debug)]
    pub enum PushConfig {}
}

/// Names a task; made by the server.
pub type TaskId = Id<kind::Task>;
/// Groups tasks and messages into one conversation.
pub type ContextId = Id<kind::Context>;
/// Names a message; made by its sender.
pub type MessageId = Id<kind::Message>;
/// Names an artifact within its task.
pub type ArtifactId = Id<kind::Artifact>;
/// Names a push notification config within its task.
pub type PushConfigId = Id<kind::PushConfig>;

/// Why a string cannot be an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The empty string names nothing.
    #[error("must not be empty")]
    Empty,
    /// Longer than any peer needs.
    #[error("must not be longer than {MAX_LEN} bytes")]
    TooLong,
    /// Control characters would break headers, logs and SSE lines.
    #[error("must not contain control characters")]
    ControlCharacter,
}

impl<K> Id<K> {
    /// Checks `text` and makes it an identifier.
    ///
    /// # Errors
    ///
    /// If the text is empty, too long or has control characters.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, InvalidId> {
        let text = text.into();
        if text.is_empty() {
            Err(InvalidId::Empty)
        } else if text.len() > MAX_LEN {
            Err(InvalidId::TooLong)
        } else if has_control_characters(&text) {
            Err(InvalidId::ControlCharacter)
        } else {
            Ok(Self {
                text,
                kind: PhantomData,
            })
        }
    }

    /// The identifier as it stands on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Looks at all bytes, where that is enough: a loop without a way out is done many bytes at a time.
fn has_control_characters(text: &str) -> bool {
    if text.is_ascii() {
        let bytes = text.bytes();
        return bytes.fold(false, |found, byte| found | byte.is_ascii_control());
    }
    text.chars().any(char::is_control)
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        Self {
            text: Arc::clone(&self.text),
            kind: PhantomData,
        }
    }
}

impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<K> Eq for Id<K> {}

impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As `str` hashes, so that maps can be asked with a plain `&str`.
        self.text.hash(state);
    }
}

impl<K> Borrow<str> for Id<K> {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_name_anything() {
        assert_eq!(TaskId::new(""), Err(InvalidId::Empty));
        assert_eq!(TaskId::new("a\0b"), Err(InvalidId::ControlCharacter));
        assert_eq!(TaskId::new("a\nb"), Err(InvalidId::ControlCharacter));
        assert_eq!(TaskId::new("x".repeat(513)), Err(InvalidId::TooLong));
    }

    #[test]
    fn takes_any_other_text_as_it_is() {
        for text in ["t", "urn:uuid:1", "задача-1", "a b/c:d", &"x".repeat(512)] {
            assert_eq!(TaskId::new(text).unwrap().as_str(), text);
        }
    }
}
