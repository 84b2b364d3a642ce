//! What the model is told: a conversation, as a chat endpoint wants it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Turn};
use switchboard_types::model::{Content, Message, Part, Role, Task};

use super::Settings;

/// Characters of a token, by and large.
const TOKEN: usize = 4;

/// Tokens of an image, by and large.
const IMAGE: usize = 1000;

/// The name of the artifact that is the answer.
pub(super) const ANSWER: &str = "answer";

/// Why a message cannot be told to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("the agent cannot read {0}: send text, data, images or text files")]
    Kind(String),
    #[error("the agent cannot read {0}: only images may be given by URL, with their media type")]
    Linked(String),
    #[error("{0} says that it is text, but is not UTF-8")]
    Garbled(String),
}

/// What is said, and about how many tokens it is.
#[derive(Debug)]
struct Line {
    role: &'static str,
    content: Value,
    tokens: usize,
}

impl Line {
    fn answer(text: String) -> Self {
        Self {
            role: "assistant",
            tokens: tokens(&text),
            content: text.into(),
        }
    }
}

/// All that the model is told in this turn.
pub(super) async fn of(
    turn: &Turn,
    settings: &Settings,
) -> Result<Result<Vec<Value>, Unreadable>, AgentError> {
    let asked = match line(&turn.message, false) {
        Ok(asked) => asked,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let mut before = Vec::new();
    if settings.history_tokens > 0 {
        for task in turn.earlier(settings.history_tasks).await? {
            if task.status.state.is_terminal() {
                before.extend(past(&task));
            }
        }
        before.extend(turn.history_before().filter_map(|m| said(m)));
    }
    let mut told = Vec::new();
    if let Some(system) = &settings.system {
        told.push(json!({ "role": "system", "content": system }));
    }
    let kept = newest(before, settings.history_tokens).chain([asked]);
    told.extend(kept.map(|line| json!({ "role": line.role, "content": line.content })));
    Ok(Ok(told))
}

/// What was said in a task, and the answer; nothing, if there was none.
fn past(task: &Task) -> Vec<Line> {
    let answer = task.artifacts.iter().find(|a| a.id.as_str() == ANSWER);
    let parts = answer.map(|answer| answer.parts.iter());
    let text: String = parts
        .into_iter()
        .flatten()
        .filter_map(Part::as_text)
        .collect();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<Line> = task.history.iter().filter_map(|m| said(m)).collect();
    lines.push(Line::answer(text));
    lines
}

/// What was said once; what cannot be read is only named.
fn said(message: &Message) -> Option<Line> {
    match message.role {
        Role::User => line(message, true).ok(),
        Role::Agent => Some(Line::answer(message.text())),
    }
}

/// The newest lines that fit, beginning with what a user said.
fn newest(lines: Vec<Line>, budget: usize) -> impl Iterator<Item = Line> {
    let mut left = budget;
    let fitting = lines.iter().rev().take_while(|line| {
        let fits = line.tokens <= left;
        left = left.saturating_sub(line.tokens);
        fits
    });
    let skipped = lines.len() - fitting.count();
    let fitting = lines.into_iter().skip(skipped);
    fitting.skip_while(|line| line.role != "user")
}

fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(TOKEN)
}

/// A message of the user. If it is `past`, what cannot be read is named only.
fn line(message: &Message, past: bool) -> Result<Line, Unreadable> {
    let mut parts = Vec::with_capacity(message.parts.len());
    let mut count = 0;
    for part in &message.parts {
        let piece = match piece(part) {
            Ok(piece) => piece,
            Err(_) if past => Piece::Text(format!("[{}]", named(part))),
            Err(unreadable) => return Err(unreadable),
        };
        count += match &piece {
            Piece::Text(text) => tokens(text),
            Piece::Image(_) => IMAGE,
        };
        parts.push(piece);
    }
    Ok(Line {
        role: "user",
        content: content(parts),
        tokens: count,
    })
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Image(String),
}

