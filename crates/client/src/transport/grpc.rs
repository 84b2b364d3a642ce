//! gRPC: one message out, one back, or a stream of them.
//!
//! It goes through the same HTTP client as every binding, so certificates, credentials, limits and logs are the same.
//! tonic reads frames and trailers; the messages are `switchboard_types::wire::grpc`'s.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::stream;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use http::{Method as Verb, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use switchboard_types::Error as Answered;
use switchboard_types::operation::{Method, Operation};
use switchboard_types::wire::grpc::{self, Spoken};
use tokio::time::{Instant, timeout, timeout_at};
use tonic::codec::{DecodeBuf, Decoder, Streaming};
use tonic::{Code, Status};

use super::failure::{log_error, too_slow};
use super::http::{Opened, Outgoing};
use super::jsonrpc::Head;
use super::link::Link;
use super::record::{Secrets, shown};
use super::{Arrival, Arriving, Reply, Transport};
use crate::error::{Error, Kind, Reach};
use crate::options::CallOptions;

/// Whether gRPC can be spoken: otherwise it is never chosen.
pub(crate) const SPOKEN: bool = true;

/// The transport of an interface.
///
/// # Errors
///
/// None; it is not built in everywhere.
pub(crate) fn open(link: Link) -> Result<Arc<dyn Transport>, Error> {
    Ok(Arc::new(Grpc(link)))
}

/// Where a call went, and with what.
struct Asked {
    /// As it may be shown.
    url: String,
    secrets: Secrets,
}

/// One gRPC interface.
#[derive(Debug)]
struct Grpc(Link);

#[async_trait]
impl Transport for Grpc {
    async fn call(&self, operation: &Operation, options: &CallOptions) -> Result<Reply, Error> {
        let method = operation.method();
        let deadline = self.0.deadline(options);
        let out = self.request(operation, deadline)?;
        let url = shown(&out.url);
        let opened = self.0.open(out, options, deadline).await?;
        let asked = Asked {
            url,
            secrets: opened.secrets().clone(),
        };
        let messages = self.messages(method, opened, &asked, deadline).await?;
        if method.streams() {
            return Ok(Reply::Events(self.events(messages, asked)));
        }
        self.only(method, messages, &asked, deadline).await
    }
}

impl Grpc {
    fn spoken(&self) -> Spoken {
        let files = self.0.dialect.files().unwrap_or_default();
        Spoken::new(self.0.version, files)
    }

    fn request(&self, operation: &Operation, deadline: Instant) -> Result<Outgoing, Error> {
        let link = &self.0;
        let method = operation.method();
        let message = grpc::encode_request(self.spoken(), operation, link.tenant.as_deref())
            .map_err(|error| Error::new(Kind::NotOffered, error.message()))?;
        let path = grpc::write_path(link.version, method)
            .ok_or_else(|| Error::new(Kind::NotOffered, "this version has no such rpc"))?;
        let mut url = link.url.clone();
        url.set_path(&path);
        url.set_query(None);
        let mut out = Outgoing::new(Verb::POST, url).body("application/grpc", framed(&message)?);
        out.h2 = true;
        out.headers.remove(ACCEPT);
        out.headers.insert(TE, HeaderValue::from_static("trailers"));
        if !method.streams() {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = HeaderValue::from_str(&timeout_text(left));
            out.headers.extend(left.ok().map(|left| (TIMEOUT, left)));
        }
        Ok(out)
    }

    /// The messages of an answer, if it is one.
    async fn messages(
        &self,
        method: Method,
        opened: Opened,
        asked: &Asked,
        deadline: Instant,
    ) -> Result<Streaming<Bytes>, Error> {
        if let Some(status) = refusal(&opened) {
            return Err(self.failed(&status, asked));
        }
        let limits = self.0.shared.limits;
        if opened.status() != StatusCode::OK || !is_grpc(opened.headers()) {
            // Something stands before the agent, or something else than gRPC is there.
            let head = Head::of(&opened);
            let body = opened.read(limits.body, deadline).await?;
            if head.is_good() {
                return Err(Error::unintelligible("it is no gRPC").with_status(head.status));
            }
            return Err(head.refusal(self.0.dialect, &body));
        }
        let limit = if method.streams() {
            limits.event
        } else {
            limits.body
        };
        let response: http::Response<reqwest::Body> = opened.into_response().into();
        Ok(Streaming::new_response(
            Bytewise,
            with_readable_end(response.into_body()),
            StatusCode::OK,
            None,
            Some(limit),
        ))
    }

