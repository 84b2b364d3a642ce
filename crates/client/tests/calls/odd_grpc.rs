//! gRPC answers that are larger than they may be, or more than one.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json as value;
use switchboard_client::{Client, Kind, Limits, Retry};
use switchboard_types::model::TaskId;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A message in its frame, which says that it is as long as `says`.
fn framed(message: &[u8], says: usize) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(says.try_into().unwrap());
    frame.put_slice(message);
    frame.freeze()
}

/// A server that answers every rpc with these frames. It lives as long as the set.
async fn answering(frames: Vec<Bytes>) -> (Client, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let frames = frames.clone();
            let service = service_fn(move |_: http::Request<Incoming>| {
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", HeaderValue::from_static("0"));
                let all = frames.clone().into_iter().map(Frame::data);
                let all = all
                    .chain([Frame::trailers(trailers)])
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
        {"url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0"}]});
    let builder = Client::builder().retry(Retry::never()).limits(Limits {
        body: 4 << 20,
        ..Limits::default()
    });
    let client = builder.connect(card.to_string()).await.unwrap();
    (client, serving)
}

async fn failure(frames: Vec<Bytes>) -> switchboard_client::Error {
    let (client, _serving) = answering(frames).await;
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
