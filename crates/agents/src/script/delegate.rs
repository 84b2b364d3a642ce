//! The steps `call` and `hand_on`: give work to another agent, and pass on what it says. What it makes is brought back, or
//! passed on as well.
//!
//! The other task is a task of its own. It names this one in `referenceTaskIds`, and what this one says of it names it
//! there. Both its message and its idempotency key are made from this task, the turn and the number of the call, so a
//! run that is taken up again comes back to the same task instead of beginning another.

use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::auth::SKILL;
use switchboard_server::budget::Budget;
use switchboard_server::hops::{DELEGATE, Hops};
use switchboard_server::trace::DELEGATION;
use switchboard_types::model::{
    Artifact, Content, Event, Message, MessageId, Object, Part, Role, TaskId, TaskState,
};
use switchboard_types::operation::{SendConfiguration, SendMessage};

use super::child::Child;
use super::language::Call;
use super::part;
use super::purse::PURSE;
use super::run::Run;
use super::stage::Line;

/// How many tasks of others are named by what is said at the end.
const MOST: usize = 100;

/// What another agent is asked for.
#[derive(Clone, Copy)]
pub(super) enum Work<'c> {
    /// Something, to go on with.
    Part(&'c Call),
    /// The whole task: what it makes is passed on as it comes.
    All(&'c str),
}

impl<'c> Work<'c> {
    pub(super) fn agent(self) -> &'c str {
        match self {
            Self::Part(call) => &call.agent,
            Self::All(agent) => agent,
        }
    }
}

/// A line to another agent.
pub(super) struct Dialed {
    pub(super) line: Box<dyn Line>,
    /// The call that began the other task.
    pub(super) key: String,
}

