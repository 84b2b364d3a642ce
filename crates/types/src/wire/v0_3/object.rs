//! Messages and parts of 0.x, from the wire: one lenient reader for both spellings.
//!
//! What it takes beyond the specification was all seen in the wild: `type` for `kind`, `data` and `url` and `fileWith…` in files, `content` for
//! `parts`, role `assistant`, tool parts, `inputRequest` beside the parts.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor, value::SeqAccessDeserializer};
use serde_json::value::RawValue;

use super::{file, free};
use crate::error::Error;
use crate::model::{self, Content, Json, Role};
use crate::version::FileBytes;
use crate::wire::member;
use crate::wire::object::{self, IntoModel, Reading};
use crate::wire::path::Path;
use crate::wire::read::{self, Maybe, Obj, Text, Word};

/// A task of 0.x; its `kind` is known from where it stands.
pub(crate) type Task<'a> = object::Task<'a, Message<'a>, Part<'a>>;

/// One turn of conversation.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Message<'a> {
    #[serde(default, borrow)]
    kind: Option<Text<'a>>,
    #[serde(default, borrow, rename = "messageId", alias = "message_id")]
    pub(crate) message_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId", alias = "context_id")]
    pub(crate) context_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    task_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    role: Option<Word<'a>>,
    #[serde(default, borrow)]
    parts: Option<Vec<Maybe<Part<'a>>>>,
    #[serde(default, borrow)]
    content: Option<Body<'a>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    extensions: Option<Vec<Text<'a>>>,
    #[serde(
        default,
        borrow,
        rename = "referenceTaskIds",
        alias = "reference_task_ids"
    )]
    reference_task_ids: Option<Vec<Text<'a>>>,
    #[serde(default, borrow, rename = "inputRequest")]
    input_request: Option<&'a RawValue>,
}

/// `content`: the parts in `ProtoJSON`, a plain string from some agents.
#[derive(Debug)]
enum Body<'a> {
    Text(Text<'a>),
    Parts(Vec<Maybe<Part<'a>>>),
}

/// One piece of content.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Part<'a> {
    #[serde(default, borrow)]
    kind: Option<Text<'a>>,
    #[serde(default, borrow, rename = "type")]
    old_kind: Option<Text<'a>>,
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    #[serde(default, borrow)]
    file: Option<Obj<File<'a>>>,
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    // Tool parts, which no version has. Raw: in other parts these members may be anything.
    #[serde(
        default,
        borrow,
        rename = "toolUseId",
        alias = "tool_use_id",
        alias = "toolCallId"
    )]
    tool_use_id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, alias = "toolName")]
    name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, alias = "arguments", alias = "args")]
    input: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct File<'a> {
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(
        default,
        borrow,
        rename = "mimeType",
        alias = "mime_type",
        alias = "mediaType",
        alias = "media_type"
    )]
    media_type: Option<Text<'a>>,
    #[serde(default, borrow, alias = "data")]
    bytes: Option<Text<'a>>,
    #[serde(default, borrow, rename = "fileWithBytes", alias = "file_with_bytes")]
    file_with_bytes: Option<Text<'a>>,
    #[serde(
        default,
        borrow,
        alias = "url",
        alias = "fileWithUri",
        alias = "file_with_uri"
    )]
    uri: Option<Text<'a>>,
}

/// `ProtoJSON` holds data in a message of its own: `{"data":{"data":{..}}}`.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct DataPart<'a> {
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Body<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;

        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = Body<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of parts or a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Body<'de>, E> {
                Ok(Body::Text(Text(text.to_owned().into())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Body<'de>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Body::Parts)
            }
        }

        deserializer.deserialize_any(BodyVisitor)
    }
}

impl Message<'_> {
    /// Whether this is the JSON spelling rather than `ProtoJSON`.
    pub(crate) fn has_kind(&self) -> bool {
        let lower_role = match &self.role {
            Some(Word::Name(role)) => !role.as_str().starts_with("ROLE_"),
            Some(Word::Number(_)) | None => false,
        };
        let parts = self.parts.as_deref().unwrap_or_default();
        let parts = parts.iter().filter_map(|part| part.0.as_ref());
        self.kind.is_some() || lower_role || parts.filter_map(Part::named_kind).next().is_some()
    }
}

