//! The frames of a gateway's socket. Pure.
//!
//! A request is `{type: "req", id, method, params}`, its answer `{type: "res", id, ok, payload | error}`, and what comes
//! unasked `{type: "event", event, payload}`. Of all that a gateway tells, only what is of use is taken apart.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What came in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// An answer to the request of that number.
    Answer(u64, Answer),
    /// Something about a run.
    Run(String, Heard),
    /// What a handshake is to sign.
    Challenge { nonce: String, at: i64 },
    /// The gateway is about to stop.
    Shutdown,
    /// Anything else.
    Other,
}

/// An answer. A request may have two.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) payload: Value,
    pub(super) fault: Option<Fault>,
}

impl Answer {
    /// Whether a gateway says that it cannot run anything yet, rather than that a run failed.
    pub(super) fn is_starting(&self) -> bool {
        let fault = self.fault.as_ref();
        self.payload.is_null() && fault.is_some_and(|fault| fault.code == "UNAVAILABLE")
    }

    /// `payload.status`.
    pub(super) fn status(&self) -> &str {
        self.payload["status"].as_str().unwrap_or_default()
    }

    /// The payload of one that is none of a failure.
    pub(super) fn good(self) -> Result<Value, Box<Fault>> {
        match self.fault {
            None => Ok(self.payload),
            Some(fault) => Err(Box::new(fault)),
        }
    }
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Fault {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) details: Value,
    retry_after_ms: Option<u64>,
}

impl Fault {
    /// `details.code`.
    pub(super) fn detail(&self) -> &str {
        self.details["code"].as_str().unwrap_or_default()
    }

    /// How long to wait before asking again, if that is said.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let in_details = || self.details["retryAfterMs"].as_u64();
        let millis = self.retry_after_ms.or_else(in_details)?;
        Some(Duration::from_millis(millis))
    }
}

/// Something about a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heard {
    /// Which of its streams.
    pub(super) stream: String,
    /// What is said there; nothing, if nobody reads it.
    pub(super) data: Value,
    /// How long that is.
    pub(super) size: usize,
}

/// The streams of a run that are read.
const READ: [&str; 3] = ["assistant", "tool", "run_status"];

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(default)]
    ok: bool,
    #[serde(borrow, default)]
    event: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Fault>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunEvent<'a> {
    run_id: String,
    stream: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Challenge {
    nonce: String,
    ts: i64,
}

/// Reads a frame. What cannot be read is nothing to us.
pub(super) fn read(text: &str) -> Frame {
    let Ok(wire) = serde_json::from_str::<Wire<'_>>(text) else {
        return Frame::Other;
    };
    let payload = wire.payload.map_or("null", RawValue::get);
    match (&*wire.kind, wire.event.as_deref()) {
        ("res", _) => {
            let Some(id) = wire.id.and_then(|id| id.parse().ok()) else {
                return Frame::Other;
            };
            let fault = (!wire.ok).then(|| wire.error.unwrap_or_default());
            let payload = serde_json::from_str(payload).unwrap_or_default();
            Frame::Answer(id, Answer { payload, fault })
        }
        ("event", Some("agent")) => match serde_json::from_str::<RunEvent<'_>>(payload) {
            Ok(event) => {
                let is_read = READ.contains(&event.stream.as_str());
                let data = event.data.filter(|_| is_read).map_or("null", RawValue::get);
                let heard = Heard {
                    stream: event.stream,
                    data: serde_json::from_str(data).unwrap_or_default(),
                    size: data.len(),
                };
                Frame::Run(event.run_id, heard)
            }
            Err(_) => Frame::Other,
        },
        ("event", Some("connect.challenge")) => match serde_json::from_str::<Challenge>(payload) {
            Ok(Challenge { nonce, ts }) => Frame::Challenge { nonce, at: ts },
            Err(_) => Frame::Other,
        },
        ("event", Some("shutdown")) => Frame::Shutdown,
        _ => Frame::Other,
    }
}

/// Writes a request.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    let id = id.to_string();
    json!({ "type": "req", "id": id, "method": method, "params": params }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gateway_sends_is_read() {
        let challenge = r#"{"type":"event","event":"connect.challenge","payload":{"nonce":"446f","ts":1794709195251,"capabilities":[]}}"#;
        let expected = Frame::Challenge {
            nonce: "446f".to_owned(),
            at: 1_794_709_195_251,
        };
        assert_eq!(read(challenge), expected);
        let delta = r#"{"type":"event","event":"agent","payload":{"runId":"r","stream":"assistant","data":{"text":"c1"},"seq":3,"ts":1},"seq":18}"#;
        let Frame::Run(run, heard) = read(delta) else {
            panic!("no event of a run");
        };
        assert_eq!((&*run, &*heard.stream), ("r", "assistant"));
        assert_eq!((&heard.data["text"], heard.size), (&json!("c1"), 13));
        let unread = delta.replace("assistant", "command_output");
        let Frame::Run(_, heard) = read(&unread) else {
            panic!("no event of a run");
        };
        assert_eq!((heard.data, heard.size), (Value::Null, 4));
        let stop = r#"{"type":"event","event":"shutdown","payload":{"reason":"gateway stopping"},"seq":2}"#;
        assert_eq!(read(stop), Frame::Shutdown);
        let done = r#"{"type":"res","id":"7","ok":true,"payload":{"runId":"r","status":"ok"}}"#;
        let Frame::Answer(7, answer) = read(done) else {
            panic!("no answer");
        };
        assert_eq!(answer.status(), "ok");
        assert!(answer.good().is_ok());
    }

    #[test]
    fn a_refusal_says_why_and_until_when() {
        let text = r#"{"type":"res","id":"1","ok":false,"error":{"code":"NOT_PAIRED","message":"pairing required","retryAfterMs":250,
            "details":{"code":"PAIRING_REQUIRED","requestId":"98ca"}}}"#;
        let Frame::Answer(1, answer) = read(text) else {
            panic!("no answer");
        };
        let fault = answer.good().unwrap_err();
        assert_eq!(fault.detail(), "PAIRING_REQUIRED");
        assert_eq!(fault.retry_after(), Some(Duration::from_millis(250)));
        // A failure without a reason is one.
        let Frame::Answer(2, answer) = read(r#"{"type":"res","id":"2"}"#) else {
            panic!("no answer");
        };
        assert_eq!(answer.fault, Some(Fault::default()));
    }

    #[test]
    fn what_is_no_frame_is_nothing() {
        for text in [
            "",
            "garbage",
            "[]",
            "{}",
            r#"{"type":"res","id":"invalid","ok":true}"#,
            r#"{"type":"event","event":"agent","payload":{"stream":"x"}}"#,
            r#"{"type":"event","event":"connect.challenge"}"#,
            r#"{"type":"event","event":"tick","payload":{"ts":1}}"#,
            r#"{"type":7}"#,
        ] {
            assert_eq!(read(text), Frame::Other, "{text}");
        }
    }

    #[test]
    fn a_request_has_a_number_of_its_own() {
        assert_eq!(
            request(3, "agents.list", &json!({})),
            r#"{"type":"req","id":"3","method":"agents.list","params":{}}"#
        );
    }
}
