//! Messages as A2A 0.3 writes them.

use serde_json::{Value, json};

/// A message of the user, in 0.3 form, with one text part.
pub fn message(text: &str) -> Value {
    json!({
        "kind": "message",
        "messageId": format!("m-{}", text.len()),
        "role": "user",
        "parts": [{"kind": "text", "text": text}],
    })
}

/// Parameters with such a message.
pub fn say(text: &str) -> Value {
    json!({"message": message(text)})
}

/// A message that is not waited for.
pub fn begin(text: &str) -> Value {
    json!({"message": say(text)["message"], "configuration": {"blocking": false}})
}

/// A message with one more part.
pub fn with(text: &str, part: Value) -> Value {
    let mut said = say(text);
    said["message"]["parts"]
        .as_array_mut()
        .expect("parts")
        .push(part);
    said
}

/// A part with a file.
pub fn file(name: &str, media: &str, bytes: &str) -> Value {
    json!({"kind": "file", "file": {"name": name, "mimeType": media, "bytes": bytes}})
}

/// The text of all text parts of an object that has `parts`.
pub fn text_of(parts: &Value) -> String {
    let parts = parts["parts"].as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect()
}
