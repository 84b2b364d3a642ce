//! Service parameters: what goes with every request, as HTTP headers or as gRPC metadata (A2A 1.0 §3.2.6).

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_types::ProtocolVersion;
use uuid::Uuid;

use crate::error::{Error, Kind};
use crate::options::CallOptions;

const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");
const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// What 0.x calls it; harmless to others.
const X_A2A_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What a client says with every request.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServiceParams {
    /// Extensions it asks for.
    pub(crate) extensions: Vec<String>,
    /// Whatever else the user set.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl ServiceParams {
    /// The headers of one request.
    ///
    /// # Errors
    ///
    /// If a value is not a valid header value.
    pub(crate) fn headers(
        &self,
        version: ProtocolVersion,
        options: &CallOptions,
    ) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(A2A_VERSION, HeaderValue::from_static(version.name()));
        let mut extensions: Vec<&str> = Vec::new();
        for uri in self.extensions.iter().chain(&options.extensions) {
            if !extensions.contains(&uri.as_str()) {
                extensions.push(uri);
            }
        }
        if !extensions.is_empty() {
            let value = text("extension", &extensions.join(", "))?;
            headers.insert(A2A_EXTENSIONS, value.clone());
            headers.insert(X_A2A_EXTENSIONS, value);
        }
        let trace = options.traceparent.clone().unwrap_or_else(fresh_trace);
        headers.insert(TRACEPARENT, text("traceparent", &trace)?);
        if let Some(key) = &options.idempotency_key {
            headers.insert(IDEMPOTENCY_KEY, text("idempotency key", key)?);
        }
        if let Some(id) = &options.last_event_id {
            headers.insert(LAST_EVENT_ID, text("last event id", id)?);
        }
        for (name, value) in self.headers.iter().chain(&options.headers) {
            headers.insert(name.clone(), value.clone());
        }
        Ok(headers)
    }
}

fn text(what: &str, value: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(value).map_err(|_| {
        Error::new(
            Kind::Reference,
            format!("the {what} is not a valid header value"),
        )
    })
}

/// A trace of its own for a request that belongs to none (W3C Trace Context).
fn fresh_trace() -> String {
    let span = Uuid::new_v4().as_u128() as u64 | 1;
    format!("00-{}-{span:016x}-01", Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_names_its_version_and_belongs_to_a_trace() {
        for version in ProtocolVersion::ALL {
            let headers = ServiceParams::default()
                .headers(version, &CallOptions::new())
                .unwrap();
            assert_eq!(headers["a2a-version"], version.name());
            let trace = headers["traceparent"].to_str().unwrap();
            let lengths: Vec<usize> = trace.split('-').map(str::len).collect();
            assert_eq!(lengths, [2, 32, 16, 2], "{trace}");
            assert_eq!(headers.len(), 2);
        }
    }

    #[test]
    fn extensions_are_joined_once_each_under_both_names() {
        let params = ServiceParams {
            extensions: vec!["urn:a".to_owned(), "urn:b".to_owned()],
            headers: Vec::new(),
        };
        let options = CallOptions::new().extension("urn:b").extension("urn:c");
        let headers = params.headers(ProtocolVersion::ALL[0], &options).unwrap();
        assert_eq!(headers["a2a-extensions"], "urn:a, urn:b, urn:c");
        assert_eq!(headers["x-a2a-extensions"], "urn:a, urn:b, urn:c");
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_refused() {
        let options = CallOptions::new().idempotency_key("two\nlines");
        let error = ServiceParams::default()
            .headers(ProtocolVersion::ALL[0], &options)
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Reference);
    }
}
