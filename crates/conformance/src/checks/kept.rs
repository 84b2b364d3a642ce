//! What callers send is kept as it was sent: files are the part that conversions spoil.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::json;
use switchboard_types::operation::Method;

use crate::answer::Outcome;
use crate::check::Level::Must;
use crate::check::{Check, Found, Run, hold_or, unseen};
use crate::probe::Probe;

/// Its base64 has every character that differs between alphabets, and padding.
const FILE: &[u8] = b"~~~???>>> kept?";
const TEXT: &str = "A file, and \u{fc}\u{1f600} in a text";

pub(super) static CHECKS: [Check; 1] = [Check {
    id: "S-124",
    level: Must,
    clause: "§4.1.4, §4.1.6, §5.5",
    title: "history holds messages as they were sent",
    hint: "store the parts of a message as they came",
    run: Run::Link(&[], |p| Box::pin(kept(p))),
}];

/// Sends a text and a file, and compares them with what the history of the task has.
pub(super) async fn kept(p: &Probe) -> Found {
    let modes = &p.found.card.default_input_modes;
    let text = modes.iter().find(|mode| mode.starts_with("text/"));
    let kind = text.map_or("text/plain", String::as_str);
    let bytes = STANDARD.encode(FILE);
    let mut params = p.say(TEXT);
    let older = p.words.version != "1.0";
    let file = match older {
        true => {
            json!({"kind": "file", "file": {"bytes": bytes, "mimeType": kind, "name": "kept.txt"}})
        }
        false => json!({"raw": bytes, "mediaType": kind, "filename": "kept.txt"}),
    };
    if let Some(parts) = params["message"]["parts"].as_array_mut() {
        parts.push(file);
    }
    let id = params["message"]["messageId"].clone();
    let answer = p.call(Method::Send, params).await;
    let Outcome::Result(result) = &answer.outcome else {
        return Err(unseen("the agent takes no files"));
    };
    let Some(task) = p.task_in(result) else {
        return Err(unseen("the agent answers with a message, not a task"));
    };
    p.clean_up(&task["id"]).await;
    let history = task["history"].as_array();
    let mut same = history.into_iter().flatten();
    let Some(message) = same.find(|message| message["messageId"] == id) else {
        return Err(unseen("the history of the task does not hold the message"));
    };
    let parts = message["parts"].as_array().cloned().unwrap_or_default();
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    hold_or(
        texts == [TEXT],
        format!("the text {TEXT:?} is kept as {texts:?}"),
        "store texts as UTF-8, as they came",
        &answer.exchange,
    )?;
    let file = parts.iter().find_map(|part| {
        let bytes = if older {
            &part["file"]["bytes"]
        } else {
            &part["raw"]
        };
        bytes.as_str()
    });
    let why = match file {
        Some(kept) => format!("the file {bytes:?} is kept as {kept:?}"),
        None => "the file is not kept".to_owned(),
    };
    let hint = "the bytes of a file are base64 once, in the standard alphabet: neither decode nor encode them twice";
    hold_or(file.is_some_and(is_file), why, hint, &answer.exchange)
}

fn is_file(text: &str) -> bool {
    let read = STANDARD
        .decode(text)
        .or_else(|_| STANDARD_NO_PAD.decode(text));
    read.is_ok_and(|bytes| bytes == FILE)
}
