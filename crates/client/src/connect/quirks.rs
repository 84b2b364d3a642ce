//! What known agents need that others do not, told by their cards. Each can be set by hand.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use switchboard_types::model::{AgentCard, Content, Part};
use switchboard_types::operation::{Operation, SendMessage};
use uuid::Uuid;

use crate::error::Error;

/// What LangGraph Server says of itself.
const LANGGRAPH_EXTENSION: &str = "https://langchain.com/a2a/extensions/history-scope/v1";
const LANGGRAPH_TAG: &str = "langgraph";

/// What an agent needs. Nothing, by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Of several text parts all but the last are lost: they are sent as one.
    pub joins_text: bool,
    /// It says 1.0, but what it streams is 0.x, and so are the files it takes: the older names of send, stream, get
    /// and cancel are used, which it knows, too.
    pub prefers_older: bool,
    /// A task that was canceled looks completed and empty to whoever waits for it: it is read once more.
    pub hides_cancel: bool,
    /// There is no way to watch a task, nor to be told of it, nor to leave before it is over.
    pub unwatchable: bool,
    /// It does not know what was sent before: a message that is repeated runs again, and takes the place of the first
    /// one in the conversation. So nothing is repeated, idempotency key or not.
    pub runs_again: bool,
    /// The keys of data become its state: `messages` takes the place of the text, `resume` answers its question. They
    /// are sent as they are, with a warning.
    pub merges_data: bool,
    /// Conversations are UUIDs; errors about others get a hint.
    pub uuid_contexts: bool,
}

impl Quirks {
    /// What the card tells.
    pub(crate) fn told_by(card: &AgentCard) -> Self {
        let mut extensions = card.capabilities.extensions.iter();
        let mut tags = card.skills.iter().flat_map(|skill| &skill.tags);
        let langgraph = extensions.any(|extension| extension.uri == LANGGRAPH_EXTENSION)
            || tags.any(|tag| tag.eq_ignore_ascii_case(LANGGRAPH_TAG));
        Self {
            joins_text: langgraph,
            prefers_older: langgraph,
            hides_cancel: langgraph,
            unwatchable: langgraph,
            runs_again: langgraph,
            merges_data: langgraph,
            uuid_contexts: langgraph,
        }
    }

    /// A message as this agent can take it.
    pub(crate) fn adapt(self, send: &mut SendMessage) {
        if self.joins_text {
            join_text(&mut send.message.parts);
        }
    }

    /// What this agent makes of a message that its sender may not expect.
    pub(crate) fn warnings(self, send: &SendMessage) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        if self.merges_data {
            let has = |key| send.message.parts.iter().any(|part| names(part, key));
            if has("messages") {
                warnings.push("the agent takes `messages` in the data for the whole conversation: the text is not heard");
            }
            if has("resume") {
                warnings.push("the agent takes `resume` in the data for an answer to its question");
            }
        }
        if self.unwatchable && send.configuration.return_immediately {
            warnings.push("the agent answers when the task is over, not before");
        }
        warnings
    }

    /// An error of this agent, with what is behind it.
    pub(crate) fn explained(self, operation: &Operation, error: Error) -> Error {
        if !self.uuid_contexts || error.protocol().is_none() {
            return error;
        }
        match operation {
            Operation::Send(send) | Operation::Stream(send) => match &send.message.context_id {
                Some(context) if Uuid::parse_str(context.as_str()).is_err() => {
                    error.hinting("the conversations of this agent are UUIDs: give one, or none")
                }
                _ => error,
            },
            Operation::Get(_) if error.to_string().contains("contextId (thread_id)") => error
                .hinting(
                    "this release cannot tell a task by its id alone: keep what the send gave",
                ),
            _ => error,
        }
    }
}

/// Whether a part is data with that key.
fn names(part: &Part, key: &str) -> bool {
    let Content::Data(data) = &part.content else {
        return false;
    };
    serde_json::from_str::<BTreeMap<String, IgnoredAny>>(data.as_str())
        .is_ok_and(|keys| keys.contains_key(key))
}

/// All text parts as one, where the first one stood.
fn join_text(parts: &mut Vec<Part>) {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    if texts.len() < 2 {
        return;
    }
    let mut whole = Some(texts.join("\n"));
    let all = std::mem::take(parts);
    for mut part in all {
        if let Content::Text(text) = &mut part.content {
            let Some(whole) = whole.take() else { continue };
            *text = whole.into();
        }
        parts.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::parts;
    use switchboard_types::model::Json;
    use switchboard_types::wire::card::decode_card;

    #[test]
    fn langgraph_is_known_by_its_card() {
        let extension = format!(
            r#"{{"name":"a","capabilities":{{"extensions":[{{"uri":"{LANGGRAPH_EXTENSION}"}}]}}}}"#
        );
        let tag = r#"{"name":"a","skills":[{"id":"s","name":"s","tags":["LangGraph"]}]}"#;
        for card in [extension.as_str(), tag] {
            let quirks = Quirks::told_by(&decode_card(card.as_bytes()).unwrap());
            assert!(
                quirks.joins_text && quirks.prefers_older && quirks.unwatchable,
                "{card}"
            );
        }
        let other = decode_card(br#"{"name":"a"}"#).unwrap();
        assert_eq!(Quirks::told_by(&other), Quirks::default());
    }

    #[test]
    fn texts_become_one_and_other_parts_stay_where_they_are() {
        let data = Part::data(Json::parse("{}").unwrap());
        let mut send = parts(vec![Part::text("a"), data.clone(), Part::text("b")]);
        let quirks = Quirks {
            joins_text: true,
            ..Quirks::default()
        };
        quirks.adapt(&mut send);
        assert_eq!(send.message.parts, [Part::text("a\nb"), data]);
    }
}
