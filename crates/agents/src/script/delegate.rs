//! The `call` step: gives work to another agent, passes on what it says, and brings back what it made.
//!
//! The other task is a task of its own. It names this one in `referenceTaskIds`, and both its message and its
//! idempotency key are made from this task, the turn and the number of the call, so a run that is taken up
//! again comes back to the same task instead of beginning another.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::hops::Hops;
use switchboard_server::trace::DELEGATION;
use switchboard_types::model::{
    Artifact, Content, Event, Message, MessageId, Object, Part, Role, Task, TaskId, TaskState,
    TaskStatus,
};
use switchboard_types::operation::{SendConfiguration, SendMessage};

use super::language::Call;
use super::part;
use super::run::Run;
use super::scope::{Answer, DELEGATE, WHO_ASKS};
use super::stage::Line;

/// The other agent's task, as far as it was heard of.
#[derive(Default)]
struct Child {
    task: Option<TaskId>,
    artifacts: Vec<Arc<Artifact>>,
    /// How it ended, or what it waits for; `None` while it works.
    end: Option<TaskState>,
    /// What it said last.
    said: Option<Arc<Message>>,
    /// The number of the last event.
    event: u64,
}

impl Run<'_> {
    /// Gives work to another agent and waits for its answer.
    pub(super) async fn call(&mut self, call: &Call) -> Result<Option<Outcome>, AgentError> {
        self.calls += 1;
        let mut child = Child::default();
        let heard = self.converse(call, &mut child).await?;
        if let (Ok(()), Some(state)) = (&heard, child.end)
            && state.is_interrupted()
        {
            self.note_who_asks(call, &child).await?;
            return Ok(Some(self.relay(call, &child, state)));
        }
        let answer = child.answer(heard.err());
        let reason = answer.text.clone();
        let failed = answer.state != TaskState::Completed.name();
        self.scope.calls.insert(call.name().to_owned(), answer);
        match &call.failed {
            Some(steps) if failed => self.steps(steps).await,
            None if failed => Err(AgentError::new(format!(
                "{}: {reason}",
                self.told(&call.agent)
            ))),
            _ => Ok(None),
        }
    }

    /// Sends the message and listens until the other agent ends or asks. The inner error says why the other
    /// agent could not be heard.
    async fn converse(
        &mut self,
        call: &Call,
        child: &mut Child,
    ) -> Result<Result<(), String>, AgentError> {
        let agent = call.agent.as_str();
        let told = self.told(agent).to_owned();
        let key = self.key();
        let mut line = match self.dial(call, key.clone()).await? {
            Ok(line) => line,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut announced = false;
        while child.end.is_none() {
            let next = tokio::select! {
                biased;
                () = self.canceled.cancelled() => {
                    self.hang_up(agent, line.as_mut(), child).await;
                    return Err(AgentError::over());
                }
                next = line.next() => next,
            };
            let event = match next {
                Ok(Some((number, event))) => {
                    child.event = number;
                    event
                }
                Ok(None) => return Ok(Err("stopped without an answer".to_owned())),
                Err(reason) => return Ok(Err(reason)),
            };
            let said = child.hear(event);
            if let Some(task) = child.task.as_ref().filter(|_| !announced) {
                self.stage.internal(
                    DELEGATION,
                    json!({ "agent": agent, "taskId": task.as_str(), "key": key }),
                );
                let text = format!("passed to {told}");
                self.say(about(&told, task, vec![Part::text(text)])).await?;
                announced = true;
            }
            if let (Some(said), Some(task)) = (said, &child.task) {
                self.say(about(&told, task, attributed(&told, said.parts.clone())))
                    .await?;
            }
        }
        Ok(Ok(()))
    }

    /// Names the call: the same if it is made again.
    fn key(&self) -> String {
        format!("{}-{}-{}", self.scope.task_id, self.scope.turn, self.calls)
    }

    /// Cancels the other task. One that has not been heard of yet has begun all the same: its first event
    /// tells which it is.
    async fn hang_up(&self, agent: &str, line: &mut dyn Line, child: &mut Child) {
        while child.task.is_none() && child.end.is_none() {
            match line.next().await {
                Ok(Some((_, event))) => drop(child.hear(event)),
                Ok(None) | Err(_) => return,
            }
        }
        if let Some(task) = child.task.take() {
            self.stage.cancel(agent, task).await;
        }
    }

    /// Sends the message, as the answer to a question if the agent has asked one. An answer that an earlier run
    /// has given is not given again.
    async fn dial(
        &mut self,
        call: &Call,
        key: String,
    ) -> Result<Result<Box<dyn Line>, String>, AgentError> {
        let agent = call.agent.as_str();
        let mut request = self.request(call, &key)?;
        let told = self.told(agent).to_owned();
        let asked = self.scope.asked.take_if(|asked| asked.agent == told);
        let Some(asked) = asked else {
            return Ok(self.stage.send(agent, request, key).await);
        };
        let id = TaskId::new(asked.task_id).map_err(|e| AgentError::new(e.to_string()))?;
        let task = match self.stage.task(agent, id.clone()).await {
            Ok(task) => task,
            Err(reason) => return Ok(Err(reason)),
        };
        if !task.history.iter().any(|m| m.id == request.message.id) {
            request.message.task_id = Some(id.clone());
            if let Err(reason) = self.stage.tell(agent, request).await {
                return Ok(Err(reason));
            }
        }
        Ok(self.stage.follow(agent, id, asked.event).await)
    }

    fn request(&self, call: &Call, key: &str) -> Result<SendMessage, AgentError> {
        let scope = &self.scope;
        let mut parts = part::render(call.text.as_ref(), &call.parts, scope);
        if parts.is_empty() {
            parts.clone_from(&scope.message.parts);
        }
        let id = MessageId::new(key).map_err(|e| AgentError::new(e.to_string()))?;
        let metadata = part::object(&call.metadata, scope);
        // A way that cannot be read was refused.
        let way = Hops::of(&scope.message).unwrap_or_default();
        Ok(SendMessage {
            message: Message {
                context_id: Some(scope.context_id.clone()),
                reference_task_ids: vec![scope.task_id.clone()],
                metadata: Some(way.then(&scope.hop).marked(metadata.as_ref())),
                ..Message::new(id, Role::User, parts)
            },
            configuration: SendConfiguration::default(),
            metadata: None,
        })
    }

    /// Keeps the name of an agent whose question does not tell it.
    async fn note_who_asks(&self, call: &Call, child: &Child) -> Result<(), AgentError> {
        match &child.task {
            Some(task) if self.told(&call.agent) != call.agent => {
                let who = delegate(&call.agent, task);
                self.stage.note(WHO_ASKS, who).await
            }
            _ => Ok(()),
        }
    }

    /// The other agent's question as this agent's own; the next turn finds by it where the answer goes.
    fn relay(&self, call: &Call, child: &Child, state: TaskState) -> Outcome {
        let said = child.said.as_ref();
        let metadata = said.and_then(|m| m.metadata.as_ref());
        let mut members: Map<String, Value> = metadata
            .and_then(|object| object.as_json().read())
            .unwrap_or_default();
        if let Some(task) = &child.task {
            let mut question = delegate(self.told(&call.agent), task);
            question["event"] = child.event.into();
            members.insert(DELEGATE.to_owned(), question);
        }
        let parts = match said {
            Some(message) => message.parts.clone(),
            None => {
                let told = self.told(&call.agent);
                vec![Part::text(format!("{told} waits for an answer"))]
            }
        };
        let said = Said {
            parts,
            message_metadata: Some(Object::from(&members)),
            metadata: None,
        };
        if state == TaskState::AuthRequired {
            Outcome::AuthRequired(said)
        } else {
            Outcome::InputRequired(said)
        }
    }
}

