//! A JSON writer that appends to a buffer: no tree, no error to handle, nothing allocated.
//!
//! It writes what the encoders of `v1_0` and `v0_3` tell it, in their order, on one line. Encoders of what can be
//! large are generic over [`Out`]: the same code fills a buffer, and makes the outlines of `rendering`.

use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::rendering::{Elements, Value};
use crate::model::{Json, Object, Timestamp};

/// Where an encoder writes: a buffer, or an outline that leaves large values out.
pub(crate) trait Out: Sized {
    /// The buffer to write to.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Leaves a value out, to be rendered later in this place. `false`: write it now.
    fn leaves_out(&mut self, _value: impl FnOnce() -> Value) -> bool {
        false
    }

    /// Leaves an array out: these elements of the value that is being written.
    fn leaves_out_elements(&mut self, _elements: Elements) -> bool {
        false
    }

    /// Leaves a string out.
    fn leaves_out_string(&mut self, _text: &str) -> bool {
        false
    }

    /// Leaves free JSON out.
    fn leaves_out_json(&mut self, _json: &Json) -> bool {
        false
    }

    /// Leaves the bytes of a file out, quotes and all. `twice`: as base64 of their base64 text.
    fn leaves_out_raw(&mut self, _bytes: &Bytes, _twice: bool) -> bool {
        false
    }
}

impl Out for Vec<u8> {
    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }
}

/// The members of an object that is being written.
pub(crate) struct Members<'a, O = Vec<u8>> {
    out: &'a mut O,
    empty: bool,
}

/// Writes an object whose members `fill` gives.
pub(crate) fn object<O: Out>(out: &mut O, fill: impl FnOnce(&mut Members<'_, O>)) {
    out.buffer().push(b'{');
    fill(&mut Members { out, empty: true });
    out.buffer().push(b'}');
}

/// Writes an array of `items`, each by `each`.
pub(crate) fn array<T, O: Out>(
    out: &mut O,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(T, &mut O),
) {
    out.buffer().push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.buffer().push(b',');
        }
        each(item, out);
    }
    out.buffer().push(b']');
}

/// Writes a string.
pub(crate) fn string<O: Out>(text: &str, out: &mut O) {
    if out.leaves_out_string(text) {
        return;
    }
    let out = out.buffer();
    if is_plain(text.as_bytes()) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // A buffer takes every write, and a string always prints.
        let _ = serde_json::to_writer(out, text);
    }
}

/// Whether a string needs no escapes. Most don't: they are ids, names and times.
fn is_plain(text: &[u8]) -> bool {
    // The last chunk overlaps the one before it, so no byte is left to be compared alone.
    if let Some(last) = text.last_chunk::<16>() {
        let (chunks, _) = text.as_chunks::<16>();
        chunks.iter().all(are_plain) && are_plain(last)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        are_plain(first) && are_plain(last)
    } else {
        text.iter().all(|byte| are_plain(&[*byte]))
    }
}

/// The same for a few bytes, without a branch, so that all are compared at once.
fn are_plain<const N: usize>(bytes: &[u8; N]) -> bool {
    let plain = |byte: u8| (byte >= b' ') & (byte != b'"') & (byte != b'\\');
    bytes
        .iter()
        .fold(true, |so_far, byte| so_far & plain(*byte))
}

/// Writes the bytes of a file as base64, or as base64 of that.
pub(crate) fn raw(bytes: &[u8], twice: bool, out: &mut Vec<u8>) {
    if twice {
        base64(STANDARD.encode(bytes).as_bytes(), out);
    } else {
        base64(bytes, out);
    }
}

/// Standard alphabet, padded.
fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
}

impl<O: Out> Members<'_, O> {
    /// Begins the member `name`; the caller writes its value.
    pub(crate) fn value(&mut self, name: &str) -> &mut O {
        let out = self.out.buffer();
        if self.empty {
            out.push(b'"');
        } else {
            out.extend_from_slice(b",\"");
        }
        self.empty = false;
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        self.out
    }

    /// A member whose name is not ours: it may hold anything.
    pub(crate) fn foreign(&mut self, name: &str, text: &str) {
        if !self.empty {
            self.out.buffer().push(b',');
        }
        self.empty = false;
        string(name, self.out);
        self.out.buffer().push(b':');
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
        self.value(name).buffer().extend_from_slice(text);
    }

    pub(crate) fn number(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = write!(self.value(name).buffer(), "{value}");
    }

    pub(crate) fn opt_number(&mut self, name: &str, value: Option<u32>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    pub(crate) fn json(&mut self, name: &str, json: &Json) {
        let out = self.value(name);
        if !out.leaves_out_json(json) {
            out.buffer().extend_from_slice(json.as_str().as_bytes());
        }
    }

    pub(crate) fn opt_json(&mut self, name: &str, object: Option<&Object>) {
        if let Some(object) = object {
            self.json(name, object.as_json());
        }
    }

    /// The extensions of a message or artifact, as a rule; left out when empty.
    pub(crate) fn strings(&mut self, name: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.elements(name, Elements::Extensions, texts, |text, out| {
                string(text, out);
            });
        }
    }

    pub(crate) fn time(&mut self, name: &str, time: Timestamp) {
        let out = self.value(name).buffer();
        out.push(b'"');
        time.write(out);
        out.push(b'"');
    }

    /// The bytes of a file as base64, or as base64 of that.
    pub(crate) fn raw(&mut self, name: &str, bytes: &Bytes, twice: bool) {
        let out = self.value(name);
        if !out.leaves_out_raw(bytes, twice) {
            let out = out.buffer();
            out.push(b'"');
            raw(bytes, twice, out);
            out.push(b'"');
        }
    }

    /// An array that may be large: its elements can be rendered later, one by one.
    pub(crate) fn elements<T>(
        &mut self,
        name: &str,
        elements: Elements,
        items: impl IntoIterator<Item = T>,
        each: impl FnMut(T, &mut O),
    ) {
        let out = self.value(name);
        if !out.leaves_out_elements(elements) {
            array(out, items, each);
        }
    }

    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Members<'_, O>)) {
        object(self.value(name), fill);
    }

    pub(crate) fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        each: impl FnMut(T, &mut O),
    ) {
        array(self.value(name), items, each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_escaped_wherever_it_must_be() {
        for length in 0..50 {
            for at in 0..=length {
                for odd in [
                    "", "\"", "\\", "\n", "\u{0}", "\u{1f}", " ", "\u{7f}", "é", "\u{2028}",
                ] {
                    let text = format!("{}{odd}{}", "a".repeat(at), "b".repeat(length - at));
                    let mut out = Vec::new();
                    string(&text, &mut out);
                    assert_eq!(out, serde_json::to_vec(&text).unwrap(), "{text:?}");
                }
            }
        }
    }

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
            o.raw("raw", &Bytes::from_static(&[0xfb, 0xff]), false);
            o.raw("text", &Bytes::from_static(&[0xfb, 0xff]), true);
            o.object("o", |_| {});
        });
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"a":"x\n\"y\"\u0001","b":true,"n":18446744073709551615,"s":["p","q"],"raw":"+/8=","text":"Ky84PQ==","o":{}}"#
        );
    }
}
