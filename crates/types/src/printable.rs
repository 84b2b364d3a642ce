//! Makes text of others safe for a terminal: escapes the characters that drive it, hide something on it or reorder it.
//!
//! Such a character is written as a JSON escape, `\u202e`. In text that is a mark which readers see; in JSON, where it
//! can only be part of a string, it is the same string to every parser. So one function serves both, and the commands apply
//! it to everything that they print; [`line()`] and [`lines`] are for code that lays out text of others.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes what a terminal must not be given. Line feeds and tabs stay.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_all_but(text, None)
}

/// The same for a log line with colours of our own; whatever writes it has escaped this character in text of others.
#[must_use]
pub fn escape_coloured(text: &str) -> Cow<'_, str> {
    escape_all_but(text, Some('\u{1b}'))
}

fn escape_all_but(text: &str, kept: Option<char>) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | 0x20..=0x7e);
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = is_joiner(c) && joins(before, chars.peek().copied());
        if is_unsafe(c) && !joins && Some(c) != kept {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Text of others as a part of one line.
#[must_use]
pub fn line(text: &str) -> String {
    let flat = text.replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
    escape(&flat).into_owned()
}

/// Text of others as lines of its own.
#[must_use]
pub fn lines(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    escape(&lines).into_owned()
}

/// Whether a terminal would obey, hide or reorder: controls (C0, C1), line and paragraph separators, marks of writing
/// direction, and characters that nobody sees.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ if c.is_control() => true,
        // Soft hyphen, grapheme joiner, fillers of Hangul and Khmer, Mongolian vowel separator.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' => {
            true
        }
        // Arabic letter mark; zero-width spaces, joiners, marks of direction; separators, embeddings and overrides;
        // invisible operators and isolates.
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {
            true
        }
        // Another filler, byte order mark, interlinear annotations, and letters that are invisible altogether.
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Zero-width (non-)joiners are letters of some scripts, and part of many emoji.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a joiner between the two belongs there, rather than hiding in a word of ASCII.
fn joins(before: Option<char>, after: Option<char>) -> bool {
    let is_script = |c: char| !c.is_ascii() && !is_unsafe(c);
    before.is_some_and(is_script) && after.is_some_and(is_script)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_marked() {
        for (given, expected) in [
            ("plain text\n\tstays", "plain text\n\tstays"),
            ("Grüße, 你好, שלום, 🦀", "Grüße, 你好, שלום, 🦀"),
            ("a\u{202e}b", r"a\u202eb"),
            ("a\u{200b}b\u{2028}c\u{2029}d", r"a\u200bb\u2028c\u2029d"),
            (
                "\u{1b}[31m\u{7f}\u{9b}2J\u{85}",
                r"\u001b[31m\u007f\u009b2J\u0085",
            ),
            (
                "\u{2066}x\u{2069}\u{feff}\u{ad}",
                r"\u2066x\u2069\ufeff\u00ad",
            ),
            ("tag\u{e0041}", r"tag\udb40\udc41"),
            // In emoji and scripts that need them, joiners stay; in ASCII they hide.
            (
                "👩\u{200d}💻 نمی\u{200c}خواهم",
                "👩\u{200d}💻 نمی\u{200c}خواهم",
            ),
            ("pay\u{200d}pal\u{200c}", r"pay\u200dpal\u200c"),
        ] {
            assert_eq!(escape(given), expected);
            assert_eq!(escape(expected), expected, "once is enough");
        }
    }

    #[test]
    fn json_stays_equal_and_has_no_such_character() {
        let every: String = (0..=0x0010_ffff).filter_map(char::from_u32).collect();
        let value = json!({ "text": every, "a\u{202e}\u{9b}key": [1, "\u{e0041}"] });
        for printed in [value.to_string(), format!("{value:#}")] {
            let escaped = escape(&printed);
            assert!(!escaped.contains(char::is_control) || printed.contains('\n'));
            let joined = |c: char| is_unsafe(c) && !is_joiner(c);
            assert!(!escaped.contains(joined));
            assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
        }
    }

    #[test]
    fn colours_of_our_own_stay() {
        let line = "\u{1b}[31mERROR\u{1b}[0m a\u{202e}b\u{9b}";
        assert_eq!(
            escape_coloured(line),
            "\u{1b}[31mERROR\u{1b}[0m a\\u202eb\\u009b"
        );
    }

    #[test]
    fn lines_begin_only_where_they_may() {
        assert_eq!(line("a\r\nb\rc\nd\te\u{2028}f"), r"a b c d e\u2028f");
        assert_eq!(lines("a\r\nb\rc\n\td\u{85}e"), "a\nb\nc\n\td\\u0085e");
    }
}