impl Child {
    /// Takes in an event; gives back what is to be passed on.
    fn hear(&mut self, event: Event) -> Option<Arc<Message>> {
        match event {
            Event::Task(task) => self.take(&task),
            Event::Message(message) => {
                self.said = Some(message);
                self.end = Some(TaskState::Completed);
            }
            Event::Status(update) => {
                self.task = Some(update.task_id);
                self.stand(update.status);
                if self.end.is_none() {
                    return self.said.take();
                }
            }
            Event::Artifact(update) => {
                let known = self
                    .artifacts
                    .iter_mut()
                    .find(|a| a.id == update.artifact.id);
                match known {
                    Some(known) if update.append => {
                        let piece = &update.artifact.parts;
                        Arc::make_mut(known).parts.extend_from_slice(piece);
                    }
                    Some(known) => *known = update.artifact,
                    None => self.artifacts.push(update.artifact),
                }
            }
        }
        None
    }

    /// Takes the task as it stands.
    fn take(&mut self, task: &Task) {
        self.task = Some(task.id.clone());
        self.artifacts.clone_from(&task.artifacts);
        self.stand(task.status.clone());
    }

    fn stand(&mut self, status: TaskStatus) {
        let state = status.state;
        self.end = (state.is_terminal() || state.is_interrupted()).then_some(state);
        self.said = status.message;
    }

    /// What is brought back: what the task made, or else what it said last.
    fn answer(self, unheard: Option<String>) -> Answer {
        let state = self.end.filter(|_| unheard.is_none());
        let state = state.unwrap_or(TaskState::Failed);
        let made = self.artifacts.into_iter().map(Arc::unwrap_or_clone);
        let mut parts: Vec<Part> = made.flat_map(joined).collect();
        let said = self.said.map(|m| m.parts.clone()).unwrap_or_default();
        if state != TaskState::Completed {
            let reason = unheard.unwrap_or_else(|| text(&said));
            parts = vec![Part::text(match reason.is_empty() {
                true => state.name().to_owned(),
                false => reason,
            })];
        } else if parts.is_empty() {
            parts = said;
        }
        Answer {
            text: text(&parts),
            state: state.name().to_owned(),
            task: self.task.map(|id| id.to_string()).unwrap_or_default(),
            parts,
        }
    }
}

/// The parts of an artifact, with the pieces of a streamed text put together again.
fn joined(artifact: Artifact) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for part in artifact.parts {
        let plain = part.media_type.is_none() && part.filename.is_none() && part.metadata.is_none();
        match (parts.last_mut().map(|p| &mut p.content), &part.content) {
            (Some(Content::Text(before)), Content::Text(more)) if plain => before.push_str(more),
            _ => parts.push(part),
        }
    }
    parts
}

fn text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// The parts, with the speaker's name before the first text.
fn attributed(agent: &str, mut parts: Vec<Part>) -> Vec<Part> {
    let texts = parts.iter_mut().filter_map(|part| match &mut part.content {
        Content::Text(text) => Some(text),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    if let Some(text) = texts.into_iter().next() {
        text.insert_str(0, &format!("{agent}: "));
    }
    parts
}

/// A status that speaks of another agent's task.
fn about(agent: &str, task: &TaskId, parts: Vec<Part>) -> Said {
    let mut metadata = Map::new();
    metadata.insert(DELEGATE.to_owned(), delegate(agent, task));
    Said {
        parts,
        message_metadata: None,
        metadata: Some(Object::from(&metadata)),
    }
}

fn delegate(agent: &str, task: &TaskId) -> Value {
    json!({ "agent": agent, "taskId": task.as_str() })
}
