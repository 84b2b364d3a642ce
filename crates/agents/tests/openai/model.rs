//! A chat endpoint that answers as a test tells it to, faults and all, and remembers what it was asked.

use std::fmt::Display;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_server::shutdown::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn messages(&self) -> &Value {
        &self.body["messages"]
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(named, _)| named.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// What is done to answer, one after the other.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Waits until a test says so, or the other side is gone.
    Wait(Arc<Notify>),
    /// Waits until the other side is gone.
    Hang,
}

/// An answer: what is sent, and then the connection is closed.
pub(crate) type Reply = Vec<Step>;

type Answering = dyn Fn(&Asked, usize) -> Reply + Send + Sync;

/// The endpoint; gone when it is dropped.
pub(crate) struct Model {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// How many have hung up on us.
    gone: watch::Sender<usize>,
    tasks: Tasks,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Model {
    /// Answers the nth request, from 1, as `answer` says.
    pub(crate) async fn open(
        answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), answer)
    }

    /// The same, there.
    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let model = Self {
            url,
            asked: Arc::default(),
            gone: watch::Sender::default(),
            tasks: Tasks::default(),
        };
        let answer: Arc<Answering> = Arc::new(answer);
        let (asked, gone, tasks) = (
            Arc::clone(&model.asked),
            model.gone.clone(),
            model.tasks.clone(),
        );
        let stop = model.tasks.stopping().clone();
        model.tasks.spawn(async move {
            let all = async {
                while let Ok((stream, _)) = listener.accept().await {
                    let (asked, gone) = (Arc::clone(&asked), gone.clone());
                    let answer = Arc::clone(&answer);
                    let stop = tasks.stopping().clone();
                    tasks.spawn(async move {
                        let served = serve(stream, asked, gone, answer);
                        stop.run_until_cancelled(served).await;
                    });
                }
            };
            stop.run_until_cancelled(all).await;
        });
        model
    }

    /// Says these words to everyone.
    pub(crate) async fn saying(words: &'static [&'static str]) -> Self {
        Self::open(|_, _| stream(words)).await
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until so many have hung up.
    pub(crate) async fn hung_up(&self, count: usize) {
        let mut gone = self.gone.subscribe();
        gone.wait_for(|gone| *gone >= count).await.unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: Arc<Mutex<Vec<Asked>>>,
    gone: watch::Sender<usize>,
    answer: Arc<Answering>,
) {
    let Some(asked) = request(&mut stream).await else {
        return;
    };
    let count = {
        let mut seen = seen.lock().unwrap();
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

async fn request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut asked = Asked {
        head,
        body: Value::Null,
    };
    let length: usize = asked.header("content-length").unwrap().parse().unwrap();
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    asked.body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(asked)
}

/// The head of an answer that lasts until the connection closes.
pub(crate) fn head(status: u16, more: &str) -> Step {
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{more}\r\n");
    Step::Send(head.into_bytes())
}

/// A whole answer.
pub(crate) fn plain(status: u16, more: &str, body: &str) -> Reply {
    let length = format!("content-length: {}\r\n{more}", body.len());
    vec![head(status, &length), Step::Send(body.into())]
}

/// The head of a stream of events.
pub(crate) fn events() -> Step {
    head(200, "content-type: text/event-stream\r\n")
}

/// One event.
pub(crate) fn event(data: impl Display) -> Step {
    Step::Send(format!("data: {data}\n\n").into_bytes())
}

/// An event that adds a word.
pub(crate) fn word(text: &str) -> Step {
    event(json!({ "model": "m-1", "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// How a stream ends as it should.
pub(crate) fn end() -> Reply {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
    vec![
        event(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })),
        event(json!({ "choices": [], "usage": usage })),
        event("[DONE]"),
    ]
}

/// A stream of these words, as it should be.
pub(crate) fn stream(words: &[&str]) -> Reply {
    let mut reply = vec![events()];
    reply.extend(words.iter().map(|text| word(text)));
    reply.extend(end());
    reply
}
