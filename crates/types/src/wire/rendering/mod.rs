//! Large values as JSON, piece by piece: a reader that does not read costs one piece, not the whole answer.
//!
//! The encoders of `v1_0` and `v0_3` write small values whole. Of a large one they write the outline: everything but
//! its large members, and where those belong. A [`Rendering`] keeps a stack of outlines, arrays and texts that it is
//! in the middle of, all of which refer to the shared model, and writes on where it stopped.

mod outline;

use std::fmt;
use std::sync::Arc;
use std::vec;

use bytes::Bytes;

use self::outline::{Gap, Outline, Subject, encode};
use super::write;
use crate::model::{Artifact, Event, Json, Message, Task};
use crate::operation::{Response, TaskView};
use crate::version::Dialect;

/// About how many bytes a piece has. Escapes can make it some times as large.
const PIECE: usize = 32 << 10;

/// What weighs less is written whole.
const SMALL: usize = 8 << 10;

/// How much of a text or file is written at once; a multiple of nine, so that base64, and base64 of that, needs no
/// padding within.
const SLICE: usize = 9 << 10;

/// A document that is written piece by piece.
pub struct Rendering {
    dialect: Dialect,
    /// What is being written, innermost last.
    stack: Vec<Frame>,
}

/// A value that an outline leaves out.
#[derive(Clone)]
pub(crate) enum Value {
    /// As much of a task as is to be seen.
    Task(TaskView),
    /// A message.
    Message(Arc<Message>),
    /// An artifact.
    Artifact(Arc<Artifact>),
}

/// An array that an outline leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elements {
    /// The tasks of a page.
    Tasks,
    /// The artifacts of a task.
    Artifacts,
    /// The messages of a task.
    History,
    /// The parts of a message or artifact.
    Parts,
    /// The extensions of a message or artifact.
    Extensions,
    /// The tasks that a message refers to.
    References,
}

/// What is being written.
enum Frame {
    Literal(Vec<u8>),
    Outline {
        subject: Subject,
        bytes: Vec<u8>,
        written: usize,
        gaps: vec::IntoIter<(usize, Gap)>,
    },
    Elements {
        subject: Subject,
        elements: Elements,
        next: usize,
    },
    Text {
        subject: Subject,
        index: usize,
        written: usize,
    },
    Json {
        json: Json,
        written: usize,
    },
    Raw {
        bytes: Bytes,
        twice: bool,
        written: usize,
    },
}

impl Rendering {
    /// An answer: the `result` of JSON-RPC, the body of REST.
    #[must_use]
    pub fn response(dialect: Dialect, response: Response) -> Self {
        Self::of(dialect, Subject::Response(Arc::new(response)))
    }

    /// A stream item; `last` as for [`encode_event`](super::encode_event).
    #[must_use]
    pub fn event(dialect: Dialect, event: Event, last: bool) -> Self {
        Self::of(dialect, Subject::Event(Arc::new(event), last))
    }

    /// A whole task.
    #[must_use]
    pub fn task(dialect: Dialect, task: Arc<Task>) -> Self {
        let view = TaskView::whole(task);
        let in_page = false;
        Self::of(dialect, Subject::Task { view, in_page })
    }

    fn of(dialect: Dialect, subject: Subject) -> Self {
        let mut rendering = Self {
            dialect,
            stack: Vec::with_capacity(8),
        };
        rendering.outline(subject);
        rendering
    }

    /// The same between `before` and `after`.
    #[must_use]
    pub fn within(mut self, (before, after): (Vec<u8>, Vec<u8>)) -> Self {
        self.stack.insert(0, Frame::Literal(after));
        self.stack.push(Frame::Literal(before));
        self
    }

    /// The next piece; `None` after the last one.
    pub fn next_piece(&mut self) -> Option<Vec<u8>> {
        if self.stack.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(PIECE + SLICE + SLICE / 2);
        while out.len() < PIECE {
            let Some(frame) = self.stack.pop() else {
                break;
            };
            self.write(frame, &mut out);
        }
        // What was left of the last frame may have been nothing.
        (!out.is_empty()).then_some(out)
    }

