//! Frames out of a stream of bytes, however it is cut into pieces.
//!
//! As WHATWG HTML reads event streams, with three exceptions: a frame that the end of the stream cuts off before its
//! blank line is given all the same, because agents forget that line; frames with blank data are passed over; and
//! what comes in a frame without data (an id, a retry) is given with the next one.

use std::time::Duration;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Its id, to resume from.
    pub id: Option<String>,
    /// Its type.
    pub event: Option<String>,
    /// What it says; its lines are joined by newlines.
    pub data: String,
    /// How long to wait before connecting again.
    pub retry: Option<Duration>,
}

/// A frame that is longer than the limit. It is skipped; what follows can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {limit} bytes")]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// Reads frames. [`push`](Self::push) what comes, then take frames with `next` until it gives none; `None` says
/// only that more bytes are needed. After [`end`](Self::end) take the last one.
#[derive(Debug)]
pub struct Reader {
    limit: usize,
    buffer: Vec<u8>,
    /// Where the line begins that is being read.
    start: usize,
    /// Up to where no end of line was found.
    seen: usize,
    /// Past the byte order mark, if there is one.
    begun: bool,
    /// The last line ended with CR: a LF that follows belongs to it.
    after_cr: bool,
    ended: bool,
    /// The frame is too long; its lines are thrown away.
    skipping: bool,
    /// The line that is thrown away has begun.
    inside: bool,
    data: Vec<u8>,
    has_data: bool,
    frame: Frame,
}

impl Reader {
    /// A reader of one stream that holds at most `limit` bytes of a frame.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            start: 0,
            seen: 0,
            begun: false,
            after_cr: false,
            ended: false,
            skipping: false,
            inside: false,
            data: Vec::new(),
            has_data: false,
            frame: Frame::default(),
        }
    }

    /// Takes the next bytes of the stream; none after its end.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.ended {
            self.append(bytes);
        }
    }

    /// The stream is over: what is left is the last frame.
    pub fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            // A line that was cut off, and the blank one that ends a frame.
            self.append(b"\n\n");
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Frame, TooLong>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((from, to)) = self.line() else {
                return self.unfinished_line();
            };
            if self.skipping {
                let blank = from == to && !self.inside;
                self.inside = false;
                self.skipping = !blank;
            } else if from == to {
                if let Some(frame) = self.dispatch() {
                    return Some(Ok(frame));
                }
            } else if self.held() + (to - from) > self.limit {
                return Some(Err(self.skip()));
            } else {
                self.field(from, to);
            }
        }
    }
}

impl Reader {
    fn append(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, without its end.
    fn line(&mut self) -> Option<(usize, usize)> {
        if !self.begun && !self.begin() {
            return None;
        }
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.seen = self.start;
            }
        }
        let Some(length) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.seen..]) else {
            self.seen = self.buffer.len();
            return None;
        };
        let (from, to) = (self.start, self.seen + length);
        self.after_cr = self.buffer[to] == b'\r';
        self.start = to + 1;
        self.seen = self.start;
        Some((from, to))
    }

    /// Passes over a byte order mark; false if it may still be coming.
    fn begin(&mut self) -> bool {
        let first = &self.buffer[self.start..];
        if first.len() < BOM.len() && BOM.starts_with(first) {
            return false;
        }
        if first.starts_with(BOM) {
            self.start += BOM.len();
            self.seen = self.start;
        }
        self.begun = true;
        true
    }

    /// No more lines: a line that is too long already need not be waited for.
    fn unfinished_line(&mut self) -> Option<Result<Frame, TooLong>> {
        if !self.begun {
            return None;
        }
        let length = self.buffer.len() - self.start;
        let too_long = !self.skipping && length > 0 && self.held() + length > self.limit;
        let error = too_long.then(|| self.skip());
        if self.skipping && length > 0 {
            self.inside = true;
            self.start = self.buffer.len();
            self.seen = self.start;
        }
        error.map(Err)
    }

    /// Gives up this frame.
    fn skip(&mut self) -> TooLong {
        self.skipping = true;
        self.forget();
        TooLong { limit: self.limit }
    }

    fn forget(&mut self) {
        self.data = Vec::new();
        self.has_data = false;
        self.frame = Frame::default();
    }

    /// How much of the frame is held.
    fn held(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.data.len() + length(&self.frame.id) + length(&self.frame.event)
    }

    fn field(&mut self, from: usize, to: usize) {
        let line = &self.buffer[from..to];
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(at) => {
                let value = &line[at + 1..];
                (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.frame.event = Some(text(value)),
            b"id" if !value.contains(&0) => self.frame.id = Some(text(value)),
            b"retry" => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let milliseconds = text(value).parse().ok().filter(|_| digits);
                self.frame.retry = milliseconds.map(Duration::from_millis).or(self.frame.retry);
            }
            // A comment, or a field of some later day.
            _ => {}
        }
    }

    /// A blank line ends the frame; one that says nothing is none.
    fn dispatch(&mut self) -> Option<Frame> {
        self.has_data = false;
        if self.data.trim_ascii().is_empty() {
            self.data.clear();
            self.frame.event = None;
            return None;
        }
        let mut frame = std::mem::take(&mut self.frame);
        frame.data = match String::from_utf8(std::mem::take(&mut self.data)) {
            Ok(data) => data,
            Err(error) => text(error.as_bytes()),
        };
        Some(frame)
    }
}

/// Whatever is no UTF-8 is replaced, as browsers do.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
