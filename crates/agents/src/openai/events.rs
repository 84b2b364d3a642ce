//! What a chat endpoint says, as an answer. Pure.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_server::agent::AgentError;
use switchboard_types::model::Object;

use crate::fetch::Unread;

/// Why there is no answer, or not all of it. Texts of others are as they were given: who tells them hides what is
/// secret, and then cuts them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the model endpoint returned an invalid response: {0}")]
    Unreadable(String),
    #[error("the model endpoint reports an error: {0}")]
    Reported(String),
    #[error("the model's response was cut off: send the message again")]
    CutOff,
    #[error("the model gave an empty answer")]
    Empty,
    #[error("the model requested a tool call, but no tools are configured")]
    Tool,
    #[error("the answer was stopped by a content filter of the model endpoint")]
    Filtered,
    #[error("the answer of the model is too long")]
    TooLong,
}

impl From<Unread> for Broken {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::TooLong => Self::TooLong,
            Unread::CutOff => Self::CutOff,
        }
    }
}

impl From<Broken> for AgentError {
    fn from(broken: Broken) -> Self {
        Self::new(broken.to_string())
    }
}

/// One event, or a whole answer.
#[derive(Debug, Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default, alias = "message")]
    delta: Option<Said>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Said {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
}

/// An answer, as far as it has come.
#[derive(Debug)]
pub(crate) struct Answer {
    left: usize,
    has_text: bool,
    asked_tool: bool,
    done: bool,
    finish: Option<String>,
    usage: Option<Usage>,
    model: Option<String>,
}

impl Answer {
    /// An answer of at most `limit` bytes of text.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            left: limit,
            has_text: false,
            asked_tool: false,
            done: false,
            finish: None,
            usage: None,
            model: None,
        }
    }

    /// The endpoint has said that this is all.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Reads the data of an event: the text that it adds.
    pub(crate) fn read(&mut self, data: &str) -> Result<String, Broken> {
        match data.trim() {
            "" => Ok(String::new()),
            "[DONE]" => {
                self.done = true;
                Ok(String::new())
            }
            data => self.add(data.as_bytes()),
        }
    }

    /// Reads an answer that comes in one piece.
    pub(crate) fn read_whole(&mut self, body: &[u8]) -> Result<String, Broken> {
        let text = self.add(body)?;
        self.done = true;
        Ok(text)
    }

    fn add(&mut self, json: &[u8]) -> Result<String, Broken> {
        let said: Completion =
            serde_json::from_slice(json).map_err(|error| Broken::Unreadable(error.to_string()))?;
        if let Some(error) = said.error.filter(|error| !error.is_null()) {
            return Err(Broken::Reported(reported(&error)));
        }
        self.usage = said.usage.or(self.usage.take());
        self.model = said.model.or(self.model.take());
        let Some(choice) = said.choices.into_iter().flatten().next() else {
            return Ok(String::new());
        };
        self.finish = choice.finish_reason.or(self.finish.take());
        let Some(delta) = choice.delta else {
            return Ok(String::new());
        };
        self.asked_tool |= delta.tool_calls.is_some_and(|calls| !calls.is_empty());
        let text = delta.content.or(delta.refusal).unwrap_or_default();
        self.left = self.left.checked_sub(text.len()).ok_or(Broken::TooLong)?;
        self.has_text |= !text.trim().is_empty();
        Ok(text)
    }

    /// The answer is over: what there is to tell about it.
    pub(crate) fn finish(self) -> Result<Object, Broken> {
        // A server that forgets to say that all is said may yet say why the model stopped.
        if !self.done && self.finish.is_none() {
            return Err(Broken::CutOff);
        }
        if self.finish.as_deref() == Some("content_filter") {
            return Err(Broken::Filtered);
        }
        if !self.has_text {
            return Err(if self.asked_tool {
                Broken::Tool
            } else {
                Broken::Empty
            });
        }
        let mut told = Map::new();
        if let Some(model) = self.model {
            told.insert("model".to_owned(), model.into());
        }
        if let Some(finish) = self.finish {
            told.insert("finishReason".to_owned(), finish.into());
        }
        if let Some(usage) = self.usage {
            let input = usage.prompt_tokens.unwrap_or_default();
            let output = usage.completion_tokens.unwrap_or_default();
            let total = usage.total_tokens;
            let usage = json!({
                "inputTokens": input,
                "outputTokens": output,
                "totalTokens": total.unwrap_or(input.saturating_add(output)),
            });
            told.insert("usage".to_owned(), usage);
        }
        Ok(Object::from(&told))
    }
}

/// The text of an error, as endpoints word it.
pub(crate) fn reported(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    message
        .as_str()
        .map_or_else(|| message.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these events come to: the text, and what is told about it.
    fn heard(events: &[&str]) -> Result<(String, Value), Broken> {
        let mut answer = Answer::new(40);
        let mut text = String::new();
        for event in events {
            text.push_str(&answer.read(event)?);
        }
        let told = answer.finish()?;
        Ok((text, serde_json::from_str(told.as_str()).unwrap()))
    }

    /// As servers send it, shortened.
    const OPENAI: [&str; 6] = [
        r#"{"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}"#,
        r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":0}}}"#,
        "[DONE]",
    ];

    #[test]
    fn a_stream_is_a_text_and_what_it_cost() {
        let (text, told) = heard(&OPENAI).unwrap();
        assert_eq!(text, "Hello");
        let usage = json!({ "inputTokens": 9, "outputTokens": 2, "totalTokens": 11 });
        let expected =
            json!({ "model": "gpt-4o-mini-2024-07-18", "finishReason": "stop", "usage": usage });
        assert_eq!(told, expected);
    }

    #[test]
    fn an_end_without_its_mark_is_one_only_if_the_model_has_stopped() {
        assert!(heard(&OPENAI[..4]).is_ok());
        assert_eq!(heard(&OPENAI[..3]), Err(Broken::CutOff));
        assert_eq!(heard(&[]), Err(Broken::CutOff));
    }

    #[test]
    fn what_is_no_answer_is_named() {
        let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        let filter = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"content_filter"}]}"#;
        let tool = r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}"#;
        let long = format!(
            r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#,
            "x".repeat(41)
        );
        for (events, broken) in [
            (vec![stop, "[DONE]"], Broken::Empty),
            (vec!["[DONE]"], Broken::Empty),
            (vec![filter, "[DONE]"], Broken::Filtered),
            (vec![tool, "[DONE]"], Broken::Tool),
            (vec![&long], Broken::TooLong),
            (
                vec![r#"{"error":{"message":"out of\nmemory","code":500}}"#],
                Broken::Reported("out of\nmemory".to_owned()),
            ),
            (
                vec![r#"{"error":"gone"}"#],
                Broken::Reported("gone".to_owned()),
            ),
        ] {
            assert_eq!(heard(&events), Err(broken), "{events:?}");
        }
        for data in ["{", "3", r#"{"choices":3}"#, "data"] {
            let broken = heard(&[data]).unwrap_err();
            assert!(matches!(broken, Broken::Unreadable(_)), "{data}: {broken}");
        }
    }

    #[test]
    fn an_answer_in_one_piece_is_read() {
        let mut answer = Answer::new(40);
        let body = br#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"length"}]}"#;
        assert_eq!(answer.read_whole(body).unwrap(), "Hi");
        assert_eq!(
            answer.finish().unwrap().as_str(),
            r#"{"finishReason":"length"}"#
        );
    }
}
