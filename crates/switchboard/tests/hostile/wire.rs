//! Requests written by hand, and what comes back: nothing here repairs what a test breaks.

use std::time::Duration;

use serde_json::Value;
use switchboard_testkit::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The four ways to call an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Rpc03,
    Rpc10,
    Rest03,
    Rest10,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Rpc03, Self::Rpc10, Self::Rest03, Self::Rest10];

    pub(crate) fn is_rpc(self) -> bool {
        matches!(self, Self::Rpc03 | Self::Rpc10)
    }

    pub(crate) fn is_1_0(self) -> bool {
        matches!(self, Self::Rpc10 | Self::Rest10)
    }

    /// The header that asks for this version.
    pub(crate) fn version(self) -> &'static str {
        if self.is_1_0() {
            "A2A-Version: 1.0\r\n"
        } else {
            ""
        }
    }

    /// The request by which `echo` is sent `params`.
    pub(crate) fn send(self, params: &str) -> Vec<u8> {
        let (path, body) = match self {
            Self::Rpc03 => ("/a2a/echo", envelope("message/send", params)),
            Self::Rpc10 => ("/a2a/echo", envelope("SendMessage", params)),
            Self::Rest03 => ("/a2a/echo/v1/message:send", params.to_owned()),
            Self::Rest10 => ("/a2a/echo/message:send", params.to_owned()),
        };
        post(path, self.version(), body.as_bytes())
    }

    /// Parameters with a message that is fine.
    pub(crate) fn good(self) -> Value {
        let part = if self.is_1_0() {
            serde_json::json!({"text": "hi"})
        } else {
            serde_json::json!({"kind": "text", "text": "hi"})
        };
        let role = if self.is_1_0() { "ROLE_USER" } else { "user" };
        serde_json::json!({"message": {"messageId": "m1", "role": role, "parts": [part]}})
    }
}

/// A JSON-RPC call.
pub(crate) fn envelope(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// A POST of JSON, after whose answer the connection is closed.
pub(crate) fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    request("POST", path, &headers, body)
}

/// Any request, after whose answer the connection is closed.
pub(crate) fn request(verb: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{verb} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// What came back before the server closed the connection.
#[derive(Debug)]
pub(crate) struct Raw {
    /// All of it.
    pub(crate) text: String,
}

impl Raw {
    /// The status of the first answer; 0 if there was none.
    pub(crate) fn status(&self) -> u16 {
        let digits = self.text.get(9..12).unwrap_or_default();
        digits.parse().unwrap_or(0)
    }

    /// A header of the first answer, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = self.text.split("\r\n\r\n").next()?;
        head.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The body of the last answer.
    pub(crate) fn body(&self) -> &str {
        self.text.rsplit("\r\n\r\n").next().unwrap_or_default()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.body()).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The error in a body of any binding.
    pub(crate) fn error(&self) -> Failure {
        let body = self.json();
        let error = body.get("error").unwrap_or(&body);
        let info = match error.get("data").or(error.get("details")) {
            Some(Value::Array(details)) => details.first().cloned().unwrap_or_default(),
            Some(data) => data.clone(),
            None => Value::Null,
        };
        Failure {
            code: body["code"]
                .as_i64()
                .or(error["code"].as_i64())
                .unwrap_or(0),
            reason: info["reason"].as_str().unwrap_or_default().to_owned(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// An error as a client reads it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i64,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// A socket to the server.
pub(crate) async fn connect(server: &Server) -> TcpStream {
    let address = server.base.trim_start_matches("http://");
    TcpStream::connect(address).await.expect("a connection")
}

/// Sends bytes and reads until the server closes the connection.
pub(crate) async fn exchange(server: &Server, bytes: &[u8]) -> Raw {
    let mut socket = connect(server).await;
    // The server may refuse before it has read everything.
    let sent = socket.write_all(bytes).await;
    drop(sent);
    rest(&mut socket).await
}

/// Sends bytes, says that no more will come, and reads to the end.
pub(crate) async fn exchange_half_closed(server: &Server, bytes: &[u8]) -> Raw {
    let mut socket = connect(server).await;
    socket.write_all(bytes).await.expect("bytes are taken");
    socket.shutdown().await.expect("half a close");
    rest(&mut socket).await
}

/// Everything that still comes. A reset after the answer is an end like any other.
pub(crate) async fn rest(socket: &mut TcpStream) -> Raw {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, socket.read_to_end(&mut bytes)).await;
    assert!(
        read.is_ok(),
        "still open: {}",
        String::from_utf8_lossy(&bytes)
    );
    Raw {
        text: String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Reads until a text has come.
pub(crate) async fn until(socket: &mut TcpStream, text: &str) -> String {
    let mut seen = Vec::new();
    let found = timeout(PATIENCE, async {
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&seen).contains(text) {
            let length = socket.read(&mut piece).await.expect("more");
            assert_ne!(length, 0, "closed: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..length]);
        }
    });
    assert!(found.await.is_ok(), "{text:?} did not come");
    String::from_utf8_lossy(&seen).into_owned()
}

/// A good request still works: in every way, and the process says it is ready.
pub(crate) async fn healthy(server: &Server) {
    for way in Way::ALL {
        let answer = exchange(server, &way.send(&way.good().to_string())).await;
        assert_eq!(answer.status(), 200, "{way:?}: {}", answer.text);
        assert!(answer.body().contains("completed") || answer.body().contains("COMPLETED"));
    }
    assert_eq!(server.get("/readyz").await.status, 200);
}

/// The memory of the server's process: now, and at its peak, in MiB.
pub(crate) fn memory(server: &Server) -> (u64, u64) {
    let file = format!("/proc/{}/status", server.pid());
    let status = std::fs::read_to_string(file).expect("Linux");
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.and_then(|number| number.parse::<u64>().ok())
    };
    let mib = |name| field(name).expect("a number") / 1024;
    (mib("VmRSS:"), mib("VmHWM:"))
}
