//! Requests that hide another one. A proxy before us may count the bytes of a body otherwise than we do; then what is
//! behind them would be taken for the request of someone else.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::wire::{connect, healthy};

const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
const CHUNKED: &str = "2\r\n{}\r\n0\r\n\r\n";

/// The headers, and what follows them before the hidden request; `{all}` is the length of all of that.
const AMBIGUOUS: [(&str, &str); 15] = [
    (
        "Content-Length: {all}\r\nTransfer-Encoding: chunked",
        CHUNKED,
    ),
    (
        "Transfer-Encoding: chunked\r\nContent-Length: {all}",
        CHUNKED,
    ),
    (
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        CHUNKED,
    ),
    ("Transfer-Encoding: chunked, identity", CHUNKED),
    (
        "Transfer-Encoding: xchunked\r\nContent-Length: {all}",
        CHUNKED,
    ),
    (
        "Transfer-Encoding : chunked\r\nContent-Length: {all}",
        CHUNKED,
    ),
    (
        "Transfer-Encoding: \x0bchunked\r\nContent-Length: {all}",
        CHUNKED,
    ),
    (
        "Transfer-Encoding:\r\n chunked\r\nContent-Length: {all}",
        CHUNKED,
    ),
    ("Content-Length: 2, 2", "{}"),
    ("Content-Length: 2\r\nContent-Length: {all}", "{}"),
    ("Content-Length: +2", "{}"),
    ("Content-Length: 0x2", "{}"),
    ("Content-Length: 2 2", "{}"),
    ("Transfer-Encoding: chunked", "2\n{}\n0\n\n"),
    (
        "Transfer-Encoding: chunked",
        "fffffffffffffffff2\r\n{}\r\n0\r\n\r\n",
    ),
];

#[tokio::test]
async fn of_a_request_that_can_be_read_two_ways_nothing_behind_it_is_answered() {
    let server = crate::server("").await;
    for (headers, body) in AMBIGUOUS {
        let all = (body.len() + HIDDEN.len()).to_string();
        let headers = headers.replace("{all}", &all);
        let request = format!(
            "POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n\
             {headers}\r\n\r\n{body}{HIDDEN}"
        );
        let mut socket = connect(&server).await;
        socket.write_all(request.as_bytes()).await.expect("bytes");
        let mut answer = Vec::new();
        let read = timeout(Duration::from_secs(20), socket.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(read.is_ok(), "{headers:?} stays open: {answer}");
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            1,
            "{headers:?}: {answer}"
        );
        assert!(answer.starts_with("HTTP/1.1 400 "), "{headers:?}: {answer}");
    }
    healthy(&server).await;
}