impl IntoModel for Message<'_> {
    type Model = model::Message;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Message, Error> {
        if how.request && self.kind.is_some_and(|kind| kind.as_str() != "message") {
            return Err(at.field("kind").error("must be 'message'"));
        }
        let parts = match (self.parts, self.content) {
            (None, Some(Body::Text(text))) => vec![model::Part::text(text.into_string())],
            (None, Some(Body::Parts(parts))) => {
                member::parts(Some(parts), &at.field("content"), how)?
            }
            (parts, _) => member::parts(parts, &at.field("parts"), how)?,
        };
        let metadata = member::free_object(self.metadata, &at.field("metadata"), how)?;
        let metadata = match self.input_request {
            // Not a member of a message in any version: kept as metadata.
            Some(raw) => {
                let at = at.field("inputRequest");
                let request = member::free(raw, &at, how)?;
                let all = free::raw_with(metadata.as_ref(), "inputRequest", request.as_str());
                let all = model::Object::try_from(checked(all, &at, how)?);
                Some(all.map_err(|reason| at.error(reason))?)
            }
            None => metadata,
        };
        Ok(model::Message {
            id: member::message_id(self.message_id, &parts, &at.field("messageId"), how)?,
            role: member::role(self.role.as_ref(), &at.field("role"), how)?,
            parts,
            context_id: member::optional_id(self.context_id, &at.field("contextId"))?,
            task_id: member::optional_id(self.task_id, &at.field("taskId"))?,
            reference_task_ids: member::task_ids(
                self.reference_task_ids,
                &at.field("referenceTaskIds"),
            )?,
            extensions: member::strings(self.extensions),
            metadata,
        })
    }
}

impl<'a> Part<'a> {
    fn named_kind(&self) -> Option<&str> {
        self.kind
            .as_ref()
            .or(self.old_kind.as_ref())
            .map(Text::as_str)
    }

    /// The kind, said or seen; without one, exactly one content member must be there.
    fn kind(&self, at: &Path<'_>) -> Result<Kind, Error> {
        match self.named_kind() {
            Some("text") => Ok(Kind::Text),
            Some("file") => Ok(Kind::File),
            Some("data") => Ok(Kind::Data),
            Some("tool-result" | "tool_result") => Ok(Kind::ToolResult),
            Some("tool-use" | "tool_use" | "tool-call" | "tool_call") => Ok(Kind::ToolCall),
            Some(_) => Ok(Kind::Other),
            None => match (&self.text, &self.file, self.data) {
                (Some(_), None, None) => Ok(Kind::Text),
                (None, Some(_), None) => Ok(Kind::File),
                (None, None, Some(_)) => Ok(Kind::Data),
                _ => Err(at.error("must have a kind, or exactly one of text, file and data")),
            },
        }
    }

    /// The data, out of its `ProtoJSON` wrapper if it has one.
    fn data(&self, at: &Path<'_>, how: Reading) -> Result<Json, Error> {
        let at = at.field("data");
        let raw = self.data.ok_or_else(|| at.missing())?;
        let inner = if how.dialect.files().is_some() && self.named_kind().is_none() {
            serde_json::from_str::<Obj<DataPart<'a>>>(raw.get())
                .ok()
                .and_then(|wrapper| wrapper.0.data)
        } else {
            None
        };
        let data = member::free(inner.unwrap_or(raw), &at, how)?;
        // An array is taken as well: 0.2 §6.5.3 allows it.
        if data.is_object() || data.as_str().starts_with('[') {
            Ok(data)
        } else {
            Err(at.error("must be an object"))
        }
    }

