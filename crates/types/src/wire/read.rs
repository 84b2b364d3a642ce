//! Lenient readers shared by all versions: what a member may look like on the wire.
//!
//! Nothing here knows an A2A object; the objects are in `object`, `v1_0` and `v0_3`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::path::Path;
use crate::error::{Error, ErrorKind};

/// Decodes a JSON object.
///
/// Fast first, and without knowing where it is; only when that fails the document is read again
/// with a tracker, to name the bad field.
pub(crate) fn decode<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Error> {
    match serde_json::from_str::<Obj<T>>(json) {
        Ok(object) => Ok(object.0),
        Err(error) => Err(explain::<Obj<T>>(json, &error)),
    }
}

/// Decodes a JSON array of objects.
pub(crate) fn decode_array<'a, T: Deserialize<'a>>(json: &'a str) -> Result<Vec<Obj<T>>, Error> {
    match serde_json::from_str(json) {
        Ok(items) => Ok(items),
        Err(error) => Err(explain::<Vec<Obj<T>>>(json, &error)),
    }
}

/// Decodes a JSON object from bytes that may not even be text.
pub(crate) fn decode_bytes<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    match std::str::from_utf8(json) {
        Ok(text) => decode(text).map_err(|error| match foreign(json) {
            Some(why) if error.kind() == ErrorKind::Parse => not_json(why),
            _ => error,
        }),
        Err(_) => Err(not_json(foreign(json).unwrap_or("the body is not UTF-8"))),
    }
}

/// What a text is that is not the UTF-8 that JSON must be: the parser would only say that it expects a value.
pub(crate) fn foreign(body: &[u8]) -> Option<&'static str> {
    match body {
        [0xEF, 0xBB, 0xBF, ..] => Some("the body begins with a byte order mark: leave it out"),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, _, ..] | [_, 0, ..] => {
            Some("the body is not UTF-8, but looks like UTF-16 or UTF-32")
        }
        _ => None,
    }
}

/// The error for bytes that are no JSON.
pub(crate) fn not_json(detail: &str) -> Error {
    Error::new(ErrorKind::Parse, format!("invalid JSON payload: {detail}"))
}

#[cold]
fn explain<'a, T: Deserialize<'a>>(json: &'a str, first: &serde_json::Error) -> Error {
    // Numbers out of range and halves of surrogate pairs are valid JSON, but nothing we can hold.
    if first.classify() != Category::Data
        && let Err(error) = serde_json::from_str::<IgnoredAny>(json)
    {
        return not_json(&error.to_string());
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut reader) else {
        return not_json(&first.to_string());
    };
    let path = error.path().to_string();
    let path = if path == "." { "params".into() } else { path };
    Error::invalid_params(path, reason(&error.inner().to_string()))
}

/// What is wrong, without the value: it may be a secret, and the caller knows it anyway.
fn reason(text: &str) -> String {
    let text = text.split(" at line ").next().unwrap_or(text);
    if text.contains("hex escape") {
        return "has half a surrogate pair".to_owned();
    }
    match text.rsplit_once("expected ") {
        Some((_, expected)) => {
            let expected = expected
                .strip_prefix("a sequence")
                .map_or(expected, |_| "an array");
            format!("must be {expected}")
        }
        None if text.starts_with("duplicate field") => format!("has a {text}"),
        None if text.starts_with("number out of range") => "is a number out of range".to_owned(),
        None => text.to_owned(),
    }
}

/// An object and nothing else: derived readers would also take an array, member by member.
#[derive(Debug)]
pub(crate) struct Obj<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Obj<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(ObjectOnly(deserializer)).map(Self)
    }
}

