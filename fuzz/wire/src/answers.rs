//! What a client reads: answers, errors, streams.

use switchboard_types::operation::{Method, Response};
use switchboard_types::wire::jsonrpc::{self, Id, Outcome};
use switchboard_types::wire::sse::{Frame, Reader, TooLong};
use switchboard_types::wire::{self, rest};
use switchboard_types::{Dialect, Error};

use crate::{DIALECTS, must_be_a_json_line};

/// The longest frame: small, so that inputs reach it.
const LIMIT: usize = 200;

/// An answer in its envelope: the first byte picks the method and the dialect. What was understood must be the same
/// after it was written and read again.
pub(crate) fn answer(data: &[u8]) {
    let Some((first, body)) = data.split_first() else {
        return;
    };
    let first = usize::from(*first);
    let method = Method::ALL[first % Method::ALL.len()];
    let dialect = DIALECTS[first / Method::ALL.len() % DIALECTS.len()];
    let Ok(answer) = jsonrpc::read_answer(body) else {
        return;
    };
    let result = match answer.outcome {
        Outcome::Result(result) => result.get(),
        Outcome::Error(error) => {
            told_again(dialect, &wire::decode_error(dialect, None, error.get()));
            return;
        }
        Outcome::Neither => return,
    };
    // Cards have a target of their own.
    let Ok(mut response) = wire::decode_response(dialect, method, result) else {
        return;
    };
    if matches!(response, Response::Card(_)) {
        return;
    }
    // In ProtoJSON of 0.3 more is read than is written: references to tasks, names of files, metadata of parts.
    if dialect.files().is_some() {
        let mut out = Vec::new();
        wire::encode_response(dialect, &response, &mut out);
        let Ok(less) = wire::decode_response(dialect, method, must_be_a_json_line(&out)) else {
            return;
        };
        response = less;
    }
    let mut out = Vec::new();
    jsonrpc::write_response(&mut out, &answer.id, dialect, &response);
    must_be_a_json_line(&out);
    let again = jsonrpc::read_answer(&out).expect("our own answer");
    assert_eq!(again.id, answer.id);
    let Outcome::Result(result) = again.outcome else {
        panic!("a result");
    };
    match wire::decode_response(dialect, method, result.get()) {
        Ok(again) => assert_eq!(again, without_losses(dialect, response), "{}", result.get()),
        // 0.x wraps data that is no object, one level deeper.
        Err(error) if error.message().contains("nested deeper") => {}
        Err(error) => panic!("{error}: {}", result.get()),
    }
}

/// An array of webhooks has no next page.
fn without_losses(dialect: Dialect, mut response: Response) -> Response {
    if let (Dialect::V0Json, Response::PushConfigs(page)) = (dialect, &mut response) {
        page.next_page_token = String::new();
    }
    response
}

/// An error: the first byte picks the dialect, the second the HTTP status.
pub(crate) fn fault(data: &[u8]) {
    let [first, second, body @ ..] = data else {
        return;
    };
    let dialect = DIALECTS[usize::from(*first) % DIALECTS.len()];
    // 200 to 599, and none.
    let status = (*second < 250).then(|| 200 + u16::from(*second) * 2);
    let Ok(text) = std::str::from_utf8(body) else {
        return;
    };
    told_again(dialect, &wire::decode_error(dialect, status, text));
}

/// An error keeps its kind, in 1.0 all it says.
fn told_again(dialect: Dialect, error: &Error) {
    let (status, body) = rest::write_error(dialect, error);
    let by_rest = wire::decode_error(dialect, Some(status), must_be_a_json_line(&body));
    let mut out = Vec::new();
    jsonrpc::write_error(&mut out, &Id::null(), dialect, error);
    must_be_a_json_line(&out);
    let answer = jsonrpc::read_answer(&out).expect("our own answer");
    let Outcome::Error(raw) = answer.outcome else {
        panic!("an error");
    };
    let by_jsonrpc = wire::decode_error(dialect, None, raw.get());
    for again in [by_rest, by_jsonrpc] {
        assert_eq!(again.kind(), error.kind());
        if dialect == Dialect::V1 {
            assert_eq!(&again, error);
        }
    }
}

/// A stream: whatever pieces it comes in, of the size of the first byte or whole, its frames are the same.
pub(crate) fn sse_read(data: &[u8]) {
    let Some((size, stream)) = data.split_first() else {
        return;
    };
    let whole = frames([stream].into_iter());
    assert_eq!(frames(stream.chunks(usize::from(*size).max(1))), whole);
    assert_eq!(frames(stream.chunks(1)), whole);
    for frame in whole.into_iter().flatten() {
        assert!(frame.data.len() <= LIMIT * 3, "{frame:?}");
        assert!(!frame.data.trim_ascii().is_empty());
    }
}

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Result<Frame, TooLong>> {
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
