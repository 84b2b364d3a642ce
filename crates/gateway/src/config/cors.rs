//! Web pages that may call.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use switchboard_server::http::Cors;

use super::Method;
use super::load::Check;
use super::raw;
use super::value::from_text;
use super::yaml::Step::Key;

/// An origin of web pages: `https://app.example`, `http://localhost:3000`; or `*`, any origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebOrigin(pub(crate) String);

impl FromStr for WebOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!(
                "`{text}` {why}: write scheme, host and port as browsers do, such as https://app.example"
            ))
        };
        if text == "*" {
            return Ok(Self(text.to_owned()));
        }
        let Ok(uri) = text.parse::<http::Uri>() else {
            return wrong("is not an origin");
        };
        let (Some(scheme @ ("http" | "https")), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return wrong("is not an origin of web pages");
        };
        if uri.path() != "/" || uri.query().is_some() || text.contains(['#', '@', '*']) {
            return wrong("must be only scheme, host and port");
        }
        // Browsers leave out the port that goes without saying.
        let port = uri.port_u16();
        let port = port.filter(|port| !matches!((scheme, port), ("http", 80) | ("https", 443)));
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Ok(Self(format!(
            "{scheme}://{}{port}",
            host.to_ascii_lowercase()
        )))
    }
}

impl<'de> Deserialize<'de> for WebOrigin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl JsonSchema for WebOrigin {
    fn schema_name() -> Cow<'static, str> {
        "WebOrigin".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^https?://[^/]+/?$|^\*$|\$\{",
            "description": "An origin: `https://app.example`, `http://localhost:3000`; `*` is any origin."
        })
    }
}

impl Check<'_> {
    pub(super) fn cors(&mut self, raw: raw::Cors, methods: &[Method]) -> Cors {
        let origins = raw.origins.unwrap_or_default();
        let credentials = raw.credentials.unwrap_or(false);
        let everyone = origins.iter().any(|origin| origin.0 == "*");
        let by_itself = |method: &&Method| method.kind.is_sent_by_browsers();
        if let Some(method) = methods.iter().find(by_itself).filter(|_| everyone) {
            // Also without `credentials` a page can send them; it only cannot read the answer.
            self.wrong(
                &[Key("cors"), Key("origins")],
                format!("every web page could read responses of `{}`", method.name),
                Some("name the origins instead of `*`".to_owned()),
            );
        }
        if credentials && everyone {
            self.wrong(
                &[Key("cors"), Key("credentials")],
                "every web page could act for its visitor".to_owned(),
                Some("name the origins instead of `*`, or leave credentials out".to_owned()),
            );
        }
        Cors {
            origins: origins
                .into_iter()
                .map(|origin| Arc::from(origin.0))
                .collect(),
            credentials,
            max_age: raw.max_age.map_or(Duration::from_secs(600), |time| time.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        for (text, origin) in [
            ("https://app.example", "https://app.example"),
            ("https://App.Example/", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("*", "*"),
        ] {
            assert_eq!(text.parse(), Ok(WebOrigin(origin.to_owned())), "{text}");
        }
        for text in [
            "",
            "null",
            "app.example",
            "ftp://app.example",
            "https://app.example/path",
            "https://app.example?x",
            "https://u@app.example",
            "https://*.example",
        ] {
            assert!(text.parse::<WebOrigin>().is_err(), "{text}");
        }
    }
}
