//! What an agent of OpenClaw is told: a message, as a gateway takes it. Pure.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use switchboard_types::model::{Content, Message, Part};
use switchboard_types::{Error, ErrorKind};

use super::Settings;

/// What stands for a text where there are files only: a gateway wants one.
const NO_TEXT: &str = "See what is attached.";
/// The most of all files together: in base64, it still goes into one frame.
pub(super) const ALL_FILES: usize = 16 << 20;

/// A message, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) files: Vec<Attached>,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attached {
    pub(super) name: String,
    /// Its media type, without parameters, in lower case.
    pub(super) media: String,
    /// Its content in base64.
    pub(super) content: String,
}

impl Attached {
    pub(super) fn is_image(&self) -> bool {
        self.media.starts_with("image/")
    }

    /// As gateways take it.
    fn frame(&self) -> Value {
        json!({
            "type": if self.is_image() { "image" } else { "file" },
            "mimeType": self.media,
            "fileName": self.name,
            "content": self.content,
        })
    }

    /// A `data:` URL.
    pub(super) fn url(&self) -> String {
        format!("data:{};base64,{}", self.media, self.content)
    }
}

impl Prompt {
    /// What is in a message.
    pub(super) fn of(message: &Message, settings: &Settings) -> Result<Self, Error> {
        let mut texts = Vec::new();
        let mut files = Vec::new();
        let mut size = 0;
        for (at, part) in message.parts.iter().enumerate() {
            let place = format!("message.parts[{at}]");
            match &part.content {
                Content::Text(text) => texts.push(text.to_string()),
                Content::Data(data) if settings.data_as_text => {
                    texts.push(data.as_str().to_owned());
                }
                Content::Data(_) => {
                    let text = format!("this agent does not accept data parts ({place})");
                    return Err(Error::new(ErrorKind::ContentTypeNotSupported, text));
                }
                Content::Raw(bytes) => {
                    size += bytes.len();
                    let most = settings.max_file_bytes;
                    let too_large = if bytes.len() > most {
                        Some(format!("a file is larger than {most} bytes ({place})"))
                    } else {
                        (size > ALL_FILES).then(|| too_much(at))
                    };
                    if let Some(text) = too_large {
                        return Err(Error::new(ErrorKind::PayloadTooLarge, text));
                    }
                    files.push(attached(part, files.len(), BASE64_STANDARD.encode(bytes)));
                }
                Content::Url(_) => {
                    let text = format!("this agent accepts only inline files ({place})");
                    return Err(Error::new(ErrorKind::ContentTypeNotSupported, text));
                }
            }
        }
        let mut text = texts.join("\n");
        if text.trim().is_empty() {
            if files.is_empty() {
                let text = "the message is empty";
                return Err(Error::new(ErrorKind::InvalidParams, text));
            }
            NO_TEXT.clone_into(&mut text);
        }
        let prompt = Self { text, files };
        if prompt.needs_chat() && prompt.text.trim_start().starts_with('/') {
            let text = "a message with files must not begin with a slash: OpenClaw would take it for a command";
            return Err(Error::new(ErrorKind::InvalidParams, text));
        }
        Ok(prompt)
    }

    /// Whether there are files that `agent` does not take, and `chat.send` does.
    pub(super) fn needs_chat(&self) -> bool {
        self.files.iter().any(|file| !file.is_image())
    }

    /// The request that begins a run, and its name.
    pub(super) fn request(
        &self,
        settings: &Settings,
        session: &str,
        run: &str,
    ) -> (&'static str, Value) {
        let mut params = json!({
            "message": self.text,
            "sessionKey": session,
            "idempotencyKey": run,
            "deliver": false,
        });
        if !self.files.is_empty() {
            params["attachments"] = self.files.iter().map(Attached::frame).collect();
        }
        if self.needs_chat() {
            if let Some(most) = settings.timeout {
                params["timeoutMs"] = u64::try_from(most.as_millis()).unwrap_or(u64::MAX).into();
            }
            return ("chat.send", params);
        }
        params["agentId"] = settings.agent.as_str().into();
        if let Some(most) = settings.timeout {
            // Seconds, of all things.
            params["timeout"] = most.as_secs().saturating_add(1).into();
        }
        ("agent", params)
    }
}

/// With this part, all files together are too large.
pub(super) fn too_much(at: usize) -> String {
    format!("files are larger than {ALL_FILES} bytes (message.parts[{at}])")
}

