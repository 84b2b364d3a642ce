//! Free JSON, carried untouched: `metadata`, data parts, extension parameters.
//!
//! The text is kept as it came (key order, 64-bit integers, escapes), only made to fit one line so
//! that it can stand in a server-sent event. It is validated once and never parsed on the hot path.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

/// How deep free JSON may nest; readers with a fixed stack (protobuf, most parsers) allow about this much.
const MAX_DEPTH: usize = 128;

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
    /// Something else than an object where only an object may stand.
    #[error("must be an object")]
    NotAnObject,
}

impl Json {
    /// Takes over a value the parser has already checked for syntax.
    ///
    /// # Errors
    ///
    /// If it is nested too deep, or holds what other readers cannot read.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, InvalidJson> {
        if depth(raw.get()) > MAX_DEPTH {
            return Err(InvalidJson::TooDeep);
        }
        readable(raw.get())?;
        if raw.get().bytes().any(|b| b == b'\n' || b == b'\r') {
            let line = without_layout(raw.get());
            return RawValue::from_string(line)
                .map(|raw| Self(raw.into()))
                .map_err(|e| InvalidJson::Syntax(e.to_string()));
        }
        Ok(Self(raw.into()))
    }

    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// If it is not JSON, is nested too deep, or holds what other readers cannot read.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidJson> {
        RawValue::from_string(text.into())
            .map_err(|e| InvalidJson::Syntax(e.to_string()))
            .and_then(Self::from_raw)
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

    /// The object without these members. What else stands there stays as it is written.
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

/// How deep a valid JSON text nests.
fn depth(text: &str) -> usize {
    let (mut deepest, mut now) = (0usize, 0usize);
    outside_strings(text, |b| match b {
        b'{' | b'[' => {
            now += 1;
            deepest = deepest.max(now);
        }
        b'}' | b']' => now = now.saturating_sub(1),
        _ => {}
    });
    deepest
}

/// Finds what the grammar allows and most readers do not: half of a character in a string.
fn readable(text: &str) -> Result<(), InvalidJson> {
    if !text.contains("\\u") {
        return Ok(());
    }
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        at = match byte {
            b'"' => end_of_string(text, at)?,
            _ => at + 1,
        };
    }
    Ok(())
}

/// The place after a string that begins at `start`.
fn end_of_string(text: &str, start: usize) -> Result<usize, InvalidJson> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => match escaped_unit(bytes, at) {
                Some(0xD800..=0xDBFF) => match escaped_unit(bytes, at + 6) {
                    Some(0xDC00..=0xDFFF) => at += 12,
                    _ => return Err(InvalidJson::Surrogate),
                },
                Some(0xDC00..=0xDFFF) => return Err(InvalidJson::Surrogate),
                Some(_) => at += 6,
                None => at += 2,
            },
            _ => at += 1,
        }
    }
    Ok(at)
}

/// The UTF-16 unit of the escape (`\\u` and four digits) at a place.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
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

/// Calls `see` for every byte of a valid JSON text that is not inside a string.
fn outside_strings(text: &str, mut see: impl FnMut(u8)) {
    let (mut in_string, mut escaped) = (false, false);
    for b in text.bytes() {
        if in_string {
            (in_string, escaped) = match b {
                _ if escaped => (true, false),
                b'\\' => (true, true),
                b'"' => (false, false),
                _ => (true, false),
            };
        } else if b == b'"' {
            in_string = true;
        } else {
            see(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_integers_order_and_escapes() {
        let text =
            r#"{"z":9223372036854775807,"a":18446744073709551615,"u":"\ud83d\ude00 \u0000"}"#;
        assert_eq!(Json::parse(text).unwrap().as_str(), text);
    }

    #[test]
    fn puts_layout_on_one_line_and_leaves_strings_alone() {
        let json = Json::parse("{\n  \"a b\" : \"x \\\" y\",\r\n \"c\": [1, 2]\n}").unwrap();
        assert_eq!(json.as_str(), r#"{"a b":"x \" y","c":[1,2]}"#);
    }

    #[test]
    fn members_are_left_out_however_they_are_written_and_the_rest_stays() {
        let object = |text: &str| Object::try_from(Json::parse(text).unwrap()).unwrap();
        let all = object(r#"{"b":18446744073709551616,"\u0061":1,"a":2,"c":[1.0]}"#);
        let rest = r#"{"b":18446744073709551616,"c":[1.0]}"#;
        assert_eq!(all.without(&["a", "x"]).as_str(), rest);
        assert_eq!(all.without(&["x"]), all);
    }

    #[test]
    fn bounds_the_depth() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Json::parse(nested(128)).is_ok());
        assert_eq!(Json::parse(nested(129)), Err(InvalidJson::TooDeep));
        assert_eq!(Json::parse(nested(100_000)), Err(InvalidJson::TooDeep));
    }

    #[test]
    fn refuses_what_other_readers_cannot_read() {
        for half in [
            r#""\ud83d""#,
            r#"{"a\udc00":1}"#,
            r#"["\ud83d\n"]"#,
            r#""\ud83d\ud83d""#,
        ] {
            assert_eq!(Json::parse(half), Err(InvalidJson::Surrogate), "{half}");
        }
        for fine in [
            r#""\\ud83d""#,
            r#""\ud83d\ude00""#,
            "1e400",
            r#"["\u0000"]"#,
        ] {
            assert!(Json::parse(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn brackets_in_strings_do_not_nest() {
        let text = format!("\"{}\"", "[".repeat(500));
        assert!(Json::parse(text).is_ok());
    }

    #[test]
    fn only_objects_are_objects() {
        assert!(Object::try_from(Json::parse("{}").unwrap()).is_ok());
        let array = Json::parse("[]").unwrap();
        assert_eq!(Object::try_from(array), Err(InvalidJson::NotAnObject));
    }

    #[test]
    fn reads_a_member() {
        let object = Object::try_from(Json::parse(r#"{"a":{"b":7}}"#).unwrap()).unwrap();
        let b: serde_json::Value = object.get("a").unwrap();
        assert_eq!(b["b"], 7);
        assert_eq!(object.get::<u8>("missing"), None);
    }
}
