//! HTTP itself, broken.

use tokio::io::AsyncWriteExt;

use crate::wire::{Way, connect, exchange, exchange_half_closed, healthy, rest, until};

const HEAD: &str = "POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n";

fn body() -> String {
    crate::wire::envelope("SendMessage", &Way::Rpc10.good().to_string())
}

#[tokio::test]
async fn broken_heads_get_a_status() {
    let server = crate::server("").await;
    let long_path = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(70_000)
    );
    let long_header = format!(
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nA: {}\r\n\r\n",
        "x".repeat(70_000)
    );
    let many = (0..200).fold(String::new(), |all, n| format!("{all}a{n}: b\r\n"));
    let many = format!("GET /livez HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    for (bytes, status) in [
        (b"GARBAGE\r\n\r\n".as_slice(), 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
        (b"GET /livez HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nX Y: bad\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nX: a\0b\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nX: a\r\n folded\r\n\r\n", 400),
        (b"GET /li vez HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (
            b"POST /a2a/echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            400,
        ),
        (
            b"POST /a2a/echo HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
            400,
        ),
        (
            b"POST /a2a/echo HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
            400,
        ),
        (
            b"POST /a2a/echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
            400,
        ),
        (
            b"POST /a2a/echo HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n{}",
            400,
        ),
        (long_path.as_bytes(), 431),
        (long_header.as_bytes(), 431),
        (many.as_bytes(), 431),
    ] {
        let answer = exchange(&server, bytes).await;
        let what = String::from_utf8_lossy(&bytes[..bytes.len().min(70)]).into_owned();
        assert_eq!(answer.status(), status, "{what:?}: {:?}", answer.text);
    }
    healthy(&server).await;
}

#[tokio::test]
async fn broken_bodies_get_an_answer() {
    let server = crate::server("limits: { body_timeout: 1s }").await;
    let body = body();
    for (what, rest, says) in [
        (
            "no hex",
            format!("Transfer-Encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n"),
            "broke off",
        ),
        (
            "overflow",
            format!("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{body}"),
            "broke off",
        ),
        (
            "long extension",
            format!(
                "Transfer-Encoding: chunked\r\n\r\n{:x};{}\r\n{body}\r\n0\r\n\r\n",
                body.len(),
                "x".repeat(50_000)
            ),
            "broke off",
        ),
        (
            "huge chunk",
            format!("Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n{body}"),
            "did not arrive within 1s",
        ),
        (
            "too little",
            format!("Content-Length: 5000\r\n\r\n{body}"),
            "did not arrive within 1s",
        ),
    ] {
        let answer = exchange(&server, format!("{HEAD}{rest}").as_bytes()).await;
        assert_eq!(answer.status(), 400, "{what}: {}", answer.text);
        let error = answer.error();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (-32600, "INVALID_REQUEST"),
            "{what}"
        );
        assert!(error.message.contains(says), "{what}: {}", error.message);
    }
    let half = format!("{HEAD}Content-Length: 5000\r\n\r\n{body}");
    let answer = exchange_half_closed(&server, half.as_bytes()).await;
    assert!(
        answer.error().message.contains("broke off"),
        "{}",
        answer.text
    );
    healthy(&server).await;
}

#[tokio::test]
async fn lawful_oddities_work() {
    let server = crate::server("").await;
    let body = body();
    let length = body.len();
    let chunked = format!("{length:x};ext=1\r\n{body}\r\n0\r\nTrailer: x\r\n\r\n");
    for (what, request) in [
        (
            "chunked",
            format!("{HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"),
        ),
        // The encoding counts, as RFC 9112 has it; the length is forgotten.
        (
            "length and chunked",
            format!(
                "{HEAD}Connection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"
            ),
        ),
        (
            "HTTP/1.0",
            format!("{HEAD}Content-Length: {length}\r\n\r\n{body}").replace("HTTP/1.1", "HTTP/1.0"),
        ),
        (
            "leading line breaks",
            format!("\r\n\r\n{HEAD}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "no host",
            format!("{HEAD}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}")
                .replace("Host: localhost\r\n", ""),
        ),
        (
            "an upgrade to HTTP/2 is not taken",
            format!(
                "{HEAD}Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: {length}\r\n\r\n{body}"
            ),
        ),
    ] {
        let answer = exchange(&server, request.as_bytes()).await;
        assert_eq!(answer.status(), 200, "{what}: {}", answer.text);
        assert!(answer.text.contains("TASK_STATE_COMPLETED"), "{what}");
    }
    let whole = format!("{HEAD}Content-Length: {length}\r\n\r\n{body}");
    let last = whole.replace("Host: localhost", "Host: localhost\r\nConnection: close");
    let answer = exchange(&server, format!("{}{last}", whole.repeat(19)).as_bytes()).await;
    assert_eq!(answer.text.matches("HTTP/1.1 200").count(), 20, "pipelined");
    // Who closes its side before the answer counts as gone; the task is not.
    exchange_half_closed(&server, whole.as_bytes()).await;
    healthy(&server).await;
}

#[tokio::test]
async fn who_asks_before_sending_is_told_to_go_on_or_not() {
    let server = crate::server("").await;
    let body = body();
    let mut socket = connect(&server).await;
    let head = format!(
        "{HEAD}Connection: close\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.expect("a head");
    until(&mut socket, "HTTP/1.1 100 Continue\r\n\r\n").await;
    socket.write_all(body.as_bytes()).await.expect("a body");
    assert!(
        rest(&mut socket)
            .await
            .text
            .contains("TASK_STATE_COMPLETED")
    );
    let large = format!("{HEAD}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
    let answer = exchange(&server, large.as_bytes()).await;
    assert_eq!(answer.status(), 413, "{}", answer.text);
}

#[tokio::test]
async fn a_stream_flows_although_more_was_sent_behind_the_request() {
    let server = crate::server("").await;
    let body = body().replace("SendMessage", "SendStreamingMessage");
    let call =
        format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len()).replace("/echo", "/sleeper");
    let mut socket = connect(&server).await;
    socket.write_all(call.as_bytes()).await.expect("a call");
    socket.write_all(call.as_bytes()).await.expect("another");
    until(&mut socket, "TASK_STATE_WORKING").await;
}

#[tokio::test]
async fn http_2_by_prior_knowledge_works_and_its_garbage_ends_the_connection() {
    let server = crate::server("").await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .build()
        .expect("a client");
    let call = client
        .post(server.url("/a2a/echo"))
        .header("A2A-Version", "1.0")
        .header("Content-Type", "application/json");
    let answer = call.body(body()).send().await.expect("an answer");
    assert_eq!(answer.version(), reqwest::Version::HTTP_2);
    assert!(
        answer
            .text()
            .await
            .expect("a body")
            .contains("TASK_STATE_COMPLETED")
    );
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    exchange(&server, &[preface.as_slice(), &[0xFF; 200]].concat()).await;
    exchange(&server, b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\nnonsense\r\n\r\n").await;
    healthy(&server).await;
}
