//! Messages as a command is told them, and lines as it says them. Pure.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_server::agent::{AgentError, Outcome, Said, Turn};
use switchboard_types::model::{
    Artifact, ArtifactId, Content, ContextId, Json, Message, Part, Role, Task,
};

use super::OUTPUT;

/// The largest message that stands in a variable.
const VARIABLE: usize = 64 << 10;

/// The variable that names the task. By it a process is known that outlived a crash of ours.
pub(super) const TASK: &str = "SWITCHBOARD_TASK_ID";

/// What a command is told.
#[derive(Debug)]
pub(super) struct Speech<'a> {
    agent: &'a str,
    task: &'a Task,
    /// A name for the context that no other caller can choose: a command that keeps something for it is not to mix up
    /// those of two callers.
    session: ContextId,
    message: &'a Message,
    history: Vec<&'a Arc<Message>>,
}

impl<'a> Speech<'a> {
    pub(super) fn of(turn: &'a Turn) -> Self {
        Self {
            agent: turn.agent(),
            task: &turn.task,
            session: turn.own_context(),
            message: &turn.message,
            history: turn.history_before().collect(),
        }
    }

    /// The text of the message; `None` if there is more to it.
    pub(super) fn text(&self) -> Option<String> {
        let texts = self.message.parts.iter().map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            Content::Data(data) => Some(data.as_str()),
            Content::Raw(_) | Content::Url(_) => None,
        });
        let texts: Option<Vec<&str>> = texts.collect();
        texts.map(|texts| texts.join("\n"))
    }

    /// The line that a command reads.
    pub(super) fn line(&self) -> String {
        let history: Vec<Value> = self
            .history
            .iter()
            .map(|message| json!({ "role": role(message), "text": message.text() }))
            .collect();
        let line = json!({
            "type": "message",
            "taskId": self.task.id.as_str(),
            "contextId": self.task.context_id.as_str(),
            "sessionId": self.session.as_str(),
            "agent": self.agent,
            "text": self.message.text(),
            "message": told(self.message),
            "history": history,
        });
        format!("{line}\n")
    }

    /// The variables that say what it is about.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            (TASK, self.task.id.to_string()),
            ("SWITCHBOARD_CONTEXT_ID", self.task.context_id.to_string()),
            ("SWITCHBOARD_SESSION_ID", self.session.to_string()),
            ("SWITCHBOARD_AGENT", self.agent.to_owned()),
        ];
        let message = told(self.message).to_string();
        if message.len() <= VARIABLE {
            variables.push(("SWITCHBOARD_MESSAGE", message));
        }
        variables
    }
}

fn role(message: &Message) -> &'static str {
    match message.role {
        Role::User => "user",
        Role::Agent => "agent",
    }
}

fn told(message: &Message) -> Value {
    let mut told = Map::new();
    told.insert("messageId".to_owned(), message.id.as_str().into());
    told.insert("role".to_owned(), role(message).into());
    let parts: Vec<Value> = message.parts.iter().map(told_part).collect();
    told.insert("parts".to_owned(), parts.into());
    if let Some(metadata) = &message.metadata {
        told.insert("metadata".to_owned(), free(metadata.as_json()));
    }
    told.into()
}

fn told_part(part: &Part) -> Value {
    let mut told = Map::new();
    let (name, value) = match &part.content {
        Content::Text(text) => ("text", text.as_str().into()),
        Content::Raw(bytes) => ("raw", BASE64_STANDARD.encode(bytes).into()),
        Content::Url(url) => ("url", url.as_str().into()),
        Content::Data(data) => ("data", free(data)),
    };
    told.insert(name.to_owned(), value);
    for (name, value) in [
        ("mediaType", &part.media_type),
        ("filename", &part.filename),
    ] {
        if let Some(value) = value {
            told.insert(name.to_owned(), value.as_str().into());
        }
    }
    told.into()
}

fn free(json: &Json) -> Value {
    json.read().unwrap_or_default()
}

/// What a command says.
#[derive(Debug)]
pub(super) enum Line {
    Blank,
    Status(String),
    Artifact {
        artifact: Artifact,
        append: bool,
        last: bool,
    },
    /// How the turn ends.
    End(Result<Outcome, AgentError>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Spoken {
    Status {
        text: String,
    },
    Artifact {
        #[serde(default)]
        id: Option<String>,
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        parts: Vec<SpokenPart>,
        #[serde(default)]
        append: bool,
        #[serde(default)]
        last: Option<bool>,
    },
    Ask {
        text: String,
    },
    Fail {
        text: String,
    },
    Done {
        #[serde(default)]
        text: Option<String>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpokenPart {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    raw: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    data: Option<Value>,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    filename: Option<String>,
}

/// Reads a line; or says why it is none.
pub(super) fn read(line: &str) -> Result<Line, String> {
    if line.trim().is_empty() {
        return Ok(Line::Blank);
    }
    // Only what may be passed on: neither too deep nor half a character.
    let known = Json::parse_answer(line.trim()).and_then(|json| {
        let is_object = json.is_object().then_some(json);
        is_object.ok_or(switchboard_types::model::InvalidJson::NotAnObject)
    });
    let json = known.map_err(|why| why.to_string())?;
    let spoken = serde_json::from_str(json.as_str()).map_err(|error| error.to_string());
    match spoken.map_err(|error| format!("is invalid: {error}"))? {
        Spoken::Status { text } => Ok(Line::Status(text)),
        Spoken::Artifact {
            id,
            name,
            text,
            parts,
            append,
            last,
        } => {
            let id = ArtifactId::new(id.unwrap_or_else(|| OUTPUT.to_owned()));
            let id = id.map_err(|error| format!("has an invalid id: {error}"))?;
            let text = text.map(|text| Ok(Part::text(text)));
            let parts = parts.into_iter().map(part);
            let parts: Vec<Part> = text.into_iter().chain(parts).collect::<Result<_, _>>()?;
            if parts.is_empty() {
                return Err("is an artifact without text or parts".to_owned());
            }
            Ok(Line::Artifact {
                artifact: Artifact {
                    name,
                    ..Artifact::new(id, parts)
                },
                append,
                last: last.unwrap_or(true),
            })
        }
        Spoken::Ask { text } => Ok(Line::End(Ok(Outcome::InputRequired(Said::text(text))))),
        Spoken::Fail { text } => Ok(Line::End(Err(AgentError::new(text)))),
        Spoken::Done { text } => {
            let said = text.map_or_else(Said::default, Said::text);
            Ok(Line::End(Ok(Outcome::Completed(said))))
        }
    }
}

fn part(spoken: SpokenPart) -> Result<Part, String> {
    let content = match (spoken.text, spoken.raw, spoken.url, spoken.data) {
        (Some(text), None, None, None) => Content::Text(text.into()),
        (None, Some(raw), None, None) => match BASE64_STANDARD.decode(raw) {
            Ok(bytes) => Content::Raw(bytes.into()),
            Err(_) => return Err("has a part with invalid base64".to_owned()),
        },
        (None, None, Some(url), None) => Content::Url(url),
        (None, None, None, Some(data)) => Content::Data(Json::from(&data)),
        _ => return Err("has a part with not exactly one of text, raw, url and data".to_owned()),
    };
    Ok(Part {
        media_type: spoken.media_type,
        filename: spoken.filename,
        ..Part::new(content)
    })
}
