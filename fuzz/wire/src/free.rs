//! What stands inside: free JSON, moments; and the frames of a stream.

use serde_json::Value;
use switchboard_types::model::{Json, Object, Timestamp};
use switchboard_types::wire::sse;

use crate::must_be_a_json_line;

/// Free JSON is carried as it came, on one line.
pub(crate) fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(json) = Json::parse(text) else {
        return;
    };
    let line = must_be_a_json_line(json.as_str().as_bytes());
    assert_eq!(Json::parse(line).as_ref(), Ok(&json));
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_eq!(json.read::<Value>(), Some(value));
    }
    if let Ok(object) = Object::try_from(json) {
        // Reading a member never panics, whatever it holds.
        drop(object.get::<Value>("a"));
    }
}

/// A moment reads back as it is written.
pub(crate) fn timestamp(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(moment) = Timestamp::parse(text) else {
        return;
    };
    assert_eq!(Timestamp::from_micros(moment.as_micros()), moment, "{text}");
    let written = moment.to_string();
    let again = Timestamp::parse(&written).expect(&written);
    assert_eq!(again.to_string(), written, "{text}");
}

/// Any JSON line survives being framed.
pub(crate) fn sse(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(json) = Json::parse(text) else {
        return;
    };
    let mut out = Vec::new();
    sse::write_frame(&mut out, Some(7), json.as_str().as_bytes());
    sse::write_frame(&mut out, None, b"{}");
    let stream = String::from_utf8(out).expect("UTF-8");
    let frames: Vec<&str> = stream.split_terminator("\n\n").collect();
    let first = format!("id: 7\ndata: {}", json.as_str());
    assert_eq!(frames, [first.as_str(), "data: {}"]);
}
