//! Finds in a JSON text what two readers may understand differently: a member given twice, a number that does not fit
//! into a double, half a surrogate pair, nesting that exhausts a stack.
//!
//! Called by [`Json`](super::Json) on text whose syntax the parser has checked. [`inspect`] makes one pass over every
//! free JSON value that arrives, so it keeps a 64-bit hash per member name and builds no tree. The other functions run
//! only for texts with duplicate members.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use super::InvalidJson;

/// The longest path of a duplicate member that an error shows, in bytes. The names in it are the caller's.
const MAX_PATH: usize = 200;

/// A number without an exponent needs this many digits to exceed the range of a double.
const MIN_OVERFLOWING_DIGITS: usize = 309;

/// What a text holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Findings {
    /// An object names a member twice, or two of its names have the same hash.
    pub(super) may_have_duplicates: bool,
    /// A number exceeds the range of a double.
    pub(super) number_out_of_range: bool,
    /// There are line breaks between its tokens.
    pub(super) line_breaks: bool,
}

/// Inspects a valid JSON text in one pass.
pub(super) fn inspect(text: &str, max_depth: usize) -> Result<Findings, InvalidJson> {
    let hasher = RandomState::new();
    let mut findings = Findings::default();
    // The hashes of the member names of all open objects, and where those of each container begin.
    let mut hashes: Vec<u64> = Vec::new();
    let mut begins: Vec<usize> = Vec::new();
    for token in Tokens::new(text) {
        match token {
            Token::OpenObject | Token::OpenArray => {
                begins.push(hashes.len());
                if begins.len() > max_depth {
                    return Err(InvalidJson::TooDeep);
                }
            }
            Token::Close => {
                let begin = begins.pop().unwrap_or_default();
                let own = &mut hashes[begin..];
                own.sort_unstable();
                findings.may_have_duplicates |= own.windows(2).any(|pair| pair[0] == pair[1]);
                hashes.truncate(begin);
            }
            Token::Name(range) => {
                require_whole_characters(&text[range.clone()])?;
                hashes.push(hasher.hash_one(&*unescaped(&text[range])));
            }
            Token::Text(range) => require_whole_characters(&text[range])?,
            Token::Number(range) => {
                findings.number_out_of_range |= is_out_of_range(&text[range]);
            }
            Token::LineBreak => findings.line_breaks = true,
            Token::Comma => {}
        }
    }
    Ok(findings)
}

/// The members that a later one of the same name replaces: each from its name to the name of the next member. Sorted;
/// a range may be within an earlier one.
#[cold]
pub(super) fn duplicates(text: &str) -> Vec<Range<usize>> {
    /// Of an open container, where its members begin, and which is the latest of a name.
    #[derive(Default)]
    struct Members<'a> {
        begins: Vec<usize>,
        latest: HashMap<Cow<'a, str>, usize>,
    }
    let mut found = Vec::new();
    let mut open: Vec<Members<'_>> = Vec::new();
    for token in Tokens::new(text) {
        match token {
            Token::OpenObject | Token::OpenArray => open.push(Members::default()),
            Token::Close => drop(open.pop()),
            Token::Name(range) => {
                let Some(Members { begins, latest }) = open.last_mut() else {
                    continue;
                };
                begins.push(range.start);
                let earlier = latest.insert(unescaped(&text[range]), begins.len() - 1);
                if let Some(earlier) = earlier {
                    found.push(begins[earlier]..begins[earlier + 1]);
                }
            }
            Token::Comma | Token::Text(_) | Token::Number(_) | Token::LineBreak => {}
        }
    }
    found.sort_by_key(|range| range.start);
    found
}

/// The text without these ranges, as [`duplicates`] gives them.
#[cold]
pub(super) fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.start >= at {
            rest.push_str(&text[at..range.start]);
            at = range.end;
        }
    }
    rest.push_str(&text[at..]);
    rest
}

