//! What is sent and received, on standard error. Credentials are taken out by the client before we see it.

use std::fmt::Write as _;

use switchboard_client::Exchange;
use switchboard_types::printable;

use crate::cli::err;

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
    drop(err(format_args!("{text}")));
}

fn lines(text: &mut String, mark: char, headers: &[(String, String)], body: &str) {
    for (name, value) in headers {
        _ = writeln!(
            text,
            "debug: {mark} {}: {}",
            printable::line(name),
            printable::line(value)
        );
    }
    for line in printable::lines(body).lines() {
        _ = writeln!(text, "debug: {mark} {line}");
    }
}
