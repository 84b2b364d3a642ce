//! What `/v1/responses` says, as an answer. Pure.

use serde_json::Value;

use crate::openai::events::{Broken, reported};

/// The events of `/v1/responses`, as far as they matter.
#[derive(Debug)]
pub(super) struct Responses {
    left: usize,
    pub(super) done: bool,
}

impl Responses {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            left: limit,
            done: false,
        }
    }

    pub(super) fn read(&mut self, data: &str) -> Result<String, Broken> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(String::new());
        }
        let event: Value =
            serde_json::from_str(data).map_err(|error| Broken::Unreadable(error.to_string()))?;
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" => self.text(event["delta"].as_str()),
            "response.completed" => {
                self.done = true;
                Ok(String::new())
            }
            "response.failed" | "response.incomplete" => Err(failure(&event["response"]["error"])),
            "error" => Err(failure(event.get("error").unwrap_or(&event))),
            _ => match event.get("error").filter(|error| !error.is_null()) {
                Some(error) => Err(failure(error)),
                None => Ok(String::new()),
            },
        }
    }

    pub(super) fn read_whole(&mut self, body: &[u8]) -> Result<String, Broken> {
        let response: Value =
            serde_json::from_slice(body).map_err(|error| Broken::Unreadable(error.to_string()))?;
        if response["status"] != "completed" {
            return Err(failure(&response["error"]));
        }
        self.done = true;
        let items = response["output"].as_array().into_iter().flatten();
        let parts = items
            .filter_map(|item| item["content"].as_array())
            .flatten();
        let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
        self.text(Some(&texts.join("\n\n")))
    }

    fn text(&mut self, text: Option<&str>) -> Result<String, Broken> {
        let text = text.unwrap_or_default();
        self.left = self.left.checked_sub(text.len()).ok_or(Broken::TooLong)?;
        Ok(text.to_owned())
    }
}

fn failure(error: &Value) -> Broken {
    Broken::Reported(reported(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_read_from_its_events() {
        let mut answer = Responses::new(100);
        let mut text = String::new();
        for event in [
            r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","error":null}}"#,
            r#"{"type":"response.output_text.delta","delta":"c1"}"#,
            r#"{"type":"response.output_text.delta","delta":" c2"}"#,
            r#"{"type":"response.output_text.done","text":"c1 c2"}"#,
            r#"{"type":"response.completed","response":{"status":"completed"}}"#,
            "[DONE]",
        ] {
            text.push_str(&answer.read(event).unwrap());
        }
        assert_eq!((text.as_str(), answer.done), ("c1 c2", true));
        let whole = br#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#;
        assert_eq!(Responses::new(9).read_whole(whole).unwrap(), "hi");
        for (event, broken) in [
            (
                r#"{"type":"response.failed","response":{"error":{"code":"x","message":"boom"}}}"#,
                Broken::Reported("boom".to_owned()),
            ),
            (
                r#"{"error":{"message":"agent run aborted","type":"api_error"}}"#,
                Broken::Reported("agent run aborted".to_owned()),
            ),
            (
                r#"{"type":"response.output_text.delta","delta":"0123456789"}"#,
                Broken::TooLong,
            ),
        ] {
            assert_eq!(Responses::new(9).read(event), Err(broken));
        }
        assert!(matches!(
            Responses::new(9).read("{"),
            Err(Broken::Unreadable(_))
        ));
    }
}
