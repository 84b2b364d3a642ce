//! What a command prints, within limits.

use switchboard_types::model::Secret;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The most of stderr that is told.
const TAIL: usize = 2000;

/// The command prints more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    #[error("the command printed more than {0} bytes")]
    Output(usize),
    #[error("the command printed a line of more than {0} bytes")]
    Line(usize),
}

/// Lines, with their ends.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    count: usize,
    read: usize,
    most: usize,
    longest: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R, most: usize, longest: usize) -> Self {
        Self {
            from: BufReader::new(from),
            line: Vec::new(),
            count: 0,
            read: 0,
            most,
            longest,
        }
    }

    /// How many lines there were.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The next line. To drop this before it is there loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, TooMuch> {
        loop {
            // A pipe that breaks is one that ends.
            let there = self.from.fill_buf().await.unwrap_or_default();
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |at| at + 1);
            self.line.extend_from_slice(&there[..taken]);
            self.from.consume(taken);
            self.read += taken;
            if self.read > self.most {
                return Err(TooMuch::Output(self.most));
            }
            if self.line.len() > self.longest {
                return Err(TooMuch::Line(self.longest));
            }
            let is_over = taken == 0;
            if end.is_some() || is_over && !self.line.is_empty() {
                self.count += 1;
                return Ok(Some(std::mem::take(&mut self.line)));
            }
            if is_over {
                return Ok(None);
            }
        }
    }
}

/// The end of what a command says on stderr.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    /// Reads to the end, and keeps the end.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) {
        while from.read_buf(&mut self.bytes).await.is_ok_and(|n| n > 0) {
            // A character may be cut, but not one that is shown.
            let surplus = self.bytes.len().saturating_sub(TAIL * 4);
            self.bytes.drain(..surplus);
        }
    }

    /// What there is, without these.
    pub(super) fn text<'a>(&self, secrets: impl Iterator<Item = &'a Secret>) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        for secret in secrets
            .map(Secret::reveal)
            .filter(|secret| !secret.is_empty())
        {
            text = text.replace(secret, "***");
        }
        let text = text.trim();
        let surplus = text.chars().count().saturating_sub(TAIL);
        let tail: String = text.chars().skip(surplus).collect();
        if surplus > 0 {
            format!("…{tail}")
        } else {
            tail
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str, most: usize, longest: usize) -> Result<Vec<String>, TooMuch> {
        let mut lines = Lines::new(text.as_bytes(), most, longest);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await? {
            all.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(lines.count(), all.len());
        Ok(all)
    }

    #[tokio::test]
    async fn lines_keep_their_ends_and_have_limits() {
        assert_eq!(read("a\n\nb", 9, 9).await.unwrap(), ["a\n", "\n", "b"]);
        assert!(read("", 9, 9).await.unwrap().is_empty());
        assert_eq!(read("12345\n", 9, 5).await, Err(TooMuch::Line(5)));
        assert_eq!(read("1\n2\n3\n", 5, 5).await, Err(TooMuch::Output(5)));
    }

    #[tokio::test]
    async fn the_end_is_kept_without_secrets() {
        let mut tail = Tail::default();
        let said = format!("{} the key is hush\n", "ä".repeat(9000));
        tail.fill(said.as_bytes()).await;
        let secret = Secret::new("hush");
        let text = tail.text([&secret].into_iter());
        assert!(text.starts_with("…ä"), "{text}");
        assert!(text.ends_with("ä the key is ***"), "{text}");
        assert_eq!(text.chars().count(), TAIL + 1);
    }
}
