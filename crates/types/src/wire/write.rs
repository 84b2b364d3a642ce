//! A JSON writer that appends to a buffer: no tree, no error to handle, nothing allocated.
//!
//! It writes what the encoders of `v1_0` and `v0_3` tell it, in their order, on one line.

use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::{Json, Object, Timestamp};

/// The members of an object that is being written.
pub(crate) struct Members<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

/// Writes an object whose members `fill` gives.
pub(crate) fn object(out: &mut Vec<u8>, fill: impl FnOnce(&mut Members<'_>)) {
    out.push(b'{');
    fill(&mut Members { out, empty: true });
    out.push(b'}');
}

/// Writes an array of `items`, each by `each`.
pub(crate) fn array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        each(item, out);
    }
    out.push(b']');
}

/// Writes a string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    // A buffer takes every write, and a string always prints.
    let _ = serde_json::to_writer(out, text);
}

impl Members<'_> {
    /// Begins the member `name`; the caller writes its value.
    pub(crate) fn value(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// A member whose name is not ours: it may hold anything.
    pub(crate) fn foreign(&mut self, name: &str, text: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        string(name, self.out);
        self.out.push(b':');
        string(text, self.out);
    }

    pub(crate) fn str(&mut self, name: &str, text: &str) {
        string(text, self.value(name));
    }

    /// An implicit string: left out when empty.
    pub(crate) fn opt_str(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.str(name, text);
        }
    }

    pub(crate) fn bool(&mut self, name: &str, value: bool) {
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.value(name).extend_from_slice(text);
    }

    pub(crate) fn number(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = write!(self.value(name), "{value}");
    }

    pub(crate) fn opt_number(&mut self, name: &str, value: Option<u32>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    pub(crate) fn json(&mut self, name: &str, json: &Json) {
        self.value(name).extend_from_slice(json.as_str().as_bytes());
    }

    pub(crate) fn opt_json(&mut self, name: &str, object: Option<&Object>) {
        if let Some(object) = object {
            self.json(name, object.as_json());
        }
    }

    /// Left out when empty.
    pub(crate) fn strings(&mut self, name: &str, texts: &[String]) {
        if !texts.is_empty() {
            array(self.value(name), texts, |text, out| string(text, out));
        }
    }

    pub(crate) fn time(&mut self, name: &str, time: Timestamp) {
        let _ = write!(self.value(name), "\"{time}\"");
    }

    /// Standard alphabet, padded.
    pub(crate) fn base64(&mut self, name: &str, bytes: &[u8]) {
        let out = self.value(name);
        out.push(b'"');
        let start = out.len();
        out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
        out.truncate(start + written);
        out.push(b'"');
    }

    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Members<'_>)) {
        object(self.value(name), fill);
    }

    pub(crate) fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        each: impl FnMut(T, &mut Vec<u8>),
    ) {
        array(self.value(name), items, each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_one_line() {
        let mut out = Vec::new();
        object(&mut out, |o| {
            o.str("a", "x\n\"y\"\u{1}");
            o.opt_str("absent", None);
            o.opt_str("empty", Some(""));
            o.bool("b", true);
            o.number("n", u64::MAX);
            o.strings("none", &[]);
            o.strings("s", &["p".into(), "q".into()]);
            o.base64("raw", &[0xfb, 0xff]);
            o.object("o", |_| {});
        });
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"a":"x\n\"y\"\u0001","b":true,"n":18446744073709551615,"s":["p","q"],"raw":"+/8=","o":{}}"#
        );
    }
}
