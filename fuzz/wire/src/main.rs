//! Fuzz targets of the codecs. `FUZZ_TARGET` picks one, so that all of them are one program to build.
//!
//! No input may make a decoder panic; what it takes must come back the same after encoding; what is written
//! must be JSON on one line.

#![no_main]

mod answers;
mod free;
mod grpc;
mod objects;
mod requests;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use switchboard_types::Dialect;

/// Every target: its name, which is that of its corpus, and what it does with an input.
const TARGETS: [(&str, fn(&[u8])); 17] = [
    ("envelope", requests::envelope),
    ("params", requests::params),
    ("rest", requests::rest),
    ("event", objects::event),
    ("task", objects::task),
    ("message", objects::message),
    ("push_config", objects::push_config),
    ("stored", objects::stored),
    ("card", objects::card),
    ("json", free::json),
    ("timestamp", free::timestamp),
    ("sse", free::sse),
    ("answer", answers::answer),
    ("fault", answers::fault),
    ("sse_read", answers::sse_read),
    ("grpc_request", grpc::request),
    ("grpc_answer", grpc::answer),
];

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|(known, _)| *known == name);
        found.expect("FUZZ_TARGET names a target").1
    });
    target(data);
});

/// Every dialect.
pub(crate) const DIALECTS: [Dialect; 4] = Dialect::ALL;

/// An input whose first byte picks a dialect and whose rest is text.
pub(crate) fn in_dialect(data: &[u8]) -> Option<(Dialect, &str)> {
    let (first, rest) = data.split_first()?;
    let dialect = DIALECTS[usize::from(*first) % DIALECTS.len()];
    Some((dialect, std::str::from_utf8(rest).ok()?))
}

/// What is written must be JSON on one line: it may stand in a server-sent event.
pub(crate) fn must_be_a_json_line(bytes: &[u8]) -> &str {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert!(!text.contains(['\n', '\r']), "one line: {text}");
    serde_json::from_str::<IgnoredAny>(text).expect(text);
    text
}
