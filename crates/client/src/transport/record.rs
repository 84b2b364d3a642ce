//! What went over the wire, for those who want to see it: debug lines, conformance reports. Secrets are taken out
//! before anyone sees an exchange, and nothing can switch that off.

use std::fmt;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use url::Url;

/// Headers whose values are never shown.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "x-a2a-notification-token",
];

/// Members of JSON bodies whose values are never shown.
const SECRET_MEMBERS: [&str; 8] = [
    "token",
    "credentials",
    "access_token",
    "refresh_token",
    "id_token",
    "client_secret",
    "device_code",
    "password",
];

/// What is shorter keeps no secret, and stands in many a word.
const SHORTEST_SECRET: usize = 4;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// One request and what was answered; of a stream, its head.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// `POST http://…`, its query without secrets.
    pub request: String,
    /// The headers of the request, secrets hidden.
    pub request_headers: Vec<(String, String)>,
    /// The body of the request, secrets hidden.
    pub request_body: String,
    /// The HTTP status; 0 if there was no answer.
    pub status: u16,
    /// The headers of the answer, secrets hidden.
    pub response_headers: Vec<(String, String)>,
    /// The body of the answer, secrets hidden; of a stream, nothing.
    pub response_body: String,
}

/// Sees every exchange.
#[derive(Clone)]
pub struct Recorder(Arc<dyn Fn(Exchange) + Send + Sync>);

impl Recorder {
    /// `see` is called after each exchange, from within the call: it should be quick.
    pub fn new(see: impl Fn(Exchange) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }

    pub(crate) fn see(&self, exchange: Exchange) {
        (self.0)(exchange);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// A URL for errors and logs: without user, password, query and fragment, any of which may be secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Only a URL without a host refuses these, and that has neither.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
}

/// Takes secrets out of what is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redaction {
    /// Headers, cookies aside, that hold a credential by the card or by the user's word; lower case.
    pub(crate) headers: Vec<HeaderName>,
    /// Query parameters that do.
    pub(crate) parameters: Vec<String>,
}

impl Redaction {
    fn is_secret(&self, name: &HeaderName, value: &HeaderValue) -> bool {
        SECRET_HEADERS.contains(&name.as_str())
            || self.headers.contains(name)
            || value.is_sensitive()
    }

    /// The secrets that these headers show.
    pub(crate) fn secrets(&self, headers: &HeaderMap) -> Secrets {
        let secret = headers
            .iter()
            .filter(|(name, value)| self.is_secret(name, value));
        let values = secret.filter_map(|(_, value)| value.to_str().ok());
        // Whole, and without the scheme.
        let both = values.flat_map(|value| {
            let bare = value.split_once(' ').map(|(_, bare)| bare.trim_start());
            [Some(value), bare]
        });
        let known = both
            .flatten()
            .filter(|secret| secret.len() >= SHORTEST_SECRET);
        let mut known: Vec<String> = known.map(str::to_owned).collect();
        // One may be the beginning of another.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(known)
    }

    /// Headers, with secrets hidden.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let shown = headers.iter().map(|(name, value)| {
            let value = match value.to_str() {
                _ if self.is_secret(name, value) => HIDDEN.to_owned(),
                Ok(text) => text.to_owned(),
                Err(_) => "(binary)".to_owned(),
            };
            (name.as_str().to_owned(), value)
        });
        shown.collect()
    }

    /// A URL, with secrets hidden: passwords and keys in the query.
    pub(crate) fn url(&self, url: &Url) -> String {
        let mut shown = url.clone();
        if url.password().is_some() {
            // A URL with a password has a host and takes another one.
            let _ = shown.set_password(Some(HIDDEN));
        }
        if url.query().is_some() {
            let pairs: Vec<(String, String)> = url
                .query_pairs()
                .map(|(name, value)| {
                    let secret = self.parameters.iter().any(|known| *known == name);
                    let value = if secret { HIDDEN.into() } else { value };
                    (name.into_owned(), value.into_owned())
                })
                .collect();
            shown.query_pairs_mut().clear().extend_pairs(pairs);
        }
        shown.to_string()
    }

    /// A body, with the secrets of webhooks and tokens hidden. What is no JSON is shown as it is, if it is text, but
    /// nothing of gRPC: nobody can tell what is secret in it.
    pub(crate) fn body(headers: &HeaderMap, body: &[u8]) -> String {
        let size = || format!("({} bytes)", body.len());
        let said = headers.get(CONTENT_TYPE);
        if said.is_some_and(|said| said.as_bytes().starts_with(b"application/grpc")) {
            return size();
        }
        match serde_json::from_slice::<serde_json::Value>(body) {
            Ok(mut value) => {
                hide(&mut value);
                value.to_string()
            }
            Err(_) => match std::str::from_utf8(body) {
                Ok(text) => text.to_owned(),
                Err(_) => size(),
            },
        }
    }

    /// A body for the log: indented, secrets hidden.
    pub(crate) fn indented(headers: &HeaderMap, body: &[u8]) -> String {
        match serde_json::from_slice::<serde_json::Value>(body) {
            Ok(mut value) => {
                hide(&mut value);
                format!("{value:#}")
            }
            Err(_) => Self::body(headers, body),
        }
    }
}

