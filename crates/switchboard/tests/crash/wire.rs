//! The three ways the clients speak: JSON-RPC 0.3, JSON-RPC 1.0 and REST 1.0.

use std::fmt;

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

/// A way to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Rpc03,
    Rpc10,
    Rest10,
}

impl Dialect {
    pub(crate) const ALL: [Self; 3] = [Self::Rpc03, Self::Rpc10, Self::Rest10];
}

/// A message to be sent, again and again until it is acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Sending {
    pub(crate) agent: &'static str,
    pub(crate) message: String,
    pub(crate) text: String,
    /// The task it goes on with.
    pub(crate) task: Option<String>,
    pub(crate) key: String,
    pub(crate) webhook: Option<String>,
    pub(crate) at_once: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server was not there, or went away.
    Cut,
    /// It says that it cannot right now.
    Unavailable,
    /// The task is over already.
    NotCancelable,
    /// It does not do that, for the task is over.
    Unsupported(String),
    /// It says anything else, or nothing for too long: always a fault.
    Wrong(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("the server went away"),
            Self::Unavailable => f.write_str("unavailable"),
            Self::NotCancelable => f.write_str("not cancelable"),
            Self::Unsupported(text) | Self::Wrong(text) => f.write_str(text),
        }
    }
}

/// A line to the server, spoken in one way.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) dialect: Dialect,
}

impl Line {
    /// A message; `stream` follows what comes of it.
    pub(crate) fn send(&self, sending: &Sending, stream: bool) -> RequestBuilder {
        let params = match self.dialect {
            Dialect::Rpc03 => json!({
                "message": {
                    "kind": "message", "messageId": sending.message, "role": "user",
                    "taskId": sending.task, "parts": [{"kind": "text", "text": sending.text}],
                },
                "configuration": {
                    "blocking": !sending.at_once,
                    "pushNotificationConfig": sending.webhook.as_ref().map(|url| json!({"url": url})),
                },
            }),
            Dialect::Rpc10 | Dialect::Rest10 => json!({
                "message": {
                    "messageId": sending.message, "role": "ROLE_USER",
                    "taskId": sending.task, "parts": [{"text": sending.text}],
                },
                "configuration": {
                    "returnImmediately": sending.at_once,
                    "taskPushNotificationConfig":
                        sending.webhook.as_ref().map(|url| json!({"url": url})),
                },
            }),
        };
        let params = without_nulls(params);
        let request = match (self.dialect, stream) {
            (Dialect::Rpc03, false) => self.rpc(sending.agent, "message/send", &params),
            (Dialect::Rpc03, true) => self.rpc(sending.agent, "message/stream", &params),
            (Dialect::Rpc10, false) => self.rpc(sending.agent, "SendMessage", &params),
            (Dialect::Rpc10, true) => self.rpc(sending.agent, "SendStreamingMessage", &params),
            (Dialect::Rest10, false) => self.post(sending.agent, "message:send").json(&params),
            (Dialect::Rest10, true) => self.post(sending.agent, "message:stream").json(&params),
        };
        request.header("Idempotency-Key", &sending.key)
    }

    /// Follows a task, from the event after `last` or from now on.
    pub(crate) fn subscribe(&self, agent: &str, task: &str, last: Option<u64>) -> RequestBuilder {
        let params = json!({"id": task});
        let request = match self.dialect {
            Dialect::Rpc03 => self.rpc(agent, "tasks/resubscribe", &params),
            Dialect::Rpc10 => self.rpc(agent, "SubscribeToTask", &params),
            Dialect::Rest10 => self.post(agent, &format!("tasks/{task}:subscribe")),
        };
        match last {
            Some(last) => request.header("Last-Event-ID", last.to_string()),
            None => request,
        }
    }

    pub(crate) fn get(&self, agent: &str, task: &str) -> RequestBuilder {
        let params = json!({"id": task});
        match self.dialect {
            Dialect::Rpc03 => self.rpc(agent, "tasks/get", &params),
            Dialect::Rpc10 => self.rpc(agent, "GetTask", &params),
            Dialect::Rest10 => {
                let url = format!("{}/a2a/{agent}/tasks/{task}", self.base);
                self.http.get(url).header("A2A-Version", "1.0")
            }
        }
    }

    pub(crate) fn cancel(&self, agent: &str, task: &str) -> RequestBuilder {
        let params = json!({"id": task});
        match self.dialect {
            Dialect::Rpc03 => self.rpc(agent, "tasks/cancel", &params),
            Dialect::Rpc10 => self.rpc(agent, "CancelTask", &params),
            Dialect::Rest10 => self.post(agent, &format!("tasks/{task}:cancel")),
        }
    }

    /// A page of an agent's tasks; in 1.0.
    pub(crate) fn list(&self, agent: &str, token: &str) -> RequestBuilder {
        let params = json!({"pageSize": 100, "pageToken": token, "historyLength": 100});
        self.rpc(agent, "ListTasks", &params)
    }

