//! A stream of events, read one by one, with the moment each of them came.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::answer::Link;
use super::exchange::{self, Exchange};
use super::http::{Begun, LARGEST, Log, Whole, chain};
use super::rpc::{self, Frames};
use super::sse::Reader;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream {
    begun: Begun,
    log: Log,
    link: Link,
    reader: Reading,
    /// How many of `all` were given out.
    given: usize,
    asked: Instant,
    /// The id of the request, in JSON-RPC.
    pub(crate) id: Value,
    text: Vec<u8>,
    all: Vec<Item>,
    end: Option<End>,
}

/// What events come in.
#[derive(Debug)]
enum Reading {
    Sse(Reader),
    Grpc(Frames),
}

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// How long after the request it came.
    pub(crate) after: Duration,
    /// All of `data`; a string if it is not JSON.
    pub(crate) data: Value,
    /// The event itself, without the envelope of JSON-RPC.
    pub(crate) event: Value,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    Item,
    Ended,
    /// Nothing within the time given.
    Quiet,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The server closed it.
    Closed,
    /// It broke, and how.
    Broken(String),
    /// We stopped reading.
    Left,
}

/// A stream that is over.
#[derive(Debug, Clone)]
pub(crate) struct Streamed {
    /// The id of the request, in JSON-RPC.
    pub(crate) id: Value,
    pub(crate) items: Vec<Item>,
    pub(crate) end: End,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) content_type: String,
}

impl Stream {
    pub(crate) fn new(begun: Begun, log: Log, link: Link, asked: Instant) -> Self {
        let reader = match &begun.rpc {
            Some(rpc) => Reading::Grpc(rpc.frames()),
            None => Reading::Sse(Reader::default()),
        };
        Self {
            begun,
            log,
            link,
            reader,
            given: 0,
            asked,
            id: Value::Null,
            text: Vec::new(),
            all: Vec::new(),
            end: None,
        }
    }

    /// Waits for the next event, and keeps it.
    pub(crate) async fn next(&mut self, patience: Duration) -> Next {
        let deadline = Instant::now() + patience;
        loop {
            if self.given < self.all.len() {
                self.given += 1;
                return Next::Item;
            }
            if self.end.is_some() {
                return Next::Ended;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let events = match timeout(left, self.begun.chunk()).await {
                Err(_) => return Next::Quiet,
                Ok(Ok(Some(_))) if self.held() > LARGEST => {
                    self.end = Some(End::Broken("the stream is larger than 16 MiB".to_owned()));
                    Vec::new()
                }
                Ok(Ok(Some(bytes))) => self.read(&bytes),
                Ok(Ok(None)) => self.close(),
                Ok(Err(error)) => {
                    self.end = Some(End::Broken(chain(&error.without_url())));
                    Vec::new()
                }
            };
            for data in events {
                let item = self.item(data);
                self.all.push(item);
            }
        }
    }

    /// How much of it is kept.
    fn held(&self) -> usize {
        match &self.reader {
            Reading::Sse(_) => self.text.len(),
            Reading::Grpc(frames) => self.text.len() + frames.torn(),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Vec<String> {
        match &mut self.reader {
            Reading::Sse(reader) => {
                self.text.extend_from_slice(bytes);
                reader.push(bytes)
            }
            Reading::Grpc(frames) => {
                let messages = frames.push(bytes);
                for message in &messages {
                    self.text.extend_from_slice(message.as_bytes());
                    self.text.push(b'\n');
                }
                messages
            }
        }
    }

    fn close(&mut self) -> Vec<String> {
        let headers = &self.begun.headers;
        let (end, last) = match &mut self.reader {
            Reading::Sse(reader) => (End::Closed, reader.end()),
            Reading::Grpc(frames) if frames.torn() > 0 || !rpc::has_status(headers) => {
                (End::Broken("it ended without a status".to_owned()), None)
            }
            Reading::Grpc(_) => match rpc::refusal(headers) {
                Some((_, error)) => (End::Broken(error["error"].to_string()), None),
                None => (End::Closed, None),
            },
        };
        self.end = Some(end);
        last.into_iter().collect()
    }

    /// Waits for the first event; gives the answer if there is none. gRPC may refuse after it seemed to begin, and what
    /// does not call itself a stream may be none.
    pub(crate) async fn begin(mut self, patience: Duration) -> Result<Self, Whole> {
        self.next(patience).await;
        self.given = 0;
        if !self.all.is_empty() {
            return Ok(self);
        }
        match self.reader {
            Reading::Grpc(_) if rpc::refusal(&self.begun.headers).is_none() => Ok(self),
            Reading::Grpc(_) => Err(self.begun.over(&self.log, Some(Vec::new()), b"", None)),
            Reading::Sse(_) => {
                let broken = match self.end {
                    Some(End::Broken(why)) => Some(why),
                    Some(_) => None,
                    None => Some(format!("the answer did not end within {patience:?}")),
                };
                Err(self.begun.over(&self.log, None, &self.text, broken))
            }
        }
    }

    /// Reads until the server closes it, or nothing comes for so long; but not for ever.
    pub(crate) async fn rest(mut self, patience: Duration) -> Streamed {
        let deadline = Instant::now() + 2 * patience;
        while Instant::now() < deadline && matches!(self.next(patience).await, Next::Item) {}
        self.leave()
    }

    /// Stops reading.
    pub(crate) fn leave(self) -> Streamed {
        let mut exchange = self.begun.exchange;
        exchange.answer = exchange::body(&self.text);
        let content_type = self.begun.headers.get("content-type");
        Streamed {
            id: self.id,
            items: self.all,
            end: self.end.unwrap_or(End::Left),
            exchange: self.log.keep(exchange),
            content_type: content_type
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .unwrap_or_default(),
        }
    }

    fn item(&self, data: String) -> Item {
        let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
        let event = match self.link {
            Link::JsonRpc => data["result"].clone(),
            Link::Rest | Link::Grpc => data.clone(),
        };
        Item {
            after: self.asked.elapsed(),
            data,
            event,
        }
    }
}
