//! gRPC answers that are larger than they may be, more than one, or that repeat what is secret.

use std::convert::Infallible;

use base64::Engine as _;
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json as value;
use switchboard_client::{Client, Credential, Credentials, Kind, Limits, Retry};
use switchboard_types::ProtocolVersion;
use switchboard_types::model::{Secret, TaskId};
use switchboard_types::wire::grpc::write_status;
use switchboard_types::{Error, ErrorKind};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const SECRET: &str = "s3cr3t-value";
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// A message in its frame, which says that it is as long as `says`.
fn framed(message: &[u8], says: usize) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(says.try_into().unwrap());
    frame.put_slice(message);
    frame.freeze()
}

/// The end of an answer, if all is well.
fn good() -> HeaderMap {
    HeaderMap::from_iter([(GRPC_STATUS, HeaderValue::from_static("0"))])
}

/// A server that answers every rpc with these frames, and this end. It lives as long as the set.
async fn answering(frames: Vec<Bytes>, end: HeaderMap) -> (Client, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let (frames, end) = (frames.clone(), end.clone());
            let service = service_fn(move |_: http::Request<Incoming>| {
                let all = frames.clone().into_iter().map(Frame::data);
                let all = all
                    .chain([Frame::trailers(end.clone())])
                    .map(Ok::<_, Infallible>);
                let mut response = Response::new(StreamBody::new(futures_util::stream::iter(all)));
                let grpc = HeaderValue::from_static("application/grpc");
                response.headers_mut().insert("content-type", grpc);
                std::future::ready(Ok::<_, Infallible>(response))
            });
            open.spawn(async move {
                let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                drop(http.serve_connection(TokioIo::new(socket), service).await);
            });
        }
    });
    let card = value!({"name": "odd", "supportedInterfaces": [
        {"url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"token": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
        "securityRequirements": [{"schemes": {"token": {"list": []}}}]});
    let token = Credential::Bearer(Secret::new(SECRET));
    let builder = Client::builder()
        .retry(Retry::never())
        .credentials(Credentials::any(token))
        .limits(Limits {
            body: 4 << 20,
            ..Limits::default()
        });
    let client = builder.connect(card.to_string()).await.unwrap();
    (client, serving)
}

async fn failure(frames: Vec<Bytes>) -> switchboard_client::Error {
    refusal(frames, good()).await
}

async fn refusal(frames: Vec<Bytes>, end: HeaderMap) -> switchboard_client::Error {
    let (client, _serving) = answering(frames, end).await;
    let read = client.get(&TaskId::new("t").unwrap(), None).await;
    read.unwrap_err()
}

#[tokio::test]
async fn an_answer_that_says_it_is_too_large_is_not_read() {
    // Nothing follows: whoever waited for the rest would say that it broke off.
    let error = failure(vec![framed(b"", 5 << 20)]).await;
    assert_eq!(error.kind(), Kind::TooLarge, "{error}");
}

#[tokio::test]
async fn an_answer_of_too_many_pieces_is_not_read() {
    // A million messages of the history, two bytes each.
    let many = [0x2a, 0x00].repeat(1_000_001);
    let error = failure(vec![framed(&many, many.len())]).await;
    assert_eq!(error.kind(), Kind::Unintelligible, "{error}");
    assert!(error.to_string().contains("1000000 fields"), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_left() {
    let message = framed(b"", 0);
    let error = failure(vec![message; 1000]).await;
    assert_eq!(error.kind(), Kind::Unintelligible, "{error}");
    assert!(error.to_string().contains("more than one"), "{error}");
}

/// The end of an answer that is a refusal.
fn ending(code: i32, message: &str, details: &[u8]) -> HeaderMap {
    let mut end = HeaderMap::from_iter([(GRPC_STATUS, code.into())]);
    end.insert("grpc-message", message.parse().unwrap());
    if !details.is_empty() {
        let details = base64::engine::general_purpose::STANDARD.encode(details);
        end.insert("grpc-status-details-bin", details.parse().unwrap());
    }
    end
}

#[tokio::test]
async fn what_a_status_repeats_of_our_credentials_is_shown_nowhere() {
    let token = format!("not {SECRET}, please");
    let told = Error::new(ErrorKind::InvalidParams, &token)
        .fact("token", &token)
        .fact(SECRET.to_owned(), "wrong")
        .violation(SECRET, &token);
    let told = write_status(ProtocolVersion::V1_0, &told);
    let error = refusal(vec![], ending(told.code, "no", &told.details)).await;
    let protocol = error.protocol().unwrap();
    // All of it came along.
    for (key, value) in [("token", "not ***, please"), ("***", "wrong")] {
        let fact = protocol.facts().iter().find(|(known, _)| known == key);
        assert_eq!(fact.unwrap().1, value, "{error:?}");
    }
    assert_eq!(protocol.violations()[0].description, "not ***, please");
    assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
    let cut = format!("protocol error: missing grpc-status {SECRET}");
    for (code, message, kind) in [
        (3, &token, Kind::Protocol),
        (11, &token, Kind::TooLarge),
        (2, &cut, Kind::Unreachable),
    ] {
        let error = refusal(vec![], ending(code, message, b"")).await;
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.to_string().contains("***"), "{error:?}");
        assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
    }
}
