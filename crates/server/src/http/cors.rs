//! Which web pages may call, and how their browsers are told (CORS). None by default.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, VARY,
};
use hyper::{Method, Response, StatusCode};

use super::{Body, Head, status};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, DELETE");
/// What a page may send beyond what every page may.
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, A2A-Version, A2A-Extensions, X-A2A-Extensions, X-API-Key, Idempotency-Key, \
     Last-Event-ID, traceparent, tracestate, baggage",
);
/// What a page may see beyond what every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "A2A-Version, A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate, X-RateLimit-Limit, \
     X-RateLimit-Remaining, X-RateLimit-Reset",
);

/// Which web pages may call.
#[derive(Debug, Clone, Default)]
pub struct Cors {
    /// Their origins, such as `https://app.example`, in lower case; `*` is all of them.
    pub origins: Vec<Arc<str>>,
    /// Browsers may add cookies and what else they have for us. Not for `*`.
    pub credentials: bool,
    /// How long a browser may remember what it was told.
    pub max_age: Duration,
}

impl Cors {
    fn is_off(&self) -> bool {
        self.origins.is_empty()
    }

    fn takes_all(&self) -> bool {
        self.origins.iter().any(|origin| **origin == *"*")
    }

    /// Whether pages of that origin may call.
    pub(crate) fn allows(&self, origin: &str) -> bool {
        let mut origins = self.origins.iter();
        self.takes_all() || origins.any(|known| known.eq_ignore_ascii_case(origin))
    }

    /// The answer to a browser that asks before it calls; `None` if this is no such question.
    pub(crate) fn preflight(&self, head: &Head) -> Option<Response<Body>> {
        if self.is_off()
            || head.method != Method::OPTIONS
            || !head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        {
            return None;
        }
        let mut response = status(StatusCode::NO_CONTENT);
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        let age = HeaderValue::from(self.max_age.as_secs());
        headers.insert(ACCESS_CONTROL_MAX_AGE, age);
        Some(response)
    }

    /// Tells a browser that the page it shows may see this answer. Caches are told that it depends on the page.
    pub(crate) fn decorate(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if self.is_off() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = origin.filter(|o| o.to_str().is_ok_and(|o| self.allows(o))) else {
            return;
        };
        let all = self.takes_all();
        let allowed = if all {
            HeaderValue::from_static("*")
        } else {
            origin.clone()
        };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        if self.credentials && !all {
            let yes = HeaderValue::from_static("true");
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(origins: &[&str], credentials: bool, origin: Option<&'static str>) -> HeaderMap {
        let cors = Cors {
            origins: origins.iter().map(|origin| Arc::from(*origin)).collect(),
            credentials,
            max_age: Duration::from_secs(600),
        };
        let mut headers = HeaderMap::new();
        let origin = origin.map(HeaderValue::from_static);
        cors.decorate(origin.as_ref(), &mut headers);
        headers
    }

    #[test]
    fn nobody_is_told_anything_unless_it_is_on() {
        assert!(told(&[], true, Some("https://a.example")).is_empty());
    }

    #[test]
    fn only_those_on_the_list_are_named() {
        let list = ["https://a.example", "https://b.example"];
        for origin in ["https://b.example", "https://B.example"] {
            let headers = told(&list, true, Some(origin));
            assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], origin);
            assert_eq!(headers[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
            assert_eq!(headers[VARY], "Origin");
        }
        for origin in [None, Some("https://a.example.evil"), Some("null")] {
            let headers = told(&list, true, origin);
            assert_eq!(headers.len(), 1, "{origin:?}");
            assert_eq!(headers[VARY], "Origin");
        }
    }

    #[test]
    fn all_origins_never_go_with_credentials() {
        let headers = told(&["*"], true, Some("https://a.example"));
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_CREDENTIALS));
    }
}