    /// Writes some of a frame; what is left of it goes back to the stack, below what must come first.
    fn write(&mut self, frame: Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::Literal(bytes) => out.extend_from_slice(&bytes),
            Frame::Outline {
                subject,
                bytes,
                written,
                mut gaps,
            } => {
                let Some((at, gap)) = gaps.next() else {
                    out.extend_from_slice(bytes.get(written..).unwrap_or_default());
                    return;
                };
                out.extend_from_slice(bytes.get(written..at).unwrap_or_default());
                self.stack.push(Frame::Outline {
                    subject: subject.clone(),
                    bytes,
                    written: at,
                    gaps,
                });
                self.fill(subject, gap, out);
            }
            Frame::Elements {
                subject,
                elements,
                next,
            } => self.write_elements(subject, elements, next, out),
            Frame::Text {
                subject,
                index,
                written,
            } => {
                let text = subject.string(index).unwrap_or_default();
                let end = text.floor_char_boundary(written.saturating_add(SLICE));
                escape(text.get(written..end).unwrap_or_default(), out);
                if end < text.len() {
                    self.stack.push(Frame::Text {
                        subject,
                        index,
                        written: end,
                    });
                } else {
                    out.push(b'"');
                }
            }
            Frame::Json { json, written } => {
                let rest = json.as_str().as_bytes().get(written..).unwrap_or_default();
                let slice = &rest[..rest.len().min(SLICE)];
                out.extend_from_slice(slice);
                if slice.len() < rest.len() {
                    let written = written + slice.len();
                    self.stack.push(Frame::Json { json, written });
                }
            }
            Frame::Raw {
                bytes,
                twice,
                written,
            } => {
                let rest = bytes.get(written..).unwrap_or_default();
                let slice = &rest[..rest.len().min(SLICE)];
                write::raw(slice, twice, out);
                if slice.len() < rest.len() {
                    let written = written + slice.len();
                    self.stack.push(Frame::Raw {
                        bytes,
                        twice,
                        written,
                    });
                } else {
                    out.push(b'"');
                }
            }
        }
    }

    /// Begins what belongs into a gap.
    fn fill(&mut self, subject: Subject, gap: Gap, out: &mut Vec<u8>) {
        match gap {
            Gap::Value(Value::Task(view)) => {
                let in_page = false;
                self.outline(Subject::Task { view, in_page });
            }
            Gap::Value(Value::Message(message)) => self.outline(Subject::Message(message)),
            Gap::Value(Value::Artifact(artifact)) => self.outline(Subject::Artifact(artifact)),
            Gap::Elements(elements) => {
                out.push(b'[');
                self.stack.push(Frame::Elements {
                    subject,
                    elements,
                    next: 0,
                });
            }
            Gap::Text(index) => {
                out.push(b'"');
                self.stack.push(Frame::Text {
                    subject,
                    index,
                    written: 0,
                });
            }
            Gap::Json(json) => self.stack.push(Frame::Json { json, written: 0 }),
            Gap::Raw(bytes, twice) => {
                out.push(b'"');
                self.stack.push(Frame::Raw {
                    bytes,
                    twice,
                    written: 0,
                });
            }
        }
    }

    /// Writes elements until the piece is full or one of them needs an outline.
    fn write_elements(
        &mut self,
        subject: Subject,
        elements: Elements,
        mut next: usize,
        out: &mut Vec<u8>,
    ) {
        while out.len() < PIECE {
            if let Some(text) = subject.short_element(elements, next) {
                comma(next, out);
                write::string(text, out);
                next += 1;
                continue;
            }
            let Some(element) = subject.element(elements, next) else {
                out.push(b']');
                return;
            };
            comma(next, out);
            next += 1;
            if element.weight() > SMALL {
                self.stack.push(Frame::Elements {
                    subject,
                    elements,
                    next,
                });
                self.outline(element);
                return;
            }
            encode(self.dialect, &element, out);
        }
        self.stack.push(Frame::Elements {
            subject,
            elements,
            next,
        });
    }

    fn outline(&mut self, subject: Subject) {
        let (bytes, gaps) = Outline::of(self.dialect, &subject);
        self.stack.push(Frame::Outline {
            subject,
            bytes,
            written: 0,
            gaps: gaps.into_iter(),
        });
    }
}

impl Iterator for Rendering {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.next_piece()
    }
}

impl fmt::Debug for Rendering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendering").finish_non_exhaustive()
    }
}

fn comma(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// Writes a text without its quotes.
fn escape(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    write::string(text, out);
    out.pop();
    if out.len() > start {
        out.remove(start);
    }
}
