//! Artifacts: what a task produces.

use super::{ArtifactId, Object, Part};

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
}
