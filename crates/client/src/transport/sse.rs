//! The body of an answer as frames of an event stream, and frames as what they say.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use switchboard_types::wire::sse::{Frame, Reader};
use tokio::time::timeout;

use super::failure::{failed, too_slow};
use super::http::Opened;
use super::record::Secrets;
use super::{Arrival, Arriving};
use crate::error::{Error, Kind, Reach};

/// What a frame turned out to be.
pub(super) enum Read {
    /// An event, by itself.
    Event(Box<switchboard_types::model::Event>),
    /// Nothing that can be read: skipped, with a warning.
    Skip(String),
    /// The agent's error, or ours: the end.
    Failed(Error),
}

/// A stream of events, each read by `read` from the data of a frame.
pub(super) fn events(
    opened: Opened,
    limit: usize,
    silence: Duration,
    mut read: impl FnMut(&Frame) -> Read + Send + 'static,
) -> Arriving {
    let secrets = opened.secrets().clone();
    let wait = opened.retry_after();
    let arrivals = frames(opened, limit, silence).filter_map(move |frame| {
        let frame = frame.map(|frame| frame.map(|frame| quiet(&secrets, frame)));
        let arrival = match frame {
            Ok(None) => Some(Ok(None)),
            Ok(Some(frame)) if frame.data.trim().is_empty() => Some(Ok(None)),
            Ok(Some(frame)) => match read(&frame) {
                Read::Event(event) => Some(Ok(Some(Arrival {
                    event: *event,
                    last: says_final(&frame.data),
                    id: frame.id.map(Into::into),
                    retry: frame.retry,
                }))),
                Read::Skip(why) => {
                    tracing::warn!("an event of the stream cannot be read and is skipped: {why}");
                    None
                }
                Read::Failed(error) => {
                    let wait = wait.or_else(|| named_delay(&error));
                    Some(Err(error.retry_after(wait)))
                }
            },
            Err(error) => Some(Err(error)),
        };
        std::future::ready(arrival)
    });
    Box::pin(arrivals)
}

/// When to come back, if an error in the stream says so.
fn named_delay(error: &Error) -> Option<Duration> {
    let facts = error.protocol()?.facts();
    let (_, delay) = facts.iter().find(|(key, _)| key == "retryDelay")?;
    delay
        .strip_suffix('s')?
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// The frame; an error without what it repeats of our secrets.
fn quiet(secrets: &Secrets, frame: Frame) -> Frame {
    let refused = frame.event.as_deref() == Some("error");
    match secrets.without(refused, frame.data.as_bytes()) {
        Some(data) => Frame { data, ..frame },
        None => frame,
    }
}

/// The frames of a body, and nothing for what is none yet, or a comment.
fn frames(
    opened: Opened,
    limit: usize,
    silence: Duration,
) -> impl Stream<Item = Result<Option<Frame>, Error>> + Send {
    let url = opened.shown();
    // Boxed: it is handed on with every frame.
    let state = Some(Box::new((opened.into_response(), Reader::new(limit), url)));
    futures_util::stream::unfold(state, move |state| async move {
        let mut state = state?;
        let (response, reader, url) = &mut *state;
        match reader.next() {
            Some(Ok(frame)) => return Some((Ok(Some(frame)), Some(state))),
            Some(Err(error)) => {
                let error = Error::new(Kind::TooLarge, error.to_string());
                return Some((Err(error.reached(Reach::Answered)), None));
            }
            None => {}
        }
        match timeout(silence, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                reader.push(&bytes);
                Some((Ok(None), Some(state)))
            }
            Ok(Ok(None)) => {
                reader.end();
                // What was cut off is the last frame, if it is one.
                let last = reader.next()?;
                let last = last.map_err(|error| Error::new(Kind::TooLarge, error.to_string()));
                Some((last.map(Some), None))
            }
            Ok(Err(error)) => Some((Err(failed(url, error)), None)),
            Err(_) => Some((Err(too_slow(url)), None)),
        }
    })
}

/// 0.x marks the last event of a stream. The mark is no part of the event, so it is looked for beside it: bare, or in
/// the result of an answer.
fn says_final(data: &str) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(default)]
        r#final: Option<bool>,
        #[serde(default)]
        result: Option<Box<Self>>,
        #[serde(default, rename = "statusUpdate")]
        status_update: Option<Box<Self>>,
    }
    fn marked(marks: &Marked) -> bool {
        let inner = [&marks.result, &marks.status_update];
        marks.r#final == Some(true) || inner.into_iter().flatten().any(|inner| marked(inner))
    }
    data.contains("\"final\"")
        && serde_json::from_str(data).is_ok_and(|marks: Marked| marked(&marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_the_last_event_is_found_where_agents_put_it() {
        for (data, last) in [
            (r#"{"kind":"status-update","final":true}"#, true),
            (r#"{"result":{"kind":"status-update","final":true}}"#, true),
            (r#"{"result":{"statusUpdate":{"final":true}}}"#, true),
            (
                r#"{"result":{"kind":"status-update","final":false}}"#,
                false,
            ),
            (
                r#"{"result":{"status":{"message":{"metadata":{"final":true}}}}}"#,
                false,
            ),
            (r#"{"result":{"text":"\"final\":true"}}"#, false),
        ] {
            assert_eq!(says_final(data), last, "{data}");
        }
    }
}
