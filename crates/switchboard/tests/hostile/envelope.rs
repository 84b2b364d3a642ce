//! The JSON-RPC envelope, and bodies that are no JSON.

use crate::wire::{Way, envelope, exchange, healthy, post};

const PARSE: (i64, &str) = (-32700, "JSON_PARSE");
const REQUEST: (i64, &str) = (-32600, "INVALID_REQUEST");
const METHOD: (i64, &str) = (-32601, "METHOD_NOT_FOUND");
const PARAMS: (i64, &str) = (-32602, "INVALID_PARAMS");

/// A body, the HTTP status, number and reason of the answer, and what its message says.
type Row = (Vec<u8>, u16, (i64, &'static str), &'static str);

fn rows() -> Vec<Row> {
    let mut rows = broken();
    rows.extend(not_calls());
    rows.extend(not_methods());
    rows.extend(odd_ids());
    rows
}

/// Bodies that are no JSON.
fn broken() -> Vec<Row> {
    let good = envelope("tasks/get", r#"{"id":"t"}"#);
    let utf16 = |to_bytes: fn(u16) -> [u8; 2]| good.encode_utf16().flat_map(to_bytes).collect();
    let bad_text = good.replace("tasks/get", "\u{1}").replace('\u{1}', "\\u12");
    vec![
        (vec![], 200, PARSE, "EOF while parsing"),
        (b"  \r\n\t ".to_vec(), 200, PARSE, "EOF while parsing"),
        (b"{".to_vec(), 200, PARSE, "EOF while parsing"),
        (b"{nope}".to_vec(), 200, PARSE, "line 1 column 2"),
        (
            good.as_bytes()[..good.len() - 2].to_vec(),
            200,
            PARSE,
            "EOF while parsing",
        ),
        (
            format!("{good}{good}").into_bytes(),
            200,
            PARSE,
            "trailing characters",
        ),
        (
            "[".repeat(1_000_000).into_bytes(),
            200,
            PARSE,
            "EOF while parsing",
        ),
        (
            [b"\xEF\xBB\xBF", good.as_bytes()].concat(),
            200,
            PARSE,
            "byte order mark",
        ),
        (
            [b"\xFF\xFE", good.as_bytes()].concat(),
            200,
            PARSE,
            "looks like UTF-16",
        ),
        (utf16(u16::to_le_bytes), 200, PARSE, "looks like UTF-16"),
        (utf16(u16::to_be_bytes), 200, PARSE, "looks like UTF-16"),
        (b"\x1F\x8B\x08\0\0\0".to_vec(), 200, PARSE, "expected value"),
        (
            good.replace("t\"}", "\u{1}\"}").into_bytes(),
            200,
            PARSE,
            "control character",
        ),
        (
            [&good.as_bytes()[..good.len() - 4], b"\xFF\xFE\"}}"].concat(),
            200,
            PARSE,
            "invalid unicode",
        ),
        (bad_text.into_bytes(), 200, PARSE, "escape"),
    ]
}

/// JSON, but no call.
fn not_calls() -> Vec<Row> {
    let good = envelope("tasks/get", r#"{"id":"t"}"#);
    let text = |text: &str| text.as_bytes().to_vec();
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    vec![
        (text("null"), 200, REQUEST, "must be an object"),
        (text("true"), 200, REQUEST, "must be an object"),
        (text("\"a\""), 200, REQUEST, "must be an object"),
        (text("5"), 200, REQUEST, "must be an object"),
        (text("[]"), 200, REQUEST, "batches are not supported"),
        (
            format!("[{good}]").into_bytes(),
            200,
            REQUEST,
            "batches are not supported",
        ),
        (deep.into_bytes(), 200, REQUEST, "batches are not supported"),
        (text("{}"), 400, REQUEST, "jsonrpc must be"),
        (text(r#"{"id":1}"#), 400, REQUEST, "jsonrpc must be"),
        (
            text(r#"{"message":{"parts":[]}}"#),
            400,
            REQUEST,
            "jsonrpc must be",
        ),
        (
            text(r#"{"id":1,"method":"tasks/get"}"#),
            200,
            REQUEST,
            "jsonrpc must be",
        ),
        (
            text(r#"{"jsonrpc":"1.0","id":1,"method":"tasks/get"}"#),
            200,
            REQUEST,
            "jsonrpc must be",
        ),
        (
            text(r#"{"jsonrpc":2.0,"id":1,"method":"tasks/get"}"#),
            200,
            REQUEST,
            "jsonrpc must be",
        ),
    ]
}

/// Calls, but of nothing.
fn not_methods() -> Vec<Row> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        (
            text(r#"{"jsonrpc":"2.0","id":1}"#),
            200,
            REQUEST,
            "method must be a string",
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":1,"method":5}"#),
            200,
            REQUEST,
            "method must be a string",
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":1,"method":""}"#),
            200,
            REQUEST,
            "method must be a string",
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#),
            200,
            REQUEST,
            "given twice",
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#),
            200,
            METHOD,
            "ethod not found",
        ),
        (
            envelope(&"é".repeat(5000), "{}").into_bytes(),
            200,
            METHOD,
            "ethod not found",
        ),
        (
            envelope("nope", "[]").into_bytes(),
            200,
            PARAMS,
            "params must be an object",
        ),
        (
            envelope("nope", "\"x\"").into_bytes(),
            200,
            PARAMS,
            "params must be an object",
        ),
        (
            envelope("nope", "5").into_bytes(),
            200,
            PARAMS,
            "params must be an object",
        ),
    ]
}

/// Ids that are none.
fn odd_ids() -> Vec<Row> {
    let with_id = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nope","params":{{}}}}"#).into_bytes()
    };
    let kind = "id must be a string, a number or null";
    let long = format!("\"{}\"", "x".repeat(2000));
    vec![
        (with_id("{}"), 200, REQUEST, kind),
        (with_id("[1]"), 200, REQUEST, kind),
        (with_id("true"), 200, REQUEST, kind),
        (with_id(r#""\ud83d""#), 200, REQUEST, kind),
        (
            with_id(&long),
            200,
            REQUEST,
            "id must not be longer than 1024 bytes",
        ),
        (
            with_id(&"9".repeat(2000)),
            200,
            REQUEST,
            "id must not be longer than 1024 bytes",
        ),
    ]
}

#[tokio::test]
async fn what_is_no_call_gets_the_number_and_the_reason_in_both_versions() {
    let server = crate::server("").await;
    for (body, status, (code, reason), says) in rows() {
        for way in [Way::Rpc03, Way::Rpc10] {
            let answer = exchange(&server, &post("/a2a/echo", way.version(), &body)).await;
            let what = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            assert_eq!(answer.status(), status, "{way:?} {what}: {}", answer.text);
            let error = answer.error();
            assert_eq!(
                (error.code, error.reason.as_str()),
                (code, reason),
                "{way:?} {what}"
            );
            assert!(
                error.message.contains(says),
                "{way:?} {what}: {}",
                error.message
            );
            assert!(
                answer.text.len() < 4096,
                "{what}: {} bytes",
                answer.text.len()
            );
        }
    }
    healthy(&server).await;
}

#[tokio::test]
async fn ids_of_every_lawful_kind_are_echoed_to_the_letter() {
    let server = crate::server("").await;
    for id in [
        "0",
        "-1",
        "1.50",
        "1e3",
        "null",
        "\"\"",
        r#""\u0000""#,
        "\"🙂 \u{202e}\"",
        "12345678901234567890123",
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"id":"none"}}}}"#
        );
        let answer = exchange(&server, &post("/a2a/echo", "", body.as_bytes())).await;
        assert!(
            answer
                .body()
                .starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error""#)),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_call_without_an_id_is_refused_in_both_versions() {
    let server = crate::server("").await;
    for (way, method) in [(Way::Rpc03, "message/send"), (Way::Rpc10, "SendMessage")] {
        let body = envelope(method, &way.good().to_string()).replace(r#""id":1,"#, "");
        let answer = exchange(&server, &post("/a2a/echo", way.version(), body.as_bytes())).await;
        let error = answer.error();
        assert_eq!(
            (answer.status(), error.code),
            (200, -32600),
            "{}",
            answer.text
        );
        assert!(error.message.contains("id is required"), "{}", answer.text);
    }
}
