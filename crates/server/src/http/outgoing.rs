//! An answer on its way to the caller: its body, and what watches whether the caller takes it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::Body;
use super::h2_streams::{Handover, Piece};
use super::pulse::Busy;
use crate::access_log::AccessLine;

/// The body of an answer. Its connection is busy until the body is dropped, over HTTP/2 until its last piece has left.
#[derive(Debug)]
pub(super) struct OutgoingBody {
    body: Body,
    /// Over HTTP/2 the handover has it: pieces outlive the body there.
    _busy: Option<Busy>,
    handover: Option<Arc<Handover>>,
    /// Its line in the access log, if that is on.
    access: Option<Box<AccessLine>>,
}

impl OutgoingBody {
    /// To be called by the task that answers the request.
    pub(super) fn new(body: Body, busy: Busy, mut access: Option<Box<AccessLine>>) -> Self {
        if let Some(access) = access.as_mut().filter(|_| body.is_end_stream()) {
            access.complete();
        }
        let handover = Handover::current();
        let busy = match &handover {
            Some(handover) => {
                handover.keep(busy);
                None
            }
            None => Some(busy),
        };
        Self {
            body,
            _busy: busy,
            handover,
            access,
        }
    }
}

impl HttpBody for OutgoingBody {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        let this = &mut *self;
        if let (Some(access), Poll::Ready(frame)) = (&mut this.access, &frame) {
            if let Some(Ok(frame)) = frame {
                access.sent(frame.data_ref());
            }
            if frame.is_none() || this.body.is_end_stream() {
                access.complete();
            }
        }
        let handover = self.handover.as_ref();
        frame.map_ok(|frame| frame.map_data(|bytes| Piece::new(bytes, handover)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
