//! How one JSON document becomes a frame. Called by the server's streams.

/// A comment that keeps idle connections open; written whole, between frames.
pub const KEEP_ALIVE: &str = ": keep-alive\n\n";

const FRAME_END: &[u8] = b"\n\n";

/// Appends one frame. `data` is one JSON document on one line; `seq` becomes the event's id, from
/// which a client can resume.
pub fn write_frame(out: &mut Vec<u8>, seq: Option<u64>, data: &[u8]) {
    out.reserve(data.len() + 32);
    if let Some(seq) = seq {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(itoa::Buffer::new().format(seq).as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(FRAME_END);
}

/// What stands around a document that is rendered piece by piece: before and after it.
#[must_use]
pub fn around_data(seq: Option<u64>) -> (Vec<u8>, Vec<u8>) {
    let mut before = Vec::with_capacity(32);
    write_frame(&mut before, seq, b"");
    before.truncate(before.len() - FRAME_END.len());
    (before, FRAME_END.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_data_line_per_frame() {
        let mut out = Vec::new();
        write_frame(&mut out, Some(7), b"{}");
        write_frame(&mut out, None, b"[]");
        assert_eq!(out, b"id: 7\ndata: {}\n\ndata: []\n\n");
    }
}
