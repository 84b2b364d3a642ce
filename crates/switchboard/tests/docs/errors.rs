//! docs/errors.md has every error, with the numbers that the wire tables have.

use std::path::Path;

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

/// The heading of the second table: errors of other agents.
const OTHERS: &str = "Switchboard returns none of the following itself.";

#[test]
fn errors_that_nothing_produces_are_listed_apart() {
    let page = Page::read(&crate::root().join("docs/errors.md"));
    let (ours, others) = page.text().split_once(OTHERS).expect("two tables");
    let mut source = String::new();
    for dir in ["server/src", "types/src", "gateway/src"] {
        read_below(&crate::root().join("crates").join(dir), &mut source);
    }
    for kind in ErrorKind::ALL {
        let produced = source.contains(&format!("ErrorKind::{kind:?}"));
        let row = format!("| `{}` |", kind.reason());
        let (table, other) = match produced {
            true => (ours, others),
            false => (others, ours),
        };
        assert!(
            table.contains(&row) && !other.contains(&row),
            "{row} is in the wrong table: produced is {produced}"
        );
    }
}

/// The sources below a directory, without the tables of numbers and what reads the errors of others.
fn read_below(dir: &Path, source: &mut String) {
    const READERS: [&str; 7] = [
        "wire/fault.rs",
        "v0_3/error.rs",
        "v1_0/error.rs",
        "grpc/status.rs",
        "jsonrpc/answer.rs",
        "gateway/src/cli",
        "gateway/src/conformance",
    ];
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let shown = path.display().to_string();
        if READERS.iter().any(|reader| shown.ends_with(reader)) {
            continue;
        }
        if path.is_dir() {
            read_below(&path, source);
        } else {
            source.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
        }
    }
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
