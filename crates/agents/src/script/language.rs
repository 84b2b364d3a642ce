//! The scenario language: what a script can say. Only data; the interpreter takes the steps.
//!
//! Doc comments here are the descriptions in the published configuration schema.
#![doc = include_str!("language.md")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::number::{Count, Delay};
use super::part::Part;
use super::pattern::Pattern;
use super::syntax::TextOr;
use super::template::{Data, Template};

/// A scenario: steps taken from the top, for every message anew. When the last step is done and none has
/// ended the turn, the task is completed.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Steps")]
#[schemars(with = "Steps")]
pub struct Script(pub(super) Steps);

/// Steps, one after the other. A step that ends the turn must be the last.
#[derive(Debug, Clone, Default, JsonSchema)]
pub struct Steps(pub(super) Vec<Step>);

/// One step.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Says something while working: a status update.
    Say(TextOr<Content>),
    /// Waits.
    Wait(Delay),
    /// Hands over a whole artifact.
    Artifact(Artifact),
    /// Hands over a piece of an artifact; the first piece begins it, the others add to it.
    Chunk(Chunk),
    /// Takes steps again and again.
    Repeat(Repeat),
    /// Takes the steps of the first case that applies; none if no case does.
    Choose(Vec<Case>),
    /// Gives work to another agent and waits for its answer.
    Call(Call),
    /// Ends the turn: hands the whole task off to another agent. What that one makes belongs to this task as it comes, and
    /// this task ends as the delegated one does.
    #[serde(alias = "delegate", alias = "hand_on")]
    HandOff(AgentName),
    /// Ends the task: done.
    Complete(TextOr<Content>),
    /// Ends the turn: the task waits for a message.
    Ask(TextOr<Question>),
    /// Ends the turn: the task waits for credentials.
    RequireAuth(TextOr<Content>),
    /// Ends the task: refused.
    Reject(TextOr<Content>),
    /// Ends the task: failed.
    Fail(Template),
    /// Answers with a bare message instead of a task. Needs `reply: message` in the agent's profile, and must
    /// come before anything is said; otherwise it completes the task.
    Reply(TextOr<Content>),
}

/// The name of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AgentName(pub String);

/// What is said: a text, or text and parts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Content {
    /// The first part, as plain text.
    pub text: Option<Template>,
    /// Parts of any kind.
    pub parts: Vec<Part>,
    /// Metadata of the message.
    pub metadata: BTreeMap<String, Data>,
}

/// A question to the client.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Question {
    /// The question, as plain text.
    pub text: Option<Template>,
    /// Parts of any kind.
    pub parts: Vec<Part>,
    /// Metadata of the message.
    pub metadata: BTreeMap<String, Data>,
    /// Asks in a form that programs understand: sent as `inputRequest` in the message's metadata and as a data
    /// part after the text.
    pub input: Option<InputRequest>,
}

/// A question in a form that programs understand.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputRequest {
    /// What is asked for; the question's text if left out.
    pub prompt: Option<Template>,
    /// Whether the answer is secret and must not be shown.
    pub sensitive: bool,
    /// Names the request; made from task and turn if left out.
    pub id: Option<Template>,
}

/// A whole artifact.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Its name, and its id within the task: a second one of the same name replaces the first.
    pub name: Template,
    /// What it is.
    pub description: Option<Template>,
    /// The first part, as plain text.
    pub text: Option<Template>,
    /// Parts of any kind. If there is nothing to hand over, nothing is.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// Metadata of the artifact.
    #[serde(default)]
    pub metadata: BTreeMap<String, Data>,
}

/// A piece of an artifact.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// The artifact's name.
    pub name: Template,
    /// The piece, as plain text.
    pub text: Option<Template>,
    /// Parts of any kind.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// Closes the artifact. Within `repeat` it does so in the last round only.
    #[serde(default)]
    pub last: bool,
}

/// Steps to take again and again: `times` or `words`, not both.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many rounds; `{{n}}` is the number of the round.
    pub times: Option<Count>,
    /// One round for each word of this text; `{{word}}` is the word with the white space after it.
    pub words: Option<Template>,
    /// What to do in each round.
    #[serde(rename = "do")]
    pub steps: Steps,
}

/// A case of `choose`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// When it applies; always if left out.
    #[serde(default)]
    pub when: When,
    /// What to do then; nothing if left out.
    #[serde(rename = "do", default)]
    pub steps: Steps,
}

/// Conditions; all that are given must hold.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A regular expression found in the text, in upper or lower case. Its named groups are kept as
    /// `{{match.GROUP}}`.
    pub text: Option<Pattern>,
    /// How the message's id begins.
    pub message_id: Option<String>,
    /// Values in the message's metadata, or else in the request's.
    pub metadata: BTreeMap<String, Value>,
    /// The number of this message within the task: 1 is the first.
    pub turn: Option<u32>,
    /// The message has a part of this kind.
    pub part: Option<PartKind>,
    /// This message answers a question of that agent, which a `call` had passed on.
    pub answers: Option<String>,
    /// Nobody answered the last question in time, and the agent is set to go on without an answer.
    pub timed_out: Option<bool>,
}

/// What a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Plain text.
    Text,
    /// A file, inline.
    Raw,
    /// A file, by reference.
    Url,
    /// Structured data.
    Data,
}

/// Work for another agent.
///
/// What it says meanwhile is passed on as status updates. If it asks for something, the turn ends with its
/// question; in the next turn, a `call` of the same agent passes the answer on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The agent.
    pub agent: String,
    /// What the result is called in `{{call.NAME.text}}`; the agent's name if left out.
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// What to tell it; the message itself if there is neither text nor parts.
    pub text: Option<Template>,
    /// Parts of any kind.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// Metadata of the message.
    #[serde(default)]
    pub metadata: BTreeMap<String, Data>,
    /// What to do if it fails or refuses; without this the task fails too. `{{call.NAME.text}}` is the reason.
    pub failed: Option<Steps>,
}

impl Call {
    /// What the result is called.
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.agent)
    }
}