struct ObjectOnly<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// An object, or nothing where something else stands.
#[derive(Debug)]
pub(crate) struct Maybe<T>(pub(crate) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MaybeVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for MaybeVisitor<T> {
            type Value = Maybe<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Maybe<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|object| Maybe(Some(object)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Maybe<T>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Maybe(None))
            }

            fn visit_unit<E>(self) -> Result<Maybe<T>, E> {
                Ok(Maybe(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Maybe<T>, E> {
                Ok(Maybe(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Maybe<T>, E> {
                Ok(Maybe(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Maybe<T>, E> {
                Ok(Maybe(None))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Maybe<T>, E> {
                Ok(Maybe(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<Maybe<T>, E> {
                Ok(Maybe(None))
            }
        }

        deserializer.deserialize_any(MaybeVisitor(PhantomData))
    }
}

/// Reads a member so that a present `null` differs from absence.
pub(crate) fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A string, borrowed from the document where it has no escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// A 32-bit integer; `ProtoJSON` also reads it from a string, and `10.0` is 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int(pub(crate) i32);

impl Int {
    /// Reads decimal text, as it stands in a query or a JSON string.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// As a count.
    pub(crate) fn count(self, at: &Path<'_>) -> Result<u32, Error> {
        u32::try_from(self.0).map_err(|_| at.error("must not be negative"))
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntVisitor;

        impl Visitor<'_> for IntVisitor {
            type Value = Int;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a 32-bit integer")
            }

            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Int, E> {
                i32::try_from(n)
                    .map(Int)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(n), &self))
            }

            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Int, E> {
                i32::try_from(n)
                    .map(Int)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(n), &self))
            }

            fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Int, E> {
                // Printed and read back: no cast can silently cut the number.
                Int::parse(&n.to_string())
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Float(n), &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Int, E> {
                Int::parse(text)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(IntVisitor)
    }
}

/// A word from a closed list, or its number in the protocol's enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    Name(Text<'a>),
    Number(u64),
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor;

        impl<'de> Visitor<'de> for WordVisitor {
            type Value = Word<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an enum name or number")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Word<'de>, E> {
                Ok(Word::Name(Text(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Word<'de>, E> {
                Ok(Word::Name(Text(Cow::Owned(text.to_owned()))))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Word<'de>, E> {
                Ok(Word::Number(number))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Word<'de>, E> {
                Err(E::invalid_value(
                    serde::de::Unexpected::Signed(number),
                    &self,
                ))
            }
        }

        deserializer.deserialize_any(WordVisitor)
    }
}

/// Reads base64: standard or URL-safe alphabet, padded or not (`ProtoJSON`).
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    let engine = if text.bytes().any(|b| b == b'-' || b == b'_') {
        URL_SAFE
    } else {
        STANDARD
    };
    engine.decode(text).ok()
}

/// A string that stands alone as a JSON text.
pub(crate) fn bare_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = raw.get();
    let plain = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match plain {
        // What is raw was read once: without escapes it says what it is.
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str::<Text<'_>>(quoted)
            .ok()
            .map(|text| text.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(expecting = "an object")]
    struct Probe<'a> {
        #[serde(default, borrow)]
        text: Option<Text<'a>>,
        #[serde(default)]
        int: Option<Int>,
        #[serde(default, borrow, deserialize_with = "present")]
        raw: Option<&'a RawValue>,
        #[serde(default, borrow)]
        list: Vec<Obj<Self>>,
    }

    fn fails(json: &str) -> String {
        decode::<Probe<'_>>(json).unwrap_err().to_string()
    }

    #[test]
    fn names_the_path_and_the_shape_but_never_the_value() {
        assert_eq!(
            fails(r#"{"list":[{},{"text":5}]}"#),
            "invalid params: list[1].text must be a string"
        );
        assert_eq!(
            fails(r#"{"list":[{"list":"s3cret"}]}"#),
            "invalid params: list[0].list must be an array"
        );
        assert_eq!(
            fails(r#"{"int":"s3cret"}"#),
            "invalid params: int must be a 32-bit integer"
        );
        assert_eq!(fails("7"), "invalid params: params must be an object");
        for half in [
            r#""\ud83d""#,
            r#""\ud83dx""#,
            r#""\udc00""#,
            r#""\ud83d\n""#,
        ] {
            assert_eq!(
                fails(&format!(r#"{{"list":[{{"text":{half}}}]}}"#)),
                "invalid params: list[0].text has half a surrogate pair"
            );
        }
        assert_eq!(
            fails(r#"{"int":1e400}"#),
            "invalid params: int is a number out of range"
        );
    }

    #[test]
    fn arrays_are_no_objects() {
        let nested = decode::<Probe<'_>>(r#"{"list":[{}]}"#).unwrap();
        assert_eq!(nested.list.len(), 1);
        assert_eq!(fails("[]"), "invalid params: params must be an object");
        assert_eq!(
            fails(r#"{"list":[["a"]]}"#),
            "invalid params: list[0] must be an object"
        );
    }

    #[test]
    fn broken_text_is_a_parse_error() {
        let error = decode::<Probe<'_>>(r#"{"text":"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse);
        let error = decode_bytes::<Probe<'_>>(b"{\"text\":\"\xff\"}").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse);
    }

    #[test]
    fn a_member_given_twice_is_refused() {
        let text = fails(r#"{"int":1,"int":2}"#);
        assert_eq!(text, "invalid params: params has a duplicate field `int`");
    }

    #[test]
    fn integers_come_in_three_forms() {
        for json in [r#"{"int":7}"#, r#"{"int":"7"}"#, r#"{"int":7.0}"#] {
            assert_eq!(
                decode::<Probe<'_>>(json).unwrap().int,
                Some(Int(7)),
                "{json}"
            );
        }
        for json in [r#"{"int":7.5}"#, r#"{"int":3000000000}"#, r#"{"int":"x"}"#] {
            assert!(decode::<Probe<'_>>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn null_is_unset_unless_it_is_asked_for() {
        let probe = decode::<Probe<'_>>(r#"{"text":null,"raw":null}"#).unwrap();
        assert_eq!(probe.text, None);
        assert_eq!(probe.raw.unwrap().get(), "null");
    }

    #[test]
    fn strings_are_borrowed_unless_escaped() {
        let probe = decode::<Probe<'_>>(r#"{"text":"plain"}"#).unwrap();
        assert!(matches!(probe.text, Some(Text(Cow::Borrowed("plain")))));
        let probe = decode::<Probe<'_>>(r#"{"text":"a\nb"}"#).unwrap();
        assert_eq!(probe.text.unwrap().as_str(), "a\nb");
    }

    #[test]
    fn base64_comes_in_four_forms() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(base64(text).as_deref(), Some(&[0xfb, 0xff][..]), "{text}");
        }
        assert_eq!(base64(""), Some(Vec::new()));
        assert_eq!(base64("not base64!"), None);
    }
}
