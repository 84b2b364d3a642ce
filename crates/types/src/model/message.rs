//! Messages: what client and agent say to each other.

use super::{ContextId, MessageId, Object, Part, TaskId};

/// One turn of conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Made by the sender.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// At least one part, once decoded.
    pub parts: Vec<Part>,
    /// The conversation it belongs to.
    pub context_id: Option<ContextId>,
    /// The task it continues or speaks of.
    pub task_id: Option<TaskId>,
    /// Other tasks given as context.
    pub reference_task_ids: Vec<TaskId>,
    /// URIs of the extensions that shaped this message.
    pub extensions: Vec<String>,
    /// Free data.
    pub metadata: Option<Object>,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client.
    User,
    /// The server.
    Agent,
}

impl Message {
    /// A message with nothing but a role and parts.
    #[must_use]
    pub fn new(id: MessageId, role: Role, parts: Vec<Part>) -> Self {
        Self {
            id,
            role,
            parts,
            context_id: None,
            task_id: None,
            reference_task_ids: Vec::new(),
            extensions: Vec::new(),
            metadata: None,
        }
    }

    /// All text parts, joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }
}