/// Plain text where it is enough: not every server knows parts.
fn content(pieces: Vec<Piece>) -> Value {
    let is_image = |piece: &Piece| matches!(piece, Piece::Image(_));
    if pieces.iter().any(is_image) {
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => json!({ "type": "text", "text": text }),
            Piece::Image(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
        });
        return parts.collect();
    }
    let texts: Vec<String> = pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Image(text) => text,
        })
        .collect();
    texts.join("\n\n").into()
}

fn piece(part: &Part) -> Result<Piece, Unreadable> {
    let media = part.media_type.as_deref().unwrap_or_default();
    let media = media
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match &part.content {
        Content::Text(text) => Ok(Piece::Text(text.to_string())),
        Content::Data(data) => Ok(Piece::Text(data.as_str().to_owned())),
        Content::Raw(bytes) if media.starts_with("image/") => {
            let encoded = BASE64_STANDARD.encode(bytes);
            Ok(Piece::Image(format!("data:{media};base64,{encoded}")))
        }
        Content::Raw(bytes) if media.is_empty() || is_text(&media) => {
            match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => {
                    let name = part.filename.as_deref();
                    let head = name.map(|name| format!("File {name}:\n\n"));
                    Ok(Piece::Text(head.unwrap_or_default() + text))
                }
                _ if media.is_empty() => Err(Unreadable::Kind(named(part))),
                _ => Err(Unreadable::Garbled(named(part))),
            }
        }
        Content::Raw(_) => Err(Unreadable::Kind(named(part))),
        Content::Url(url) if media.starts_with("image/") && is_web(url) => {
            Ok(Piece::Image(url.clone()))
        }
        Content::Url(_) => Err(Unreadable::Linked(named(part))),
    }
}

