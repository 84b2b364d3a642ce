//! Questions with an id (`inputRequest`) and the tool results that answer them.

use serde::Deserialize;
use switchboard_types::Error;
use switchboard_types::model::{Content, Json, Message, Object, Part, Task, TaskState, TaskStatus};

/// Marks a message of which only the fact is kept.
const REDACTED: &str = "switchboard/redacted";

/// In the metadata of the message that asks for credentials, `true` says that they come out of band: the task goes on
/// without a message of the caller that follows it, so that its streams stay open meanwhile (A2A 1.0 §7.6.1).
pub const OUT_OF_BAND: &str = "switchboard/outOfBand";

/// In the metadata of a part, `true` marks the form of a question that is for programs, so that clients need not show it
/// to people.
const MACHINE_READABLE: &str = "switchboard/machineReadable";

/// A question in the form that programs read, as a part beside its text. Agents that are set to ask without
/// (`question_data: false`) leave it out.
#[must_use]
pub fn question_data(question: Json) -> Part {
    let mark = serde_json::Map::from_iter([(MACHINE_READABLE.to_owned(), true.into())]);
    Part {
        metadata: Some(Object::from(&mark)),
        ..Part::data(question)
    }
}

/// Leaves out what [`question_data`] has made, unless nothing else is said.
pub(crate) fn leave_out_question_data(parts: &mut Vec<Part>) {
    let is_marked = |part: &Part| {
        let metadata = part.metadata.as_ref();
        metadata.and_then(|m| m.get(MACHINE_READABLE)) == Some(true)
    };
    if !parts.iter().all(is_marked) {
        parts.retain(|part| !is_marked(part));
    }
}

/// Whether a task waits for credentials that its caller does not send.
pub(crate) fn awaits_credentials_out_of_band(status: &TaskStatus) -> bool {
    let asked = status.message.as_ref();
    let metadata = asked.and_then(|message| message.metadata.as_ref());
    status.state == TaskState::AuthRequired
        && metadata.and_then(|m| m.get(OUT_OF_BAND)) == Some(true)
}

#[derive(Deserialize)]
struct ToolResult {
    r#type: String,
    id: String,
}

/// The id of the tool result in a message, if it holds one.
pub(crate) fn tool_result_id(message: &Message) -> Option<String> {
    let result = |part: &Part| match &part.content {
        Content::Data(json) => json.read::<ToolResult>(),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    };
    let mut results = message.parts.iter().filter_map(result);
    results.find(|r| r.r#type == "tool-result").map(|r| r.id)
}

/// A question with an id, as the status message of a waiting task carries it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InputRequest {
    pub(crate) request_id: String,
    #[serde(default)]
    pub(crate) sensitive: bool,
}

/// Whether what answers the question of a task is a secret.
#[must_use]
pub fn asks_for_secret(task: &Task) -> bool {
    task.status.state == TaskState::AuthRequired
        || open_request(task).is_some_and(|asked| asked.sensitive)
}

/// Whether a message holds the result of something that the task had asked for as a secret, though it may not wait for it
/// any more.
pub(crate) fn asked_for_secret(task: &Task, message: &Message) -> bool {
    let Some(result) = tool_result_id(message) else {
        return false;
    };
    let asked = task.history.iter().filter_map(|m| m.metadata.as_ref());
    let mut asked = asked.filter_map(|m| m.get::<InputRequest>("inputRequest"));
    asked.any(|asked| asked.sensitive && asked.request_id == result)
}

/// The question a task waits on, if it asked one with an id.
pub(crate) fn open_request(task: &Task) -> Option<InputRequest> {
    if !task.status.state.is_interrupted() {
        return None;
    }
    let metadata = task.status.message.as_ref()?.metadata.as_ref()?;
    metadata.get("inputRequest")
}

/// The message as it may be kept when the agent asked for something sensitive: that it came, not what it said.
pub(crate) fn redacted(message: &Message) -> Message {
    let mut mark = serde_json::Map::new();
    mark.insert(REDACTED.to_owned(), true.into());
    Message {
        parts: vec![Part::text("[redacted]")],
        metadata: Some(Object::from(&mark)),
        ..message.clone()
    }
}

/// Whether what a message said was not kept.
#[must_use]
pub fn is_redacted(message: &Message) -> bool {
    let metadata = message.metadata.as_ref();
    metadata.and_then(|m| m.get(REDACTED)) == Some(true)
}

/// The error for an answer to something else than what was asked.
pub(crate) fn unasked(result: &str, asked: &str) -> Error {
    Error::invalid_params(
        "message.parts",
        format!("hold a tool result for {result:?}, but the task asked {asked:?}"),
    )
}
