//! How scripts behave, with effects and peers that write down what they are asked for.

mod builtins;
mod calls;
mod handoffs;
mod loading;
mod secrets;
mod steps;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::call::ServiceParams;
use switchboard_server::hops::Hop;
use switchboard_types::Error;
use switchboard_types::model::{
    Artifact, ArtifactUpdate, Content, ContextId, Event, Message, MessageId, Object, Part, Role,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus,
};
use switchboard_types::operation::{Operation, Response, TaskView};
use tokio_util::sync::CancellationToken;

use super::Script;
use super::run::Run;
use super::scope::Scope;
use crate::delegate::effects::{Effects, Emitter};
use crate::delegate::peers::{EventSource, PeerReply, Peers};
use crate::delegate::{Aliases, Delegation, Delegations, RelayedQuestion, TurnInput};

/// What came of a run: its events, and how it ended, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Played {
    events: Vec<String>,
    end: String,
    /// How long it took.
    took: Duration,
}

/// A turn to play.
#[derive(Debug, Clone)]
struct Play {
    script: Script,
    message: Message,
    /// The message is a secret: the history shows only that it came.
    secret: bool,
    timed_out: bool,
    /// What was said in the task before.
    history: Vec<Message>,
    metadata: Option<Object>,
    earlier: Vec<String>,
    emitted: u64,
    canceled: CancellationToken,
    agents: Arc<Agents>,
    aliases: Aliases,
}

fn script(yaml: &str) -> Play {
    Play::new(Script::parse(yaml).unwrap())
}

impl Play {
    fn new(script: Script) -> Self {
        Self {
            script,
            message: user("m1", vec![Part::text("hello there")]),
            secret: false,
            timed_out: false,
            history: Vec::new(),
            metadata: None,
            earlier: Vec::new(),
            emitted: 0,
            canceled: CancellationToken::new(),
            agents: Arc::default(),
            aliases: Aliases::default(),
        }
    }

    /// Not everyone may know of that agent.
    fn hiding(mut self, name: &str) -> Self {
        self.aliases = Aliases([(name.to_owned(), "#1".to_owned())].into());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.message.parts = vec![Part::text(text)];
        self
    }

    fn parts(mut self, parts: Vec<Part>) -> Self {
        self.message.parts = parts;
        self
    }

    fn id(mut self, id: &str) -> Self {
        self.message.id = MessageId::new(id).unwrap();
        self
    }

    fn after(mut self, history: Vec<Message>) -> Self {
        self.history = history;
        self.message.id = MessageId::new(format!("m{}", self.history.len() + 1)).unwrap();
        self
    }

    fn emitted(mut self, emitted: u64) -> Self {
        self.emitted = emitted;
        self
    }

    fn agents(mut self, agents: Agents) -> Self {
        self.agents = Arc::new(agents);
        self
    }

    fn delegations<'a>(&'a self, effects: &'a dyn Effects, task: &'a Task) -> Delegations<'a> {
        Delegations {
            emitter: Emitter::new(effects, self.emitted, true),
            peers: &*self.agents,
            task,
            hop: Hop::new(|| "desk@here".into()),
            aliases: self.aliases.clone(),
            canceled: &self.canceled,
            ledger: tokio::sync::Mutex::default(),
            references: tokio::sync::Mutex::default(),
        }
    }

    /// The message, as the engine gives it to a turn.
    fn input(&self) -> TurnInput {
        let question = self.history.last().and_then(RelayedQuestion::of);
        let question = question.map(|question| question.resolve(None, &self.aliases));
        let received = self.history.iter().filter(|m| m.role == Role::User);
        let message = Arc::new(self.message.clone());
        let public = received.clone().next_back().filter(|_| self.secret);
        TurnInput {
            last_public: public.map_or_else(|| Arc::clone(&message), |m| Arc::new(m.clone())),
            received: message,
            turn: u32::try_from(received.count() + 1).unwrap(),
            is_secret: self.secret,
            timed_out: self.timed_out,
            question,
        }
    }

    async fn run(&self) -> Played {
        let mut history = self.history.clone();
        history.push(match self.secret {
            true => redacted(&self.message),
            false => self.message.clone(),
        });
        let task = task("t1", TaskState::Working, history);
        let scope = Scope {
            earlier: self.earlier.clone(),
            ..Scope::new(&task, self.input(), self.metadata.clone())
        };
        let recorder = Recorder::default();
        let delegations = self.delegations(&recorder, &task);
        let begin = tokio::time::Instant::now();
        let outcome = Run::new(delegations, scope).script(&self.script).await;
        let events = recorder.0.into_inner();
        Played {
            events,
            end: ended(outcome),
            took: begin.elapsed(),
        }
    }

    /// Wherever the run is cut off, the rest is what would have come anyway.
    async fn resumes_anywhere(&self) {
        let whole = self.run().await;
        for n in 0..=whole.events.len() {
            let rest = self.clone().emitted(n as u64).run().await;
            assert_eq!(rest.events, whole.events[n..], "cut off after {n} events");
            assert_eq!(rest.end, whole.end, "cut off after {n} events");
        }
    }
}

