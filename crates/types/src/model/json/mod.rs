//! Free JSON, carried untouched: `metadata`, data parts, extension parameters.
//!
//! The text is kept as it came (key order, 64-bit integers, escapes), only made to fit one line so
//! that it can stand in a server-sent event. It is validated once and never parsed on the hot path.
//!
//! Policies and routing rules read it, and backends get its text. So no value holds what two readers may understand
//! differently: what is judged is what is sent. See `scan`.

mod scan;

use std::collections::BTreeMap;
use std::fmt;
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
        let all = object(r#"{"b":18446744073709551616,"\u0061":1,"c":[1.0]}"#);
        let rest = r#"{"b":18446744073709551616,"c":[1.0]}"#;
        assert_eq!(all.without(&["a", "x"]).as_str(), rest);
        assert_eq!(all.without(&["x"]), all);
    }

    #[test]
    fn bounds_the_depth() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let deepest = Json::parse(nested(127)).unwrap();
        assert!(deepest.read::<serde_json::Value>().is_some());
        assert_eq!(Json::parse(nested(128)), Err(InvalidJson::TooDeep));
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
    fn duplicate_members_are_refused_with_their_path() {
        for (text, path) in [
            (r#"{"skillId":"epic","skillId":"haiku"}"#, ".skillId"),
            (r#"{"skillId":1,"skill\u0049d":2}"#, ".skillId"),
            (r#"{"\u0073killId":1,"x":2,"skillI\u0064":2}"#, ".skillId"),
            (
                r#"{"a":{"b":[1,{"c":0},{"c":1,"d":2,"c":3}]}}"#,
                ".a.b[2].c",
            ),
            (r#"[[{}],[{"x y":1 , "x y":1}]]"#, r#"[1][0]["x y"]"#),
            (r#"{"":1,"":1}"#, r#"[""]"#),
            (r#"{"a":{"a":{"a":1},"a":1}}"#, ".a.a"),
            ("{\n\"a\":\"}\",\n\"a\":[]}", ".a"),
            (r#"{"/":1,"\/":1}"#, r#"["/"]"#),
            (r#"{"a\"":1,"a\"":1}"#, r#"["a\""]"#),
            (r#"{"\ud83d\ude00":1,"😀":1}"#, r#"["😀"]"#),
        ] {
            let path = InvalidJson::DuplicateMember(path.to_owned());
            assert_eq!(Json::parse(text), Err(path), "{text}");
        }
        for fine in [
            r#"{"a":"a","b":{"a":["a","a",{"a":1},{"a":1}]},"A":1}"#,
            r#"[{"a":1},{"a":1}]"#,
            r#"{"a":{"b":1},"b":{"a":1}}"#,
            r#"{"\\u0061":1,"a":1}"#,
            r#"[",", "{\"a\":1,\"a\":2}"]"#,
        ] {
            assert_eq!(Json::parse(fine).unwrap().as_str(), fine);
        }
    }

    #[test]
    fn the_path_of_a_duplicate_member_is_short_whatever_its_name() {
        let long = "é".repeat(100_000);
        let text = format!(r#"{{"{long}":{{"a":1,"a":2}}}}"#);
        let error = Json::parse(text).unwrap_err().to_string();
        assert!(error.len() < 300, "{}", error.len());
    }

    #[test]
    fn the_last_of_duplicate_members_stays_in_answers() {
        for (text, stays) in [
            (r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"b":2,"\u0061":3}"#),
            (
                r#"{"a":{"x":1,"x":2},"c":[{"y":1,"y":{"y":1,"y":2}}],"a":{"x":3,"x":4}}"#,
                r#"{"c":[{"y":{"y":2}}],"a":{"x":4}}"#,
            ),
            (r#"{"a":1,"a":2,"a":3}"#, r#"{"a":3}"#),
            (r#"[{ "a" : 1 ,"a":1e400}]"#, r#"[{ "a":1e400}]"#),
            (r#"{"a":1,"b":1}"#, r#"{"a":1,"b":1}"#),
        ] {
            assert_eq!(Json::parse_answer(text).unwrap().as_str(), stays, "{text}");
        }
    }

    #[test]
    fn requests_hold_only_numbers_that_can_be_read() {
        let from = |text: &str| Json::from_request(RawValue::from_string(text.to_owned()).unwrap());
        let digits = "9".repeat(400);
        for text in ["1e400", r#"{"a":[-1E+309]}"#, &digits] {
            assert_eq!(from(text), Err(InvalidJson::NumberOutOfRange), "{text}");
        }
        let zeros = format!("0.{}1", "0".repeat(400));
        for text in [
            "1e308",
            "1e-400",
            "123456789012345678901234567890",
            r#""1e400""#,
            &zeros,
        ] {
            let json = from(text).unwrap();
            assert!(json.read::<serde_json::Value>().is_some(), "{text}");
        }
    }

    /// Not a measurement: quadratic work on so many members would take hours.
    #[test]
    fn objects_with_many_members_are_read_in_one_pass() {
        let members: Vec<String> = (0..300_000)
            .map(|n| format!(r#""k{n}":{{"n":0}}"#))
            .collect();
        let text = format!("{{{}}}", members.join(","));
        assert!(Json::parse(text.as_str()).is_ok());
        let twice = format!(r#"{{{},"k7":0}}"#, members.join(","));
        let path = InvalidJson::DuplicateMember(".k7".to_owned());
        assert_eq!(Json::parse(twice.as_str()), Err(path));
        let all_alike = format!("{{{}}}", vec![r#""a":{"b":1,"b":1}"#; 300_000].join(","));
        let last = Json::parse_answer(all_alike).unwrap();
        assert_eq!(last.as_str(), r#"{"a":{"b":1}}"#);
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
