//! The body of a response: tonic's frames in small pieces, and trailers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::Frame;

/// How many bytes are handed to the connection at once. It buffers what it is given, however small the window of the
/// peer is, and asks for more only when it can send.
const MAX_PIECE: usize = 64 << 10;

/// tonic's body. On the server errors are trailers, so it never fails.
///
/// A message keeps its room until tonic is polled for the next one, so tonic is polled only when all of the message
/// has been handed over.
pub(super) struct Framed {
    inner: tonic::body::Body,
    /// What is left of the latest frame.
    rest: Bytes,
}

impl Framed {
    pub(super) fn new(inner: tonic::body::Body) -> Self {
        let rest = Bytes::new();
        Self { inner, rest }
    }
}

impl hyper::body::Body for Framed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            let Some(Ok(frame)) = ready!(Pin::new(&mut self.inner).poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(MAX_PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;
    use http_body_util::{BodyExt, StreamBody};
    use hyper::body::Body as _;

    use super::*;

    #[tokio::test]
    async fn the_next_message_is_made_once_the_last_one_is_handed_over() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let messages =
            stream::iter([3 * MAX_PIECE + 1, 0, 5].map(move |length| (length, counter.clone())));
        let frames = futures_util::StreamExt::map(messages, |(length, made)| {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![7; length])))
        });
        let mut body = Framed::new(tonic::body::Body::new(StreamBody::new(frames)));
        let mut next = async || {
            let frame = body
                .frame()
                .await
                .map(|frame| frame.unwrap().into_data().unwrap());
            (frame.map(|data| data.len()), body.is_end_stream())
        };
        for length in [MAX_PIECE, MAX_PIECE, MAX_PIECE, 1] {
            assert_eq!(next().await, (Some(length), false));
            assert_eq!(made.load(Ordering::Relaxed), 1);
        }
        assert_eq!(next().await.0, Some(0));
        assert_eq!(next().await.0, Some(5));
        assert_eq!(next().await.0, None);
    }
}
