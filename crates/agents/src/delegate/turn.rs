//! The delegations of one turn: start, answer, follow, cancel.

use std::sync::Arc;

use serde_json::json;
use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::auth::SKILL;
use switchboard_server::budget::Budget;
use switchboard_server::hops::{Hop, Hops};
use switchboard_server::trace::DELEGATION;
use switchboard_types::model::{
    Artifact, ArtifactUpdate, Content, Event, Message, MessageId, Object, Part, Role, Task, TaskId,
    TaskState,
};
use switchboard_types::operation::{SendConfiguration, SendMessage};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::Aliases;
use super::budget::BudgetLedger;
use super::effects::Emitter;
use super::peers::Peers;
use super::relay::{RelayedQuestion, TurnInput};
use super::task::{DelegatedTask, delegate, with_delegate};

/// The step that records the ledger.
pub(super) const LEDGER: &str = "spent";
/// How many delegated tasks the last message of a turn names.
const MAX_REFERENCES: usize = 100;

/// Work for another agent.
pub(crate) struct Delegation<'a> {
    /// The other agent.
    pub(crate) agent: &'a str,
    /// Names the work, also after a restart: the idempotency key of the call, and the id of its message.
    pub(crate) key: String,
    /// The message that the work comes from: its hop path goes on.
    pub(crate) message: &'a Message,
    /// What the other agent gets; the parts of `message` if empty.
    pub(crate) parts: Vec<Part>,
    /// Metadata of what it gets.
    pub(crate) metadata: Option<Object>,
}

/// The delegations of one turn.
pub(crate) struct Delegations<'a> {
    pub(crate) emitter: Emitter<'a>,
    pub(crate) peers: &'a dyn Peers,
    /// The task that delegates.
    pub(crate) task: &'a Task,
    /// What its agent is called in hop paths.
    pub(crate) hop: Hop,
    pub(crate) aliases: Aliases,
    pub(crate) canceled: &'a CancellationToken,
    /// Locked while it is stored: a later state must not be overwritten by an earlier one.
    pub(crate) ledger: Mutex<BudgetLedger>,
    /// The delegated tasks.
    pub(crate) references: Mutex<Vec<TaskId>>,
}