/// What was sent to show who asks. Others may repeat it in what they say.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        let known = self.0.iter();
        known.fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }

    /// What is to be read of a refusal that repeats them. What is none stays as it is.
    pub(crate) fn without(&self, refused: bool, said: &[u8]) -> Option<String> {
        #[derive(Deserialize)]
        struct Refusal {
            #[serde(rename = "error")]
            _error: IgnoredAny,
        }
        let text = std::str::from_utf8(said).ok()?;
        let repeats = self.0.iter().any(|secret| text.contains(secret));
        let refuses = || refused || serde_json::from_str::<Refusal>(text).is_ok();
        (repeats && refuses()).then(|| self.hide(text))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// Hides texts under telling names. JSON nests to 128 at most here: serde's own limit.
fn hide(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                if value.is_string() && SECRET_MEMBERS.contains(&name.as_str()) {
                    *value = HIDDEN.into();
                } else {
                    hide(value);
                }
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                hide(item);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_hidden_wherever_they_stand() {
        let redaction = Redaction {
            headers: vec![HeaderName::from_static("x-my-key")],
            parameters: vec!["key".to_owned()],
        };
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer s3cret"));
        headers.insert("x-my-key", HeaderValue::from_static("s3cret"));
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let url = Url::parse("https://u:s3cret@example.com/p?key=s3cret&a=b").unwrap();
        let body = br#"{"url":"u","token":"s3cret","authentication":{"credentials":"s3cret"}}"#;
        let shown = format!(
            "{:?} {} {} {}",
            redaction.headers(&headers),
            redaction.url(&url),
            Redaction::body(&headers, body),
            Redaction::indented(&headers, body),
        );
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(
            shown.contains("application/json") && shown.contains("a=b"),
            "{shown}"
        );
    }

    #[test]
    fn a_refusal_that_repeats_what_was_shown_is_read_without_it() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer s3cret"));
        headers.insert("x-api-key", HeaderValue::from_static("k"));
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let secrets = Redaction::default().secrets(&headers);
        let without = |refused: bool, said: &str| secrets.without(refused, said.as_bytes());
        let error = r#"{"error":{"message":"s3cret? take application/json"}}"#;
        let hidden = r#"{"error":{"message":"***? take application/json"}}"#;
        assert_eq!(without(false, error).as_deref(), Some(hidden));
        assert_eq!(without(true, "Bearer s3cret!").as_deref(), Some("***!"));
        assert_eq!(without(false, r#"{"result":"s3cret"}"#), None);
        assert_eq!(without(true, "who are you?"), None);
        assert_eq!(format!("{secrets:?}"), "***");
    }

    #[test]
    fn a_url_is_shown_without_what_may_be_secret() {
        let url = Url::parse("https://me:s3cret@example.com:9/p?key=s3cret#s3cret").unwrap();
        assert_eq!(shown(&url), "https://example.com:9/p");
    }

    #[test]
    fn nothing_of_grpc_is_shown() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        let body = b"\0\0\0\0\x08\x12\x06s3cret";
        assert_eq!(Redaction::body(&headers, body), "(13 bytes)");
        assert_eq!(Redaction::indented(&headers, body), "(13 bytes)");
    }
}