fn attached(part: &Part, at: usize, content: String) -> Attached {
    let media = part.media_type.as_deref().unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    let media = match media {
        "" => "application/octet-stream".to_owned(),
        media => media.to_ascii_lowercase(),
    };
    let named = part.filename.as_deref().filter(|name| !name.is_empty());
    let name = named.map_or_else(|| format!("file-{}", at + 1), str::to_owned);
    Attached {
        name,
        media,
        content,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use switchboard_types::model::{Json, MessageId, Role};

    use super::*;

    fn file(bytes: &'static [u8], media: &str, name: Option<&str>) -> Part {
        Part {
            media_type: Some(media.to_owned()),
            filename: name.map(str::to_owned),
            ..Part::new(Content::Raw(Bytes::from_static(bytes)))
        }
    }

    fn told(parts: Vec<Part>, settings: &Settings) -> Result<Prompt, Error> {
        let id = MessageId::new("m").unwrap();
        Prompt::of(&Message::new(id, Role::User, parts), settings)
    }

    #[test]
    fn texts_are_joined_and_the_agent_is_always_named() {
        let mut settings = Settings::new("main");
        settings.timeout = Some(Duration::from_secs(600));
        let prompt = told(vec![Part::text("a"), Part::text("b")], &settings).unwrap();
        let (method, params) = prompt.request(&settings, "agent:main:a2a:c", "t");
        assert_eq!(method, "agent");
        let expected = json!({
            "message": "a\nb", "sessionKey": "agent:main:a2a:c", "idempotencyKey": "t",
            "deliver": false, "agentId": "main", "timeout": 601,
        });
        assert_eq!(params, expected);
    }

    #[test]
    fn each_file_goes_where_it_is_taken() {
        let settings = Settings::new("main");
        let image = file(b"png", "image/PNG; x=y", Some("a.png"));
        let prompt = told(vec![image.clone()], &settings).unwrap();
        let (method, params) = prompt.request(&settings, "s", "t");
        assert_eq!(method, "agent");
        assert_eq!(params["message"], NO_TEXT);
        let expected = json!([{"type": "image", "mimeType": "image/png", "fileName": "a.png", "content": "cG5n"}]);
        assert_eq!(params["attachments"], expected);
        let both = vec![
            Part::text("x"),
            image,
            file(b"%PDF", "application/pdf", None),
        ];
        let (method, params) = told(both, &settings).unwrap().request(&settings, "s", "t");
        assert_eq!(method, "chat.send");
        assert_eq!(params.get("agentId"), None);
        assert_eq!(params["attachments"][1]["type"], "file");
        assert_eq!(params["attachments"][1]["fileName"], "file-2");
    }

    #[test]
    fn what_cannot_be_taken_is_refused_with_its_place() {
        let mut settings = Settings::new("main");
        settings.max_file_bytes = 3;
        let data = || Part::data(Json::parse(r#"{"a":1}"#).unwrap());
        let link = Part::new(Content::Url("https://example.com/a.png".to_owned()));
        for (parts, kind, text) in [
            (
                vec![Part::text("x"), data()],
                ErrorKind::ContentTypeNotSupported,
                "this agent does not accept data parts (message.parts[1])",
            ),
            (
                vec![file(b"four", "image/png", None)],
                ErrorKind::PayloadTooLarge,
                "a file is larger than 3 bytes (message.parts[0])",
            ),
            (
                vec![link],
                ErrorKind::ContentTypeNotSupported,
                "this agent accepts only inline files (message.parts[0])",
            ),
            (
                vec![Part::text(" ")],
                ErrorKind::InvalidParams,
                "the message is empty",
            ),
            (
                vec![Part::text("/reset"), file(b"x", "text/plain", None)],
                ErrorKind::InvalidParams,
                "a message with files must not begin with a slash: OpenClaw would take it for a command",
            ),
        ] {
            let error = told(parts, &settings).unwrap_err();
            assert_eq!((error.kind(), error.message()), (kind, text));
        }
        settings.data_as_text = true;
        assert_eq!(told(vec![data()], &settings).unwrap().text, r#"{"a":1}"#);
    }

    #[test]
    fn all_files_together_have_a_limit_too() {
        let mut settings = Settings::new("main");
        settings.max_file_bytes = ALL_FILES;
        let half: &'static [u8] = Box::leak(vec![0; ALL_FILES / 2 + 1].into_boxed_slice());
        let parts = vec![file(half, "image/png", None), file(half, "image/png", None)];
        let error = told(parts, &settings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PayloadTooLarge);
        assert!(error.message().starts_with("files are larger than"));
    }
}
