//! How answers, errors and events are framed, for one caller.

use std::vec;

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Response, StatusCode};
use switchboard_types::wire::jsonrpc::{self, Id};
use switchboard_types::wire::{Rendering, rest, sse};
use switchboard_types::{Dialect, Error, ErrorKind, operation, wire};

use super::{JSON, PRIVATE, challenge, json, tell_scopes, tell_when_to_retry};
use crate::auth::Refusal;
use crate::http::Body;
use crate::log::Item;
use crate::task::LARGE;

/// How many bytes of events go to the socket at once, about: as many as a connection buffers.
const PIECE: usize = 64 << 10;

/// How one caller wants its answers framed.
#[derive(Debug)]
pub(super) enum Frames {
    /// Each in a JSON-RPC response with the request's id.
    JsonRpc {
        /// The request's id.
        id: Id,
        /// How the caller spells A2A.
        dialect: Dialect,
        /// An error is the only event of a stream.
        errors_in_stream: bool,
    },
    /// As they are.
    Rest {
        /// How the caller spells A2A.
        dialect: Dialect,
        /// The caller wants plain JSON named so.
        plain: bool,
    },
}

impl Frames {
    /// An answer. A large one is rendered as the socket takes it.
    pub(super) fn respond(&self, response: operation::Response) -> Response<Body> {
        if response.weight() > LARGE {
            return match self {
                Self::JsonRpc { id, dialect, .. } => {
                    let rendering = Rendering::response(*dialect, response);
                    let rendering = rendering.within(jsonrpc::around_result(id));
                    json(StatusCode::OK, JSON, rendering)
                }
                Self::Rest { dialect, plain } => {
                    let rendering = Rendering::response(*dialect, response);
                    json(StatusCode::OK, media_type(*dialect, *plain), rendering)
                }
            };
        }
        let mut out = Vec::with_capacity(1024);
        let mut answer = match self {
            Self::JsonRpc { id, dialect, .. } => {
                jsonrpc::write_response(&mut out, id, *dialect, &response);
                json(StatusCode::OK, JSON, out)
            }
            Self::Rest { dialect, plain } => {
                wire::encode_response(*dialect, &response, &mut out);
                json(StatusCode::OK, media_type(*dialect, *plain), out)
            }
        };
        if matches!(response, operation::Response::Card(_)) {
            // It was made for one caller.
            answer.headers_mut().insert(CACHE_CONTROL, PRIVATE);
        }
        answer
    }

    /// A refusal. JSON-RPC says most of them with the status of a success, once there is an envelope to answer.
    pub(super) fn refuse(&self, error: &Error) -> Response<Body> {
        self.refuse_as(StatusCode::OK, error)
    }

    /// Tells a caller who is not let in how to get in.
    pub(super) fn turn_away(&self, refusal: &Refusal) -> Response<Body> {
        let status = match refusal.error.kind() {
            // Nothing can be checked, so nothing was looked at.
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::OK,
        };
        let mut response = self.refuse_as(status, &refusal.error);
        challenge(response.headers_mut(), refusal);
        response
    }

    /// A refusal; `status` is that of a JSON-RPC answer, unless the error has one of its own.
    pub(super) fn refuse_as(&self, status: StatusCode, error: &Error) -> Response<Body> {
        let mut response = match self {
            Self::JsonRpc {
                id,
                dialect,
                errors_in_stream,
            } => {
                let mut out = Vec::with_capacity(256);
                jsonrpc::write_error(&mut out, id, *dialect, error);
                let own = jsonrpc::http_status(error.kind());
                match own.and_then(|status| StatusCode::from_u16(status).ok()) {
                    // Clients and proxies act on these before they look into a body.
                    Some(status) => json(status, JSON, out),
                    None if *errors_in_stream => super::sse::only(&out),
                    None => json(status, JSON, out),
                }
            }
            Self::Rest { dialect, plain } => {
                let (status, body) = rest::write_error(*dialect, error);
                let status =
                    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                json(status, media_type(*dialect, *plain), body)
            }
        };
        if error.kind() == ErrorKind::Unavailable {
            // Not a warning for each caller: the store, or whoever else is the cause, has its own.
            tracing::debug!(%error, "request refused, retry later");
        }
        tell_scopes(response.headers_mut(), error);
        tell_when_to_retry(response.headers_mut(), error);
        response
    }

    /// The first events of a stream that fit into one piece; empty if the next one is large.
    pub(super) fn events(&self, items: &mut vec::IntoIter<Item>) -> Bytes {
        let few = items.len().min(PIECE / 512);
        let mut out = Vec::with_capacity(few * 512);
        let mut data = Vec::new();
        while let Some(item) = items.as_slice().first()
            && !item.entry.is_large()
            && out.len() < PIECE
        {
            let seq = Some(item.entry.seq).filter(|seq| *seq > 0);
            match self {
                Self::Rest { dialect, .. } => {
                    sse::write_frame(&mut out, seq, &item.entry.json(*dialect, item.last));
                }
                Self::JsonRpc { id, dialect, .. } => {
                    data.clear();
                    let event = item.entry.json(*dialect, item.last);
                    jsonrpc::write_event(&mut data, id, &event);
                    sse::write_frame(&mut out, seq, &data);
                }
            }
            items.next();
        }
        Bytes::from(out)
    }

    /// A large event of a stream, to be rendered piece by piece.
    pub(super) fn large_event(&self, item: &Item) -> Rendering {
        let seq = Some(item.entry.seq).filter(|seq| *seq > 0);
        let event = item.entry.event.clone();
        let (dialect, envelope) = match self {
            Self::Rest { dialect, .. } => (*dialect, None),
            Self::JsonRpc { id, dialect, .. } => (*dialect, Some(jsonrpc::around_result(id))),
        };
        let mut rendering = Rendering::event(dialect, event, item.last);
        if let Some(envelope) = envelope {
            rendering = rendering.within(envelope);
        }
        rendering.within(sse::around_data(seq))
    }

    /// An error in the middle of a stream.
    pub(super) fn error_event(&self, error: &Error) -> Bytes {
        let mut out = Vec::with_capacity(256);
        match self {
            Self::JsonRpc { id, dialect, .. } => {
                let mut data = Vec::with_capacity(256);
                jsonrpc::write_error(&mut data, id, *dialect, error);
                sse::write_frame(&mut out, None, &data);
            }
            Self::Rest { dialect, .. } => {
                // REST has no envelope to tell an error by, so the event has a name.
                out.extend_from_slice(b"event: error\n");
                sse::write_frame(&mut out, None, &rest::write_error(*dialect, error).1);
            }
        }
        Bytes::from(out)
    }
}

fn media_type(dialect: Dialect, plain: bool) -> HeaderValue {
    if plain {
        JSON
    } else {
        HeaderValue::from_static(rest::media_type(dialect))
    }
}
