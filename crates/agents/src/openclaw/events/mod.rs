//! What a run says, and how it ends. Pure.

use serde_json::{Map, Value, json};
use switchboard_server::agent::Said;
use switchboard_types::model::{Json, Object, Part};

use super::Tools;
use super::frame::{Answer, Heard};
use crate::fetch::quoted;

/// The most of what a tool was given or gave that is told.
const TOOL: usize = 16 << 10;
/// A reply that is told with the end of a run is cut at about this length.
const CUT: usize = 3900;

/// Something to pass on.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// More of the answer.
    Append(String),
    /// The answer is this now.
    Replace(String),
    /// A word about the work.
    Says(Said),
}

/// The answer as far as it was told.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Its pieces, with their names.
    items: Vec<(String, String)>,
    shown: String,
}

impl Told {
    /// An answer of which this was told before.
    pub(super) fn so_far(shown: String) -> Self {
        Self {
            items: Vec::new(),
            shown,
        }
    }

    /// Another run goes on with it, and begins anew.
    pub(super) fn begin_anew(&mut self) {
        self.items.clear();
    }

    /// What was told.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether more is kept of it than may be.
    pub(super) fn is_longer_than(&self, most: usize) -> bool {
        let names = self.items.iter().map(|(name, _)| name.len()).sum::<usize>();
        self.shown.len() > most || names > most
    }

    /// Takes in what a run says.
    pub(super) fn hear(&mut self, heard: &Heard, tools: Tools) -> Option<Step> {
        let data = &heard.data;
        match &*heard.stream {
            "assistant" => self.text(data),
            "tool" => tool(data, tools),
            "run_status" => progress(data),
            _ => None,
        }
    }

    /// A text is always all of its piece, so one that was missed is missed no more with the next.
    fn text(&mut self, data: &Value) -> Option<Step> {
        let text = data["text"].as_str()?;
        let item = data["itemId"].as_str().unwrap_or_default();
        if data["replace"] == true {
            self.items.clear();
        }
        match self.items.iter_mut().find(|(name, _)| name == item) {
            Some((_, known)) => text.clone_into(known),
            // It only begins.
            None if text.is_empty() && data["replace"] != true => return None,
            None if text.is_empty() => {}
            None => self.items.push((item.to_owned(), text.to_owned())),
        }
        let texts = self.items.iter().map(|(_, text)| text.as_str());
        let whole: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        self.settle(&whole.join("\n\n"))
    }

    /// The answer is `whole`: what is to be told so that it was told.
    pub(super) fn settle(&mut self, whole: &str) -> Option<Step> {
        let step = match whole.strip_prefix(self.shown.as_str()) {
            Some("") => return None,
            Some(more) => Step::Append(more.to_owned()),
            None => Step::Replace(whole.to_owned()),
        };
        whole.clone_into(&mut self.shown);
        Some(step)
    }
}

/// A tool begins or has ended.
fn tool(data: &Value, tools: Tools) -> Option<Step> {
    let phase = data["phase"].as_str()?;
    let (kind, key, value) = match phase {
        "start" => ("tool-call", "arguments", &data["args"]),
        "result" => ("tool-result", "result", &data["result"]),
        _ => return None,
    };
    if tools == Tools::Off {
        return None;
    }
    let mut told = Map::new();
    told.insert("type".to_owned(), kind.into());
    told.insert("id".to_owned(), data["toolCallId"].clone());
    told.insert("name".to_owned(), data["name"].clone());
    if phase == "result" {
        told.insert("isError".to_owned(), (data["isError"] == true).into());
    }
    if tools == Tools::Full && !value.is_null() {
        let fits = value.to_string().len() <= TOOL;
        let value = if fits {
            value.clone()
        } else {
            "too long to show".into()
        };
        told.insert(key.to_owned(), value);
    }
    let metadata = Map::from_iter([("toolCall".to_owned(), Value::Object(told.clone()))]);
    Some(Step::Says(Said {
        parts: vec![Part::data(Json::from(&Value::Object(told)))],
        metadata: Some(Object::from(&metadata)),
        ..Said::default()
    }))
}

/// How far the gateway is with it.
fn progress(data: &Value) -> Option<Step> {
    let phase = data["phase"].as_str()?;
    let said = data["message"].as_str().map(quoted);
    let said = said.unwrap_or_else(|| phase.replace('_', " "));
    let metadata = Map::from_iter([("phase".to_owned(), phase.into())]);
    Some(Step::Says(Said {
        metadata: Some(Object::from(&metadata)),
        ..Said::text(said)
    }))
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// With this answer, and what there is to tell about it.
    Done(String, Option<Value>),
    /// With an answer of which only the beginning is known.
    Cut,
    /// With a reason for the caller, as it was given: who tells it hides what is secret, and then cuts it.
    Failed(String),
    /// Before it began: its message cannot be taken any more, for this reason.
    Rejected(String),
    /// Somebody stopped it.
    Stopped,
}

