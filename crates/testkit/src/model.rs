//! A chat endpoint that answers as a test tells it to, faults and all, and remembers what it was asked.

use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    /// The request line and the headers.
    pub head: String,
    /// The body; null if it is not JSON.
    pub body: Value,
}

impl ChatRequest {
    /// The messages of the chat.
    pub fn messages(&self) -> &Value {
        &self.body["messages"]
    }

    /// A header by its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(named, _)| named.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// What is done to answer, one after the other.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Waits until a test says so, or the other side is gone.
    Wait(Arc<Notify>),
    /// Waits until the other side is gone.
    Hang,
}

/// An answer: what is sent, and then the connection is closed.
pub type Reply = Vec<Step>;

type Answering = dyn Fn(&ChatRequest, usize) -> Reply + Send + Sync;

/// The endpoint; gone when it is dropped.
#[derive(Debug)]
pub struct Model {
    /// The base URL, with `/v1`.
    pub url: String,
    asked: Arc<Mutex<Vec<ChatRequest>>>,
    /// How many have hung up on us.
    gone: watch::Sender<usize>,
    _serving: JoinSet<()>,
}

impl Model {
    /// Answers the nth request, from 1, as `answer` says.
    pub async fn open(
        answer: impl Fn(&ChatRequest, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::on(
            TcpListener::bind("127.0.0.1:0").await.expect("a free port"),
            answer,
        )
    }

    /// The same, there.
    pub fn on(
        listener: TcpListener,
        answer: impl Fn(&ChatRequest, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let (asked, gone) = (Arc::default(), watch::Sender::default());
        let mut serving = JoinSet::new();
        serving.spawn(accept(
            listener,
            Arc::clone(&asked),
            gone.clone(),
            Arc::new(answer),
        ));
        Self {
            url,
            asked,
            gone,
            _serving: serving,
        }
    }

    /// Says these words to everyone.
    pub async fn saying(words: &'static [&'static str]) -> Self {
        Self::open(|_, _| stream(words)).await
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().clone()
    }

    /// Waits until so many have hung up.
    pub async fn hung_up(&self, count: usize) {
        let mut gone = self.gone.subscribe();
        gone.wait_for(|gone| *gone >= count)
            .await
            .expect("the model lives");
    }
}

/// Aborts all connections when it is dropped itself.
async fn accept(
    listener: TcpListener,
    asked: Arc<Mutex<Vec<ChatRequest>>>,
    gone: watch::Sender<usize>,
    answer: Arc<Answering>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(
            stream,
            Arc::clone(&asked),
            gone.clone(),
            Arc::clone(&answer),
        ));
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: Arc<Mutex<Vec<ChatRequest>>>,
    gone: watch::Sender<usize>,
    answer: Arc<Answering>,
) {
    let Some(asked) = request(&mut stream).await else {
        return;
    };
    let count = {
        let mut seen = seen.lock();
        seen.push(asked.clone());
        seen.len()
    };
    for step in answer(&asked, count) {
        let is_gone = match step {
            Step::Send(bytes) => stream.write_all(&bytes).await.is_err(),
            Step::Wait(until) => {
                let mut byte = [0];
                tokio::select! {
                    () = until.notified() => false,
                    _ = stream.read(&mut byte) => true,
                }
            }
            Step::Hang => {
                let mut byte = [0];
                drop(stream.read(&mut byte).await);
                true
            }
        };
        if is_gone {
            gone.send_modify(|gone| *gone += 1);
            return;
        }
    }
    drop(stream.shutdown().await);
}

async fn request(stream: &mut TcpStream) -> Option<ChatRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
    let mut asked = ChatRequest {
        head,
        body: Value::Null,
    };
    let length: usize = asked
        .header("content-length")
        .expect("a length")
        .parse()
        .expect("a number");
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    asked.body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(asked)
}

/// The head of an answer that lasts until the connection closes.
pub fn head(status: u16, more: &str) -> Step {
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{more}\r\n");
    Step::Send(head.into_bytes())
}

/// A whole answer.
pub fn plain(status: u16, more: &str, body: &str) -> Reply {
    let length = format!("content-length: {}\r\n{more}", body.len());
    vec![head(status, &length), Step::Send(body.into())]
}

/// The head of a stream of events.
pub fn events() -> Step {
    head(200, "content-type: text/event-stream\r\n")
}

/// One event.
pub fn event(data: impl Display) -> Step {
    Step::Send(format!("data: {data}\n\n").into_bytes())
}

/// An event that adds a word.
pub fn word(text: &str) -> Step {
    event(json!({ "model": "m-1", "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// How a stream ends as it should.
pub fn end() -> Reply {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
    vec![
        event(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })),
        event(json!({ "choices": [], "usage": usage })),
        event("[DONE]"),
    ]
}

/// A stream of these words, as it should be.
pub fn stream(words: &[&str]) -> Reply {
    let mut reply = vec![events()];
    reply.extend(words.iter().map(|text| word(text)));
    reply.extend(end());
    reply
}