fn ended(outcome: Result<Outcome, AgentError>) -> String {
    let (name, said) = match outcome {
        Ok(Outcome::Completed(said)) => ("completed", said),
        Ok(Outcome::InputRequired(said)) => ("input-required", said),
        Ok(Outcome::AuthRequired(said)) => ("auth-required", said),
        Ok(Outcome::Rejected(said)) => ("rejected", said),
        Ok(Outcome::Reply(said)) => ("reply", said),
        Err(error) => return format!("failed: {error}"),
    };
    spell(name, &said)
}

fn spell(name: &str, said: &Said) -> String {
    let mut out = name.to_owned();
    if !said.parts.is_empty() {
        out += ": ";
        out += &content(&said.parts);
    }
    if let Some(metadata) = &said.message_metadata {
        out += &format!(" #{metadata:?}");
    }
    out
}

fn content(parts: &[Part]) -> String {
    let spelled = parts.iter().map(|part| {
        let content = match &part.content {
            Content::Text(text) => text.to_string(),
            Content::Raw(bytes) => format!("raw({})", String::from_utf8_lossy(bytes)),
            Content::Url(url) => format!("url({url})"),
            Content::Data(data) => data.as_str().to_owned(),
        };
        let media_type = part.media_type.iter().map(|t| format!(" {t}"));
        let filename = part.filename.iter().map(|f| format!(" {f}"));
        let beside: String = media_type.chain(filename).collect();
        content + &beside
    });
    spelled.collect::<Vec<_>>().join(" + ")
}

fn user(id: &str, parts: Vec<Part>) -> Message {
    Message::new(MessageId::new(id).unwrap(), Role::User, parts)
}

/// What the history shows of a secret.
fn redacted(message: &Message) -> Message {
    Message {
        parts: vec![Part::text("[redacted]")],
        metadata: Some(object(&json!({"switchboard/redacted": true}))),
        ..message.clone()
    }
}

fn object(value: &Value) -> Object {
    Object::from(value.as_object().unwrap())
}

fn task(id: &str, state: TaskState, history: Vec<Message>) -> Task {
    Task {
        id: TaskId::new(id).unwrap(),
        context_id: ContextId::new("c1").unwrap(),
        status: TaskStatus {
            state,
            message: None,
            timestamp: None,
        },
        artifacts: Vec::new(),
        history: history.into_iter().map(Arc::new).collect(),
        metadata: None,
    }
}

/// The other agents of a test: each plays the same events to whoever calls it.
#[derive(Debug, Default)]
struct Agents {
    scripts: BTreeMap<&'static str, Vec<Event>>,
    tasks: BTreeMap<&'static str, Task>,
    /// Their tasks have ended when they are told something.
    ends: bool,
    /// What was asked of them.
    asked: Mutex<Vec<String>>,
}

impl Agents {
    fn agent(mut self, name: &'static str, events: Vec<Event>) -> Self {
        self.scripts.insert(name, events);
        self
    }

    fn note(&self, what: String) {
        self.asked.lock().push(what);
    }

    fn events(&self, agent: &str) -> Result<PeerReply, Error> {
        let events = self
            .scripts
            .get(agent)
            .ok_or_else(|| error("no such agent"))?;
        let tape = Tape((1..).zip(events.clone()).collect());
        Ok(PeerReply::Events(Box::new(tape)))
    }
}

fn error(text: &str) -> Error {
    Error::new(switchboard_types::ErrorKind::TaskNotFound, text)
}

