//! How do you want it? A cursor becomes an event stream: `id:` is the event's place in the log.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use switchboard_types::wire::sse;
use switchboard_types::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;

use super::{EVENT_STREAM, Frames};
use crate::http::{Body, Service};
use crate::limit::Admitted;
use crate::log::Cursor;

/// A stream of a cursor's events. What has happened already leaves together with the head; a task that is over by
/// then leaves in one piece.
pub(super) fn answer(
    service: &Service,
    admitted: Admitted,
    mut cursor: Cursor,
    frames: Frames,
) -> Response<Body> {
    let first = match cursor.next().now_or_never() {
        Some(Ok(Some(items))) => Some(frames.events(&items)),
        // Whatever else it is, the reader hears it in its turn.
        _ => None,
    };
    if let Some(all) = &first
        && cursor.has_ended()
    {
        return respond(Body::Full(all.clone()));
    }
    let reader = Reader {
        cursor,
        frames,
        stopping: service.tasks.stopping().clone(),
        heartbeat: service.limits.heartbeat,
        over: false,
        admitted,
    };
    let events = stream::unfold((first, reader), |(first, mut reader)| async move {
        let bytes = match first {
            Some(first) => first,
            None => reader.next().await?,
        };
        Some((bytes, (None, reader)))
    });
    respond(Body::Stream(Box::pin(events), None))
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
    cursor: Cursor,
    frames: Frames,
    stopping: CancellationToken,
    heartbeat: Duration,
    over: bool,
    admitted: Admitted,
}

impl Reader {
    /// The next bytes for the socket; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if self.over || self.admitted.is_revoked() {
            return None;
        }
        let events = tokio::time::timeout(self.heartbeat, self.cursor.next());
        let found = tokio::select! {
            biased;
            found = events => found,
            // The reader comes back to the next process and goes on where it was.
            () = self.stopping.cancelled() => return None,
            () = self.admitted.revoked() => return None,
        };
        match found {
            Err(_) => Some(Bytes::from_static(sse::KEEP_ALIVE.as_bytes())),
            Ok(Ok(Some(items))) => Some(self.frames.events(&items)),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => {
                tracing::error!(%error, task = %self.cursor.task_id(), "a stream broke off");
                self.over = true;
                let error = Error::new(ErrorKind::Unavailable, error.to_string());
                Some(self.frames.error_event(&error))
            }
        }
    }
}