    /// The one message of an answer that is no stream.
    async fn only(
        &self,
        method: Method,
        mut messages: Streaming<Bytes>,
        asked: &Asked,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        let read = async {
            let message = messages.message().await?;
            // What stands in the trailers counts as well.
            let more = messages.message().await?;
            Ok((message, more))
        };
        let read = match timeout_at(deadline, read).await {
            Ok(read) => read.map_err(|status: Status| self.failed(&status, asked))?,
            Err(_) => return Err(too_slow(&asked.url)),
        };
        let message = match read {
            (Some(message), None) => message,
            (None, _) => return Err(Error::unintelligible("it holds no message")),
            // There may be no end of them.
            (Some(_), Some(_)) => {
                return Err(Error::unintelligible("it holds more than one message"));
            }
        };
        grpc::decode_response(self.spoken(), method, &message)
            .map(Reply::Response)
            .map_err(Error::unintelligible)
    }

    /// Events as they come. HTTP/2 sends pings, but what stands between may answer them for an agent that is gone.
    fn events(&self, messages: Streaming<Bytes>, asked: Asked) -> Arriving {
        let this = Self(self.0.clone());
        let state = Some((messages, this, asked));
        Box::pin(stream::unfold(state, |state| async move {
            let (mut messages, this, asked) = state?;
            let next = timeout(this.0.shared.silence, messages.message());
            let Ok(next) = next.await else {
                return Some((Err(too_slow(&asked.url)), None));
            };
            match next {
                Ok(Some(message)) => {
                    let arrival = this.arrival(&message).map(Some);
                    let go_on = arrival.is_ok();
                    Some((arrival, go_on.then_some((messages, this, asked))))
                }
                Ok(None) => None,
                Err(status) => Some((Err(this.failed(&status, &asked)), None)),
            }
        }))
    }

    fn arrival(&self, message: &[u8]) -> Result<Arrival, Error> {
        let spoken = self.spoken();
        let event = grpc::decode_event(spoken, message).map_err(Error::unintelligible)?;
        Ok(Arrival {
            last: grpc::says_final(spoken, message),
            ..Arrival::bare(event)
        })
    }

    /// What a status means.
    fn failed(&self, status: &Status, asked: &Asked) -> Error {
        let Asked { url, secrets } = asked;
        let message = secrets.hide(status.message());
        if status.source().is_some() || is_cut(status) {
            // Not the agent's word: the connection broke.
            let message = format!("cannot reach {url}: {message}");
            let broken = Error::new(Kind::Unreachable, message).reached(Reach::Sent);
            return match status.source() {
                Some(_) => broken.because(status.clone()),
                // Anyone can say these words.
                None => broken,
            };
        }
        match status.code() {
            Code::DeadlineExceeded => return too_slow(url),
            Code::OutOfRange if status.details().is_empty() => {
                let message = format!("the answer of {url} is too large: {message}");
                return Error::new(Kind::TooLarge, message).reached(Reach::Answered);
            }
            _ => {}
        }
        let code = i32::from(status.code());
        let said = grpc::read_status(self.0.version, code, &message, status.details());
        let said = without(secrets, &said);
        log_error(Some(code.into()), &said);
        let wait = said.facts().iter().find(|(key, _)| key == "retryDelay");
        let wait = wait.and_then(|(_, delay)| delay.strip_suffix('s')?.parse().ok());
        Error::answered(said)
            .with_code(Some(code.into()))
            .retry_after(wait.map(Duration::from_secs))
    }
}

/// The error without our secrets, wherever they stand in it.
fn without(secrets: &Secrets, said: &Answered) -> Answered {
    let mut error = Answered::new(said.kind(), secrets.hide(said.message()));
    for (key, value) in said.facts() {
        error = error.fact(secrets.hide(key), secrets.hide(value));
    }
    for bad in said.violations() {
        error = error.violation(secrets.hide(&bad.field), secrets.hide(&bad.description));
    }
    error
}

const TIMEOUT: http::HeaderName = http::HeaderName::from_static("grpc-timeout");

/// At most eight digits, and a unit.
fn timeout_text(left: Duration) -> String {
    let millis = left.as_millis();
    if millis < 100_000_000 {
        format!("{millis}m")
    } else {
        format!("{}S", left.as_secs().min(99_999_999))
    }
}

