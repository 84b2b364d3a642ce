//! The strict model: what remains of a message once its version and binding are forgotten.

mod artifact;
mod card;
mod event;
mod id;
mod json;
mod message;
mod part;
mod push;
mod security;
mod task;
mod time;
mod weight;

pub use artifact::{Artifact, append_parts, apply_artifact};
pub use card::{
    AgentCard, Binding, Capabilities, CardSignature, Extension, Interface, Provider, Skill,
};
pub use event::{ArtifactUpdate, Event, StatusUpdate};
pub use id::{ArtifactId, ContextId, Id, InvalidId, MessageId, PushConfigId, TaskId, kind};
pub use json::{InvalidJson, Json, Object};
pub use message::{Message, Role};
pub use part::{Content, Part, SharedText};
pub use push::{Authentication, PushConfig, Secret};
pub use security::{ApiKeyLocation, OAuthFlow, Scopes, SecurityRequirement, SecurityScheme};
pub use task::{StateClass, Task, TaskState, TaskStatus};
pub use time::{InvalidTimestamp, Timestamp};
