//! Free JSON, carried untouched: `metadata`, data parts, extension parameters.
//!
//! The text is kept as it came (key order, 64-bit integers, escapes), only made to fit one line so
//! that it can stand in a server-sent event. It is validated once and never parsed on the hot path.
//!
//! Policies and routing rules read it, and backends get its text. So no value holds what two readers may understand
//! differently: what is judged is what is sent. See `scan`.

mod scan;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use self::scan::Findings;
use crate::error::Error;

/// How deep free JSON may nest. One level deeper, our own parser could carry it as text but not read it as a tree, and
/// a rule would judge something else than what is sent; other readers with a fixed stack allow about as much.
const MAX_DEPTH: usize = 127;

/// How deep free JSON may nest that a store kept: until [`MAX_DEPTH`] was lowered, requests could bring this much.
const MAX_STORED_DEPTH: usize = 128;

/// Any JSON value.
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

/// A JSON object.
#[derive(Clone, PartialEq, Eq)]
pub struct Object(Json);

/// Why a text cannot be carried as free JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJson {
    /// Not JSON at all.
    #[error("is not valid JSON: {0}")]
    Syntax(String),
    /// Nested beyond what readers bear.
    #[error("is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Half of a character: readers refuse the whole document for it.
    #[error("has half a surrogate pair")]
    Surrogate,
    /// An object with two members of the same name: readers take the first, the last, or neither.
    #[error("has the member {0} twice")]
    DuplicateMember(String),
    /// A number that most readers refuse or round to infinity.
    #[error("has a number out of range")]
    NumberOutOfRange,
    /// Something else than an object where only an object may stand.
    #[error("must be an object")]
    NotAnObject,
}

impl InvalidJson {
    /// The error for a request that has such a value at `path`. It names a duplicate member by its own path.
    #[must_use]
    #[cold]
    pub fn at(&self, path: impl fmt::Display) -> Error {
        match self {
            Self::DuplicateMember(member) => {
                Error::invalid_params(format!("{path}{member}"), "is given twice")
            }
            _ => Error::invalid_params(path.to_string(), self.to_string()),
        }
    }
}

impl Json {
    /// Takes over a value the parser has already checked for syntax.
    ///
    /// # Errors
    ///
    /// If it is nested too deep, names a member twice, or holds what other readers cannot read.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, InvalidJson> {
        let findings = scan::inspect(raw.get(), MAX_DEPTH)?;
        Self::with_distinct_members(raw, findings)
    }

    /// The same for a value in a request. Numbers must fit into a double, too: rules and backends that read the value
    /// fail on others.
    ///
    /// # Errors
    ///
    /// As [`Json::from_raw`], and for a number out of range.
    pub fn from_request(raw: Box<RawValue>) -> Result<Self, InvalidJson> {
        let findings = scan::inspect(raw.get(), MAX_DEPTH)?;
        if findings.number_out_of_range {
            return Err(InvalidJson::NumberOutOfRange);
        }
        Self::with_distinct_members(raw, findings)
    }

    /// The same for a value that an agent answered or a store kept, which should not be lost for an odd member: of
    /// several members of one name the last stays, as most parsers read it, and the others are removed from the text.
    ///
    /// # Errors
    ///
    /// If it is nested too deep, or holds half a surrogate pair.
    pub fn from_answer(raw: Box<RawValue>) -> Result<Self, InvalidJson> {
        let findings = scan::inspect(raw.get(), MAX_STORED_DEPTH)?;
        let duplicates = match findings.may_have_duplicates {
            true => scan::duplicates(raw.get()),
            false => Vec::new(),
        };
        if duplicates.is_empty() {
            return Self::on_one_line(raw, findings.line_breaks);
        }
        let text = scan::without(raw.get(), &duplicates);
        let raw = RawValue::from_string(text).map_err(|e| InvalidJson::Syntax(e.to_string()))?;
        Self::on_one_line(raw, findings.line_breaks)
    }

    fn with_distinct_members(raw: Box<RawValue>, findings: Findings) -> Result<Self, InvalidJson> {
        if findings.may_have_duplicates
            && let Some(first) = scan::duplicates(raw.get()).first()
        {
            let path = scan::path_of(raw.get(), first.start);
            return Err(InvalidJson::DuplicateMember(path));
        }
        Self::on_one_line(raw, findings.line_breaks)
    }

    fn on_one_line(raw: Box<RawValue>, line_breaks: bool) -> Result<Self, InvalidJson> {
        if !line_breaks {
            return Ok(Self(raw.into()));
        }
        RawValue::from_string(without_layout(raw.get()))
            .map(|raw| Self(raw.into()))
            .map_err(|e| InvalidJson::Syntax(e.to_string()))
    }

    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// If it is not JSON, is nested too deep, names a member twice, or holds what other readers cannot read.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidJson> {
        RawValue::from_string(text.into())
            .map_err(|e| InvalidJson::Syntax(e.to_string()))
            .and_then(Self::from_raw)
    }

    /// Parses what an agent answered, as [`Json::from_answer`] takes it.
    ///
    /// # Errors
    ///
    /// If it is not JSON, is nested too deep, or holds half a surrogate pair.
    pub fn parse_answer(text: impl Into<String>) -> Result<Self, InvalidJson> {
        RawValue::from_string(text.into())
            .map_err(|e| InvalidJson::Syntax(e.to_string()))
            .and_then(Self::from_answer)
    }

    /// The JSON text, on one line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The same value for a serializer: it writes the text as it stands.
    #[must_use]
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Whether the value is a JSON object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// Reads the value into `T`, or `None` if it has another shape.
    #[must_use]
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_str(self.as_str()).ok()
    }
}

