//! How do you want it? A cursor becomes an event stream: `id:` is the event's place in the log.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use switchboard_types::operation::Operation;
use switchboard_types::wire::jsonrpc::{self, Id};
use switchboard_types::wire::{rest, sse};
use switchboard_types::{Dialect, Error, ErrorKind};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::http::{Body, Service};
use crate::log::{Cursor, Item};

/// How events are framed.
#[derive(Debug)]
pub(super) enum Frames {
    /// Each in a JSON-RPC response with the request's id.
    JsonRpc(Id, Dialect),
    /// As they are.
    Rest(Dialect),
}

/// Room for the stream that a call asks for; none for calls that ask for none. Found before the call is
/// answered: a message whose stream is refused must not start a task.
///
/// # Errors
///
/// If too many streams are open.
pub(super) fn room(service: &Service, call: &Call) -> Result<Option<OwnedSemaphorePermit>, Error> {
    if !matches!(
        call.operation,
        Operation::Stream(_) | Operation::Subscribe(_)
    ) {
        return Ok(None);
    }
    match Arc::clone(&service.streams).try_acquire_owned() {
        Ok(permit) => Ok(Some(permit)),
        Err(_) => Err(Error::new(
            ErrorKind::ResourceExhausted,
            format!(
                "{} event streams are open: try again later",
                service.limits.streams
            ),
        )),
    }
}

/// A stream of a cursor's events.
pub(super) fn answer(
    service: &Service,
    room: Option<OwnedSemaphorePermit>,
    cursor: Cursor,
    frames: Frames,
) -> Response<Body> {
    let reader = Reader {
        cursor,
        frames,
        stopping: service.tasks.stopping().clone(),
        heartbeat: service.limits.heartbeat,
        over: false,
        _room: room,
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let bytes = reader.next().await?;
        Some((bytes, reader))
    });
    respond(Body::Stream(Box::pin(events)))
}

/// A stream of one event: a call that failed before there was anything to follow.
pub(super) fn only(data: &[u8]) -> Response<Body> {
    let mut out = Vec::with_capacity(data.len() + 16);
    sse::write_frame(&mut out, None, data);
    respond(Body::from(out))
}

fn respond(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Tells buffering proxies to pass events on as they come.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// One reader of a stream.
struct Reader {
    cursor: Cursor,
    frames: Frames,
    stopping: CancellationToken,
    heartbeat: Duration,
    over: bool,
    _room: Option<OwnedSemaphorePermit>,
}

impl Reader {
    /// The next bytes for the socket; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let events = tokio::time::timeout(self.heartbeat, self.cursor.next());
        let found = tokio::select! {
            biased;
            found = events => found,
            // The reader comes back to the next process and goes on where it was.
            () = self.stopping.cancelled() => return None,
        };
        match found {
            Err(_) => Some(Bytes::from_static(sse::KEEP_ALIVE.as_bytes())),
            Ok(Ok(Some(items))) => Some(self.frames.write(&items)),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => {
                tracing::error!(%error, task = %self.cursor.task_id(), "a stream broke off");
                self.over = true;
                let error = Error::new(ErrorKind::Unavailable, error.to_string());
                Some(self.frames.write_error(&error))
            }
        }
    }
}

impl Frames {
    fn write(&self, items: &[Item]) -> Bytes {
        let mut out = Vec::with_capacity(items.len() * 512);
        let mut data = Vec::new();
        for item in items {
            let seq = Some(item.entry.seq).filter(|seq| *seq > 0);
            match self {
                Self::Rest(dialect) => {
                    sse::write_frame(&mut out, seq, &item.entry.json(*dialect, item.last));
                }
                Self::JsonRpc(id, dialect) => {
                    data.clear();
                    let event = item.entry.json(*dialect, item.last);
                    jsonrpc::write_event(&mut data, id, &event);
                    sse::write_frame(&mut out, seq, &data);
                }
            }
        }
        Bytes::from(out)
    }

    fn write_error(&self, error: &Error) -> Bytes {
        let mut out = Vec::with_capacity(256);
        match self {
            Self::JsonRpc(id, dialect) => {
                let mut data = Vec::with_capacity(256);
                jsonrpc::write_error(&mut data, id, *dialect, error);
                sse::write_frame(&mut out, None, &data);
            }
            Self::Rest(dialect) => {
                // REST has no envelope to tell an error by, so the event has a name.
                out.extend_from_slice(b"event: error\n");
                sse::write_frame(&mut out, None, &rest::write_error(*dialect, error).1);
            }
        }
        Bytes::from(out)
    }
}