    /// Tool parts become data parts, the one form in which Switchboard tells of tools.
    fn tool(&self, kind: &str, value: (&str, Option<&'a RawValue>)) -> Option<Box<RawValue>> {
        let id = self.tool_use_id.or(self.id);
        let members = [("id", id), ("name", self.name), (value.0, value.1)];
        let told = members
            .iter()
            .filter_map(|(key, raw)| raw.map(|raw| (*key, raw.get())));
        free::raw_object_of([("type", kind)].into_iter().chain(told))
    }
}

/// What a part is.
enum Kind {
    Text,
    File,
    Data,
    ToolResult,
    ToolCall,
    Other,
}

impl IntoModel for Part<'_> {
    type Model = model::Part;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Part, Error> {
        let kind = self.kind(at)?;
        let metadata = member::free_object(self.metadata, &at.field("metadata"), how)?;
        let mut part = match kind {
            Kind::Text => match self.text {
                Some(text) => model::Part::text(text.into_string()),
                None if how.request => return Err(at.field("text").missing()),
                None => model::Part::text(""),
            },
            Kind::File => {
                // With a kind it is JSON, where bytes are base64 whatever their member is called.
                let files = how.dialect.files().filter(|_| self.named_kind().is_none());
                let file = self.file.ok_or_else(|| at.field("file").missing())?;
                file.0.into_part(&at.field("file"), files)?
            }
            Kind::Data => return Ok(data_part(self.data(at, how)?, metadata)),
            Kind::ToolResult | Kind::ToolCall => {
                let raw = if matches!(kind, Kind::ToolResult) {
                    self.tool("\"tool-result\"", ("result", self.result))
                } else {
                    self.tool("\"tool-call\"", ("arguments", self.input))
                };
                model::Part::data(checked(raw, at, how)?)
            }
            Kind::Other if how.request => {
                let kinds = "must be 'text', 'file' or 'data'";
                return Err(at.field("kind").error(kinds));
            }
            Kind::Other => foreign_part(&self, at, how)?,
        };
        part.metadata = metadata;
        Ok(part)
    }
}

/// A part of a kind nobody told us of, from an agent: what it holds is kept as data.
fn foreign_part(part: &Part<'_>, at: &Path<'_>, how: Reading) -> Result<model::Part, Error> {
    let quote = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let kind = quote(part.named_kind().unwrap_or_default());
    let text = part.text.as_ref().map(|text| quote(text.as_str()));
    let members = [
        ("kind", Some(kind.as_str())),
        ("text", text.as_deref()),
        ("data", part.data.map(RawValue::get)),
        ("id", part.id.map(RawValue::get)),
        ("name", part.name.map(RawValue::get)),
        ("result", part.result.map(RawValue::get)),
        ("input", part.input.map(RawValue::get)),
    ];
    let members = members.into_iter();
    let raw = free::raw_object_of(members.filter_map(|(key, raw)| Some((key, raw?))));
    checked(raw, at, how).map(model::Part::data)
}

/// Data that was put together from members of a part.
fn checked(raw: Option<Box<RawValue>>, at: &Path<'_>, how: Reading) -> Result<Json, Error> {
    let raw = raw.ok_or_else(|| at.error("is not valid JSON"))?;
    member::free(&raw, at, how)
}

/// A data part, unwrapped if it was wrapped.
pub(crate) fn data_part(data: Json, metadata: Option<model::Object>) -> model::Part {
    let unwrapped = metadata
        .as_ref()
        .and_then(|metadata| free::unwrap(&data, metadata));
    let (data, metadata) = unwrapped.unwrap_or((data, metadata));
    let mut part = model::Part::data(data);
    part.metadata = metadata;
    part
}

impl File<'_> {
    /// `files` is what `fileWithBytes` holds beneath the base64 of `ProtoJSON`; without it that is the file.
    fn into_part(self, at: &Path<'_>, files: Option<FileBytes>) -> Result<model::Part, Error> {
        let content = match (self.bytes, self.file_with_bytes, self.uri) {
            (Some(bytes), None, None) => Content::Raw(decoded(&bytes, &at.field("bytes"))?),
            (None, Some(bytes), None) => {
                let at = at.field("fileWithBytes");
                let field = decoded(&bytes, &at)?;
                Content::Raw(match files {
                    Some(files) => file::read(field, files, &at)?,
                    None => field,
                })
            }
            (None, None, Some(uri)) => Content::Url(uri.into_string()),
            _ => return Err(at.error("must have exactly one of bytes and uri")),
        };
        let mut part = model::Part::new(content);
        part.media_type = member::not_empty(self.media_type);
        part.filename = member::not_empty(self.name);
        Ok(part)
    }
}

fn decoded(text: &Text<'_>, at: &Path<'_>) -> Result<Bytes, Error> {
    let bytes = read::base64(text.as_str()).ok_or_else(|| at.error("must be base64"))?;
    Ok(Bytes::from(bytes))
}

/// The role as 0.x JSON spells it.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Agent => "agent",
    }
}
