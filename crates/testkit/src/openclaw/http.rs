//! The gateway's HTTP: chat completions and responses, as far as it goes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{LEAK, TOKEN, World, leak_at_the_cut, plain};

pub(super) async fn serve(world: &World, mut stream: TcpStream) {
    let Some((head, read)) = request(&mut stream).await else {
        return;
    };
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    if !world.manner.lock().http {
        return plain(&mut stream, "404 Not Found", "text/plain", "Not Found").await;
    }
    if header(&head, "authorization") != Some(format!("Bearer {TOKEN}")) {
        let body = r#"{"error":{"message":"Unauthorized","type":"unauthorized"}}"#;
        return plain(&mut stream, "401 Unauthorized", "application/json", body).await;
    }
    let mut body: Value = serde_json::from_slice(&read).unwrap();
    body["session"] = header(&head, "x-openclaw-session-key").into();
    body["traceparent"] = header(&head, "traceparent").into();
    world.note(&path, body.clone());
    if body["messages"][0]["content"] == "leak" {
        let error = json!({"error": {"message": LEAK, "type": "invalid_request_error"}});
        return plain(
            &mut stream,
            "400 Bad Request",
            "application/json",
            &error.to_string(),
        )
        .await;
    }
    let streamed =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    drop(stream.write_all(streamed.as_bytes()).await);
    let files = path == "/v1/responses";
    let content = if files {
        &body["input"][0]["content"]
    } else {
        &body["messages"][0]["content"]
    };
    let text = content
        .as_str()
        .or(content[0]["text"].as_str())
        .unwrap_or_default();
    let answer = match text {
        "break" => return breaks(&mut stream, "400 the model broke").await,
        "leak at the cut" => return breaks(&mut stream, &leak_at_the_cut()).await,
        "leak later" => return breaks(&mut stream, LEAK).await,
        "hang" => {
            // It learns that nobody listens any more.
            let mut nothing = [0; 1];
            let gone = stream.read(&mut nothing).await;
            world.note("gone", json!(gone.unwrap_or(0)));
            return;
        }
        text => format!("heard: {text}"),
    };
    for word in answer.split_inclusive(' ') {
        let event = if files {
            json!({"type": "response.output_text.delta", "delta": word})
        } else {
            json!({"model": "openclaw/main", "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": null}]})
        };
        drop(
            stream
                .write_all(format!("data: {event}\n\n").as_bytes())
                .await,
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let end = if files {
        json!({"type": "response.completed", "response": {"status": "completed"}})
    } else {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    };
    drop(
        stream
            .write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())
            .await,
    );
}

/// The head of a request, and its body; nothing if it breaks off.
async fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut read = Vec::new();
    let (head, length) = loop {
        let mut more = [0; 4096];
        let Ok(n @ 1..) = stream.read(&mut more).await else {
            return None;
        };
        read.extend_from_slice(&more[..n]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            read.drain(..end + 4);
            let length = header(&head, "content-length").and_then(|text| text.parse().ok());
            break (head, length.unwrap_or(0));
        }
    };
    while read.len() < length {
        let mut more = [0; 4096];
        let Ok(n @ 1..) = stream.read(&mut more).await else {
            return None;
        };
        read.extend_from_slice(&more[..n]);
    }
    Some((head, read))
}

/// Fails in the middle of a stream.
async fn breaks(stream: &mut TcpStream, why: &str) {
    let error = json!({"error": {"message": why, "type": "invalid_request_error"}});
    let end = format!("data: {error}\n\ndata: [DONE]\n\n");
    drop(stream.write_all(end.as_bytes()).await);
}

fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut named = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.trim().to_owned())
}
