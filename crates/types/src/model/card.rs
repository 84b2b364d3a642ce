//! The agent card: who an agent is, what it can do, where and how to call it.

use std::collections::BTreeMap;

use super::{Object, SecurityRequirement, SecurityScheme};

/// An agent card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCard {
    /// For people.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// The agent's own version.
    pub version: String,
    /// Where it can be called, best first.
    pub interfaces: Vec<Interface>,
    /// Who runs it.
    pub provider: Option<Provider>,
    /// Where it is documented.
    pub documentation_url: Option<String>,
    /// A picture.
    pub icon_url: Option<String>,
    /// What of the protocol it offers.
    pub capabilities: Capabilities,
    /// Ways to authenticate, by name.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Which of them are needed: any one entry, all schemes within it.
    pub security: Vec<SecurityRequirement>,
    /// Media types it takes unless a skill says otherwise.
    pub default_input_modes: Vec<String>,
    /// Media types it gives unless a skill says otherwise.
    pub default_output_modes: Vec<String>,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// JWS signatures over the canonical card.
    pub signatures: Vec<CardSignature>,
}

impl AgentCard {
    /// The card of an agent that takes and gives plain text, streams its events and calls webhooks. Its version is
    /// `1.0.0`. A server that serves the card adds the interfaces.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let text = || vec!["text/plain".to_owned()];
        Self {
            name: name.into(),
            description: description.into(),
            version: "1.0.0".to_owned(),
            interfaces: Vec::new(),
            provider: None,
            documentation_url: None,
            icon_url: None,
            capabilities: Capabilities {
                streaming: Some(true),
                push_notifications: Some(true),
                // Every state of a task is an event that can be read again.
                state_transition_history: Some(true),
                ..Capabilities::default()
            },
            security_schemes: BTreeMap::new(),
            security: Vec::new(),
            default_input_modes: text(),
            default_output_modes: text(),
            skills: Vec::new(),
            signatures: Vec::new(),
        }
    }

    /// The same card with one more skill.
    #[must_use]
    pub fn with_skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }
}

/// One address of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// An absolute URL.
    pub url: String,
    /// What is spoken there.
    pub binding: Binding,
    /// Major and minor, such as `1.0`.
    pub version: String,
    /// Opaque; the client sends it back in every request.
    pub tenant: Option<String>,
}

/// A protocol binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    JsonRpc,
    /// HTTP with JSON bodies.
    HttpJson,
    /// gRPC.
    Grpc,
    /// Something else, usually named by a URI.
    Other(String),
}

impl Binding {
    /// The name on the wire.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
            Self::Other(name) => name,
        }
    }

    /// The binding of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "JSONRPC" => Self::JsonRpc,
            "HTTP+JSON" => Self::HttpJson,
            "GRPC" => Self::Grpc,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Who runs an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The organisation.
    pub organization: String,
    /// Its home page.
    pub url: String,
}

/// What of the protocol an agent offers. `None` and `Some(false)` mean the same, but sign differently.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Streaming and subscriptions.
    pub streaming: Option<bool>,
    /// Webhooks.
    pub push_notifications: Option<bool>,
    /// A richer card for those who authenticate.
    pub extended_agent_card: Option<bool>,
    /// 0.x only: the history of states is kept.
    pub state_transition_history: Option<bool>,
    /// Extensions it knows.
    pub extensions: Vec<Extension>,
}

/// A protocol extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Names it.
    pub uri: String,
    /// For people.
    pub description: Option<String>,
    /// A client that does not ask for it is refused.
    pub required: bool,
    /// Its own settings.
    pub params: Option<Object>,
}

/// One thing an agent can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Unique within the agent.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// Keywords.
    pub tags: Vec<String>,
    /// Prompts it can take.
    pub examples: Vec<String>,
    /// Media types it takes; empty means the card's.
    pub input_modes: Vec<String>,
    /// Media types it gives; empty means the card's.
    pub output_modes: Vec<String>,
    /// What it asks for beyond the card's requirements.
    pub security: Vec<SecurityRequirement>,
}

impl Skill {
    /// A skill that takes and gives what the card says.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            tags: Vec::new(),
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            security: Vec::new(),
        }
    }

    /// The same skill with these keywords.
    #[must_use]
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }
}

/// A JWS signature in flattened form with detached payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSignature {
    /// Base64url of the protected header.
    pub protected: String,
    /// Base64url of the signature.
    pub signature: String,
    /// The unprotected header.
    pub header: Option<Object>,
}
