//! Who asks. Authentication turns headers into a [`Principal`]; no operation runs without one.

use std::sync::{Arc, LazyLock};

/// An authenticated caller; anonymous is one too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    owner: Owner,
}

/// Whom a task belongs to, in the form that stores keep and compare.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(Arc<str>);

impl Principal {
    /// The caller of an agent that asks for no credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        static NOBODY: LazyLock<Owner> = LazyLock::new(|| Owner::new("anonymous"));
        Self {
            owner: NOBODY.clone(),
        }
    }

    /// Whether nobody knows who this is.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        *self == Self::anonymous()
    }

    /// The owner of what this caller makes.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl From<Owner> for Principal {
    /// The caller on whose behalf a stored task goes on.
    fn from(owner: Owner) -> Self {
        Self { owner }
    }
}

impl Owner {
    /// The owner a store has kept under that text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text to keep.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
