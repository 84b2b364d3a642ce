//! Outlines: values without their large members, and where those belong.

use std::sync::Arc;

use bytes::Bytes;

use super::{Elements, SMALL, Value};
use crate::model::{Artifact, Content, Event, Json, Message, Part};
use crate::operation::{Response, TaskView};
use crate::version::Dialect;
use crate::wire::write::Out;
use crate::wire::{v0_3, v1_0, write_event, write_response};

/// What an outline is of.
#[derive(Clone)]
pub(super) enum Subject {
    Response(Arc<Response>),
    Event(Arc<Event>, bool),
    Task { view: TaskView, in_page: bool },
    Message(Arc<Message>),
    Artifact(Arc<Artifact>),
    Part(Arc<Holder>, usize),
}

/// What holds parts.
pub(super) enum Holder {
    Message(Arc<Message>),
    Artifact(Arc<Artifact>),
}

/// What belongs into a gap of an outline.
pub(super) enum Gap {
    Value(Value),
    Elements(Elements),
    /// One of the subject's own strings.
    Text(usize),
    Json(Json),
    /// The bytes of a file, and whether they are written as base64 of their base64 text.
    Raw(Bytes, bool),
}

/// Writes a value, or its outline.
pub(super) fn encode<O: Out>(dialect: Dialect, subject: &Subject, out: &mut O) {
    match (subject, dialect) {
        (Subject::Response(response), _) => write_response(dialect, response, out),
        (Subject::Event(event, last), _) => write_event(dialect, event, *last, out),
        (Subject::Task { view, in_page }, Dialect::V1) => {
            v1_0::encode::task_outline(view, *in_page, out);
        }
        (Subject::Message(message), Dialect::V1) => v1_0::encode::message(message, out),
        (Subject::Artifact(artifact), Dialect::V1) => v1_0::encode::artifact(artifact, out),
        (Subject::Part(holder, index), Dialect::V1) => {
            if let Some(part) = holder.part(*index) {
                v1_0::encode::part(part, out);
            }
        }
        (subject, Dialect::V0Json | Dialect::V0Proto(_)) => {
            let writer = v0_3::encode::Writer::new(dialect);
            match subject {
                Subject::Task { view, .. } => writer.task_outline(view, out),
                Subject::Message(message) => writer.message(message, out),
                Subject::Artifact(artifact) => writer.artifact(artifact, out),
                Subject::Part(holder, index) => {
                    if let Some(part) = holder.part(*index) {
                        writer.part(part, out);
                    }
                }
                Subject::Response(_) | Subject::Event(..) => {}
            }
        }
    }
}

