//! docs/errors.md has every error, with the numbers that the wire tables have.

use serde_json::Value;
use switchboard_types::wire::jsonrpc::{Id, write_error};
use switchboard_types::wire::rest;
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes};

use crate::pages::Page;

#[test]
fn the_page_of_errors_has_the_numbers_of_the_wire() {
    let page = Page::read(&crate::root().join("docs/errors.md"));
    let rows: Vec<&str> = page
        .text()
        .lines()
        .filter(|line| line.starts_with("| -32"))
        .collect();
    for kind in ErrorKind::ALL {
        let wanted = row(kind);
        let found = rows.iter().any(|row| row.starts_with(&wanted));
        assert!(
            found,
            "docs/errors.md needs a row that begins with\n{wanted}"
        );
    }
    assert_eq!(rows.len(), ErrorKind::ALL.len(), "a row too many");
}

/// `| number | number in 0.x | reason | HTTP 1.0 | HTTP 0.3 |`
fn row(kind: ErrorKind) -> String {
    let error = Error::new(kind, "x");
    let number = |dialect| {
        let mut out = Vec::new();
        write_error(&mut out, &Id::null(), dialect, &error);
        let body: Value = serde_json::from_slice(&out).expect("an answer is JSON");
        body["error"]["code"].clone()
    };
    let status = |dialect| rest::write_error(dialect, &error).0;
    format!(
        "| {} | {} | `{}` | {} | {} |",
        number(Dialect::V1),
        number(Dialect::V0Json),
        kind.reason(),
        status(Dialect::V1),
        status(Dialect::V0Proto(FileBytes::Base64)),
    )
}
