//! Server-sent events, read: whatever the pieces they come in.

use std::time::Duration;

use proptest::prelude::*;
use switchboard_types::wire::sse::{Frame, Reader, TooLong, write_frame};

const LIMIT: usize = 64;

/// All frames of a stream that comes in these pieces.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<Frame, TooLong>> {
    let mut reader = Reader::new(LIMIT);
    let mut frames = Vec::new();
    for piece in pieces {
        reader.push(piece);
        frames.extend(&mut reader);
    }
    reader.end();
    frames.extend(&mut reader);
    frames
}

fn data(stream: &str) -> Vec<String> {
    read([stream.as_bytes()])
        .into_iter()
        .map(|frame| frame.unwrap().data)
        .collect()
}

#[test]
fn s2_084_an_event_split_over_reads_is_put_together() {
    let stream = "id: 1\ndata: {\"text\":\"größer\"}\n\ndata: two\n\n".as_bytes();
    let whole = read([stream]);
    assert_eq!(whole.len(), 2);
    for at in 0..stream.len() {
        let (first, second) = stream.split_at(at);
        assert_eq!(read([first, second]), whole, "cut at {at}");
    }
    assert_eq!(read(stream.chunks(1)), whole);
}

#[test]
fn s2_085_what_follows_data_is_the_event() {
    assert_eq!(data("data: {\"a\":1}\n\n"), ["{\"a\":1}"]);
    assert_eq!(data("data:{}\n\ndata:  x\n\n"), ["{}", " x"]);
}

#[test]
fn s2_088_comments_and_blank_data_are_no_events() {
    assert_eq!(data(": keep-alive\n\n: x\ndata: y\n: z\n\n"), ["y"]);
    assert_eq!(data("data\n\ndata:\n\ndata:  \n\nevent: ping\n\n"), [""; 0]);
}

#[test]
fn lines_end_in_three_ways() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = ["data: a", "data: b", "", "data: c", "", ""].join(end);
        assert_eq!(data(&stream), ["a\nb", "c"], "{end:?}");
    }
    assert_eq!(data("data: a\r\n\ndata: b\n\r\n"), ["a", "b"]);
}

#[test]
fn a_frame_ends_with_cr_without_waiting_for_more() {
    let mut reader = Reader::new(LIMIT);
    reader.push(b"data: a\r\r");
    assert_eq!(reader.next().unwrap().unwrap().data, "a");
    reader.push(b"\ndata: b\r\n\r");
    assert_eq!(reader.next().unwrap().unwrap().data, "b");
    assert_eq!(reader.next(), None);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
    assert_eq!(data("data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    assert_eq!(
        read(["\u{feff}data: a\n\n".as_bytes()]),
        read("\u{feff}data: a\n\n".as_bytes().chunks(1))
    );
}

#[test]
fn a_last_event_without_its_blank_line_is_given() {
    assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
    assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
    assert_eq!(data("data: a\r"), ["a"]);
    assert_eq!(data(""), [""; 0]);
}

#[test]
fn every_field_is_read() {
    let stream = b"id: 7\nevent: update\nretry: 1500\nodd: x\ndata: {}\n\ndata: next\n\n";
    let [Ok(first), Ok(second)] = &read([&stream[..]])[..] else {
        panic!("two frames");
    };
    assert_eq!(first.id.as_deref(), Some("7"));
    assert_eq!(first.event.as_deref(), Some("update"));
    assert_eq!(first.retry, Some(Duration::from_millis(1500)));
    let plain = Frame {
        data: "next".into(),
        ..Frame::default()
    };
    assert_eq!(*second, plain);
}

#[test]
fn an_id_or_a_retry_without_data_goes_with_the_next_event() {
    let frames = read([&b"retry: 10\nid: 4\nevent: lost\n\ndata: x\n\n"[..]]);
    let expected = Frame {
        id: Some("4".into()),
        event: None,
        data: "x".into(),
        retry: Some(Duration::from_millis(10)),
    };
    assert_eq!(frames, [Ok(expected)]);
}

#[test]
fn odd_ids_and_retries_are_no_ids_and_retries() {
    let frames = read([&b"id: a\0b\nretry: 1.5\nretry: -1\nretry: +1\nretry:\ndata: x\n\n"[..]]);
    let frame = frames[0].as_ref().unwrap();
    assert_eq!((&frame.id, frame.retry), (&None, None));
}

#[test]
fn what_is_no_utf_8_is_replaced() {
    let frames = read([&b"data: a\xffb\n\n"[..]]);
    assert_eq!(frames[0].as_ref().unwrap().data, "a\u{fffd}b");
}

#[test]
fn an_event_that_is_too_long_is_skipped_and_the_next_one_read() {
    let long = "x".repeat(LIMIT);
    for stream in [
        format!("data: a\n\ndata: {long}\n\ndata: b\n\n"),
        format!(
            "data: a\n\ndata: {}\ndata: {}\n\ndata: b\n\n",
            &long[..40],
            &long[..40]
        ),
        format!("data: a\n\n: {long}{long}\ndata: gone\n\ndata: b\n\n"),
    ] {
        let frames = read([stream.as_bytes()]);
        assert_eq!(frames, read(stream.as_bytes().chunks(1)));
        assert_eq!(frames.len(), 3, "{stream}");
        assert_eq!(frames[0].as_ref().unwrap().data, "a");
        assert_eq!(frames[1], Err(TooLong { limit: LIMIT }));
        assert_eq!(frames[2].as_ref().unwrap().data, "b");
    }
}

#[test]
fn a_line_without_end_is_refused_before_it_ends() {
    let mut reader = Reader::new(LIMIT);
    reader.push(b"data: ");
    reader.push(&[b'x'; LIMIT]);
    assert_eq!(reader.next(), Some(Err(TooLong { limit: LIMIT })));
    for _ in 0..1000 {
        reader.push(&[b'x'; LIMIT]);
        assert_eq!(reader.next(), None);
    }
    reader.push(b"\n\ndata: b\n\n");
    assert_eq!(reader.next().unwrap().unwrap().data, "b");
}

#[test]
fn what_the_server_writes_is_read_back() {
    let mut stream = Vec::new();
    write_frame(&mut stream, Some(12), b"{\"a\":\"\\n\"}");
    write_frame(&mut stream, None, b"[]");
    let frames: Vec<Frame> = read([&stream[..]])
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(frames[0].id.as_deref(), Some("12"));
    assert_eq!(frames[0].data, "{\"a\":\"\\n\"}");
    assert_eq!((&frames[1].id, frames[1].data.as_str()), (&None, "[]"));
}

/// Bytes that mean something in a stream, and some that do not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "data: ", "data", "data:{}", "id: 5", "id", "event: e", "retry: 3", "\n", "\n", "\n\n",
            "\r", "\r\n", "\r\r", ":", " ", "\u{feff}", "ä", "x",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (0..80_usize).prop_map(|length| vec![b'y'; length]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_split_of_the_bytes_gives_the_same_frames(
        stream in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = read([&stream[..]]);
        prop_assert_eq!(&read(stream.chunks(1)), &whole);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(stream.len());
        let mut at = 0;
        let pieces = cuts.into_iter().map(|cut| {
            let piece = &stream[at..cut];
            at = cut;
            piece
        });
        prop_assert_eq!(read(pieces.collect::<Vec<_>>()), whole);
    }
}
