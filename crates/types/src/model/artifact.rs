//! Artifacts: what a task produces.

use super::{ArtifactId, Content, Object, Part};

/// One output of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Unique within the task.
    pub id: ArtifactId,
    /// A short name for people.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// At least one part, once decoded.
    pub parts: Vec<Part>,
    /// URIs of the extensions that shaped this artifact.
    pub extensions: Vec<String>,
    /// Free data.
    pub metadata: Option<Object>,
}

impl Artifact {
    /// An artifact with nothing but an id and parts.
    #[must_use]
    pub fn new(id: ArtifactId, parts: Vec<Part>) -> Self {
        Self {
            id,
            name: None,
            description: None,
            parts,
            extensions: Vec::new(),
            metadata: None,
        }
    }

    /// The parts, with the pieces of a streamed text put together again.
    #[must_use]
    pub fn into_joined(self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for part in self.parts {
            let plain =
                part.media_type.is_none() && part.filename.is_none() && part.metadata.is_none();
            match (parts.last_mut().map(|p| &mut p.content), &part.content) {
                (Some(Content::Text(before)), Content::Text(more)) if plain => {
                    before.push_str(more);
                }
                _ => parts.push(part),
            }
        }
        parts
    }
}
