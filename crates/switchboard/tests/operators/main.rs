//! What operators see: log lines of tasks, the access log, `switchboard tasks`, metrics, alert rules and the dashboard,
//! with the real binary.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod access_log;
mod alerts;
mod data_directory;
mod metrics;
mod stalled_stderr;
mod task_lines;
mod tasks_command;
mod upstream_lines;

use std::time::Duration;

use serde_json::Value;
use switchboard_testkit::{Server, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The lines of the log that are about this, as JSON.
fn lines(server: &Server, message: &str) -> Vec<Value> {
    let logged = server.logged();
    let lines = logged.lines().map(|line| {
        let read = serde_json::from_str::<Value>(line);
        read.expect("each line is one JSON object")
    });
    lines.filter(|line| line["message"] == message).collect()
}

/// Waits for so many of them.
async fn some_lines(server: &Server, message: &str, count: usize) -> Vec<Value> {
    eventually(message, async || lines(server, message).len() >= count).await;
    lines(server, message)
}

/// Makes the server write a line, and waits for it: what is not in the log then was not written before.
async fn log_a_later_line(server: &Server) {
    let pid = server.pid().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-HUP", &pid])
        .status();
    assert!(sent.expect("kill runs").success());
    some_lines(server, "config reload changed no agent", 1).await;
}

/// An HTTP server that answers every request in the same way. Gives its address.
#[expect(
    clippy::disallowed_methods,
    reason = "ends with the runtime of the test"
)]
async fn upstream(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut read = vec![0; 64 << 10];
            // The body comes with the head, or soon after; nothing here depends on it.
            let wait = Duration::from_secs(5);
            drop(tokio::time::timeout(wait, socket.read(&mut read)).await);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            );
            drop(socket.write_all(answer.as_bytes()).await);
            drop(socket.shutdown().await);
        }
    });
    format!("http://{address}")
}