#[async_trait]
impl Peers for Agents {
    async fn call(
        &self,
        agent: &str,
        operation: Operation,
        params: ServiceParams,
    ) -> Result<PeerReply, Error> {
        match operation {
            Operation::Stream(send) => {
                let key = params.idempotency_key.unwrap();
                let (id, parts) = (&send.message.id, content(&send.message.parts));
                let references = &send.message.reference_task_ids;
                assert_eq!(id.as_str(), key);
                self.note(format!("send {agent} {key} for {references:?}: {parts}"));
                self.events(agent)
            }
            Operation::Send(send) => {
                let Message { id, task_id, .. } = &send.message;
                let parts = content(&send.message.parts);
                let tell = if params.secret { "whisper" } else { "tell" };
                self.note(format!("{tell} {agent} {id} in {task_id:?}: {parts}"));
                match self.ends {
                    true => Err(error("the task is over")),
                    false => Ok(PeerReply::Response(Response::Deleted)),
                }
            }
            Operation::Subscribe(subscribe) => {
                let after = params.last_event_id.unwrap();
                self.note(format!("follow {agent} {} after {after}", subscribe.id));
                self.events(agent)
            }
            Operation::Get(_) => {
                let task = self
                    .tasks
                    .get(agent)
                    .ok_or_else(|| error("task not found"))?;
                let mut task = task.clone();
                if self.ends && !self.asked.lock().is_empty() {
                    task.status.state = TaskState::Completed;
                }
                Ok(PeerReply::Response(Response::Task(TaskView {
                    task: Arc::new(task),
                    history_length: None,
                    artifacts: true,
                })))
            }
            Operation::Cancel(cancel) => {
                self.note(format!("cancel {agent} {}", cancel.id));
                Ok(PeerReply::Response(Response::Deleted))
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Events of another agent, one second each. Where they stop, the agent goes silent.
struct Tape(VecDeque<(u64, Event)>);

#[async_trait]
impl EventSource for Tape {
    async fn next(&mut self) -> Result<Option<(u64, Event)>, String> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(self.0.pop_front())
    }
}

/// The events of a run, in words.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn add(&self, event: String) {
        self.0.lock().push(event);
    }
}

#[async_trait]
impl Effects for Recorder {
    async fn status(&self, said: Said) -> Result<(), AgentError> {
        self.add(spell("working", &said));
        Ok(())
    }

    async fn artifact(
        &self,
        artifact: Artifact,
        append: bool,
        last: bool,
    ) -> Result<(), AgentError> {
        let append = if append { "+" } else { "" };
        let last = if last { "." } else { "" };
        let content = content(&artifact.parts);
        self.add(format!("{}{append}{last} {content}", artifact.id));
        Ok(())
    }

    async fn persist(&self) -> Result<(), AgentError> {
        Ok(())
    }

    async fn record(&self, name: &str, value: Value) -> Result<(), AgentError> {
        self.add(format!("records {name} {value}"));
        Ok(())
    }

    fn operator_note(&self, _: &str, _: Value) {}
}

/// Events of another agent's task.
fn begun() -> Event {
    Event::Task(task("child", TaskState::Submitted, Vec::new()).into())
}

fn stands(state: TaskState, text: &str) -> Event {
    let message = Message::new(
        MessageId::new("said").unwrap(),
        Role::Agent,
        vec![Part::text(text)],
    );
    Event::Status(StatusUpdate {
        task_id: TaskId::new("child").unwrap(),
        context_id: ContextId::new("c1").unwrap(),
        status: TaskStatus {
            state,
            message: (!text.is_empty()).then_some(message.into()),
            timestamp: None,
        },
        metadata: None,
    })
}

fn made(name: &str, text: &str, append: bool) -> Event {
    let id = switchboard_types::model::ArtifactId::new(name).unwrap();
    Event::Artifact(ArtifactUpdate {
        task_id: TaskId::new("child").unwrap(),
        context_id: ContextId::new("c1").unwrap(),
        artifact: Artifact::new(id, vec![Part::text(text)]).into(),
        append,
        last_chunk: false,
        metadata: None,
    })
}

/// A question of `agent` that was passed on, as it stands in the history.
fn passed_on(agent: &str) -> Message {
    Message {
        metadata: Some(object(
            &json!({"delegate": {"agent": agent, "taskId": "child", "event": 7}}),
        )),
        ..Message::new(
            MessageId::new("q").unwrap(),
            Role::Agent,
            vec![Part::text("well?")],
        )
    }
}
