//! Reads server-sent events as a browser does: any line ending, `data` in several lines, comments skipped. The reader of
//! `types/wire/sse` is lenient and skips events with blank data; checks must see those.

/// Gathers bytes until an event is complete.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    data: Vec<String>,
    after_cr: bool,
}

impl Reader {
    /// Takes bytes, and gives the `data` of all events that are complete now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_of_line()),
                other => self.line.push(other),
            }
        }
        events
    }

    /// The event that the end of the stream completes, if one was begun.
    pub(super) fn end(&mut self) -> Option<String> {
        self.end_of_line().or_else(|| self.end_of_line())
    }

    fn end_of_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then(|| data.join("\n"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches('\u{feff}');
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name == "data" {
            self.data
                .push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_however_they_arrive() {
        let text = "\u{feff}: hello\r\nid: 1\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent: x\n\ndata: b\n\ndata: c";
        let mut whole = Reader::default();
        let mut all = whole.push(text.as_bytes());
        all.extend(whole.end());
        assert_eq!(all, ["{\"a\":\n1}", "b", "c"]);
        let mut pieces = Reader::default();
        let mut found: Vec<String> = text.bytes().flat_map(|byte| pieces.push(&[byte])).collect();
        found.extend(pieces.end());
        assert_eq!(found, all);
        assert_eq!(pieces.end(), None);
    }
}