impl Run<'_> {
    /// Gives work to another agent and waits for its answer.
    pub(super) async fn call(&mut self, call: &Call) -> Result<Option<Outcome>, AgentError> {
        self.calls += 1;
        let mut child = Child::default();
        let heard = self.converse(Work::Part(call), &mut child).await?;
        if let (Ok(()), Some(state)) = (&heard, child.end)
            && state.is_interrupted()
        {
            return self.relay(&call.agent, &child, state).await.map(Some);
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

    /// Gives the whole task to another agent: it ends as the other one does.
    pub(super) async fn hand_on(&mut self, agent: &str) -> Result<Outcome, AgentError> {
        self.calls += 1;
        let mut child = Child::default();
        let heard = self.converse(Work::All(agent), &mut child).await?;
        let told = self.told(agent).to_owned();
        let state = child.end.filter(|_| heard.is_ok());
        match state {
            Some(state) if state.is_interrupted() => self.relay(agent, &child, state).await,
            Some(TaskState::Completed) => Ok(Outcome::Completed(child.last_words(&told))),
            Some(TaskState::Rejected) => Ok(Outcome::Rejected(child.last_words(&told))),
            _ => {
                let reason = child.answer(heard.err()).text;
                Err(AgentError::new(format!("{told}: {reason}")))
            }
        }
    }

    /// Sends the message and listens until the other agent ends or asks. The inner error says why the other
    /// agent could not be heard.
    async fn converse(
        &mut self,
        work: Work<'_>,
        child: &mut Child,
    ) -> Result<Result<(), String>, AgentError> {
        let told = self.told(work.agent()).to_owned();
        let dialed = match self.scope.asked.take_if(|asked| asked.agent == told) {
            Some(asked) => self.answer(work, asked, child).await?,
            None => self.ask(work).await?,
        };
        let mut dialed = match dialed {
            Ok(dialed) => dialed,
            Err(reason) => return Ok(Err(reason)),
        };
        let heard = self.listen(work, &mut dialed, child).await?;
        self.purse.pay(&dialed.key, child.cost);
        self.keep_purse().await?;
        Ok(heard)
    }

    /// What was given and spent lasts, if it is counted.
    async fn keep_purse(&self) -> Result<(), AgentError> {
        match self.purse.is_limited() {
            true => self.stage.note(PURSE, self.purse.kept()).await,
            false => Ok(()),
        }
    }

    async fn listen(
        &mut self,
        work: Work<'_>,
        dialed: &mut Dialed,
        child: &mut Child,
    ) -> Result<Result<(), String>, AgentError> {
        let agent = work.agent();
        let told = self.told(agent).to_owned();
        let Dialed { line, key } = dialed;
        let mut announced = false;
        while child.end.is_none() {
            let next = tokio::select! {
                biased;
                () = self.canceled.cancelled() => {
                    self.hang_up(agent, line.as_mut(), child).await?;
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
            if let (Work::All(_), Event::Artifact(update)) = (work, &event) {
                let mut made = Artifact::clone(&update.artifact);
                // What a piece says of itself takes the place of what was said before.
                if !update.append || made.metadata.is_some() {
                    let whose = delegate(&told, &update.task_id);
                    made.metadata = Some(with_delegate(made.metadata.as_ref(), whose));
                }
                self.hand_over(made, update.append, update.last_chunk)
                    .await?;
            }
            let said = child.hear(event);
            if let Some(task) = child.task.as_ref().filter(|_| !announced) {
                self.stage.internal(
                    DELEGATION,
                    json!({ "agent": agent, "taskId": task.as_str(), "key": key }),
                );
                if self.delegated.len() < MOST && !self.delegated.contains(task) {
                    self.delegated.push(task.clone());
                }
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
    pub(super) fn key(&self) -> String {
        let calls = calls_of(&self.scope.task_id, self.scope.turn);
        format!("{calls}{}", self.calls)
    }

    /// Cancels the other task. One that has not been heard of yet has begun all the same: its first event
    /// tells which it is.
    async fn hang_up(
        &self,
        agent: &str,
        line: &mut dyn Line,
        child: &mut Child,
    ) -> Result<(), AgentError> {
        while child.task.is_none() && child.end.is_none() {
            match line.next().await {
                Ok(Some((_, event))) => drop(child.hear(event)),
                Ok(None) | Err(_) => return Ok(()),
            }
        }
        match child.task.take() {
            Some(task) => self.stage.cancel(agent, task).await,
            None => Ok(()),
        }
    }

    /// Sends the message, as a task of its own.
    async fn ask(&mut self, work: Work<'_>) -> Result<Result<Dialed, String>, AgentError> {
        let key = self.key();
        let given = match self.purse.give(&key) {
            Ok(given) => given,
            Err(reason) => return Ok(Err(reason.to_owned())),
        };
        self.keep_purse().await?;
        let request = self.request(work, &key, given)?;
        self.stage.safe().await?;
        let line = self.stage.send(work.agent(), request, key.clone()).await;
        Ok(line.map(|line| Dialed { line, key }))
    }

    pub(super) fn request(
        &self,
        work: Work<'_>,
        key: &str,
        given: Budget,
    ) -> Result<SendMessage, AgentError> {
        let scope = &self.scope;
        let (mut parts, metadata) = match work {
            Work::Part(call) => (
                part::render(call.text.as_ref(), &call.parts, scope),
                part::object(&call.metadata, scope),
            ),
            Work::All(_) => (Vec::new(), handed_on(scope.message.metadata.as_ref())),
        };
        if parts.is_empty() {
            parts.clone_from(&scope.message.parts);
        }
        let id = MessageId::new(key).map_err(|e| AgentError::new(e.to_string()))?;
        // A way that cannot be read was refused.
        let way = Hops::of(&scope.message).unwrap_or_default();
        let here = scope.hop.as_ref().map_or("", |hop| hop.name());
        let mut metadata = way.then(here).marked(metadata.as_ref());
        if given.is_limited() {
            metadata = given.marked(Some(&metadata));
        }
        Ok(SendMessage {
            message: Message {
                context_id: Some(scope.context_id.clone()),
                reference_task_ids: vec![scope.task_id.clone()],
                metadata: Some(metadata),
                ..Message::new(id, Role::User, parts)
            },
            configuration: SendConfiguration::default(),
            metadata: None,
        })
    }
}

/// How the names of all calls of a turn begin.
pub(super) fn calls_of(task: &TaskId, turn: u32) -> String {
    format!("{task}-{turn}-")
}

/// What a message says beside its parts that is meant for whoever takes it over: not which skill of the first agent.
fn handed_on(metadata: Option<&Object>) -> Option<Object> {
    metadata.map(|metadata| metadata.without(&SKILL))
}

/// The parts, with the speaker's name before the first text.
fn attributed(agent: &str, mut parts: Vec<Part>) -> Vec<Part> {
    let texts = parts.iter_mut().filter_map(|part| match &mut part.content {
        Content::Text(text) => Some(text),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    if let Some(text) = texts.into_iter().next() {
        *text = format!("{agent}: {text}").into();
    }
    parts
}

/// Metadata, and whose it was.
pub(super) fn with_delegate(metadata: Option<&Object>, whose: Value) -> Object {
    Object::with(metadata, [(DELEGATE, whose)])
}

/// A status that speaks of another agent's task.
fn about(agent: &str, task: &TaskId, parts: Vec<Part>) -> Said {
    Said {
        parts,
        message_metadata: None,
        metadata: Some(with_delegate(None, delegate(agent, task))),
        references: vec![task.clone()],
    }
}

pub(super) fn delegate(agent: &str, task: &TaskId) -> Value {
    json!({ "agent": agent, "taskId": task.as_str() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_skill_of_the_first_agent_was_meant_is_not_handed_on() {
        let metadata = json!({"skillId": "front", "skill": "front", "lang": "de"});
        let metadata = metadata.as_object().map(Object::from);
        let handed_on = handed_on(metadata.as_ref()).unwrap();
        assert_eq!(handed_on.as_str(), r#"{"lang":"de"}"#);
    }
}