fn is_web(url: &str) -> bool {
    ["https://", "http://", "data:image/"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

fn is_text(media: &str) -> bool {
    const TEXT: [&str; 9] = [
        "application/json",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/sql",
        "application/javascript",
        "application/x-sh",
    ];
    let like_text = media.ends_with("+json") || media.ends_with("+xml") || media.ends_with("+yaml");
    media.starts_with("text/") || like_text || TEXT.contains(&media)
}

/// A file, in words.
fn named(part: &Part) -> String {
    let media = part.media_type.as_deref().unwrap_or("unknown type");
    match &part.filename {
        Some(name) => format!("the file {name:?} ({media})"),
        None => format!("a file ({media})"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use switchboard_types::model::{
        Artifact, ArtifactId, ContextId, Json, MessageId, TaskId, TaskState, TaskStatus,
    };

    use super::*;

    fn file(content: Content, media: Option<&str>, name: Option<&str>) -> Part {
        Part {
            media_type: media.map(str::to_owned),
            filename: name.map(str::to_owned),
            ..Part::new(content)
        }
    }

    fn raw(bytes: &'static [u8], media: Option<&str>, name: Option<&str>) -> Part {
        file(Content::Raw(Bytes::from_static(bytes)), media, name)
    }

    fn told(parts: Vec<Part>) -> Result<Value, Unreadable> {
        let id = MessageId::new("m").unwrap();
        line(&Message::new(id, Role::User, parts), false).map(|line| line.content)
    }

    #[test]
    fn text_files_and_data_are_one_text_where_there_is_no_image() {
        let data = Part::data(Json::parse(r#"{"a": 1}"#).unwrap());
        let parts = vec![
            Part::text("look"),
            data,
            raw(b"x = 1", Some("text/plain; charset=utf-8"), Some("a.toml")),
            raw(b"<a/>", Some("application/atom+xml"), None),
        ];
        let expected = "look\n\n{\"a\": 1}\n\nFile a.toml:\n\nx = 1\n\n<a/>";
        assert_eq!(told(parts).unwrap(), expected);
    }

    #[test]
    fn images_are_urls_beside_text() {
        let link = "https://example.com/a.png".to_owned();
        let parts = vec![
            Part::text("what is this"),
            raw(b"\x89PNG", Some("image/png"), Some("a.png")),
            file(Content::Url(link), Some("image/png"), None),
        ];
        let expected = json!([
            { "type": "text", "text": "what is this" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw==" } },
            { "type": "image_url", "image_url": { "url": "https://example.com/a.png" } },
        ]);
        assert_eq!(told(parts).unwrap(), expected);
    }

    #[test]
    fn what_a_model_cannot_read_is_named() {
        let link = |url: &str| Content::Url(url.to_owned());
        for (part, text) in [
            (
                raw(b"%PDF", Some("application/pdf"), Some("a.pdf")),
                "the agent cannot read the file \"a.pdf\" (application/pdf): send text, data, images or text files",
            ),
            (
                raw(b"\0", None, None),
                "the agent cannot read a file (unknown type): send text, data, images or text files",
            ),
            (
                raw(b"\xff", Some("text/csv"), Some("a.csv")),
                "the file \"a.csv\" (text/csv) says that it is text, but is not UTF-8",
            ),
            (
                file(link("https://example.com/a"), None, None),
                "the agent cannot read a file (unknown type): only images may be given by URL, with their media type",
            ),
            (
                file(link("file:///etc/passwd"), Some("image/png"), None),
                "the agent cannot read a file (image/png): only images may be given by URL, with their media type",
            ),
        ] {
            assert_eq!(told(vec![part]).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn a_task_is_told_with_what_the_agent_asked_and_only_if_it_was_answered() {
        let says = |id: &str, role| {
            let id = MessageId::new(id).unwrap();
            let text = vec![Part::text(id.as_str())];
            Arc::new(Message::new(id, role, text))
        };
        let history = vec![
            says("hi", Role::User),
            says("who are you?", Role::Agent),
            says("me", Role::User),
        ];
        let mut task = Task {
            id: TaskId::new("t").unwrap(),
            context_id: ContextId::new("c").unwrap(),
            status: TaskStatus {
                state: TaskState::Completed,
                message: None,
                timestamp: None,
            },
            artifacts: Vec::new(),
            history,
            metadata: None,
        };
        let texts = |lines: Vec<Line>| -> Vec<Value> {
            lines.into_iter().map(|line| line.content).collect()
        };
        assert!(past(&task).is_empty());
        let id = ArtifactId::new(ANSWER).unwrap();
        let pieces = vec![Part::text("wel"), Part::text("come")];
        task.artifacts = vec![Arc::new(Artifact::new(id, pieces))];
        assert_eq!(texts(past(&task)), ["hi", "who are you?", "me", "welcome"]);
    }

    #[test]
    fn the_newest_is_kept_and_begins_with_the_user() {
        let lines = |sizes: &[usize]| -> Vec<Line> {
            let made = sizes.iter().enumerate().map(|(at, tokens)| Line {
                role: if at % 2 == 0 { "user" } else { "assistant" },
                content: at.into(),
                tokens: *tokens,
            });
            made.collect()
        };
        let kept = |sizes: &[usize], budget| -> Vec<Value> {
            newest(lines(sizes), budget)
                .map(|line| line.content)
                .collect()
        };
        let whole: Vec<Value> = vec![0.into(), 1.into(), 2.into(), 3.into()];
        assert_eq!(kept(&[1, 1, 1, 1], 4), whole);
        assert_eq!(kept(&[1, 1, 1, 1], 3), whole[2..]);
        assert_eq!(kept(&[1, 1, 1, 1], 2), whole[2..]);
        assert_eq!(kept(&[1, 1, 1, 1], 1), Vec::<Value>::new());
        // A gap in the middle would tell a wrong story.
        assert_eq!(kept(&[1, 1, 9, 1], 5), Vec::<Value>::new());
    }
}
