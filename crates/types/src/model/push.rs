//! Push notification configs: where a client wants to be called.

use std::fmt;

use super::{PushConfigId, TaskId};

/// A webhook registered for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfig {
    /// Assigned by the server when the client gives none.
    pub id: Option<PushConfigId>,
    /// The task; absent only inside a send.
    pub task_id: Option<TaskId>,
    /// Where to POST.
    pub url: String,
    /// Sent back in `X-A2A-Notification-Token`.
    pub token: Option<Secret>,
    /// How to authenticate to the webhook.
    pub authentication: Option<Authentication>,
}

/// How to authenticate to a webhook: `Authorization: {scheme} {credentials}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    /// An HTTP authentication scheme, such as `Bearer`.
    pub scheme: String,
    /// What follows it.
    pub credentials: Option<Secret>,
}

/// A string that must not appear in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text; the name is loud so that a reader asks why.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