impl Delegations<'_> {
    /// The key of the nth delegation of a turn.
    pub(crate) fn key(&self, turn: u32, n: u32) -> String {
        format!("{}{n}", keys_of(&self.task.id, turn))
    }

    /// Whether the turn was canceled, and no earlier run of it came to what is next. If one did, this run goes on to there:
    /// what that one has delegated must be canceled, too.
    pub(crate) fn is_over(&self, delegates: bool) -> bool {
        self.canceled.is_cancelled() && !self.emitter.was_reached(delegates)
    }

    /// Hands the whole task off, as the nth delegation of the turn: it ends as the delegated task does, and what that one
    /// makes is passed on as it comes.
    pub(crate) async fn hand_off(
        &self,
        agent: &str,
        n: u32,
        input: &mut TurnInput,
    ) -> Result<Outcome, AgentError> {
        let question = input.question.take_if(|question| question.agent == agent);
        let message = input.message_for(question.as_ref());
        let work = Delegation {
            agent,
            key: self.key(input.turn, n),
            message,
            parts: Vec::new(),
            metadata: handoff_metadata(message),
        };
        let task = self.delegate(work, question, input, true).await?;
        let alias = self.aliases.of(agent);
        // A task that ends without a message gets one, to name the task that has done the work.
        let said = || task.last_message(alias, &format!("done by {alias}"));
        match task.state {
            _ if task.is_interrupted() => self.relay(&task).await,
            Some(TaskState::Completed) => Ok(Outcome::Completed(said())),
            Some(TaskState::Rejected) => Ok(Outcome::Rejected(said())),
            _ => Err(AgentError::new(format!("{alias}: {}", task.result().text))),
        }
    }

    /// Passes the answer on to the question, or starts a delegated task if there is none, and [follows](Self::follow) it. A
    /// task that cannot be reached has failed, with the reason; an error is the delegating task's own.
    pub(crate) async fn delegate(
        &self,
        work: Delegation<'_>,
        question: Option<RelayedQuestion>,
        input: &TurnInput,
        pass_on: bool,
    ) -> Result<DelegatedTask, AgentError> {
        let mut task = match question {
            Some(question) => self.answer(work, question, input).await?,
            None => self.start(work).await?,
        };
        self.follow(&mut task, pass_on).await?;
        Ok(task)
    }

    /// Starts a delegated task, or finds the one that the same key has started before.
    pub(crate) async fn start(&self, work: Delegation<'_>) -> Result<DelegatedTask, AgentError> {
        let agent = work.agent;
        let task = DelegatedTask {
            agent: agent.to_owned(),
            key: work.key.clone(),
            ..DelegatedTask::default()
        };
        let mut ledger = self.ledger.lock().await;
        let budget = match ledger.reserve(&task.key) {
            Ok(budget) => budget,
            Err(reason) => return Ok(task.with_events(Err(reason.to_owned()))),
        };
        self.store(&ledger).await?;
        drop(ledger);
        let message = self.message(work, budget, None)?;
        self.emitter.effects.persist().await?;
        let events = self.peers.send(agent, message, &task.key).await;
        Ok(task.with_events(events))
    }

    /// Passes the answer on, and reads the events after the question. That costs no other call, and an answer that an
    /// earlier run has passed on is not passed on again.
    pub(crate) async fn answer(
        &self,
        work: Delegation<'_>,
        question: RelayedQuestion,
        input: &TurnInput,
    ) -> Result<DelegatedTask, AgentError> {
        let (agent, id) = (work.agent, question.task);
        let mut delegated = DelegatedTask {
            agent: agent.to_owned(),
            id: Some(id.clone()),
            ..DelegatedTask::default()
        };
        let task = match self.peers.task(agent, id.clone()).await {
            Ok(task) => task,
            Err(reason) => return Ok(delegated.with_events(Err(reason))),
        };
        let is_answer = |message: &Arc<Message>| message.id.as_str() == work.key;
        if input.is_expected_by(&task) && !task.history.iter().any(is_answer) {
            let message = self.message(work, Budget::default(), Some(id.clone()))?;
            let answered = tokio::select! {
                biased;
                () = self.canceled.cancelled() => {
                    self.cancel(&mut delegated).await?;
                    return Err(AgentError::over());
                }
                answered = self.peers.answer(agent, message, input.is_secret) => answered,
            };
            if let Err(reason) = answered {
                let task = self.peers.task(agent, id.clone()).await;
                // Its result counts even if it ended before the answer came.
                if !task.is_ok_and(|task| task.status.state.is_terminal()) {
                    return Ok(delegated.with_events(Err(reason)));
                }
            }
        }
        if let Some(first) = task.history.first() {
            delegated.key = first.id.to_string();
        }
        Ok(delegated.with_events(self.peers.follow(agent, id, question.event).await))
    }

    /// Reads the events of a delegated task until it ends or asks, and relays its progress; with `pass_on`, its artifacts
    /// too. Then it is settled what it has spent.
    ///
    /// # Errors
    ///
    /// If the delegating task is over: then the delegated one was canceled.
    pub(crate) async fn follow(
        &self,
        task: &mut DelegatedTask,
        pass_on: bool,
    ) -> Result<(), AgentError> {
        if task.source.is_none() {
            return Ok(());
        }
        let mut announced = false;
        while task.state.is_none() {
            let next = tokio::select! {
                biased;
                () = self.canceled.cancelled() => {
                    self.cancel(task).await?;
                    return Err(AgentError::over());
                }
                next = task.next() => next,
            };
            let Some(event) = next else { break };
            if let (true, Event::Artifact(update)) = (pass_on, &event) {
                self.pass_on(&task.agent, update).await?;
            }
            let said = task.apply(event);
            let Some(id) = &task.id else { continue };
            let alias = self.aliases.of(&task.agent);
            if !announced {
                self.announce(task, id).await?;
                announced = true;
            }
            if let Some(said) = said {
                let said = about(alias, id, attributed(alias, said.parts.clone()));
                self.emitter.status(said).await?;
            }
        }
        let mut ledger = self.ledger.lock().await;
        ledger.settle(&task.key, task.spent);
        self.store(&ledger).await
    }

    /// Emits an artifact of a delegated task as the delegating task's own.
    async fn pass_on(&self, agent: &str, update: &ArtifactUpdate) -> Result<(), AgentError> {
        let mut made = Artifact::clone(&update.artifact);
        // The metadata of a later piece replaces that of the first.
        if !update.append || made.metadata.is_some() {
            let whose = delegate(self.aliases.of(agent), &update.task_id);
            made.metadata = Some(with_delegate(made.metadata.as_ref(), whose));
        }
        let (append, last) = (update.append, update.last_chunk);
        self.emitter.artifact(made, append, last).await
    }

    /// Records a delegation for operators and for a later cancel, and tells the caller.
    async fn announce(&self, task: &DelegatedTask, id: &TaskId) -> Result<(), AgentError> {
        self.emitter.effects.operator_note(
            DELEGATION,
            json!({ "agent": task.agent, "taskId": id.as_str(), "key": task.key }),
        );
        let mut references = self.references.lock().await;
        if references.len() < MAX_REFERENCES && !references.contains(id) {
            references.push(id.clone());
        }
        drop(references);
        let alias = self.aliases.of(&task.agent);
        let text = Part::text(format!("passed to {alias}"));
        self.emitter.status(about(alias, id, vec![text])).await
    }

    /// Cancels a delegated task. One whose id is not known yet has begun all the same: its first event has it.
    pub(crate) async fn cancel(&self, task: &mut DelegatedTask) -> Result<(), AgentError> {
        while task.id.is_none() && task.state.is_none() {
            if let Some(event) = task.next().await {
                task.apply(event);
            }
        }
        match task.id.take() {
            Some(id) => self.peers.cancel(&task.agent, id).await,
            None => Ok(()),
        }
    }

    /// Withdraws a relayed question whose answer was not passed on because the task was canceled.
    pub(crate) async fn withdraw(
        &self,
        question: Option<RelayedQuestion>,
    ) -> Result<(), AgentError> {
        match question.filter(|_| self.canceled.is_cancelled()) {
            // Boxed: the future of every turn would have room for it.
            Some(RelayedQuestion { agent, task, .. }) => {
                Box::pin(self.peers.cancel(&agent, task)).await
            }
            None => Ok(()),
        }
    }

    /// Ends the turn: its last message names the delegated tasks and, to whoever gave the task a budget, what they have
    /// spent.
    pub(crate) fn conclude(
        self,
        outcome: Result<Outcome, AgentError>,
    ) -> Result<Outcome, AgentError> {
        let references = self.references.into_inner();
        let ledger = self.ledger.into_inner();
        let spent = ledger.is_limited().then(|| ledger.spent());
        match outcome {
            Ok(mut outcome) => {
                let said = outcome.said_mut();
                said.references = references;
                if let Some(spent) = spent {
                    said.metadata = Some(spent.marked(said.metadata.as_ref()));
                }
                Ok(outcome)
            }
            Err(error) => {
                let error = error.speaking_of(references);
                Err(spent.into_iter().fold(error, AgentError::costing))
            }
        }
    }

    async fn store(&self, ledger: &BudgetLedger) -> Result<(), AgentError> {
        match ledger.is_limited() {
            true => self.emitter.effects.record(LEDGER, ledger.to_json()).await,
            false => Ok(()),
        }
    }

    /// The message of a delegation, for a task that is there or a new one.
    fn message(
        &self,
        work: Delegation<'_>,
        budget: Budget,
        task_id: Option<TaskId>,
    ) -> Result<SendMessage, AgentError> {
        let id = MessageId::new(work.key).map_err(|e| AgentError::new(e.to_string()))?;
        let parts = match work.parts.is_empty() {
            true => work.message.parts.clone(),
            false => work.parts,
        };
        // The engine has rejected a path that cannot be read.
        let path = Hops::of(work.message).unwrap_or_default();
        let mut metadata = path.then(self.hop.name()).marked(work.metadata.as_ref());
        if budget.is_limited() {
            metadata = budget.marked(Some(&metadata));
        }
        Ok(SendMessage {
            message: Message {
                task_id,
                context_id: Some(self.task.context_id.clone()),
                reference_task_ids: vec![self.task.id.clone()],
                metadata: Some(metadata),
                ..Message::new(id, Role::User, parts)
            },
            configuration: SendConfiguration::default(),
            metadata: None,
        })
    }
}