/// The end that an answer to `agent` is; nothing if the run goes on.
pub(super) fn ending(answer: &Answer) -> Option<Ending> {
    let payload = &answer.payload;
    let texts = |errors: bool| -> Option<String> {
        let all = payload["result"]["payloads"].as_array()?.iter();
        let all = all.filter(|one| (one["isError"] == true) == errors);
        let all: Vec<&str> = all.filter_map(|one| one["text"].as_str()).collect();
        let text = all.join("\n\n");
        (!text.trim().is_empty()).then_some(text)
    };
    let word = |key: &str| payload[key].as_str().map(str::to_owned);
    if let Some(fault) = &answer.fault {
        let text = Some(fault.message.clone()).filter(|text| !text.is_empty());
        return Some(failed(text.or_else(|| word("summary"))));
    }
    match answer.status() {
        "accepted" | "in_flight" | "started" => None,
        "ok" => Some(match (texts(false), texts(true)) {
            (None, Some(error)) => failed(Some(error)),
            (text, _) => Ending::Done(text.unwrap_or_default(), about(payload)),
        }),
        "timeout" if payload["stopReason"].is_string() => Some(Ending::Stopped),
        "timeout" => {
            let late = || "it took longer than it may".to_owned();
            Some(failed(texts(true).or_else(|| Some(late()))))
        }
        _ => Some(failed(texts(true).or_else(|| word("summary")))),
    }
}

/// The end that an answer to `agent.wait` is; nothing if the run goes on, or is not known.
pub(super) fn waited(payload: &Value) -> Option<Ending> {
    match payload["status"].as_str()? {
        "ok" => {
            let text = payload["terminalReply"]["text"].as_str();
            Some(match text {
                Some(text) if text.len() < CUT => Ending::Done(text.to_owned(), None),
                _ => Ending::Cut,
            })
        }
        "error" if payload["stopReason"] == "rpc" => Some(Ending::Stopped),
        "error" => Some(failed(payload["error"].as_str().map(str::to_owned))),
        _ => None,
    }
}

fn failed(why: Option<String>) -> Ending {
    let why = why.unwrap_or_else(|| "no reason was given".to_owned());
    Ending::Failed(format!("the agent failed: {why}"))
}

/// What there is to tell about an answer: the same as of a model's.
fn about(payload: &Value) -> Option<Value> {
    let meta = &payload["result"]["meta"]["agentMeta"];
    let mut told = Map::new();
    if let Some(model) = meta["model"].as_str() {
        let provider = meta["provider"].as_str();
        let model = provider.map_or_else(|| model.to_owned(), |p| format!("{p}/{model}"));
        told.insert("model".to_owned(), model.into());
    }
    if let Some(usage) = meta["usage"].as_object() {
        let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        let usage = json!({
            "inputTokens": count("input"), "outputTokens": count("output"), "totalTokens": count("total"),
        });
        told.insert("usage".to_owned(), usage);
    }
    (!told.is_empty()).then_some(Value::Object(told))
}

/// What the gateway's own list of runs says of one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Row {
    Running,
    Ended(Ending),
}

/// Looks a run up in an answer to `tasks.list`.
pub(super) fn listed(payload: &Value, run: &str) -> Option<Row> {
    let rows = payload["tasks"].as_array()?;
    let row = rows.iter().find(|row| row["runId"] == run)?;
    let why = || row["error"].as_str().or(row["terminalSummary"].as_str());
    Some(match row["status"].as_str().unwrap_or_default() {
        "queued" | "running" => Row::Running,
        "completed" | "succeeded" => Row::Ended(Ending::Cut),
        "cancelled" | "canceled" => Row::Ended(Ending::Stopped),
        "timed_out" => Row::Ended(failed(Some("it took longer than it may".to_owned()))),
        _ => Row::Ended(failed(why().map(str::to_owned))),
    })
}

/// What a session's history has of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    /// Nothing: it never began.
    Nothing,
    /// The message, and no answer.
    Message,
    /// An answer.
    Answer(String),
}

/// Looks a run up in an answer to `chat.history`.
pub(super) fn written(payload: &Value, run: &str) -> Written {
    let asked = format!("{run}:user");
    let (mut begun, mut within, mut texts) = (false, false, Vec::new());
    for row in payload["messages"].as_array().into_iter().flatten() {
        let about = &row["__openclaw"];
        if row["role"] == "user" {
            within = row["idempotencyKey"] == *asked || about["idempotencyKey"] == *asked;
            begun |= within;
        } else if row["role"] == "assistant"
            && (about["runId"] == run || within && about["runId"].is_null())
        {
            begun = true;
            texts.extend(text_of(&row["content"]));
        }
    }
    match (texts.is_empty(), begun) {
        (false, _) => Written::Answer(texts.join("\n\n").trim_end().to_owned()),
        (true, true) => Written::Message,
        (true, false) => Written::Nothing,
    }
}

/// The run by which a gateway that was started anew goes on with one that it had cut off, if it has begun that.
pub(super) fn successor(payload: &Value, run: &str) -> Option<String> {
    let asked = format!("{run}:user");
    let rows = payload["messages"].as_array()?.iter();
    let mut after = rows
        .skip_while(|row| row["idempotencyKey"] != *asked)
        .skip(1);
    // What comes after the next message goes on with that one.
    let next = after.find(|row| row["role"] == "user")?;
    let goes_on = next["provenance"]["sourceTool"] == "main_session_restart_recovery";
    let key = next["idempotencyKey"].as_str().filter(|_| goes_on);
    key?.strip_suffix(":user").map(str::to_owned)
}

fn text_of(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        content => {
            let parts = content
                .as_array()?
                .iter()
                .filter(|part| part["type"] == "text");
            parts.filter_map(|part| part["text"].as_str()).collect()
        }
    };
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;
