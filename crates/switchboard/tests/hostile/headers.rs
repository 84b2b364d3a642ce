//! Headers that mean something here, with values that mean nothing.

use crate::wire::{Way, exchange, healthy, post, request};

#[tokio::test]
async fn a_header_that_cannot_be_read_is_never_taken_for_absent() {
    let server = crate::server("").await;
    let long_key = format!("Idempotency-Key: {}\r\n", "k".repeat(256));
    let long_version = format!("A2A-Version: {}\r\n", "9".repeat(5000));
    for (headers, code, says) in [
        (
            "Idempotency-Key: \r\n",
            -32602,
            "Idempotency-Key must be 1 to 255 characters",
        ),
        (
            long_key.as_str(),
            -32602,
            "Idempotency-Key must be 1 to 255 characters",
        ),
        (
            "Idempotency-Key: é\r\n",
            -32602,
            "Idempotency-Key must be ASCII text",
        ),
        (
            "Idempotency-Key: a\r\nIdempotency-Key: b\r\n",
            -32602,
            "Idempotency-Key is given more than once",
        ),
        (
            "Last-Event-ID: x\r\n",
            -32602,
            "Last-Event-ID must be the id of an event",
        ),
        (
            "Last-Event-ID: -1\r\n",
            -32602,
            "Last-Event-ID must be the id of an event",
        ),
        (
            "Last-Event-ID: 1 2\r\n",
            -32602,
            "Last-Event-ID must be the id of an event",
        ),
        (
            "Last-Event-ID: 99999999999999999999999\r\n",
            -32602,
            "Last-Event-ID must be the id of an event",
        ),
        (
            "Last-Event-ID: é\r\n",
            -32602,
            "Last-Event-ID must be ASCII text",
        ),
        (
            "A2A-Version: é\r\n",
            -32602,
            "A2A-Version must be ASCII text",
        ),
        (
            "A2A-Version: 0.3\r\nA2A-Version: 1.0\r\n",
            -32602,
            "A2A-Version is given more than once",
        ),
        (
            "A2A-Version: 99.0\r\n",
            -32009,
            "is not supported here; supported: 1.0,0.3",
        ),
        ("A2A-Version: 1.0, 0.3\r\n", -32009, "is not supported here"),
        ("A2A-Version: 1\r\n", -32009, "is not supported here"),
        ("A2A-Version: 1.0-beta\r\n", -32009, "is not supported here"),
        (long_version.as_str(), -32009, "A2A version \"99999"),
        (
            "Content-Encoding: gzip\r\n",
            -32005,
            "must not be compressed, not even by gzip",
        ),
        (
            "Content-Encoding: identity, br\r\n",
            -32005,
            "must not be compressed",
        ),
    ] {
        let way = Way::Rpc03;
        let good = way.send(&way.good().to_string());
        let call = String::from_utf8(good).expect("text");
        let call = call.replacen("Content-Length", &format!("{headers}Content-Length"), 1);
        let answer = exchange(&server, call.as_bytes()).await;
        let shown = &headers[..headers.floor_char_boundary(50)];
        assert_eq!(answer.status(), 200, "{shown}: {}", answer.text);
        let error = answer.error();
        assert_eq!(error.code, code, "{shown}: {}", answer.text);
        assert!(error.message.contains(says), "{shown}: {}", error.message);
        assert!(answer.text.len() < 4096, "{shown}");
    }
    healthy(&server).await;
}

#[tokio::test]
async fn a_body_of_another_type_is_refused_by_its_name() {
    let server = crate::server("").await;
    for (kind, says) in [
        ("text/plain", "must be application/json, not text/plain"),
        (
            "application/x-www-form-urlencoded",
            "must be application/json",
        ),
        ("application/jsonx", "must be application/json"),
        (
            "multipart/form-data; boundary=x",
            "must be application/json",
        ),
        ("é", "Content-Type must be ASCII text"),
    ] {
        for way in Way::ALL {
            let call = way.send(&way.good().to_string());
            let call = String::from_utf8(call).expect("text");
            let call = call.replacen("application/json", kind, 1);
            let answer = exchange(&server, call.as_bytes()).await;
            let status = match way {
                Way::Rpc03 | Way::Rpc10 => 200,
                Way::Rest03 if kind != "é" => 415,
                Way::Rest03 | Way::Rest10 => 400,
            };
            assert_eq!(answer.status(), status, "{way:?} {kind}: {}", answer.text);
            assert!(
                answer.error().message.contains(says),
                "{way:?} {kind}: {}",
                answer.text
            );
        }
    }
    for kind in [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/a2a+json",
        "",
    ] {
        let way = Way::Rest10;
        let headers = format!("A2A-Version: 1.0\r\nContent-Type: {kind}\r\n");
        let body = way.good().to_string();
        let call = request("POST", "/a2a/echo/message:send", &headers, body.as_bytes());
        assert_eq!(exchange(&server, &call).await.status(), 200, "{kind}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_refused_before_they_are_read() {
    let server = crate::server("").await;
    for way in [Way::Rest03, Way::Rest10] {
        let path = if way.is_1_0() {
            "/a2a/echo/message:send"
        } else {
            "/a2a/echo/v1/message:send"
        };
        let headers = format!("{}Content-Encoding: gzip\r\n", way.version());
        let answer = exchange(&server, &post(path, &headers, b"\x1F\x8B\x08\0")).await;
        assert_eq!(
            answer.status(),
            if way.is_1_0() { 400 } else { 415 },
            "{}",
            answer.text
        );
        assert!(
            answer.error().message.contains("not even by gzip"),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn nothing_that_is_sent_comes_back_as_a_header() {
    let server = crate::server("").await;
    for headers in [
        "A2A-Version: 1.0\r\nA2A-Extensions: a%0d%0aX-Evil: 1\r\n",
        "A2A-Version: 1.0\r\nHost: evil\r\n",
        "Host: a/../b\r\n",
    ] {
        for path in [
            "/a2a/echo",
            "/a2a/echo/.well-known/agent-card.json",
            "/a2a/x%0d%0aX-Evil:1/tasks",
        ] {
            let verb = if path.ends_with("json") {
                "GET"
            } else {
                "POST"
            };
            let answer = exchange(&server, &request(verb, path, headers, b"{}")).await;
            assert_ne!(answer.status(), 0, "{headers} {path}");
            assert_eq!(answer.header("x-evil"), None, "{headers} {path}");
        }
    }
    healthy(&server).await;
}
