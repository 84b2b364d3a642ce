//! Tasks that ask: the question is put to a callback, the answer sent back, until the task is over.

use std::sync::Arc;

use serde::Deserialize;
use switchboard_types::model::{Json, Object, Part, Task, TaskState};
use switchboard_types::operation::SendMessage;

use crate::answer_text;
use crate::client::{Client, Sent};
use crate::error::Error;
use crate::message::reply;

/// What a task waits for.
#[derive(Debug, Clone)]
pub struct Question {
    /// The task.
    pub task: Arc<Task>,
    /// What kind of answer it waits for.
    pub kind: QuestionKind,
    /// What to ask the user.
    pub prompt: String,
    /// The details, if the agent gives them.
    pub request: Option<InputRequest>,
}

/// What kind of answer a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// Anything.
    Input,
    /// Credentials. They should not go through the agent: see the prompt for where they do.
    Auth,
}

/// The details of a question.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// Names the question; the answer names it, too.
    pub id: String,
    /// The answer must not be shown.
    pub sensitive: bool,
    /// All that the agent says of it.
    pub raw: Object,
}

impl Question {
    /// What a task asks; nothing if it does not.
    #[must_use]
    pub fn of(task: &Arc<Task>) -> Option<Self> {
        let kind = match task.status.state {
            TaskState::InputRequired => QuestionKind::Input,
            TaskState::AuthRequired => QuestionKind::Auth,
            _ => return None,
        };
        let said = task.status.message.as_deref();
        let request = said
            .and_then(|message| message.metadata.as_ref())
            .and_then(|metadata| metadata.get::<serde_json::Map<_, _>>("inputRequest"))
            .and_then(|raw| {
                let id = raw.get("requestId").or_else(|| raw.get("id"))?;
                Some(InputRequest {
                    id: id.as_str()?.to_owned(),
                    sensitive: raw.get("sensitive").and_then(serde_json::Value::as_bool)
                        == Some(true),
                    raw: Object::from(&raw),
                })
            });
        // An agent that says nothing in its status may have put the question into an artifact.
        let prompt = match said.map(answer_text).filter(|text| !text.is_empty()) {
            Some(text) => text,
            None => asked_in(&answer_text(&**task)),
        };
        Some(Self {
            task: Arc::clone(task),
            kind,
            prompt,
            request,
        })
    }

    /// A text as the answer: for people, and under the name of the question for agents that look for that.
    #[must_use]
    pub fn answer(&self, text: impl Into<String>) -> Vec<Part> {
        let text = text.into();
        let mut parts = vec![Part::text(text.clone())];
        if let Some(request) = &self.request {
            let result = serde_json::json!({
                "type": "tool-result",
                "id": request.id,
                "result": text,
            });
            parts.push(Part::data(Json::from(&result)));
        }
        parts
    }
}

/// What is asked in a text that may be data: LangGraph's interrupts are `{id, value}`.
fn asked_in(text: &str) -> String {
    #[derive(Deserialize)]
    struct Interrupt {
        value: String,
    }
    let asked: Option<Interrupt> = serde_json::from_str(text).ok();
    asked.map_or_else(|| text.to_owned(), |asked| asked.value)
}

impl Client {
    /// Sends a message and answers what the agent asks, until it is done. A callback that gives nothing leaves the
    /// task waiting.
    ///
    /// # Errors
    ///
    /// If a message cannot be sent, or the agent refuses it.
    pub async fn converse<F>(&self, first: SendMessage, mut answer: F) -> Result<Sent, Error>
    where
        F: AsyncFnMut(Question) -> Option<Vec<Part>>,
    {
        let mut next = first;
        loop {
            let streams = self.card().capabilities.streaming == Some(true);
            let sent = if streams {
                Box::pin(self.stream(next).await?.finish()).await?
            } else {
                self.send(next).await?
            };
            let question = match &sent {
                Sent::Task(task) => Question::of(task),
                Sent::Message(_) => None,
            };
            let Some(question) = question else {
                return Ok(sent);
            };
            let task = Arc::clone(&question.task);
            match answer(question).await {
                Some(parts) => next = reply(&task, parts),
                None => return Ok(sent),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::Dialect;
    use switchboard_types::wire::decode_task;

    #[test]
    fn a_question_is_found_where_agents_put_it() {
        let said =
            r#""message":{"role":"agent","messageId":"m","parts":[{"kind":"text","text":"sure?"}]"#;
        let details = r#""metadata":{"inputRequest":{"requestId":"r","sensitive":true}}"#;
        let interrupt = r#""artifacts":[{"artifactId":"a","parts":[{"kind":"data","data":{"id":"i","value":"sure?"}}]}]"#;
        for (rest, request) in [
            (
                format!(r#""status":{{"state":"input-required",{said}}}}}"#),
                None,
            ),
            (
                format!(r#""status":{{"state":"auth-required",{said},{details}}}}}"#),
                Some("r"),
            ),
            (
                format!(r#""status":{{"state":"input-required"}},{interrupt}"#),
                None,
            ),
        ] {
            let json = format!(r#"{{"kind":"task","id":"t","contextId":"c",{rest}}}"#);
            let task = decode_task(Dialect::from_tag("0.3").unwrap(), &json).unwrap();
            let question = Question::of(&Arc::new(task)).unwrap();
            assert_eq!(question.prompt, "sure?", "{json}");
            let details = question.request.as_ref();
            assert_eq!(
                details.map(|request| request.id.as_str()),
                request,
                "{json}"
            );
            assert!(details.is_none_or(|request| request.sensitive));
            assert_eq!(
                question.answer("yes").len(),
                1 + usize::from(request.is_some())
            );
        }
    }

    #[test]
    fn a_task_that_does_not_wait_asks_nothing() {
        for state in ["working", "completed", "unknown"] {
            let json = format!(
                r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"{state}"}}}}"#
            );
            let task = decode_task(Dialect::from_tag("0.3").unwrap(), &json).unwrap();
            assert!(Question::of(&Arc::new(task)).is_none(), "{state}");
        }
    }
}
