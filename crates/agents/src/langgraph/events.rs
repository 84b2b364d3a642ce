//! What the server says, as what our agent says. Pure.
//!
//! While it works the server tells all of the text so far, each time. Its last word is not always true: a run that was
//! canceled is told as completed with an empty answer, and releases before 0.7.12 tell a question as an answer. So an end
//! may be [`Ending::Unsure`], and then the run and the state of its thread decide ([`settled`]).

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_server::agent::Said;
use switchboard_server::task::question_data;
use switchboard_types::model::{
    Artifact, Content, Event, Json, Message, Part, Task, TaskId, TaskState, TaskStatus,
};

/// The name of the artifact that is a question.
const INTERRUPT: &str = "Interrupt";

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The task is known.
    Task(TaskId),
    /// All that was said so far.
    Text(String),
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Answer(Vec<Part>),
    Asks(Vec<Interrupt>),
    Failed(String),
    Canceled,
    /// It may be another end than the one that was told.
    Unsure,
}

/// A question of a graph.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Interrupt {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) value: Value,
}

/// A task of the server, as far as it was told.
#[derive(Debug, Default)]
pub(super) struct Heard {
    answer: Vec<Part>,
    interrupts: Vec<Interrupt>,
    /// What it says of its ends cannot be believed.
    is_old: bool,
}

impl Heard {
    /// Takes an event in: what happened, and the end, if it is one.
    pub(super) fn hear(&mut self, event: &Event) -> (Option<Step>, Option<Ending>) {
        match event {
            Event::Task(task) => {
                self.is_old = is_old(&task.id);
                task.artifacts
                    .iter()
                    .for_each(|artifact| self.keep(artifact));
                (Some(Step::Task(task.id.clone())), self.end(&task.status))
            }
            Event::Status(update) => {
                let end = self.end(&update.status);
                let said = update.status.message.as_deref().map(Message::text);
                let said = said.filter(|text| end.is_none() && !text.is_empty());
                (said.map(Step::Text), end)
            }
            Event::Artifact(update) => {
                self.keep(&update.artifact);
                (None, None)
            }
            Event::Message(message) => (None, Some(Ending::Answer(message.parts.clone()))),
        }
    }

    fn keep(&mut self, artifact: &Artifact) {
        if artifact.name.as_deref() == Some(INTERRUPT) {
            let asked = artifact
                .parts
                .iter()
                .filter_map(|part| match &part.content {
                    Content::Data(data) => data.read(),
                    Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
                });
            self.interrupts = asked.collect();
        } else {
            self.answer.clone_from(&artifact.parts);
        }
    }

    fn end(&mut self, status: &TaskStatus) -> Option<Ending> {
        let text = || status.message.as_deref().map(Message::text);
        match status.state {
            TaskState::Submitted | TaskState::Working | TaskState::Unknown => None,
            TaskState::Completed => {
                let says = |part: &Part| part.as_text() != Some("");
                let sure = !self.is_old && self.answer.iter().any(says);
                Some(match sure {
                    true => Ending::Answer(std::mem::take(&mut self.answer)),
                    false => Ending::Unsure,
                })
            }
            TaskState::InputRequired if !self.interrupts.is_empty() => {
                Some(Ending::Asks(std::mem::take(&mut self.interrupts)))
            }
            TaskState::InputRequired => Some(Ending::Unsure),
            TaskState::Canceled => Some(Ending::Canceled),
            // A run that was canceled is told as one that failed by 0.6.
            TaskState::Failed if self.is_old => Some(Ending::Unsure),
            TaskState::Failed | TaskState::Rejected | TaskState::AuthRequired => {
                Some(Ending::Failed(text().unwrap_or_default()))
            }
        }
    }
}

/// Whether a task is one of a release before 0.7.12: there it is called by its run alone.
pub(super) fn is_old(task: &TaskId) -> bool {
    !task.as_str().contains(':')
}

/// The run that a task began with.
pub(super) fn run_of(task: &TaskId) -> &str {
    let task = task.as_str();
    task.rsplit_once(':').map_or(task, |(_, run)| run)
}

/// One run of a graph, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Run {
    pub(super) run_id: String,
    pub(super) status: String,
    #[serde(default)]
    kwargs: Value,
}

/// What a run was begun with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Begun {
    /// A message: its id, and its text, since old releases do not keep the id.
    Message(String, String),
    /// Data alone: what it sets.
    Data(Map<String, Value>),
    /// An answer to a question.
    Resume(Value),
}

impl Run {
    /// Whether the release keeps the ids of messages, and calls its tasks by thread and run.
    pub(super) fn is_old(&self) -> bool {
        self.kwargs["input"]["messages"][0]["id"].is_null()
    }

    pub(super) fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "pending" | "running")
    }

    fn was_begun_with(&self, begun: &Begun) -> bool {
        let command = &self.kwargs["command"]["resume"];
        match begun {
            Begun::Resume(value) => command == value,
            Begun::Data(state) => {
                let input = &self.kwargs["input"];
                let told = input["messages"].as_array().is_some_and(|m| !m.is_empty());
                !told && state.iter().all(|(key, value)| &input[key] == value)
            }
            Begun::Message(id, text) => {
                let messages = self.kwargs["input"]["messages"].as_array();
                messages
                    .into_iter()
                    .flatten()
                    .any(|message| match message["id"].as_str() {
                        Some(known) => known == id,
                        None => command.is_null() && message["content"] == text.as_str(),
                    })
            }
        }
    }
}

