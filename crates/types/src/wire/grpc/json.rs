//! Free JSON as `google.protobuf.Struct` and `google.protobuf.Value`, and back.
//!
//! Protobuf knows only doubles, sorts keys, and its readers stop at about a hundred nested messages. What does not fit
//! is told as its JSON text: it can still be read, and no stream breaks for it. See [`LOSSES`](super::LOSSES).

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::model::{Json, Object};
use crate::wire::path::Path;
use crate::wire::v0_3::free::Members;
use crate::wire::write;

/// How deep JSON nests over gRPC. An object is three messages deep, readers take a hundred, and a few stand around it.
const DEEPEST: usize = 30;

/// The largest number up to which every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A free JSON object for the wire.
pub(super) fn to_struct(object: &Object) -> Struct {
    Struct {
        fields: fields(object.as_json().as_raw(), 0).unwrap_or_default(),
    }
}

/// A free JSON object for the wire, if there is one.
pub(super) fn to_optional_struct(object: Option<&Object>) -> Option<Struct> {
    object.map(to_struct)
}

/// Any free JSON for the wire.
pub(super) fn to_value(json: &Json) -> Value {
    value(json.as_raw(), 0)
}

fn fields(raw: &RawValue, depth: usize) -> Option<std::collections::BTreeMap<String, Value>> {
    let members: Members<'_> = serde_json::from_str(raw.get()).ok()?;
    let each = members.0.into_iter();
    Some(
        each.map(|(key, raw)| (key.into_owned(), value(raw, depth + 1)))
            .collect(),
    )
}

fn value(raw: &RawValue, depth: usize) -> Value {
    let kind = match raw.get().as_bytes() {
        [b'n', ..] => Some(Kind::NullValue(0)),
        [b't', ..] => Some(Kind::BoolValue(true)),
        [b'f', ..] => Some(Kind::BoolValue(false)),
        [b'"', ..] => serde_json::from_str(raw.get()).ok().map(Kind::StringValue),
        [b'{', ..] if depth < DEEPEST => {
            fields(raw, depth).map(|fields| Kind::StructValue(Struct { fields }))
        }
        [b'[', ..] if depth < DEEPEST => list(raw, depth).map(Kind::ListValue),
        [b'-' | b'0'..=b'9', ..] => {
            let number = raw.get().parse().ok();
            number
                .filter(|number: &f64| number.is_finite())
                .map(Kind::NumberValue)
        }
        _ => None,
    };
    Value {
        kind: Some(kind.unwrap_or_else(|| Kind::StringValue(raw.get().to_owned()))),
    }
}

fn list(raw: &RawValue, depth: usize) -> Option<ListValue> {
    let items: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    let values = items.into_iter().map(|item| value(item, depth + 1));
    Some(ListValue {
        values: values.collect(),
    })
}

/// A free JSON object from the wire.
pub(super) fn from_struct(wire: &Struct, at: &Path<'_>) -> Result<Object, Error> {
    let mut out = Vec::new();
    put_struct(wire, &mut out).ok_or_else(|| at.error(NOT_FINITE))?;
    Object::try_from(json(out, at)?).map_err(|reason| at.error(reason))
}

/// A free JSON object from the wire, if there is one.
pub(super) fn from_optional_struct(
    wire: Option<&Struct>,
    at: &Path<'_>,
) -> Result<Option<Object>, Error> {
    wire.map(|wire| from_struct(wire, at)).transpose()
}

/// Any free JSON from the wire.
pub(super) fn from_value(wire: &Value, at: &Path<'_>) -> Result<Json, Error> {
    let mut out = Vec::new();
    put(wire, &mut out).ok_or_else(|| at.error(NOT_FINITE))?;
    json(out, at)
}

const NOT_FINITE: &str = "must hold finite numbers only";

fn json(text: Vec<u8>, at: &Path<'_>) -> Result<Json, Error> {
    let text = String::from_utf8(text).map_err(|reason| at.error(reason))?;
    Json::parse(text).map_err(|reason| at.error(reason))
}

/// Writes a value; `None` if it holds what JSON cannot say.
fn put(wire: &Value, out: &mut Vec<u8>) -> Option<()> {
    match &wire.kind {
        // ProtoJSON has no word for a value that says nothing.
        None | Some(Kind::NullValue(_)) => out.extend_from_slice(b"null"),
        Some(Kind::BoolValue(yes)) => out.extend_from_slice(if *yes { b"true" } else { b"false" }),
        Some(Kind::NumberValue(number)) => put_number(*number, out)?,
        Some(Kind::StringValue(text)) => write::string(text, out),
        Some(Kind::StructValue(inner)) => put_struct(inner, out)?,
        Some(Kind::ListValue(list)) => {
            out.push(b'[');
            for (index, item) in list.values.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                put(item, out)?;
            }
            out.push(b']');
        }
    }
    Some(())
}

fn put_struct(wire: &Struct, out: &mut Vec<u8>) -> Option<()> {
    out.push(b'{');
    for (index, (key, member)) in wire.fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write::string(key, out);
        out.push(b':');
        put(member, out)?;
    }
    out.push(b'}');
    Some(())
}

/// Whole numbers without a fraction: most of them were integers before they came this way.
fn put_number(number: f64, out: &mut Vec<u8>) -> Option<()> {
    let text = if number.fract() == 0.0 && number.abs() < EXACT {
        format!("{number:.0}")
    } else {
        serde_json::Number::from_f64(number)?.to_string()
    };
    out.extend_from_slice(text.as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(text: &str) -> String {
        let json = Json::parse(text).unwrap();
        let back = from_value(&to_value(&json), &Path::ROOT).unwrap();
        back.as_str().to_owned()
    }

    #[test]
    fn json_survives() {
        for text in [
            "null",
            "true",
            "false",
            "0",
            "-7",
            "1.5",
            "9007199254740991",
            "1e300",
            r#""\"é\n""#,
            "[]",
            "{}",
            r#"{"a":[1,{"b":null}],"z":"x"}"#,
        ] {
            let wanted: serde_json::Value = serde_json::from_str(text).unwrap();
            let back: serde_json::Value = serde_json::from_str(&there_and_back(text)).unwrap();
            assert_eq!(back, wanted, "{text}");
        }
        assert_eq!(there_and_back("3.0"), "3");
    }

    #[test]
    fn what_is_no_double_comes_as_close_as_it_can() {
        assert_eq!(there_and_back("9007199254740993"), "9007199254740992.0");
        assert_eq!(there_and_back("1e400"), r#""1e400""#);
        assert_eq!(there_and_back("-0.0"), "-0");
    }

    #[test]
    fn what_nests_too_deep_is_told_as_its_text() {
        let nested = |n: usize| format!("{}1{}", r#"{"a":"#.repeat(n), "}".repeat(n));
        assert_eq!(there_and_back(&nested(DEEPEST)), nested(DEEPEST));
        let deeper = there_and_back(&nested(DEEPEST + 2));
        assert!(deeper.contains(r#""{\"a\":{\"a\":1}}""#), "{deeper}");
    }

    #[test]
    fn numbers_that_json_cannot_say_are_refused() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let wire = Value {
                kind: Some(Kind::NumberValue(number)),
            };
            let error = from_value(&wire, &Path::ROOT.field("metadata")).unwrap_err();
            assert_eq!(error.violations()[0].field, "metadata");
        }
        let nothing = from_value(&Value { kind: None }, &Path::ROOT).unwrap();
        assert_eq!(nothing.as_str(), "null");
    }
}
