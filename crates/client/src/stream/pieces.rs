//! A message that comes in pieces, put together. Pure.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use switchboard_types::model::{Content, Message, Object, Part, append_parts};

/// What came of a message so far.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    message: Option<Arc<Message>>,
    /// The bytes of its texts.
    text: usize,
    /// About how much memory its parts take.
    size: usize,
}

impl Pieces {
    pub(super) fn message(&self) -> Option<&Arc<Message>> {
        self.message.as_ref()
    }

    pub(super) fn into_message(self) -> Option<Arc<Message>> {
        self.message
    }

    /// About how much memory the parts of the message take.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Adds a piece to what came of its message, by its id. There are agents that repeat all of the text with each
    /// piece. A message with another id takes the place of the one before it.
    ///
    /// Reads no more of what came before than the piece is long, unless the piece repeats it.
    pub(super) fn take(&mut self, piece: &Arc<Message>) {
        let known = self.message.as_mut().filter(|known| known.id == piece.id);
        let all = match known {
            Some(known) if self.text == 0 || !repeats(piece, known, self.text) => {
                append_parts(&mut Arc::make_mut(known).parts, &piece.parts);
                self.text += text_bytes(&piece.parts);
                self.size += parts_size(&piece.parts);
                return;
            }
            Some(known) => with_text_of(piece, known),
            None => Arc::clone(piece),
        };
        self.text = text_bytes(&all.parts);
        self.size = parts_size(&all.parts);
        self.message = Some(all);
    }
}

/// Whether a piece has all of the text of `known`, which has so many bytes in its texts, and more.
fn repeats(piece: &Message, known: &Message, bytes: usize) -> bool {
    let now = piece.text();
    if now.len() <= bytes {
        return false;
    }
    let mut rest = now.as_str();
    for (index, text) in known.parts.iter().filter_map(Part::as_text).enumerate() {
        // As `Message::text` joins them.
        let separator = if index == 0 { "" } else { "\n" };
        let after = rest.strip_prefix(separator);
        match after.and_then(|rest| rest.strip_prefix(text)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    !rest.is_empty()
}

/// A piece that repeats the text of `known`, with the files and data that it does not repeat.
fn with_text_of(piece: &Arc<Message>, known: &Message) -> Arc<Message> {
    let repeated: HashSet<_> = piece.parts.iter().filter_map(file_or_data).collect();
    let is_kept = |part: &&Part| file_or_data(part).is_some_and(|it| !repeated.contains(&it));
    if known.parts.iter().filter(is_kept).count() == 0 {
        return Arc::clone(piece);
    }
    let is_text = |part: &Part| part.as_text().is_some();
    let text_at = known.parts.iter().position(is_text).unwrap_or(0);
    let (before, after) = known.parts.split_at(text_at);
    let parts = before.iter().filter(is_kept).chain(&piece.parts);
    let parts = parts.chain(after.iter().filter(is_kept));
    Arc::new(Message {
        parts: parts.cloned().collect(),
        metadata: piece.metadata.clone().or_else(|| known.metadata.clone()),
        ..Message::clone(piece)
    })
}

/// What tells files and data apart; nothing for a text.
fn file_or_data(part: &Part) -> Option<(Discriminant<Content>, &[u8], Option<&str>)> {
    let bytes = match &part.content {
        Content::Text(_) => return None,
        Content::Raw(bytes) => bytes,
        Content::Url(url) => url.as_bytes(),
        Content::Data(json) => json.as_str().as_bytes(),
    };
    Some((discriminant(&part.content), bytes, part.filename.as_deref()))
}

fn text_bytes(parts: &[Part]) -> usize {
    let texts = parts.iter().filter_map(Part::as_text);
    texts.map(str::len).sum()
}

fn parts_size(parts: &[Part]) -> usize {
    let size = |part: &Part| {
        let content = part.as_text().map(str::len);
        let content = content.or_else(|| file_or_data(part).map(|(_, bytes, _)| bytes.len()));
        let metadata = part
            .metadata
            .as_ref()
            .map_or(0, |it| Object::as_str(it).len());
        size_of::<Part>() + content.unwrap_or_default() + metadata
    };
    parts.iter().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::model::{Json, MessageId, Role};

    fn file(content: &str) -> Part {
        Part::new(Content::Raw(content.to_owned().into()))
    }

    fn joined(pieces: &[&[Part]]) -> Vec<Part> {
        let mut all = Pieces::default();
        for parts in pieces {
            let id = MessageId::new("m").unwrap();
            all.take(&Arc::new(Message::new(id, Role::Agent, parts.to_vec())));
        }
        let message = all.message().unwrap();
        assert_eq!(all.text, text_bytes(&message.parts));
        message.parts.clone()
    }

    #[test]
    fn files_and_data_stay_whatever_text_comes_after_them() {
        let (text, f, g) = (Part::text, file("f"), file("g"));
        let data = Part::data(Json::parse("{\"a\":1}").unwrap());
        let named = Part {
            filename: Some("n".to_owned()),
            ..file("f")
        };
        for (pieces, expected) in [
            (
                vec![vec![f.clone()], vec![text("done")]],
                vec![f.clone(), text("done")],
            ),
            (
                vec![vec![text("A"), f.clone()], vec![text("A and B")]],
                vec![text("A and B"), f.clone()],
            ),
            (
                vec![
                    vec![data.clone(), text("A"), f.clone()],
                    vec![text("A and B"), f.clone(), g.clone()],
                ],
                vec![data.clone(), text("A and B"), f.clone(), g.clone()],
            ),
            (
                vec![vec![text("A"), f.clone()], vec![text("A, B"), f.clone()]],
                vec![text("A, B"), f.clone()],
            ),
            (
                vec![
                    vec![text("A"), f.clone()],
                    vec![text("A, B"), named.clone()],
                ],
                vec![text("A, B"), named, f.clone()],
            ),
            (
                vec![vec![text("A"), f.clone()], vec![text("B")]],
                vec![text("A"), f.clone(), text("B")],
            ),
            (
                vec![vec![text("A"), text("B")], vec![text("A\nB and C")]],
                vec![text("A\nB and C")],
            ),
        ] {
            let pieces: Vec<&[Part]> = pieces.iter().map(Vec::as_slice).collect();
            assert_eq!(joined(&pieces), expected, "{pieces:?}");
        }
    }
}