    fn rpc(&self, agent: &str, method: &str, params: &Value) -> RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": "c", "method": method, "params": params});
        let request = self.http.post(format!("{}/a2a/{agent}", self.base));
        let version = match self.dialect {
            Dialect::Rpc03 => "0.3",
            Dialect::Rpc10 | Dialect::Rest10 => "1.0",
        };
        request.header("A2A-Version", version).json(&body)
    }

    fn post(&self, agent: &str, path: &str) -> RequestBuilder {
        let url = format!("{}/a2a/{agent}/{path}", self.base);
        self.http.post(url).header("A2A-Version", "1.0")
    }
}

/// What is in an answer: the result, or what it says is wrong.
pub(crate) fn read(body: &str) -> Result<Value, Trouble> {
    let Ok(mut value) = serde_json::from_str::<Value>(body) else {
        return Err(Trouble::Wrong(format!("not JSON: {body:?}")));
    };
    if let Some(error) = value.get("error") {
        return Err(refusal(error, body));
    }
    let result = value.get_mut("result").map(Value::take);
    let value = result.unwrap_or(value);
    Ok(match value.get("task") {
        Some(task) => task.clone(),
        None => value,
    })
}

fn refusal(error: &Value, body: &str) -> Trouble {
    match error["code"].as_i64() {
        Some(-32058 | 503) => Trouble::Unavailable,
        Some(-32002) => Trouble::NotCancelable,
        Some(-32004) => Trouble::Unsupported(body.to_owned()),
        _ if body.contains("TASK_NOT_CANCELABLE") => Trouble::NotCancelable,
        _ if body.contains("UNSUPPORTED_OPERATION") => Trouble::Unsupported(body.to_owned()),
        _ => Trouble::Wrong(body.to_owned()),
    }
}

/// What a failed request means.
pub(crate) fn trouble(error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        return Trouble::Wrong(format!("no answer in time: {error:?}"));
    }
    Trouble::Cut
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) seq: u64,
    pub(crate) data: String,
    pub(crate) task: String,
    /// What the task is from here on, if the event says so.
    pub(crate) state: Option<String>,
    /// It holds the whole task.
    pub(crate) whole: bool,
}

/// Reads a stream event by event.
pub(crate) struct Events {
    response: Response,
    buffer: Vec<u8>,
}

impl Events {
    pub(crate) fn new(response: Response) -> Self {
        Self {
            response,
            buffer: Vec::new(),
        }
    }

    /// The next event; `None` if the stream was closed or cut off. Half an event is none.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Trouble> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\n\n");
            if let Some(end) = end {
                let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(event) = event(&String::from_utf8_lossy(&frame))? {
                    return Ok(Some(event));
                }
                continue;
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                Ok(None) => return Ok(None),
                Err(error) => {
                    return match trouble(&error) {
                        Trouble::Cut => Ok(None),
                        other => Err(other),
                    };
                }
            }
        }
    }
}

/// One frame; comments are no events.
fn event(frame: &str) -> Result<Option<Event>, Trouble> {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
    let Some(data) = field("data: ") else {
        return Ok(None);
    };
    let wrong = || Trouble::Wrong(format!("not an event: {frame:?}"));
    let mut value: Value = serde_json::from_str(data).map_err(|_| wrong())?;
    if let Some(error) = value.get("error") {
        return Err(refusal(error, data));
    }
    if let Some(result) = value.get_mut("result") {
        value = result.take();
    }
    let whole = value.get("task").is_some() || value["kind"] == "task";
    let names = ["task", "statusUpdate", "artifactUpdate"];
    let inner = names.iter().find_map(|name| value.get(name));
    let inner = inner.unwrap_or(&value);
    let id = if whole { "id" } else { "taskId" };
    Ok(Some(Event {
        seq: field("id: ")
            .and_then(|id| id.parse().ok())
            .ok_or_else(wrong)?,
        data: data.to_owned(),
        task: inner[id].as_str().ok_or_else(wrong)?.to_owned(),
        state: inner.get("status").map(|_| state(inner)),
        whole,
    }))
}

/// The state of a task, by its plain name.
pub(crate) fn state(task: &Value) -> String {
    let name = task["status"]["state"].as_str().unwrap_or_default();
    let name = name.strip_prefix("TASK_STATE_").unwrap_or(name);
    name.to_ascii_lowercase().replace('_', "-")
}

/// Whether nothing follows this state.
pub(crate) fn is_over(state: &str) -> bool {
    matches!(state, "completed" | "failed" | "canceled" | "rejected")
}

/// The text of an object with `parts`.
pub(crate) fn text(object: &Value) -> String {
    let parts = object["parts"].as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect()
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, v)| !v.is_null());
            Value::Object(kept.map(|(k, v)| (k, without_nulls(v))).collect())
        }
        other => other,
    }
}
