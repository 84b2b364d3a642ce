//! The headers that every binding reads.

use hyper::header::{HeaderMap, HeaderValue};
use switchboard_types::Error;

use super::{A2A_EXTENSIONS, A2A_VERSION, X_A2A_EXTENSIONS};
use crate::hops;

/// The headers that matter to every binding.
#[derive(Debug, Default)]
pub(super) struct Headers<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) content_type: Option<&'a str>,
    pub(super) content_encoding: Option<&'a str>,
    pub(super) accept: Option<&'a str>,
    pub(super) idempotency_key: Option<&'a str>,
    pub(super) last_event_id: Option<&'a str>,
    pub(super) hops: Option<&'a str>,
    pub(super) traced: bool,
    pub(super) extended: bool,
}

impl<'a> Headers<'a> {
    /// Reads them, and the first that is no text, or is given more than once in different ways. In one pass: a request
    /// has few headers, and a look for one by its name costs as much as a look at all.
    pub(super) fn read(headers: &'a HeaderMap) -> (Self, Option<Error>) {
        let (mut read, mut odd) = (Self::default(), None);
        for (name, value) in headers {
            let (place, spelling) = match name.as_str() {
                A2A_VERSION => (&mut read.version, "A2A-Version"),
                "content-type" => (&mut read.content_type, "Content-Type"),
                "content-encoding" => (&mut read.content_encoding, "Content-Encoding"),
                "accept" => {
                    // A list may come in several lines. The first tells enough.
                    if read.accept.is_none() {
                        read.accept = text(value, "Accept", &mut odd);
                    }
                    continue;
                }
                "idempotency-key" => (&mut read.idempotency_key, "Idempotency-Key"),
                "last-event-id" => (&mut read.last_event_id, "Last-Event-ID"),
                "traceparent" => {
                    // One that cannot be read is no reason to refuse a call.
                    read.traced = true;
                    continue;
                }
                hops::HEADER => (&mut read.hops, "X-Switchboard-Hops"),
                _ => {
                    read.extended |= *name == A2A_EXTENSIONS || *name == X_A2A_EXTENSIONS;
                    continue;
                }
            };
            let found = text(value, spelling, &mut odd);
            match *place {
                None => *place = found,
                Some(_) if *place == found => {}
                Some(_) => {
                    let twice = || Error::invalid_params(spelling, "is given more than once");
                    odd.get_or_insert_with(twice);
                }
            }
        }
        (read, odd)
    }
}

fn text<'a>(
    value: &'a HeaderValue,
    spelling: &'static str,
    odd: &mut Option<Error>,
) -> Option<&'a str> {
    let text = value.to_str().ok();
    if text.is_none() {
        odd.get_or_insert_with(|| Error::invalid_params(spelling, "must be ASCII text"));
    }
    text
}

/// Extensions asked for, under both header names, in one list.
pub(super) fn extensions(headers: &HeaderMap) -> Vec<String> {
    let values = headers
        .get_all(A2A_EXTENSIONS)
        .into_iter()
        .chain(headers.get_all(X_A2A_EXTENSIONS));
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
        .map(str::to_owned)
        .collect()
}
