//! Bodies: reading requests within bounds, and the kinds of answers.

use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{Stream, poll};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use hyper::http::request::Parts;
use switchboard_types::wire::Rendering;
use switchboard_types::{Error, ErrorKind};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::Limits;

/// An answer's body.
pub enum Body {
    /// All at once.
    Full(Bytes),
    /// Piece by piece, as the socket takes them: large, and complete.
    Rendering(Box<Paced>),
    /// Nothing, or nothing any more.
    Empty,
    /// Piece by piece.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// Piece by piece, with trailers.
    Framed(Pin<Box<dyn hyper::body::Body<Data = Bytes, Error = Infallible> + Send>>),
}

impl Body {
    /// Nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::Empty
    }
}

/// How many pieces are rendered at a stretch. A socket on the same machine takes megabytes before it makes anyone wait,
/// and whoever else is served by this thread waits as long.
pub(crate) const PIECES_AT_ONCE: u32 = 2;

/// A rendering that lets others have their turn.
#[derive(Debug)]
pub struct Paced {
    rendering: Rendering,
    rendered: u32,
}

impl Paced {
    fn poll_piece(&mut self, cx: &Context<'_>) -> Poll<Option<Vec<u8>>> {
        if self.rendered == PIECES_AT_ONCE {
            self.rendered = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.rendered += 1;
        Poll::Ready(self.rendering.next_piece())
    }
}

impl From<Rendering> for Body {
    fn from(rendering: Rendering) -> Self {
        let rendered = 0;
        Self::Rendering(Box::new(Paced {
            rendering,
            rendered,
        }))
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Full(Bytes::from(bytes))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Self::Rendering(paced) => paced.poll_piece(cx).map(|piece| {
                let frame = |piece| Frame::data(Bytes::from(piece));
                piece.map(|piece| Ok(frame(piece)))
            }),
            Self::Empty => Poll::Ready(None),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(cx)
                .map(|item| item.map(|bytes| Ok(Frame::data(bytes)))),
            Self::Framed(frames) => frames.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Framed(frames) => frames.is_end_stream(),
            Self::Full(_) | Self::Rendering(_) | Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Empty => SizeHint::with_exact(0),
            Self::Rendering(_) | Self::Stream(_) => SizeHint::default(),
            Self::Framed(frames) => frames.size_hint(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Rendering(_) => f.write_str("Rendering"),
            Self::Empty => f.write_str("Empty"),
            Self::Stream(_) => f.write_str("Stream"),
            Self::Framed(_) => f.write_str("Framed"),
        }
    }
}

/// Bodies up to this size need no room of their own: sockets buffer as much.
const SMALL: usize = 64 << 10;

/// How long a refused body is still read, and how much of it: most clients look at the answer only once they have
/// sent everything, and a connection that is closed on unread data loses the answer.
const LINGER: Duration = Duration::from_secs(10);
const MAX_DISCARDED: usize = 64 << 20;

/// Reads a request body of at most that size, within the limit of time and of the room all large bodies share.
pub(crate) async fn read(
    head: &Parts,
    mut incoming: Incoming,
    most: usize,
    limits: &Limits,
    room: &Semaphore,
) -> Result<Bytes, Error> {
    let announced = incoming.size_hint().lower();
    if announced > most as u64 {
        // Who asks first has not sent anything yet.
        if !head.headers.contains_key(EXPECT) {
            discard(incoming, limits).await;
        }
        return Err(too_large(most));
    }
    let collected = {
        let mut collected = pin!(collect(&mut incoming, most, room));
        match poll!(&mut collected) {
            // Small bodies come with the head, and need no clock.
            Poll::Ready(collected) => Ok(collected),
            Poll::Pending => Box::pin(timeout(limits.body_timeout, collected)).await,
        }
    };
    match collected {
        Ok(Err(error)) => {
            if error.kind() != ErrorKind::InvalidRequest {
                discard(incoming, limits).await;
            }
            Err(error)
        }
        Ok(body) => body,
        Err(_) => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!(
                "the request body did not arrive within {:?}",
                limits.body_timeout
            ),
        )),
    }
}

/// Reads on for a while and forgets it.
fn discard(incoming: Incoming, limits: &Limits) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        drop(timeout(LINGER.min(limits.body_timeout), read_on(incoming, limits)).await);
    })
}

async fn read_on(mut incoming: Incoming, limits: &Limits) {
    let mut left = MAX_DISCARDED.max(limits.body);
    while let Some(Ok(frame)) = incoming.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(less) = left.checked_sub(length) else {
            return;
        };
        left = less;
    }
}

async fn collect(incoming: &mut Incoming, limit: usize, room: &Semaphore) -> Result<Bytes, Error> {
    let mut first = Bytes::new();
    let mut all: Option<BytesMut> = None;
    let mut taken: Option<SemaphorePermit<'_>> = None;
    while let Some(frame) = incoming.frame().await {
        let frame = frame
            .map_err(|_| Error::new(ErrorKind::InvalidRequest, "the request body broke off"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let so_far = all.as_ref().map_or(first.len(), BytesMut::len);
        if so_far + data.len() > limit {
            return Err(too_large(limit));
        }
        take_room(so_far + data.len(), room, &mut taken)?;
        match &mut all {
            None if first.is_empty() => first = data,
            None => {
                let mut joined = BytesMut::with_capacity((first.len() + data.len()) * 2);
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&data);
                all = Some(joined);
            }
            Some(joined) => joined.extend_from_slice(&data),
        }
    }
    Ok(all.map_or(first, BytesMut::freeze))
}

/// Makes sure that a body of that size has its room; given back when the body is complete or given up.
fn take_room<'a>(
    size: usize,
    room: &'a Semaphore,
    taken: &mut Option<SemaphorePermit<'a>>,
) -> Result<(), Error> {
    if size <= SMALL {
        return Ok(());
    }
    let have = taken.as_ref().map_or(0, SemaphorePermit::num_permits);
    // In steps of 64 KiB: frames are small.
    let want = size.div_ceil(SMALL) * (SMALL / 1024);
    let Some(more) = want.checked_sub(have).filter(|more| *more > 0) else {
        return Ok(());
    };
    let more = u32::try_from(more).unwrap_or(u32::MAX);
    let permit = room.try_acquire_many(more).map_err(|_| {
        Error::new(
            ErrorKind::ResourceExhausted,
            "too many large request bodies at once: try again later",
        )
    })?;
    match taken {
        Some(taken) => taken.merge(permit),
        None => *taken = Some(permit),
    }
    Ok(())
}

fn too_large(limit: usize) -> Error {
    Error::new(
        ErrorKind::PayloadTooLarge,
        format!("the request body is larger than the limit of {limit} bytes"),
    )
    .fact("limitBytes", limit.to_string())
}
