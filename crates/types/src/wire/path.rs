//! Where in a document a value stands, for errors: `message.parts[0].raw`.
//!
//! A path is a chain of stack frames: following a good document allocates nothing, and the text is
//! made only when something is wrong. Used by every conversion from wire to model.

use std::fmt;

use crate::error::Error;

/// A place in a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Root,
    Field(&'static str),
    Index(usize),
}

impl Path<'static> {
    /// The whole document.
    pub(crate) const ROOT: Self = Self {
        parent: None,
        step: Step::Root,
    };
}

impl<'a> Path<'a> {
    /// A member of the object that stands here.
    pub(crate) fn field(&'a self, name: &'static str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// An element of the array that stands here.
    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// The place in the array that this is an element of, 0 if it is in none.
    pub(crate) fn last_index(&self) -> usize {
        match self.step {
            Step::Index(index) => index,
            Step::Root | Step::Field(_) => 0,
        }
    }

    /// What stands here is wrong.
    #[cold]
    pub(crate) fn error(&self, reason: impl fmt::Display) -> Error {
        Error::invalid_params(self.to_string(), reason.to_string())
    }

    /// Nothing stands here, but something must.
    #[cold]
    pub(crate) fn missing(&self) -> Error {
        self.error("is required")
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inside = self
            .parent
            .filter(|parent| !matches!(parent.step, Step::Root));
        if let Some(parent) = inside {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => f.write_str("params"),
            Step::Field(name) if inside.is_some() => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_the_document() {
        let message = Path::ROOT.field("message");
        let parts = message.field("parts");
        let part = parts.index(3);
        assert_eq!(part.field("raw").to_string(), "message.parts[3].raw");
        assert_eq!(Path::ROOT.to_string(), "params");
    }
}
