//! What is said of requests that got no answer: why, whether they may have arrived, and what to do about it.

use std::error::Error as _;
use std::fmt::Write as _;

use switchboard_types::{Error as Answered, ErrorKind};

use crate::error::{Error, Kind, Reach};

/// Logs an error that an agent answered with. One that may pass is repeated by callers, which know the first of many.
pub(super) fn log_error(code: Option<i64>, error: &Answered) {
    let code = code.map(|code| format!(" {code}")).unwrap_or_default();
    match error.kind() {
        ErrorKind::ResourceExhausted | ErrorKind::Unavailable => {
            tracing::debug!("A2A error{code}: {error}");
        }
        _ => tracing::warn!("A2A error{code}: {error}"),
    }
}

/// What is said of a request that did not come back.
pub(crate) fn failed(url: &str, error: reqwest::Error) -> Error {
    let error = error.without_url();
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        // A String takes every write.
        let _ = write!(why, ": {deeper}");
        cause = deeper.source();
    }
    if error.is_timeout() && !error.is_connect() {
        return too_slow(url).because(error);
    }
    if error.is_builder() {
        return Error::new(Kind::Reference, format!("{url} cannot be asked: {why}")).because(error);
    }
    let reach = if error.is_connect() {
        Reach::NotSent
    } else {
        Reach::Sent
    };
    let hint = certificate_hint(&why);
    let failed = Error::new(Kind::Unreachable, format!("cannot reach {url}: {why}"));
    let failed = failed.reached(reach).because(error);
    match hint {
        Some(hint) => failed.hinting(hint),
        None => failed,
    }
}

/// What to do about a certificate that was refused. The text is what there is: the cause is of a crate of reqwest's own
/// choice.
fn certificate_hint(why: &str) -> Option<&'static str> {
    [
        (
            "UnknownIssuer",
            "the certificate's issuer is not trusted: name the CA that signed it with --ca FILE",
        ),
        (
            "NotValidForName",
            "the certificate is for another host name: use that name in the URL",
        ),
        (
            "Expired",
            "the certificate has expired: the server needs a new one",
        ),
    ]
    .into_iter()
    .find_map(|(cause, hint)| {
        let refused = why.contains("invalid peer certificate") && why.contains(cause);
        refused.then_some(hint)
    })
}

/// What is said of a request that took too long. It may have arrived.
pub(crate) fn too_slow(url: &str) -> Error {
    Error::new(Kind::Timeout, format!("{url} did not answer in time")).reached(Reach::Sent)
}
