//! Bodies: reading requests within bounds, and the two kinds of answers.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_LENGTH, EXPECT, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use switchboard_types::{Error, ErrorKind};

use super::Limits;

/// How much of a body that is refused is read all the same; whoever sends more is cut off.
const MAX_DISCARDED: usize = 64 << 20;

/// An answer's body.
pub enum Body {
    /// All at once.
    Full(Bytes),
    /// Nothing, or nothing any more.
    Empty,
    /// Piece by piece.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// Nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::Empty
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
            Self::Empty => Poll::Ready(None),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(cx)
                .map(|item| item.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Empty => f.write_str("Empty"),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Reads a request body within the limits of size and time.
pub(super) async fn read(
    head: &Parts,
    incoming: Incoming,
    limits: &Limits,
) -> Result<Bytes, Error> {
    let announced = head
        .headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut incoming = incoming;
    let reading = async {
        let waits = head.headers.contains_key(EXPECT);
        let read = match announced {
            Some(length) if length > limits.body => Err(too_large(limits.body)),
            _ => collect(&mut incoming, limits.body).await,
        };
        if read.is_err() && !waits {
            discard(&mut incoming).await;
        }
        read
    };
    let read = tokio::time::timeout(limits.body_timeout, reading);
    read.await.unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::InvalidRequest,
            format!(
                "the request body did not arrive within {} s",
                limits.body_timeout.as_secs()
            ),
        ))
    })
}

async fn collect(incoming: &mut Incoming, limit: usize) -> Result<Bytes, Error> {
    let mut first = Bytes::new();
    let mut all: Option<BytesMut> = None;
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

/// Reads on without keeping anything: most clients look at the answer only once they have sent everything. Those
/// that wait for leave to send (`Expect`) need not be spared.
async fn discard(incoming: &mut Incoming) {
    let mut left = MAX_DISCARDED;
    while let Some(Ok(frame)) = incoming.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn too_large(limit: usize) -> Error {
    Error::new(
        ErrorKind::PayloadTooLarge,
        format!("the request body is larger than the limit of {limit} bytes"),
    )
    .fact("limitBytes", limit.to_string())
}

/// The path is right, the verb is not.
pub(crate) fn not_allowed(allow: &'static str) -> Response<Body> {
    let mut response = super::status(StatusCode::METHOD_NOT_ALLOWED);
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allow));
    response
}
