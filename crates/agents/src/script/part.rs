//! Parts as scripts write them, and as they become parts of the model.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_types::model::{self, Content, Json, Object};

use super::scope::Scope;
use super::template::{Data, Template};

/// One piece of content: exactly one of `text`, `file`, `raw`, `url`, `data` and `copy`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Fields")]
#[schemars(with = "Fields")]
pub struct Part {
    source: Source,
    media_type: Option<Template>,
    filename: Option<Template>,
    metadata: BTreeMap<String, Data>,
}

#[derive(Debug, Clone)]
enum Source {
    Text(Template),
    File(Template),
    Raw(Bytes),
    Url(Template),
    Data(Data),
    Copy(Original),
}

/// Where parts are copied from.
#[derive(Debug, Clone)]
enum Original {
    Message,
    Attachments,
    Call(String),
}

/// One piece of content: exactly one of `text`, `file`, `raw`, `url`, `data` and `copy`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["text"] }, { "required": ["file"] }, { "required": ["raw"] },
    { "required": ["url"] }, { "required": ["data"] }, { "required": ["copy"] },
]))]
struct Fields {
    /// Plain text.
    text: Option<Template>,
    /// A file whose content is this text.
    file: Option<Template>,
    /// A file whose content is written in base64.
    raw: Option<String>,
    /// A file somewhere else.
    url: Option<Template>,
    /// Structured data.
    data: Option<Data>,
    /// Parts as they came: `message` (all of the message), `attachments` (all but its texts) or `call.NAME`
    /// (what that call brought back).
    copy: Option<String>,
    /// The media type.
    media_type: Option<Template>,
    /// The file name.
    filename: Option<Template>,
    /// Metadata of the part.
    #[serde(default)]
    metadata: BTreeMap<String, Data>,
}

impl TryFrom<Fields> for Part {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let sources = [
            fields.text.map(|text| Ok(Source::Text(text))),
            fields.file.map(|text| Ok(Source::File(text))),
            fields.raw.map(|raw| base64(&raw).map(Source::Raw)),
            fields.url.map(|url| Ok(Source::Url(url))),
            fields.data.map(|data| Ok(Source::Data(data))),
            fields.copy.map(|from| original(&from).map(Source::Copy)),
        ];
        let mut given = sources.into_iter().flatten();
        let (Some(source), None) = (given.next(), given.next()) else {
            return Err(
                "a part needs exactly one of text, file, raw, url, data and copy".to_owned(),
            );
        };
        Ok(Self {
            source: source?,
            media_type: fields.media_type,
            filename: fields.filename,
            metadata: fields.metadata,
        })
    }
}

fn base64(text: &str) -> Result<Bytes, String> {
    STANDARD
        .decode(text)
        .map(Bytes::from)
        .map_err(|e| format!("raw is not base64: {e}"))
}

fn original(text: &str) -> Result<Original, String> {
    match text.split_once('.') {
        None if text == "message" => Ok(Original::Message),
        None if text == "attachments" => Ok(Original::Attachments),
        Some(("call", name)) if !name.is_empty() => Ok(Original::Call(name.to_owned())),
        _ => Err(format!(
            "cannot copy `{text}`, only message, attachments or call.NAME"
        )),
    }
}

impl Part {
    /// The call it copies from, if it does.
    pub(super) fn copied_call(&self) -> Option<&str> {
        match &self.source {
            Source::Copy(Original::Call(name)) => Some(name),
            _ => None,
        }
    }

    /// Its templates.
    pub(super) fn templates<'a>(&'a self, out: &mut Vec<&'a Template>) {
        match &self.source {
            Source::Text(text) | Source::File(text) | Source::Url(text) => out.push(text),
            Source::Data(data) => data.templates(out),
            Source::Raw(_) | Source::Copy(_) => {}
        }
        out.extend(self.media_type.iter().chain(&self.filename));
        self.metadata.values().for_each(|data| data.templates(out));
    }

    /// Adds what it stands for: one part, or all that it copies.
    fn render(&self, scope: &Scope, out: &mut Vec<model::Part>) {
        let content = match &self.source {
            Source::Text(text) => Content::Text(text.render(scope).into()),
            Source::File(text) => Content::Raw(text.render(scope).into()),
            Source::Raw(bytes) => Content::Raw(bytes.clone()),
            Source::Url(url) => Content::Url(url.render(scope)),
            Source::Data(data) => Content::Data(Json::from(&data.render(scope))),
            Source::Copy(original) => {
                copy(original, scope, out);
                return;
            }
        };
        out.push(model::Part {
            content,
            media_type: self.media_type.as_ref().map(|t| t.render(scope)),
            filename: self.filename.as_ref().map(|t| t.render(scope)),
            metadata: object(&self.metadata, scope),
        });
    }
}

fn copy(original: &Original, scope: &Scope, out: &mut Vec<model::Part>) {
    match original {
        Original::Message => out.extend_from_slice(&scope.input.last_public.parts),
        Original::Attachments => {
            let all = scope.input.last_public.parts.iter();
            out.extend(all.filter(|part| part.as_text().is_none()).cloned());
        }
        Original::Call(name) => {
            if let Some(call) = scope.calls.get(name) {
                out.extend_from_slice(&call.parts);
            }
        }
    }
}

/// The parts that a text and parts of a script stand for.
pub(super) fn render(text: Option<&Template>, parts: &[Part], scope: &Scope) -> Vec<model::Part> {
    let mut out = Vec::with_capacity(parts.len() + 1);
    out.extend(text.map(|text| model::Part::text(text.render(scope))));
    for part in parts {
        part.render(scope, &mut out);
    }
    out
}

/// Metadata; none if it is empty.
pub(super) fn object(data: &BTreeMap<String, Data>, scope: &Scope) -> Option<Object> {
    (!data.is_empty()).then(|| Object::from(&members(data, scope)))
}

/// The members of metadata.
pub(super) fn members(data: &BTreeMap<String, Data>, scope: &Scope) -> Map<String, Value> {
    let members = data.iter();
    members
        .map(|(key, data)| (key.clone(), data.render(scope)))
        .collect()
}