/// The run that was begun so, among those that came after the run `seen`. `runs` has the newest first.
pub(super) fn found<'a>(runs: &'a [Run], seen: Option<&str>, begun: &Begun) -> Option<&'a Run> {
    let since = runs
        .iter()
        .take_while(|run| Some(run.run_id.as_str()) != seen);
    let mut same = since.filter(|run| run.was_begun_with(begun));
    same.next()
}

/// The state of a thread.
#[derive(Debug, Default, Deserialize)]
pub(super) struct State {
    #[serde(default)]
    values: Value,
    #[serde(default)]
    interrupts: Vec<Interrupt>,
    #[serde(default)]
    tasks: Vec<Waiting>,
    #[serde(default)]
    metadata: Value,
}

#[derive(Debug, Deserialize)]
struct Waiting {
    #[serde(default)]
    interrupts: Vec<Interrupt>,
}

impl State {
    /// Whether something is asked, and by one of these runs: another one may have gone on from there.
    pub(super) fn is_asked_by(&self, runs: &[Option<&str>]) -> bool {
        let last = self.metadata["run_id"].as_str();
        let waiting = self.tasks.iter().any(|task| !task.interrupts.is_empty());
        let asks = waiting || !self.interrupts.is_empty();
        asks && (last.is_none() || runs.contains(&last))
    }
}

/// How a run has ended that was begun with the message `id`, by the state of its thread.
pub(super) fn settled(run: &Run, state: State, id: Option<&str>) -> Ending {
    match run.status.as_str() {
        "success" => {}
        "interrupted" => return Ending::Canceled,
        "timeout" => return Ending::Failed("it took too long".to_owned()),
        _ => return Ending::Failed(String::new()),
    }
    if state.is_asked_by(&[Some(&run.run_id)]) {
        let mut asked = state.interrupts;
        if asked.is_empty() {
            asked = state.tasks.into_iter().flat_map(|t| t.interrupts).collect();
        }
        return Ending::Asks(asked);
    }
    Ending::Answer(said_last(&state.values, id))
}

/// The last words of the graph after the message `id`, or after the last one that it was told.
fn said_last(values: &Value, id: Option<&str>) -> Vec<Part> {
    let Some(messages) = values["messages"].as_array() else {
        // A graph that knows no messages: its state is the answer.
        let empty = values.as_object().is_none_or(Map::is_empty);
        return match empty {
            true => Vec::new(),
            false => vec![Part::data(Json::from(values))],
        };
    };
    let is_told = |message: &Value| message["type"] == "human";
    let ours = messages
        .iter()
        .rposition(|m| is_told(m) && id.is_some() && m["id"].as_str() == id);
    let ours = ours.or_else(|| messages.iter().rposition(is_told));
    let after = &messages[ours.map_or(0, |at| at + 1)..];
    let until = after.iter().position(is_told).unwrap_or(after.len());
    let mut answers = after[..until].iter().rev();
    let is_said = |m: &&Value| {
        m["type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("ai") || kind.starts_with("AI"))
    };
    let last = answers.find(|m| is_said(m) && m["content"] != "" && m["content"] != json!([]));
    last.map(|message| content(&message["content"]))
        .unwrap_or_default()
}

/// The content of a message: a text, or blocks.
fn content(content: &Value) -> Vec<Part> {
    if let Some(text) = content.as_str() {
        return vec![Part::text(text)];
    }
    let blocks = content.as_array();
    blocks.into_iter().flatten().filter_map(block).collect()
}

fn block(block: &Value) -> Option<Part> {
    use base64::Engine as _;
    if let Some(text) = block.as_str().or_else(|| block["text"].as_str()) {
        return Some(Part::text(text));
    }
    let held = match (block["base64"].as_str(), block["url"].as_str()) {
        (Some(text), _) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            Content::Raw(bytes.ok()?.into())
        }
        (None, Some(url)) => Content::Url(url.to_owned()),
        (None, None) => return None,
    };
    Some(Part {
        media_type: block["mime_type"].as_str().map(str::to_owned),
        ..Part::new(held)
    })
}

/// Questions, for people and for programs.
pub(super) fn question(interrupts: &[Interrupt]) -> Said {
    let texts: Vec<String> = interrupts.iter().map(|i| worded(&i.value)).collect();
    let each = interrupts
        .iter()
        .map(|asked| json!({"id": asked.id, "value": asked.value}));
    let each = json!({"interrupts": each.collect::<Vec<_>>()});
    Said {
        parts: vec![
            Part::text(texts.join("\n")),
            question_data(Json::from(&each)),
        ],
        ..Said::default()
    }
}

/// The words of a question, wherever the graph has put them.
fn worded(value: &Value) -> String {
    const WORDS: [&str; 5] = ["question", "message", "prompt", "text", "description"];
    let within = WORDS.iter().find_map(|key| value.get(*key)?.as_str());
    let text = value.as_str().or(within);
    text.map_or_else(|| value.to_string(), str::to_owned)
}

/// What our task has of an answer.
pub(super) fn told(task: &Task, name: &str) -> Option<String> {
    let artifact = task.artifacts.iter().find(|a| a.id.as_str() == name)?;
    Some(artifact.parts.iter().filter_map(Part::as_text).collect())
}
