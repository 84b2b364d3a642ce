//! As much of an HTTP/1.1 client as the benchmarks need: small, so that it is never what is measured.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long an answer may take: longer than a stream's silence between heartbeats.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether a server answers at all; blocks, at most for a second.
pub fn answers(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let second = Duration::from_secs(1);
        let mut stream = std::net::TcpStream::connect_timeout(&address, second)?;
        stream.set_read_timeout(Some(second))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        // The bare server has no card, and says so.
        Ok(head == *b"HTTP/1.1 200" || head == *b"HTTP/1.1 405")
    };
    ask().unwrap_or(false)
}

/// The body of a JSON-RPC call.
pub fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// The parameters of a send.
pub fn message(text: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"m-1","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#
    )
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// What has come and was not yet taken.
    buffer: Vec<u8>,
    /// How much is read at once.
    room: usize,
    /// The line that tells who asks.
    authorization: String,
}

/// How the body of an answer is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    /// Connects from `source`, or from wherever.
    pub async fn open(address: SocketAddr, source: Option<Ipv4Addr>) -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(source) = source {
            socket.bind(SocketAddr::from((source, 0)))?;
        }
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
            room: 64 << 10,
            authorization: String::new(),
        })
    }

    /// Reads little at once: one of many that are mostly silent.
    pub fn frugal(self) -> Self {
        Self {
            room: 1 << 10,
            ..self
        }
    }

    /// Shows a token with every call.
    pub fn with_token(self, token: Option<&str>) -> Self {
        let line = |token: &str| format!("Authorization: Bearer {token}\r\n");
        Self {
            authorization: token.map(line).unwrap_or_default(),
            ..self
        }
    }

    /// Calls, and waits for the whole answer.
    pub async fn ask(&mut self, path: &str, body: &str) -> anyhow::Result<Vec<u8>> {
        self.send(path, body).await?;
        match self.head().await? {
            Framing::Length(length) => self.whole(length).await,
            Framing::Chunked => bail!("an event stream instead of an answer"),
        }
    }

    async fn whole(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// Calls, and follows the stream of events that is the answer. Ends this connection's use.
    pub async fn follow(mut self, path: &str, body: &str) -> anyhow::Result<Events> {
        self.send(path, body).await?;
        // A stream that is over before it began comes in one piece.
        let (plain, over) = match self.head().await? {
            Framing::Length(length) => (self.whole(length).await?, true),
            Framing::Chunked => (Vec::new(), false),
        };
        if over && !plain.starts_with(b"id: ") {
            bail!("no event stream: {}", String::from_utf8_lossy(&plain));
        }
        let mut events = Events {
            connection: self,
            chunk_left: 0,
            plain,
            taken: 0,
            over,
        };
        events.unchunk()?;
        Ok(events)
    }

    /// Calls, and reads the stream of events that is the answer to its end. The connection can be used again.
    pub async fn events(self, path: &str, body: &str) -> anyhow::Result<(Vec<u8>, Self)> {
        let mut events = self.follow(path, body).await?;
        let mut all = Vec::new();
        while let Some(event) = events.next().await? {
            all.extend_from_slice(event);
        }
        Ok((all, events.ended()))
    }

    async fn send(&mut self, path: &str, body: &str) -> anyhow::Result<()> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             A2A-Version: 1.0\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.authorization,
            body.len()
        );
        Ok(self.stream.write_all(request.as_bytes()).await?)
    }

    /// Reads the head of an answer.
    async fn head(&mut self) -> anyhow::Result<Framing> {
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            self.fill().await?;
        };
        let head = std::str::from_utf8(&self.buffer[..end])?.to_ascii_lowercase();
        // After a stream there may be the empty line that ended it.
        let head = head.trim_start();
        ensure!(head.starts_with("http/1.1 20"), "{head}");
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let framing = match header("content-length: ") {
            Some(length) => Framing::Length(length.parse()?),
            None => Framing::Chunked,
        };
        self.buffer.drain(..end + 4);
        Ok(framing)
    }

    async fn fill(&mut self) -> anyhow::Result<()> {
        self.buffer.reserve(self.room);
        let got = timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await;
        let got = got.context("the server is silent")??;
        ensure!(got > 0, "the server closed the connection");
        Ok(())
    }
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
    /// How much of the current HTTP chunk has not come yet.
    chunk_left: usize,
    plain: Vec<u8>,
    taken: usize,
    over: bool,
}

impl Events {
    /// The next frame, without the empty line that ends it; `None` at the end. Comments are frames too.
    pub async fn next(&mut self) -> anyhow::Result<Option<&[u8]>> {
        loop {
            if let Some(length) = find(&self.plain[self.taken..], b"\n\n") {
                let start = self.taken;
                self.taken += length + 2;
                return Ok(Some(&self.plain[start..start + length]));
            }
            if self.over {
                return Ok(None);
            }
            self.plain.drain(..self.taken);
            self.taken = 0;
            self.connection.fill().await?;
            self.unchunk()?;
        }
    }

    /// The connection, once the stream is over: what is left of it is the empty line that ends it.
    fn ended(mut self) -> Connection {
        self.connection.buffer.clear();
        self.connection
    }

    /// Moves what has come, without the chunk marks, to `plain`.
    fn unchunk(&mut self) -> anyhow::Result<()> {
        let raw = &self.connection.buffer;
        let mut at = 0;
        while at < raw.len() {
            if self.chunk_left > 0 {
                let take = self.chunk_left.min(raw.len() - at);
                self.plain.extend_from_slice(&raw[at..at + take]);
                self.chunk_left -= take;
                at += take;
                continue;
            }
            // Between chunks: the end of the last one, then a line with the size of the next.
            let mark = if raw[at..].starts_with(b"\r\n") {
                at + 2
            } else {
                at
            };
            let Some(length) = find(&raw[mark..], b"\r\n") else {
                break;
            };
            let size = std::str::from_utf8(&raw[mark..mark + length])?;
            let size = usize::from_str_radix(size, 16).with_context(|| format!("size {size:?}"))?;
            self.chunk_left = size;
            self.over |= size == 0;
            at = mark + length + 2;
        }
        self.connection.buffer.drain(..at);
        Ok(())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, rest) = needle.split_first()?;
    let mut from = 0;
    while let Some(at) = haystack[from..].iter().position(|byte| byte == first) {
        let after = from + at + 1;
        if haystack[after..].starts_with(rest) {
            return Some(after - 1);
        }
        from = after;
    }
    None
}
