//! Parts: the pieces of content in messages and artifacts.

use bytes::Bytes;

use super::{Json, Object};

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The content itself.
    pub content: Content,
    /// Its media type; usable on every kind of part.
    pub media_type: Option<String>,
    /// A file name; usable on every kind of part.
    pub filename: Option<String>,
    /// Free data about this part.
    pub metadata: Option<Object>,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A file, inline.
    Raw(Bytes),
    /// A file, by reference.
    Url(String),
    /// Structured data: any JSON value, even a scalar or null.
    Data(Json),
}

impl Part {
    /// A part with nothing but its content.
    #[must_use]
    pub fn new(content: Content) -> Self {
        Self {
            content,
            media_type: None,
            filename: None,
            metadata: None,
        }
    }

    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// A data part.
    #[must_use]
    pub fn data(data: Json) -> Self {
        Self::new(Content::Data(data))
    }

    /// The text, if this is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        }
    }

    /// The media type this part has, said or implied: text is `text/plain`, data `application/json`.
    #[must_use]
    pub fn effective_media_type(&self) -> Option<&str> {
        match (&self.media_type, &self.content) {
            (Some(said), _) => Some(said),
            (None, Content::Text(_)) => Some("text/plain"),
            (None, Content::Data(_)) => Some("application/json"),
            (None, Content::Raw(_) | Content::Url(_)) => None,
        }
    }
}
