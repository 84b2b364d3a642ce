//! What every backend does alike that is called over HTTP: the client, bounded reads, and texts that keep secrets.

use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use reqwest::{Client, Response, redirect};

/// How long it may take to connect.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// As much of a text of others as is passed on.
const QUOTE: usize = 500;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is longer than it may be.
    TooLong,
    /// The connection was lost.
    CutOff,
}

/// A client that follows nobody elsewhere and repeats nothing by itself.
pub(crate) fn client() -> Result<Client, reqwest::Error> {
    Client::builder()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Whether the answer comes as a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("text/event-stream")
}

/// The whole body, if it is not too large.
pub(crate) async fn whole(mut response: Response, limit: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) if body.len() + bytes.len() > limit => return Err(Unread::TooLong),
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Ok(None) => return Ok(body),
            Err(_) => return Err(Unread::CutOff),
        }
    }
}

/// The text without what was sent to show who asks.
pub(crate) fn without(shown: &HeaderMap, mut text: String) -> String {
    for value in shown.values().filter_map(|value| value.to_str().ok()) {
        let secret = value.split_once(' ').map_or(value, |(_, secret)| secret);
        if !secret.is_empty() {
            text = text.replace(secret, "***");
        }
    }
    text
}

/// An error and what is behind it.
pub(crate) fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// A text of others, on one line and not too long.
pub(crate) fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= QUOTE {
        return line;
    }
    let begin: String = line.chars().take(QUOTE).collect();
    format!("{begin}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn keys_are_taken_out_of_what_is_told() {
        let key = HeaderValue::from_static("Bearer sk-123");
        let shown = HeaderMap::from_iter([(http::header::AUTHORIZATION, key)]);
        assert_eq!(
            without(&shown, "bad key sk-123!".to_owned()),
            "bad key ***!"
        );
    }

    #[test]
    fn what_others_say_is_short() {
        assert_eq!(quoted(&"é".repeat(501)), format!("{}…", "é".repeat(500)));
        assert_eq!(quoted(" a\n b "), "a b");
    }
}
