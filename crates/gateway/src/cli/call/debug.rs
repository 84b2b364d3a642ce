//! What is sent and received, on standard error. Credentials are taken out by the client before we see it.

use std::fmt::Write as _;
use std::io::{self, Write};

use switchboard_client::Exchange;

use super::text::clean;

/// Tells one exchange.
pub(super) fn tell(exchange: &Exchange) {
    let mut text = format!("debug: {}\n", exchange.request);
    lines(
        &mut text,
        '>',
        &exchange.request_headers,
        &exchange.request_body,
    );
    _ = writeln!(text, "debug: < {}", exchange.status);
    lines(
        &mut text,
        '<',
        &exchange.response_headers,
        &exchange.response_body,
    );
    // If nobody reads there is nobody to tell.
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

fn lines(text: &mut String, mark: char, headers: &[(String, String)], body: &str) {
    for (name, value) in headers {
        _ = writeln!(
            text,
            "debug: {mark} {}: {}",
            clean(name, false),
            clean(value, false)
        );
    }
    for line in clean(body, true).lines() {
        _ = writeln!(text, "debug: {mark} {line}");
    }
}
