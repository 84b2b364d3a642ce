//! Query parameters of REST (A2A 1.0 §11.5): camelCase or snake_case names, values as text.

use std::borrow::Cow;

use crate::error::Error;
use crate::wire::read::{Int, Text, Word};

/// The parameters of a query.
pub(super) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Splits a query.
    ///
    /// # Errors
    ///
    /// If it is not percent-encoded UTF-8.
    pub(super) fn parse(query: Option<&'a str>) -> Result<Self, Error> {
        let pairs = query.unwrap_or_default().split('&').map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let key = decode(key, true).ok_or_else(|| not_text("query"))?;
            match decode(value, true) {
                Some(value) => Ok((key, value)),
                None => Err(not_text(&key)),
            }
        });
        pairs.collect::<Result<_, _>>().map(Self)
    }

    /// The value of a parameter by any of its names; an empty one is absent.
    pub(super) fn text(&self, names: &[&'static str]) -> Result<Option<Text<'a>>, Error> {
        let mut values = self
            .0
            .iter()
            .filter(|(key, value)| names.contains(&key.as_ref()) && !value.is_empty())
            .map(|(_, value)| value);
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Err(bad(names, "is given more than once")),
            (value, _) => Ok(value.cloned().map(Text)),
        }
    }

    pub(super) fn int(&self, names: &[&'static str]) -> Result<Option<Int>, Error> {
        self.text(names)?
            .map(|text| {
                Int::parse(text.as_str()).ok_or_else(|| bad(names, "must be a 32-bit integer"))
            })
            .transpose()
    }

    pub(super) fn bool(&self, names: &[&'static str]) -> Result<Option<bool>, Error> {
        self.text(names)?
            .map(|text| match text.as_str() {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(bad(names, "must be true or false")),
            })
            .transpose()
    }

    /// An enum by name or number.
    pub(super) fn word(&self, names: &[&'static str]) -> Result<Option<Word<'a>>, Error> {
        Ok(self.text(names)?.map(|text| match text.as_str().parse() {
            Ok(number) => Word::Number(number),
            Err(_) => Word::Name(text),
        }))
    }
}

fn not_text(name: &str) -> Error {
    Error::invalid_params(name, "must be percent-encoded UTF-8")
}

fn bad(names: &[&'static str], reason: &str) -> Error {
    Error::invalid_params(names.first().copied().unwrap_or("query"), reason)
}

/// Undoes percent-encoding; `None` if that is broken or no text. In queries `+` is a space.
pub(super) fn decode(text: &str, plus_is_space: bool) -> Option<Cow<'_, str>> {
    if !text
        .bytes()
        .any(|b| b == b'%' || (plus_is_space && b == b'+'))
    {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => (hex(rest.next()?)? << 4) | hex(rest.next()?)?,
            b'+' if plus_is_space => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}
