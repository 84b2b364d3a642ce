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

    /// Extends this text by the text of `more`, if the two parts differ in nothing but their text. Whether they do.
    pub fn extend_text(&mut self, more: &Self) -> bool {
        let alike = self.is_alike(more);
        match (&mut self.content, &more.content) {
            (Content::Text(text), Content::Text(more)) if alike => {
                text.push_str(more);
                true
            }
            _ => false,
        }
    }

    /// Whether two parts agree in everything but their content.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        self.media_type == other.media_type
            && self.filename == other.filename
            && self.metadata == other.metadata
    }

    /// Whether this is an empty text that names no file and carries no metadata.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.as_text() == Some("") && self.filename.is_none() && self.metadata.is_none()
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
