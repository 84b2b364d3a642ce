//! What is near gRPC: older HTTP, gRPC-Web, bad frames, health, reflection.

use bytes::Bytes;
use prost::Message;
use switchboard_proto::health::{HealthCheckRequest, HealthCheckResponse};
use switchboard_proto::reflection::server_reflection_request::MessageRequest;
use switchboard_proto::reflection::server_reflection_response::MessageResponse;
use switchboard_proto::reflection::{ServerReflectionRequest, ServerReflectionResponse};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

use crate::peer::{NEW, all, serve};

#[tokio::test]
async fn older_http_is_told_to_use_http_2() {
    let server = serve().await;
    for content_type in [
        "application/grpc",
        "application/grpc+proto",
        "application/grpc-web",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "POST {NEW}/GetTask HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
        assert!(answer.contains("gRPC needs HTTP/2"), "{answer}");
    }
    server.drain().await;
}

/// Bytes as they are, and what is answered: the HTTP status and the gRPC status.
async fn post(address: std::net::SocketAddr, encoding: &str, body: &'static [u8]) -> (u16, String) {
    let link = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .http2_only(true)
        .build_http::<http_body_util::Full<Bytes>>();
    let request = hyper::Request::post(format!("http://{address}{NEW}/GetTask"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-encoding", encoding)
        .body(Bytes::from_static(body).into())
        .unwrap();
    let response = link.request(request).await.unwrap();
    let code = response.headers().get("grpc-status");
    let code = code.map_or("", |code| code.to_str().unwrap()).to_owned();
    (response.status().as_u16(), code)
}

#[tokio::test]
async fn broken_frames_are_the_callers_fault() {
    let server = serve().await;
    for body in [
        &b""[..],
        b"\0\0",
        b"\0\0\0\0\x09short",
        b"\0\xff\xff\xff\xffshort",
        b"\x07\0\0\0\0",
        b"\0\0\0\0\0\0\0\0\0\0",
    ] {
        let answer = post(server.address, "identity", body).await;
        assert_eq!(answer, (200, "3".to_owned()), "{body:?}");
    }
    // What is compressed is not offered.
    let answer = post(server.address, "gzip", b"\x01\0\0\0\x01x").await;
    assert_eq!(answer, (200, "12".to_owned()));
    server.drain().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let server = serve().await;
    // Bytes are field 1, as the tenant is; but these are no text.
    let odd: Vec<u8> = vec![0xff, 0xfe];
    let refused = server
        .caller()
        .respond(format!("{NEW}/GetTask"), &odd)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    server.drain().await;
}

#[tokio::test]
async fn health_is_told_by_service() {
    let server = serve().await;
    let caller = server.caller();
    let check = |service: &str| HealthCheckRequest {
        service: service.to_owned(),
    };
    for service in ["", "lf.a2a.v1.A2AService", "a2a.v1.A2AService"] {
        let health: HealthCheckResponse = caller
            .call("/grpc.health.v1.Health/Check", &check(service))
            .await
            .unwrap();
        assert_eq!(health.status, 1, "{service}");
    }
    let unknown = caller
        .respond("/grpc.health.v1.Health/Check", &check("other"))
        .await
        .unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let watching = caller
        .stream("/grpc.health.v1.Health/Watch", &check(""))
        .await
        .unwrap();
    let tasks = server.tasks.clone();
    let (seen, ()) = tokio::join!(all::<HealthCheckResponse>(watching), async {
        tasks.stop();
    });
    let seen: Vec<i32> = seen.iter().map(|health| health.status).collect();
    assert_eq!(seen.last(), Some(&2), "{seen:?}");
    server.drain().await;
}

#[tokio::test]
async fn reflection_describes_both_services_in_both_its_versions() {
    let server = serve().await;
    let ask = |question| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(question),
    };
    let questions: Vec<Bytes> = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol(
            "lf.a2a.v1.A2AService".to_owned(),
        )),
        ask(MessageRequest::FileByFilename(
            "google/protobuf/struct.proto".to_owned(),
        )),
    ]
    .iter()
    .map(|question| Bytes::from(question.encode_to_vec()))
    .collect();
    for path in [
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ] {
        let stream = server.caller().converse(path, questions.clone()).await;
        let answers: Vec<ServerReflectionResponse> = all(stream.unwrap()).await;
        let Some(MessageResponse::ListServicesResponse(list)) = &answers[0].message_response else {
            panic!("no list");
        };
        let names: Vec<&str> = list.service.iter().map(|one| one.name.as_str()).collect();
        assert!(names.contains(&"lf.a2a.v1.A2AService"), "{names:?}");
        assert!(names.contains(&"a2a.v1.A2AService"), "{names:?}");
        for answer in &answers[1..] {
            let answer = answer.message_response.as_ref();
            assert!(matches!(
                answer,
                Some(MessageResponse::FileDescriptorResponse(_))
            ));
        }
    }
    server.drain().await;
}
