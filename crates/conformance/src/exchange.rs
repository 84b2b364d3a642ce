//! One request and its answer, as they are shown to people: credentials are not.

use std::fmt::Write;

use http::HeaderMap;
use switchboard_types::printable;

/// How much of a body is kept for the report.
const KEPT: usize = 16 * 1024;

/// A request and its answer, for the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The verb and the address.
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The status, or why there was none.
    pub(crate) status: String,
    pub(crate) answer_headers: Vec<(String, String)>,
    pub(crate) answer: String,
}

impl Exchange {
    /// The exchange as it looks on a wire.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.line);
        block(&mut text, &self.headers, &self.body);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}", self.status);
        block(&mut text, &self.answer_headers, &self.answer);
        text
    }
}

fn block(text: &mut String, headers: &[(String, String)], body: &str) {
    for (name, value) in headers {
        let _ = writeln!(text, "{name}: {value}");
    }
    if !body.is_empty() {
        let _ = writeln!(text, "\n{}", body.trim_end());
    }
}

/// Headers that may be shown. `secret` names one that holds a key.
pub(crate) fn shown(headers: &HeaderMap, secret: Option<&str>) -> Vec<(String, String)> {
    let one = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        let hidden = value.is_sensitive()
            || [
                "authorization",
                "cookie",
                "set-cookie",
                "proxy-authorization",
            ]
            .contains(&name.as_str())
            || secret.is_some_and(|secret| name.as_str().eq_ignore_ascii_case(secret));
        let value = if hidden {
            "(hidden)".to_owned()
        } else {
            printable::line(&String::from_utf8_lossy(value.as_bytes()))
        };
        (name.as_str().to_owned(), value)
    };
    headers.iter().map(one).collect()
}

/// An address that may be shown: without the values of a query that holds a key.
pub(crate) fn address(url: &url::Url, secret: Option<&str>) -> String {
    let mut shown = url.clone();
    if shown.password().is_some() {
        // It had one, so it can have another.
        let _ = shown.set_password(Some("hidden"));
    }
    if let Some(secret) = secret
        && url.query_pairs().any(|(key, _)| key == secret)
    {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(key, value)| {
                let value = if key == secret {
                    "hidden".into()
                } else {
                    value
                };
                (key.into_owned(), value.into_owned())
            })
            .collect();
        shown.query_pairs_mut().clear().extend_pairs(pairs);
    }
    shown.into()
}

/// A body that may be shown: not longer than a reader can take, and without control codes.
pub(crate) fn body(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let end = text.floor_char_boundary(KEPT);
    let mut kept = printable::lines(&text[..end]);
    if end < text.len() {
        let _ = write!(kept, "… ({} bytes)", bytes.len());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer s3cret".parse().unwrap());
        headers.insert("x-key", "s3cret".parse().unwrap());
        headers.insert("accept", "application/json".parse().unwrap());
        let shown = shown(&headers, Some("X-Key"));
        assert!(!format!("{shown:?}").contains("s3cret"), "{shown:?}");
        assert!(shown.contains(&("accept".to_owned(), "application/json".to_owned())));

        let url = url::Url::parse("http://me:s3cret@host/a?key=s3cret&page=2").unwrap();
        let shown = address(&url, Some("key"));
        assert_eq!(shown, "http://me:hidden@host/a?key=hidden&page=2");
    }

    #[test]
    fn bodies_hold_no_control_codes_and_end() {
        assert_eq!(body(b"a\x1b[31mb\r\nc\td"), "a\\u001b[31mb\nc\td");
        let long = body(&vec![b'x'; 3 * KEPT]);
        assert!(long.len() < 2 * KEPT && long.ends_with("bytes)"), "{long}");
    }
}
