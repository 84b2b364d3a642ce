//! What every backend does alike that is called over HTTP: the client, bounded reads, and texts that keep secrets.

use std::time::Duration;

use http::HeaderMap;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Certificate, Client, ClientBuilder, Response, redirect};
use serde_json::Value;
use switchboard_server::clock;
use switchboard_types::backoff;
use url::Url;

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
pub(crate) fn client() -> Result<Client, String> {
    trusting(None, |builder| builder)
}

/// The same; it trusts these certificates, too (PEM), and is otherwise made so.
pub(crate) fn trusting(
    roots: Option<&[u8]>,
    made: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, String> {
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")));
    if let Some(pem) = roots {
        let roots = Certificate::from_pem_bundle(pem).unwrap_or_default();
        if roots.is_empty() {
            return Err("no PEM certificate found".to_owned());
        }
        builder = builder.tls_certs_merge(roots);
    }
    made(builder).build().map_err(|error| chain(&error))
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
pub(crate) fn without(shown: &HeaderMap, text: String) -> String {
    let values = shown.values().filter_map(|value| value.to_str().ok());
    let secrets = values.flat_map(|value| [Some(value), value.split_once(' ').map(|(_, it)| it)]);
    hidden(text, secrets.flatten())
}

/// What is shorter is no secret, and stands in many words.
const SHORTEST_SECRET: usize = 4;

/// The text without these.
pub(crate) fn hidden<'a>(mut text: String, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let secrets = secrets
        .into_iter()
        .filter(|secret| secret.len() >= SHORTEST_SECRET);
    let mut secrets: Vec<&str> = secrets.collect();
    // One may be the beginning of another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets {
        text = text.replace(secret, "***");
    }
    text
}

/// All texts that are in there, changed so.
pub(crate) fn in_texts(value: Value, change: &impl Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => change(text).into(),
        Value::Array(all) => all.into_iter().map(|one| in_texts(one, change)).collect(),
        Value::Object(all) => {
            let changed = |(key, one)| (change(key), in_texts(one, change));
            Value::Object(all.into_iter().map(changed).collect())
        }
        other => other,
    }
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

/// Where something is, without what may be secret in its address.
pub(crate) fn place(url: &str) -> String {
    if !url.contains(['@', '?', '#']) {
        // Most have none, and this is asked for in each turn.
        return url.to_owned();
    }
    match Url::parse(url) {
        Ok(mut url) => {
            // Nobody is called anything there who cannot be.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.into()
        }
        Err(_) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
    }
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

/// How long the upstream asks us to wait, by its `Retry-After` header.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    backoff::retry_after(value, clock::system_time())
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
    fn a_key_of_two_words_is_taken_out_whole_and_so_is_one_that_begins_like_another() {
        let key = HeaderValue::from_static("open sesame");
        let shown = HeaderMap::from_iter([(http::header::COOKIE, key)]);
        assert_eq!(
            without(&shown, "no open sesame: sesame".to_owned()),
            "no ***: ***"
        );
        let text = hidden("abcd abcde".to_owned(), ["", "abcd", "abcde"]);
        assert_eq!(text, "*** ***");
        // What is short stands in many words.
        let text = hidden("canceled by a".to_owned(), ["a"]);
        assert_eq!(text, "canceled by a");
    }

    #[test]
    fn a_place_is_told_without_what_may_be_secret() {
        for (url, told) in [
            ("https://u:p@h:1/a?key=k#f", "https://h:1/a"),
            ("http://h/a", "http://h/a"),
            ("h:50051?key=k", "h:50051"),
        ] {
            assert_eq!(place(url), told);
        }
    }

    #[test]
    fn what_others_say_is_short() {
        assert_eq!(quoted(&"é".repeat(501)), format!("{}…", "é".repeat(500)));
        assert_eq!(quoted(" a\n b "), "a b");
    }
}