/// The path of the member whose name begins at an offset: `.a[3]["x y"]`.
#[cold]
pub(super) fn path_of(text: &str, offset: usize) -> String {
    enum Container<'a> {
        Object(&'a str),
        Array(usize),
    }
    let mut open: Vec<Container<'_>> = Vec::new();
    for token in Tokens::new(text) {
        match (token, open.last_mut()) {
            (Token::OpenObject, _) => open.push(Container::Object("")),
            (Token::OpenArray, _) => open.push(Container::Array(0)),
            (Token::Close, _) => drop(open.pop()),
            (Token::Comma, Some(Container::Array(index))) => *index += 1,
            (Token::Name(range), Some(Container::Object(name))) => {
                let is_found = range.start == offset;
                *name = &text[range];
                if is_found {
                    break;
                }
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for container in open {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        // Writing to a string does not fail.
        let _ = match container {
            Container::Object(quoted) => match unescaped(quoted) {
                name if !name.is_empty() && name.chars().all(plain) => write!(path, ".{name}"),
                name => write!(path, "[{name:?}]"),
            },
            Container::Array(index) => write!(path, "[{index}]"),
        };
        if path.len() > MAX_PATH {
            path.truncate(path.floor_char_boundary(MAX_PATH));
            path.push('…');
            break;
        }
    }
    path
}

enum Token {
    OpenObject,
    OpenArray,
    Close,
    Comma,
    /// The name of a member, with its quotes.
    Name(Range<usize>),
    /// Another string, with its quotes.
    Text(Range<usize>),
    Number(Range<usize>),
    LineBreak,
}

/// The tokens of a valid JSON text, without colons, words and spaces.
struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    /// For each open container, whether it is an object.
    objects: Vec<bool>,
    name_is_next: bool,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: 0,
            objects: Vec::new(),
            name_is_next: false,
        }
    }

    /// The string whose opening quote is at `start`.
    fn string(&mut self, start: usize) -> Range<usize> {
        let mut at = start + 1;
        while let Some(found) = memchr::memchr2(b'"', b'\\', self.bytes.get(at..).unwrap_or(&[])) {
            at += found;
            if self.bytes[at] == b'"' {
                break;
            }
            at += 2;
        }
        self.at = (at + 1).min(self.bytes.len());
        start..self.at
    }

    fn number(&mut self, start: usize) -> Range<usize> {
        let digits = self.bytes[start..].iter();
        let end = digits
            .take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .count();
        self.at = start + end;
        start..self.at
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            let byte = *self.bytes.get(start)?;
            self.at += 1;
            return Some(match byte {
                b'{' => {
                    self.objects.push(true);
                    self.name_is_next = true;
                    Token::OpenObject
                }
                b'[' => {
                    self.objects.push(false);
                    self.name_is_next = false;
                    Token::OpenArray
                }
                b'}' | b']' => {
                    self.objects.pop();
                    self.name_is_next = false;
                    Token::Close
                }
                b',' => {
                    self.name_is_next = self.objects.last() == Some(&true);
                    Token::Comma
                }
                b'"' if self.name_is_next => {
                    self.name_is_next = false;
                    Token::Name(self.string(start))
                }
                b'"' => Token::Text(self.string(start)),
                b'-' | b'0'..=b'9' => Token::Number(self.number(start)),
                b'\n' | b'\r' => Token::LineBreak,
                _ => continue,
            });
        }
    }
}

/// What a quoted string says.
fn unescaped(quoted: &str) -> Cow<'_, str> {
    let plain = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(quoted);
    match plain.contains('\\') {
        true => serde_json::from_str(quoted).map_or(Cow::Borrowed(plain), Cow::Owned),
        false => Cow::Borrowed(plain),
    }
}

fn is_out_of_range(number: &str) -> bool {
    let may_be = number.len() >= MIN_OVERFLOWING_DIGITS || number.contains(['e', 'E']);
    may_be && number.parse().is_ok_and(f64::is_infinite)
}

/// Finds what the grammar allows and most readers do not: half of a character in a string.
fn require_whole_characters(quoted: &str) -> Result<(), InvalidJson> {
    let bytes = quoted.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or(&[])) {
        at += found;
        match escaped_unit(bytes, at) {
            Some(0xD800..=0xDBFF) => match escaped_unit(bytes, at + 6) {
                Some(0xDC00..=0xDFFF) => at += 12,
                _ => return Err(InvalidJson::Surrogate),
            },
            Some(0xDC00..=0xDFFF) => return Err(InvalidJson::Surrogate),
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    Ok(())
}

/// The UTF-16 unit of the escape (`\\u` and four digits) at a place.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