/// A message in its frame.
fn framed(message: &[u8]) -> Result<Bytes, Error> {
    let length = u32::try_from(message.len())
        .map_err(|_| Error::new(Kind::TooLarge, "the message is larger than gRPC can say"))?;
    let mut frame = BytesMut::with_capacity(message.len() + 5);
    frame.put_u8(0);
    frame.put_u32(length);
    frame.put_slice(message);
    Ok(frame.freeze())
}

/// The status of an answer that is nothing else.
fn refusal(opened: &Opened) -> Option<Status> {
    let headers = readable(opened.headers().clone());
    Status::from_header_map(&headers).filter(|status| status.code() != Code::Ok)
}

/// A body whose trailers tonic can read.
fn with_readable_end<B: Body>(body: B) -> impl Body<Data = B::Data, Error = B::Error> {
    body.map_frame(|frame| match frame.into_trailers() {
        Ok(trailers) => Frame::trailers(readable(trailers)),
        Err(frame) => frame,
    })
}

/// Without details that are no base64: tonic panics at them.
fn readable(mut headers: HeaderMap) -> HeaderMap {
    let details = headers.get(Status::GRPC_STATUS_DETAILS);
    let broken = details.is_some_and(|details| {
        let padding = DecodePaddingMode::Indifferent;
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(padding);
        let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
        engine.decode(details.as_bytes()).is_err()
    });
    if broken {
        headers.remove(Status::GRPC_STATUS_DETAILS);
    }
    headers
}

/// Whether an answer broke off without its end, as a proxy leaves it. tonic says so by these words only.
fn is_cut(status: &Status) -> bool {
    let said = status.message();
    match status.code() {
        Code::Unknown => said.starts_with("protocol error: missing grpc-status"),
        Code::Internal => said.starts_with("Unexpected EOF decoding stream"),
        _ => false,
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let said = headers.get(CONTENT_TYPE);
    said.is_some_and(|said| said.as_bytes().starts_with(b"application/grpc"))
}

/// Takes messages as they are.
#[derive(Debug)]
struct Bytewise;

impl Decoder for Bytewise {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_fit_into_eight_digits() {
        for (left, text) in [
            (Duration::ZERO, "0m"),
            (Duration::from_millis(1500), "1500m"),
            (Duration::from_secs(300), "300000m"),
            (Duration::from_secs(365 * 24 * 3600), "31536000S"),
            (Duration::MAX, "99999999S"),
        ] {
            assert_eq!(timeout_text(left), text);
        }
    }

    /// The words are tonic's own, so that other ones of a later version are noticed.
    #[tokio::test]
    async fn an_answer_that_breaks_off_is_told_from_an_error_of_the_agent() {
        for body in [&b"\0\0\0\0\x03abc"[..], b"\0\0\0\0\x09abc"] {
            let body = http_body_util::Full::new(Bytes::from_static(body));
            let ok = StatusCode::OK;
            let mut messages = Streaming::new_response(Bytewise, body, ok, None, None);
            let status = loop {
                match messages.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("an end without a status"),
                    Err(status) => break status,
                }
            };
            assert!(is_cut(&status), "{status:?}");
        }
        assert!(!is_cut(&Status::unknown("my own words")));
        assert!(!is_cut(&Status::internal("my own words")));
    }

    #[test]
    fn a_frame_says_how_long_it_is() {
        assert_eq!(&framed(b"abc").unwrap()[..], b"\0\0\0\0\x03abc");
    }

    #[tokio::test]
    async fn details_that_are_no_base64_are_left_out() {
        for (details, kept) in [("%%%", ""), ("aGk=", "hi"), ("aGk", "hi")] {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from_static("5"));
            trailers.insert("grpc-status-details-bin", HeaderValue::from_static(details));
            let end = stream::iter([Ok::<_, std::convert::Infallible>(Frame::<Bytes>::trailers(
                trailers,
            ))]);
            let body = with_readable_end(http_body_util::StreamBody::new(end));
            let mut messages = Streaming::new_response(Bytewise, body, StatusCode::OK, None, None);
            let status = messages.message().await.unwrap_err();
            assert_eq!(status.code(), Code::NotFound);
            assert_eq!(status.details(), kept.as_bytes(), "{details}");
        }
    }
}
