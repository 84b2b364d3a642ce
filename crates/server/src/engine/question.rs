//! Questions with an id (`inputRequest`) and the tool results that answer them.

use serde::Deserialize;
use switchboard_types::Error;
use switchboard_types::model::{Content, Message, Object, Part};

use crate::log::TaskLog;

/// Marks a message of which only the fact is kept.
const REDACTED: &str = "switchboard/redacted";

#[derive(Deserialize)]
struct ToolResult {
    r#type: String,
    id: String,
}

/// The id of the tool result in a message, if it holds one.
pub(super) fn tool_result_id(message: &Message) -> Option<String> {
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
pub(super) struct InputRequest {
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) sensitive: bool,
}

/// The question a task waits on, if it asked one with an id.
pub(super) fn open_request(log: &TaskLog) -> Option<InputRequest> {
    let (_, task) = log.view()?;
    if !task.status.state.is_interrupted() {
        return None;
    }
    let metadata = task.status.message.as_ref()?.metadata.as_ref()?;
    metadata.get("inputRequest")
}

/// The message as it may be kept when the agent asked for something sensitive: that it came, not what it said.
pub(super) fn redacted(message: &Message) -> Message {
    let mut mark = serde_json::Map::new();
    mark.insert(REDACTED.to_owned(), true.into());
    Message {
        parts: vec![Part::text("[redacted]")],
        metadata: Some(Object::from(&mark)),
        ..message.clone()
    }
}

/// Whether what a message said was not kept.
pub(crate) fn is_redacted(message: &Message) -> bool {
    let metadata = message.metadata.as_ref();
    metadata.and_then(|m| m.get(REDACTED)) == Some(true)
}

/// The error for an answer to something else than what was asked.
pub(super) fn unasked(result: &str, asked: &str) -> Error {
    Error::invalid_params(
        "message.parts",
        format!("hold a tool result for {result:?}, but the task asked {asked:?}"),
    )
}