/// How the keys of all delegations of a turn begin.
pub(super) fn keys_of(task: &TaskId, turn: u32) -> String {
    format!("{task}-{turn}-")
}

/// The metadata of a message for the agent that takes it over: without the skill of the first agent.
fn handoff_metadata(message: &Message) -> Option<Object> {
    let metadata = message.metadata.as_ref();
    metadata.map(|metadata| metadata.without(&SKILL))
}

/// The parts, with the agent's name before the first text.
fn attributed(alias: &str, mut parts: Vec<Part>) -> Vec<Part> {
    let mut texts = parts.iter_mut().filter_map(|part| match &mut part.content {
        Content::Text(text) => Some(text),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    if let Some(text) = texts.next() {
        *text = format!("{alias}: {text}").into();
    }
    parts
}

/// A status about a delegated task.
fn about(alias: &str, task: &TaskId, parts: Vec<Part>) -> Said {
    Said {
        parts,
        message_metadata: None,
        metadata: Some(with_delegate(None, delegate(alias, task))),
        references: vec![task.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handoff_drops_the_skill_of_the_first_agent() {
        let metadata = json!({"skillId": "front", "skill": "front", "lang": "de"});
        let message = Message {
            metadata: metadata.as_object().map(Object::from),
            ..Message::new(MessageId::new("m").unwrap(), Role::User, Vec::new())
        };
        let metadata = handoff_metadata(&message).unwrap();
        assert_eq!(metadata.as_str(), r#"{"lang":"de"}"#);
    }
}
