//! Selects the form of file bytes for a caller of A2A 0.3 over HTTP+JSON or gRPC.
//!
//! The official SDKs disagree, and no message tells which one wrote it (docs/adr/0013-file-bytes-in-a2a-0-3.md). The
//! agent's `file_bytes` setting applies to all its callers. Without it the user agent decides: JavaScript clients read
//! and write the file itself, with the SDK and without; everyone else uses base64 text.

use hyper::header::{HeaderMap, USER_AGENT};
use switchboard_types::FileBytes;

use crate::directory::Listing;

/// What the HTTP clients of JavaScript runtimes, browsers among them, begin their `User-Agent` with.
const JAVASCRIPT: [&str; 5] = ["node", "undici", "Deno/", "Bun/", "Mozilla/"];

/// The gRPC library of the SDK for JavaScript. Applications may put their own name before it.
const GRPC_JAVASCRIPT: &str = "grpc-node-js/";

/// The form of a caller who asks the agent of `listing`.
pub(super) fn of_caller(listing: Option<&Listing>, headers: &HeaderMap) -> FileBytes {
    let configured = listing.and_then(|listing| listing.profile.file_bytes);
    configured.unwrap_or_else(|| by_user_agent(headers))
}

fn by_user_agent(headers: &HeaderMap) -> FileBytes {
    let name = headers.get(USER_AGENT).and_then(|name| name.to_str().ok());
    let name = name.unwrap_or_default();
    let javascript = JAVASCRIPT.iter().any(|begin| name.starts_with(begin));
    if javascript || name.contains(GRPC_JAVASCRIPT) {
        FileBytes::Raw
    } else {
        FileBytes::Base64
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_javascript_reads_and_writes_the_file_itself() {
        for (name, files) in [
            ("", FileBytes::Base64),
            ("python-httpx/0.28.1", FileBytes::Base64),
            (
                "grpc-python/1.85.1 grpc-c/45.0.0 (linux; chttp2)",
                FileBytes::Base64,
            ),
            ("Java-http-client/21.0.1", FileBytes::Base64),
            ("grpc-java-netty/1.77.0", FileBytes::Base64),
            ("Go-http-client/1.1", FileBytes::Base64),
            ("grpc-go/1.79.0", FileBytes::Base64),
            ("switchboard/0.1.0", FileBytes::Base64),
            ("curl/8.5.0", FileBytes::Base64),
            ("node", FileBytes::Raw),
            ("grpc-node-js/1.14.7", FileBytes::Raw),
            ("our-app/1.0 grpc-node-js/1.14.7", FileBytes::Raw),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
                FileBytes::Raw,
            ),
        ] {
            let mut headers = HeaderMap::new();
            if !name.is_empty() {
                headers.insert(USER_AGENT, HeaderValue::from_static(name));
            }
            assert_eq!(of_caller(None, &headers), files, "{name}");
        }
    }
}
