//! What a command prints, within limits.

use switchboard_server::agent::Turn;
use switchboard_types::model::Secret;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::fetch::hidden;

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

/// The end of what a command says on stderr, without secrets.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    secrets: Vec<Secret>,
    /// Something was said before.
    is_cut: bool,
}

impl Tail {
    /// Nothing yet.
    pub(super) fn without(secrets: Vec<Secret>) -> Self {
        Self {
            bytes: Vec::new(),
            secrets,
            is_cut: false,
        }
    }

    /// Reads to the end, and keeps the end.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) {
        // A character may be cut, or a secret, but nothing that is shown.
        let most = TAIL * 4 + 2 * self.longest();
        while from.read_buf(&mut self.bytes).await.is_ok_and(|n| n > 0) {
            let surplus = self.bytes.len().saturating_sub(most);
            self.bytes.drain(..surplus);
            self.is_cut |= surplus > 0;
        }
    }

    /// Logs it for the operator of a command that did not fail.
    pub(super) fn log(&self, turn: &Turn) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let stderr = self.text();
            if !stderr.is_empty() {
                let (agent, task) = (&**turn.agent(), turn.task_id());
                tracing::debug!(agent, %task, stderr, "command wrote to stderr");
            }
        }
    }

    fn longest(&self) -> usize {
        let lengths = self.secrets.iter().map(|secret| secret.reveal().len());
        lengths.max().unwrap_or_default()
    }

    /// Where no secret can have begun before that was cut off, and none is cut in two.
    fn whole_from(&self) -> usize {
        if !self.is_cut {
            return 0;
        }
        let mut from = self.longest().min(self.bytes.len());
        let cut_in_two = |from: usize| {
            self.secrets.iter().find_map(|secret| {
                let secret = secret.reveal().as_bytes();
                let first = (from + 1).saturating_sub(secret.len());
                let mut starts = first..from;
                starts
                    .find(|&start| self.bytes[start..].starts_with(secret))
                    .map(|start| start + secret.len())
            })
        };
        while let Some(end) = cut_in_two(from) {
            from = end;
        }
        from
    }

    /// What there is.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes[self.whole_from()..]).into_owned();
        let text = hidden(text, self.secrets.iter().map(Secret::reveal));
        let text = text.trim();
        let surplus = text.chars().count().saturating_sub(TAIL);
        let tail: String = text.chars().skip(surplus).collect();
        if surplus > 0 || self.is_cut {
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
        let mut tail = Tail::without(["hush", "hush-hush"].map(Secret::new).into());
        let said = format!("{} the keys are hush and hush-hush\n", "ä".repeat(9000));
        tail.fill(said.as_bytes()).await;
        let text = tail.text();
        assert!(text.starts_with("…ä"), "{text}");
        assert!(text.ends_with("ä the keys are *** and ***"), "{text}");
        assert_eq!(text.chars().count(), TAIL + 1);
    }

    #[tokio::test]
    async fn half_a_secret_is_none_that_is_told() {
        let secret: String = (0..1_500)
            .map(|n| char::from(b'a' + (n % 26) as u8))
            .collect();
        for before in [0, 1, 700, 1_499, 1_500, 1_501] {
            let mut tail = Tail::without(vec![Secret::new(secret.clone())]);
            let said = format!("{}{}", "-".repeat(before), secret.repeat(40));
            tail.fill(said.as_bytes()).await;
            let text = tail.text().replace("***", "");
            assert!(!text.contains("abc"), "{before}: {text}");
        }
        let long: String = "0123456789".repeat(2_000);
        let mut tail = Tail::without(vec![Secret::new(long.clone())]);
        tail.fill(format!("{long} is no good").as_bytes()).await;
        assert_eq!(tail.text(), "*** is no good");
    }
}
