//! How do you want it? Events become an SSE stream: `id:` is the event's sequence number in the log.

use std::time::Duration;
use std::vec;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use switchboard_types::wire::{Rendering, sse};
use switchboard_types::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;

use super::Frames;
use super::Service;
use crate::call::EventStream;
use crate::http::{Body, EVENT_STREAM, PIECES_AT_ONCE};
use crate::limit::Admitted;
use crate::log::Item;

/// The SSE stream of a task's events. What has happened already leaves together with the head; a task that is over by
/// then leaves in one piece.
pub(super) fn answer(
    service: &Service,
    admitted: Admitted,
    mut stream: EventStream,
    frames: Frames,
) -> Response<Body> {
    let mut waiting = match stream.next().now_or_never() {
        Some(Ok(Some(items))) => items.into_iter(),
        // Whatever else it is, the reader hears it in its turn.
        _ => Vec::new().into_iter(),
    };
    let first = frames.events(&mut waiting);
    if !first.is_empty() && waiting.len() == 0 && stream.has_ended() {
        return respond(Body::Full(first));
    }
    let reader = Reader {
        stream,
        frames,
        waiting,
        large: None,
        pieces: 0,
        stopping: service.tasks.stopping().clone(),
        heartbeat: service.limits.heartbeat,
        over: false,
        admitted,
    };
    let first = Some(first).filter(|first| !first.is_empty());
    let events = stream::unfold((first, reader), |(first, mut reader)| async move {
        let bytes = match first {
            Some(first) => first,
            None => reader.next().await?,
        };
        Some((bytes, (None, reader)))
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
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
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
    stream: EventStream,
    frames: Frames,
    /// Events that were read and not yet written.
    waiting: vec::IntoIter<Item>,
    /// The event that is being written piece by piece.
    large: Option<Rendering>,
    /// How many pieces were written at a stretch.
    pieces: u32,
    stopping: CancellationToken,
    heartbeat: Duration,
    over: bool,
    admitted: Admitted,
}

impl Reader {
    /// The next bytes of what was read already.
    fn next_waiting(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.large.as_mut().and_then(Rendering::next_piece) {
                return Some(Bytes::from(piece));
            }
            self.large = None;
            let events = self.frames.events(&mut self.waiting);
            if !events.is_empty() {
                return Some(events);
            }
            let large = self.waiting.next()?;
            self.large = Some(self.frames.large_event(&large));
        }
    }

    /// The next bytes for the socket; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over || self.admitted.is_revoked() {
                return None;
            }
            if self.pieces == PIECES_AT_ONCE {
                self.pieces = 0;
                tokio::task::yield_now().await;
            }
            if let Some(bytes) = self.next_waiting() {
                self.pieces += 1;
                return Some(bytes);
            }
            self.pieces = 0;
            let events = tokio::time::timeout(self.heartbeat, self.stream.next());
            let found = tokio::select! {
                biased;
                found = events => found,
                // The reader comes back to the next process and goes on where it was.
                () = self.stopping.cancelled() => return None,
                () = self.admitted.revoked() => return None,
            };
            match found {
                Err(_) => return Some(Bytes::from_static(sse::KEEP_ALIVE.as_bytes())),
                Ok(Ok(Some(items))) => self.waiting = items.into_iter(),
                Ok(Ok(None)) => return None,
                Ok(Err(error)) => {
                    tracing::error!(%error, task = %self.stream.task_id(), "stream broke off");
                    self.over = true;
                    let error = Error::new(ErrorKind::Unavailable, error.to_string());
                    return Some(self.frames.error_event(&error));
                }
            }
        }
    }
}
