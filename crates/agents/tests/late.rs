//! A test upstream that streams pieces of one message until its client disconnects.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_agents::identity::Outbound;
use switchboard_agents::remote::{RemoteAgent, Settings as Remote};
use switchboard_server::engine::Settings;
use switchboard_server::log::Log;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::MemoryStore;
use switchboard_server::testing::agent::{Line, says};
use switchboard_types::model::TaskState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long nothing may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Answers one request. A message is answered with pieces of a reply, until the client disconnects.
async fn answer(mut socket: TcpStream, base: String, pieces: Sender<()>) {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    if request.starts_with(b"GET") {
        let card = json!({
            "name": "Endless", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": base,
            "capabilities": {"streaming": true}, "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        });
        let card = card.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            card.len()
        );
        let _ = socket.write_all((head + &card).as_bytes()).await;
        return;
    }
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n"
        .to_owned();
    let piece = json!({"kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": "x"}]});
    let piece = format!(
        "data: {}\n\n",
        json!({"jsonrpc": "2.0", "id": 1, "result": piece})
    );
    let mut next = head + &piece;
    while socket.write_all(next.as_bytes()).await.is_ok() && pieces.send(()).await.is_ok() {
        next.clone_from(&piece);
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_cancel_ends_a_message_that_comes_in_pieces() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sender, mut pieces) = channel(1);
    let at = base.clone();
    let connections = Tasks::default();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            connections.spawn(answer(socket, at.clone(), sender.clone()));
        }
    });
    let agent = RemoteAgent::new(Remote::new(base.parse().unwrap()), Outbound::none());
    let settings = Settings {
        cancel_grace: 10 * PATIENCE,
        ..Settings::default()
    };
    let log = Log::new(Arc::new(MemoryStore::default()));
    let line = Line::new(&log, Arc::new(agent), settings);
    let task = line.send_at_once(says("hello")).await.unwrap();
    for _ in 0..5 {
        timeout(PATIENCE, pieces.recv()).await.unwrap().unwrap();
    }
    let canceled = timeout(PATIENCE, line.cancel(&task.id)).await.unwrap();
    assert_eq!(canceled.unwrap().status.state, TaskState::Canceled);
    serving.abort_all();
    // Once the server is gone, the channel ends with the last connection that is read.
    timeout(PATIENCE, async { while pieces.recv().await.is_some() {} })
        .await
        .unwrap();
}
