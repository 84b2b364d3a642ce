//! A client certificate, which the connection has brought along (mutual TLS).

use std::sync::Arc;

use hyper::header::HeaderValue;
use serde_json::{Map, Value};
use switchboard_types::model::SecurityScheme;

use crate::auth::{Carried, Finding, Rejection, Scheme};
use crate::net::Certificate;
use crate::principal::{Identity, Principal};

/// Knows callers by the names in their certificates: URIs and hosts, else the fingerprint. That an authority we trust
/// has issued them was seen to when the connection was made.
#[derive(Debug)]
pub struct Certificates {
    name: Arc<str>,
    subjects: Vec<String>,
}

impl Certificates {
    /// Knows those whose name is one of `subjects`; `name` is the scheme's. In a subject `*` stands for any text. One
    /// without a colon is for hosts, others are for URIs and fingerprints, `*` alone is for all.
    #[must_use]
    pub fn new(name: Arc<str>, subjects: Vec<String>) -> Self {
        let plain = |subject: String| match subject.contains(':') {
            true => subject,
            false => subject.to_ascii_lowercase(),
        };
        let subjects = subjects.into_iter().map(plain).collect();
        Self { name, subjects }
    }

    fn find(&self, certificate: &Certificate) -> Option<Identity> {
        let knows = |name: &&str| self.subjects.iter().any(|subject| is_like(subject, name));
        let subject = certificate.names().find(knows)?;
        let names = certificate.names().map(Value::from).collect();
        Some(Identity {
            scheme: Arc::clone(&self.name),
            realm: "certificate".into(),
            subject: subject.into(),
            claims: Map::from_iter([("names".to_owned(), Value::Array(names))]),
            ..Identity::default()
        })
    }
}

/// Whether a name is the subject that was written.
fn is_like(subject: &str, name: &str) -> bool {
    // No URI passes for a host.
    if subject != "*" && subject.contains(':') != name.contains(':') {
        return false;
    }
    let Some((begin, rest)) = subject.split_once('*') else {
        return subject == name;
    };
    let Some(mut name) = name.strip_prefix(begin) else {
        return false;
    };
    let mut pieces = rest.split('*');
    let end = pieces.next_back().unwrap_or_default();
    for piece in pieces {
        let Some(at) = name.find(piece) else {
            return false;
        };
        name = &name[at + piece.len()..];
    }
    name.ends_with(end)
}

impl Scheme for Certificates {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        // One that names nobody here is no wrong guess: the connection has it, whatever is asked over it.
        match carried.certificate().and_then(|shown| self.find(shown)) {
            None => Finding::Absent,
            Some(identity) => Finding::Now(Ok(Principal::from(identity))),
        }
    }

    fn challenge(&self, _: Option<Rejection>, carried: &Carried<'_>) -> HeaderValue {
        HeaderValue::from_static(match carried.certificate() {
            None => "ClientCertificate realm=\"switchboard\"",
            Some(_) => {
                "ClientCertificate realm=\"switchboard\", error_description=\"no principal matches the certificate\""
            }
        })
    }

    fn declared(&self) -> SecurityScheme {
        SecurityScheme::MutualTls { description: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_but_a_uri_is_no_host() {
        for (subject, name, same) in [
            ("spiffe://corp/*", "spiffe://corp/ns/a/sa/b", true),
            ("spiffe://corp/*", "spiffe://corp/", true),
            ("spiffe://corp/*", "spiffe://corp.evil/ns", false),
            ("spiffe://corp/*/sa/*", "spiffe://corp/ns/sa/b", true),
            ("spiffe://corp/*/sa/*", "spiffe://corp/ns/b", false),
            ("spiffe://corp/a", "spiffe://corp/a", true),
            ("spiffe://corp/a", "spiffe://corp/ab", false),
            ("spiffe://corp/a", "spiffe://corp/A", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*.corp.example", "robot.corp.example", true),
            ("*.corp.example", "corp.example", false),
            ("*.corp.example", "x://evil.corp.example", false),
            ("robot", "robot", true),
            ("sha256:0a*", "sha256:0aff", true),
            ("*", "x://anything", true),
            ("*", "anything", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(is_like(subject, name), same, "{subject} {name}");
        }
    }
}
