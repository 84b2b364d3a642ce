//! Whom a task belongs to.

use std::sync::Arc;

/// Whom a task belongs to, in the form that stores keep and compare.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The owner a store has kept under that text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The owner that a realm calls by this name. No two of them have the same text, and none is `anonymous`.
    #[must_use]
    pub fn of(realm: &str, tenant: Option<&str>, subject: &str) -> Self {
        let part = |text: &str| text.replace('%', "%25").replace('|', "%7C");
        let tenant = tenant.unwrap_or_default();
        let text = format!("{}|{}|{}", part(realm), part(tenant), part(subject));
        Self(text.into())
    }

    /// The text to keep.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
