//! What callers send: JSON-RPC envelopes and parameters, REST requests.

use switchboard_types::operation::Method;
use switchboard_types::wire::{self, jsonrpc, rest};
use switchboard_types::{Dialect, Error, FileBytes, VersionHeader};

use crate::{DIALECTS, must_be_a_json_line};

/// A JSON-RPC body, whatever version the header says.
pub(crate) fn envelope(data: &[u8]) {
    let envelope = match jsonrpc::read(data) {
        Ok(envelope) => envelope,
        Err(refusal) => {
            for dialect in DIALECTS {
                must_be_told(&refusal.id, dialect, &refusal.error);
            }
            return;
        }
    };
    let optional = ["", "0.3", "1.0", "99.0"].map(|version| (version, VersionHeader::Optional));
    for (version, header) in optional.into_iter().chain([("", VersionHeader::Required)]) {
        match jsonrpc::negotiate(&envelope.method, version, header) {
            Ok((dialect, method)) => {
                if let Err(error) = wire::decode_params(dialect, method, envelope.params) {
                    must_be_told(&envelope.id, dialect, &error);
                }
            }
            Err((dialect, error)) => must_be_told(&envelope.id, dialect, &error),
        }
    }
}

/// Parameters: the first byte picks the method and the dialect.
pub(crate) fn params(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let Ok(raw) = serde_json::from_slice(rest) else {
        return;
    };
    let first = usize::from(*first);
    let method = Method::ALL[first % Method::ALL.len()];
    let dialect = DIALECTS[first / Method::ALL.len() % DIALECTS.len()];
    if let Err(error) = wire::decode_params(dialect, method, Some(raw)) {
        must_be_told(&jsonrpc::Id::null(), dialect, &error);
    }
}

/// A verb, a path with a query, a line break, a body.
pub(crate) fn rest(data: &[u8]) {
    let end = data.iter().position(|b| *b == b'\n').unwrap_or(data.len());
    let (head, body) = data.split_at(end);
    let body = body.get(1..).unwrap_or_default();
    let Ok(head) = std::str::from_utf8(head) else {
        return;
    };
    let (verb, target) = head.split_once(' ').unwrap_or(("POST", head));
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let Ok(route) = rest::route(verb, path) else {
        return;
    };
    for files in [FileBytes::Base64, FileBytes::Raw] {
        if let Err((dialect, error)) = rest::decode(&route, files, query, body) {
            let (status, body) = rest::write_error(dialect, &error);
            assert!((400..600).contains(&status), "{status}");
            must_be_a_json_line(&body);
        }
    }
}

/// An error must fit into an answer of reasonable size.
fn must_be_told(id: &jsonrpc::Id, dialect: Dialect, error: &Error) {
    let mut out = Vec::new();
    jsonrpc::write_error(&mut out, id, dialect, error);
    must_be_a_json_line(&out);
    assert!(out.len() < 32 << 10, "{} bytes", out.len());
}
