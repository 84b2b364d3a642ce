//! Which tools a run uses, for whoever runs the agent: names and times, and nothing of what they are given or give.

use std::collections::HashMap;

use serde_json::{Value, json};
use switchboard_server::agent::Progress;
use tokio::time::Instant;

use super::frame::Heard;

/// How many may be in use at once, as far as it is told.
const AT_ONCE: usize = 64;
/// The longest name that is told.
const LONGEST: usize = 100;

/// The tools that are in use.
#[derive(Debug, Default)]
pub(super) struct Tools(HashMap<String, Instant>);

impl Tools {
    /// Takes in what a run says of a tool, and tells it once that has ended.
    pub(super) fn hear(&mut self, heard: &Heard, progress: &Progress) {
        if let Some(ended) = self.ended(heard) {
            progress.operator_note("tool-call", ended);
        }
    }

    fn ended(&mut self, heard: &Heard) -> Option<Value> {
        if heard.stream != "tool" {
            return None;
        }
        let word = |key: &str| heard.data[key].as_str();
        let id: String = word("toolCallId")?.chars().take(LONGEST).collect();
        match word("phase")? {
            "start" if self.0.len() < AT_ONCE => {
                self.0.insert(id, Instant::now());
                None
            }
            "result" => {
                let name: String = word("name")?.chars().take(LONGEST).collect();
                let mut told = json!({ "name": name });
                if let Some(began) = self.0.remove(&id) {
                    told["durationMs"] = u64::try_from(began.elapsed().as_millis()).ok()?.into();
                }
                if heard.data["isError"] == true {
                    told["error"] = "the tool failed".into();
                }
                Some(told)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tool(data: Value) -> Heard {
        Heard {
            stream: "tool".to_owned(),
            data,
            size: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_is_told_by_its_name_and_time() {
        let mut tools = Tools::default();
        let start = |id: usize| json!({"phase": "start", "name": "exec", "toolCallId": id.to_string(), "args": {"command": "cat key"}});
        assert_eq!(tools.ended(&tool(start(1))), None);
        tokio::time::advance(Duration::from_millis(70)).await;
        let mut result = json!({"phase": "result", "name": "exec", "toolCallId": "1", "isError": false, "result": "s3cr3t"});
        let told = json!({"name": "exec", "durationMs": 70});
        assert_eq!(tools.ended(&tool(result.clone())), Some(told));
        // Of one that was missed, there is less to tell.
        result["isError"] = true.into();
        let told = json!({"name": "exec", "error": "the tool failed"});
        assert_eq!(tools.ended(&tool(result)), Some(told));
        for id in 0..1000 {
            assert_eq!(tools.ended(&tool(start(id))), None);
        }
        assert_eq!(tools.0.len(), AT_ONCE);
    }
}
