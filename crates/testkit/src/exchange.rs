//! Requests to a server under test, and what comes back.

use reqwest::{RequestBuilder, Response};
use serde_json::Value;

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body.
    pub body: Value,
}

/// One event of a stream.
#[derive(Debug, Clone)]
pub struct SseEvent {
    /// Its `id:`, if it has one.
    pub id: Option<u64>,
    /// Its `data:`.
    pub data: Value,
}

/// A stream that is read event by event.
#[derive(Debug)]
pub struct Events {
    response: Response,
    buffer: String,
}

/// Sends a request and reads the whole answer.
pub async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let text = response.text().await.expect("a body");
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer {
        status,
        headers,
        body,
    }
}

/// Sends a request and follows the stream it opens.
pub async fn events(request: RequestBuilder) -> Events {
    let response = request.send().await.expect("an answer");
    Events {
        response,
        buffer: String::new(),
    }
}

impl Events {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The next event; `None` when the server has closed the stream.
    pub async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let frame: String = self.buffer.drain(..end + 2).collect();
                if let Some(event) = parse(&frame) {
                    return Some(event);
                }
                continue;
            }
            let chunk = self.response.chunk().await.expect("the stream goes on")?;
            self.buffer.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    /// All events to the end.
    pub async fn rest(mut self) -> Vec<SseEvent> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }

    /// The `result` of all events to the end.
    pub async fn results(self) -> Vec<Value> {
        let events = self.rest().await;
        events
            .into_iter()
            .map(|e| e.data["result"].clone())
            .collect()
    }
}

/// One frame; comments are no events.
fn parse(frame: &str) -> Option<SseEvent> {
    let field = |name: &str| {
        let mut lines = frame.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().map(str::to_owned)
    };
    let data = field("data: ")?;
    Some(SseEvent {
        id: field("id: ").and_then(|id| id.parse().ok()),
        data: serde_json::from_str(&data).expect("each data line is JSON"),
    })
}