impl Object {
    /// Reads the member `key` into `T`, or `None` if it is absent or of another shape.
    #[must_use]
    pub fn get<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<T> {
        let members: std::collections::HashMap<String, &RawValue> = self.0.read()?;
        serde_json::from_str(members.get(key)?.get()).ok()
    }

    /// The object without these members. All other members keep their text.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let members: Option<BTreeMap<String, &RawValue>> = self.0.read();
        let Some(mut members) = members.filter(|m| names.iter().any(|&n| m.contains_key(n))) else {
            return self.clone();
        };
        members.retain(|name, _| !names.contains(&name.as_str()));
        let raw = serde_json::value::to_raw_value(&members);
        raw.map_or_else(|_| self.clone(), |raw| Self(Json(raw.into())))
    }

    /// `object`, or an empty one, with these members set, at the end. All other members keep their text.
    #[must_use]
    pub fn with<const N: usize>(
        object: Option<&Self>,
        members: [(&str, serde_json::Value); N],
    ) -> Self {
        let others =
            object.map(|object| object.without(&members.each_ref().map(|(name, _)| *name)));
        let others = others.as_ref().map_or("{}", Self::as_str);
        let mut text = others.strip_suffix('}').unwrap_or("{").to_owned();
        for (name, value) in members {
            if text.len() > 1 {
                text.push(',');
            }
            let name = serde_json::Value::from(name);
            // A string takes every write.
            let _ = write!(text, "{name}:{value}");
        }
        text.push('}');
        let raw = RawValue::from_string(text);
        Self(Json(
            raw.unwrap_or_else(|_| RawValue::NULL.to_owned()).into(),
        ))
    }

    /// The object as any JSON value.
    #[must_use]
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// The JSON text, on one line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl TryFrom<Json> for Object {
    type Error = InvalidJson;

    fn try_from(json: Json) -> Result<Self, InvalidJson> {
        if json.is_object() {
            Ok(Self(json))
        } else {
            Err(InvalidJson::NotAnObject)
        }
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        object.0
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Object {
    fn from(map: &serde_json::Map<String, serde_json::Value>) -> Self {
        let raw = serde_json::value::to_raw_value(map)
            .unwrap_or_else(|_| serde_json::value::RawValue::NULL.to_owned());
        Self(Json(raw.into()))
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        // A `Value` always prints: its map keys are strings.
        let raw = serde_json::value::to_raw_value(value)
            .unwrap_or_else(|_| serde_json::value::RawValue::NULL.to_owned());
        Self(raw.into())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A valid JSON text without the white space between its tokens.
fn without_layout(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            (in_string, escaped) = match c {
                _ if escaped => (true, false),
                '\\' => (true, true),
                '"' => (false, false),
                _ => (true, false),
            };
        } else if c == '"' {
            in_string = true;
        } else if c.is_ascii_whitespace() {
            continue;
        }
        line.push(c);
    }
    line
}

#[cfg(test)]
mod tests;
