//! An answer on its way to the caller: its body, and what watches whether the caller takes it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::Body;
use super::access_log::AccessLine;
use super::h2_streams::Handover;
use super::pulse::Busy;

/// The body of an answer. Its connection is busy until the body is dropped.
#[derive(Debug)]
pub(super) struct OutgoingBody {
    body: Body,
    _busy: Busy,
    /// Reports progress, if the answer goes out on a stream of HTTP/2.
    handover: Option<Arc<Handover>>,
    /// Its line in the access log, if that is on.
    access: Option<Box<AccessLine>>,
}

impl OutgoingBody {
    /// To be called by the task that answers the request.
    pub(super) fn new(body: Body, busy: Busy, access: Option<Box<AccessLine>>) -> Self {
        Self {
            body,
            _busy: busy,
            handover: Handover::current(),
            access,
        }
    }
}

impl HttpBody for OutgoingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(handover) = &self.handover {
            handover.asked();
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let (Some(handover), Poll::Ready(Some(_))) = (&self.handover, &frame) {
            handover.handed_over();
        }
        if let (Some(access), Poll::Ready(Some(Ok(frame)))) = (&mut self.access, &frame) {
            access.sent(frame.data_ref());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