impl Subject {
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Response(_) | Self::Event(..) => usize::MAX,
            Self::Task { view, .. } => view.weight(),
            Self::Message(message) => message.weight(),
            Self::Artifact(artifact) => artifact.weight(),
            Self::Part(holder, index) => holder.part(*index).map_or(0, Part::weight),
        }
    }

    fn has(&self, elements: Elements) -> bool {
        match self {
            Self::Response(response) => {
                matches!(
                    (&**response, elements),
                    (Response::Tasks(_), Elements::Tasks)
                )
            }
            Self::Task { .. } => matches!(elements, Elements::Artifacts | Elements::History),
            Self::Message(_) => matches!(
                elements,
                Elements::Parts | Elements::Extensions | Elements::References
            ),
            Self::Artifact(_) => matches!(elements, Elements::Parts | Elements::Extensions),
            Self::Event(..) | Self::Part(..) => false,
        }
    }

    /// An element that has an outline of its own.
    pub(super) fn element(&self, elements: Elements, index: usize) -> Option<Self> {
        let holder = match (self, elements) {
            (Self::Response(response), Elements::Tasks) => {
                let Response::Tasks(page) = &**response else {
                    return None;
                };
                let view = page.tasks.get(index)?.clone();
                let in_page = true;
                return Some(Self::Task { view, in_page });
            }
            (Self::Task { view, .. }, Elements::Artifacts) => {
                return view.task.artifacts.get(index).cloned().map(Self::Artifact);
            }
            (Self::Task { view, .. }, Elements::History) => {
                return view.history().get(index).cloned().map(Self::Message);
            }
            (Self::Message(message), Elements::Parts) => Holder::Message(Arc::clone(message)),
            (Self::Artifact(artifact), Elements::Parts) => Holder::Artifact(Arc::clone(artifact)),
            _ => return None,
        };
        holder.part(index)?;
        Some(Self::Part(Arc::new(holder), index))
    }

    /// An element that is a string.
    pub(super) fn short_element(&self, elements: Elements, index: usize) -> Option<&str> {
        match (self, elements) {
            (Self::Message(message), Elements::Extensions) => {
                message.extensions.get(index).map(String::as_str)
            }
            (Self::Message(message), Elements::References) => {
                message.reference_task_ids.get(index).map(|id| id.as_str())
            }
            (Self::Artifact(artifact), Elements::Extensions) => {
                artifact.extensions.get(index).map(String::as_str)
            }
            _ => None,
        }
    }

    /// The strings of its own that may be long.
    fn strings(&self) -> [Option<&str>; 3] {
        match self {
            Self::Part(holder, index) => {
                let Some(part) = holder.part(*index) else {
                    return [None; 3];
                };
                let content = match &part.content {
                    Content::Text(text) => Some(text.as_str()),
                    Content::Url(url) => Some(url.as_str()),
                    Content::Raw(_) | Content::Data(_) => None,
                };
                [
                    content,
                    part.filename.as_deref(),
                    part.media_type.as_deref(),
                ]
            }
            Self::Artifact(artifact) => {
                let (name, about) = (artifact.name.as_deref(), artifact.description.as_deref());
                [name, about, None]
            }
            Self::Response(_) | Self::Event(..) | Self::Task { .. } | Self::Message(_) => [None; 3],
        }
    }

    pub(super) fn string(&self, index: usize) -> Option<&str> {
        self.strings().get(index).copied().flatten()
    }
}

impl Holder {
    fn part(&self, index: usize) -> Option<&Part> {
        match self {
            Self::Message(message) => message.parts.get(index),
            Self::Artifact(artifact) => artifact.parts.get(index),
        }
    }
}

/// A value without its large members.
pub(super) struct Outline<'a> {
    bytes: Vec<u8>,
    gaps: Vec<(usize, Gap)>,
    subject: &'a Subject,
}

impl<'a> Outline<'a> {
    /// The outline of a value: what it has beside its large members, and where those belong.
    pub(super) fn of(dialect: Dialect, subject: &'a Subject) -> (Vec<u8>, Vec<(usize, Gap)>) {
        let mut outline = Self {
            bytes: Vec::with_capacity(512),
            gaps: Vec::new(),
            subject,
        };
        encode(dialect, subject, &mut outline);
        (outline.bytes, outline.gaps)
    }

    fn leave(&mut self, gap: Gap) -> bool {
        self.gaps.push((self.bytes.len(), gap));
        true
    }
}

impl Out for Outline<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn leaves_out(&mut self, value: impl FnOnce() -> Value) -> bool {
        let value = value();
        let weight = match &value {
            Value::Task(view) => view.weight(),
            Value::Message(message) => message.weight(),
            Value::Artifact(artifact) => artifact.weight(),
        };
        weight > SMALL && self.leave(Gap::Value(value))
    }

    fn leaves_out_elements(&mut self, elements: Elements) -> bool {
        self.subject.has(elements) && self.leave(Gap::Elements(elements))
    }

    fn leaves_out_string(&mut self, text: &str) -> bool {
        if text.len() <= SMALL {
            return false;
        }
        let same = |known: &Option<&str>| known.is_some_and(|known| std::ptr::eq(known, text));
        let index = self.subject.strings().iter().position(same);
        index.is_some_and(|index| self.leave(Gap::Text(index)))
    }

    fn leaves_out_json(&mut self, json: &Json) -> bool {
        json.as_str().len() > SMALL && self.leave(Gap::Json(json.clone()))
    }

    fn leaves_out_raw(&mut self, bytes: &Bytes, twice: bool) -> bool {
        bytes.len() > SMALL && self.leave(Gap::Raw(bytes.clone(), twice))
    }
}
