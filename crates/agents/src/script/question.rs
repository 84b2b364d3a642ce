//! A question of another agent: it is passed on as this agent's own, and the answer goes back to who asked.

use std::sync::Arc;

use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::budget::Budget;
use switchboard_server::task::{OUT_OF_BAND, asks_for_secret, is_redacted};
use switchboard_types::model::{Message, Part, Task, TaskId, TaskState};
use switchboard_types::operation::SendMessage;

use super::child::Child;
use super::delegate::{Dialed, Work, delegate, with_delegate};
use super::run::Run;
use super::scope::{Asked, WHO_ASKS};

impl Run<'_> {
    /// Sends the message as the answer to a question of the other agent. That is no other call: the first one was paid
    /// for. An answer that an earlier run has given is not given again.
    pub(super) async fn answer(
        &mut self,
        work: Work<'_>,
        asked: Asked,
        child: &mut Child,
    ) -> Result<Result<Dialed, String>, AgentError> {
        let agent = work.agent();
        let id = TaskId::new(asked.task_id).map_err(|e| AgentError::new(e.to_string()))?;
        child.task = Some(id.clone());
        let task = match self.stage.task(agent, id.clone()).await {
            Ok(task) => task,
            Err(reason) => return Ok(Err(reason)),
        };
        let key = self.key();
        let given = |message: &Arc<Message>| message.id.as_str() == key;
        if self.is_awaited(&task) && !task.history.iter().any(given) {
            let mut request = self.answering(work, &key)?;
            request.message.task_id = Some(id.clone());
            let secret = self.scope.is_secret();
            if let Err(reason) = self.stage.tell(agent, request, secret).await {
                let task = self.stage.task(agent, id.clone()).await;
                // One that has ended meanwhile is heard all the same.
                if !task.is_ok_and(|task| task.status.state.is_terminal()) {
                    return Ok(Err(reason));
                }
            }
        }
        let first = task.history.first();
        let key = first.map(|first| first.id.to_string()).unwrap_or_default();
        let line = self.stage.follow(agent, id, asked.event).await;
        Ok(line.map(|line| Dialed { line, key }))
    }

    /// Whether the other agent is to hear the answer. One that has gone on without hears it when it asks again. A secret
    /// is for who asks for one; and after a restart nobody knows it any more.
    fn is_awaited(&self, task: &Task) -> bool {
        let state = task.status.state;
        match self.scope.is_secret() {
            true => asks_for_secret(task) && !is_redacted(&self.scope.heard),
            // Nobody has answered.
            false if self.scope.timed_out => state.is_interrupted(),
            false => !state.is_terminal(),
        }
    }

    /// What the one hears that has asked: the message itself, also if it is a secret.
    fn answering(&mut self, work: Work<'_>, key: &str) -> Result<SendMessage, AgentError> {
        let heard = Arc::clone(&self.scope.heard);
        let open = std::mem::replace(&mut self.scope.message, heard);
        let request = self.request(work, key, Budget::default());
        self.scope.message = open;
        request
    }

    /// Keeps the name of an agent whose question does not tell it.
    async fn note_who_asks(&self, agent: &str, child: &Child) -> Result<(), AgentError> {
        match &child.task {
            Some(task) if self.told(agent) != agent => {
                let who = delegate(agent, task);
                self.stage.note(WHO_ASKS, who).await
            }
            _ => Ok(()),
        }
    }

    /// The other agent's question as this agent's own; the next turn finds by it where the answer goes.
    pub(super) async fn relay(
        &self,
        agent: &str,
        child: &Child,
        state: TaskState,
    ) -> Result<Outcome, AgentError> {
        self.note_who_asks(agent, child).await?;
        let told = self.told(agent);
        let said = child.said.as_ref();
        // This turn ends here: the task does not go on by itself when the other agent gets its credentials.
        let metadata = said.and_then(|m| m.metadata.as_ref());
        let mut metadata = metadata.map(|metadata| metadata.without(&[OUT_OF_BAND]));
        if let Some(task) = &child.task {
            let mut question = delegate(told, task);
            question["event"] = child.event.into();
            metadata = Some(with_delegate(metadata.as_ref(), question));
        }
        let parts = match said {
            Some(message) => message.parts.clone(),
            None => vec![Part::text(format!("{told} waits for an answer"))],
        };
        let said = Said {
            parts,
            message_metadata: metadata,
            ..Said::default()
        };
        Ok(match state {
            TaskState::AuthRequired => Outcome::AuthRequired(said),
            _ => Outcome::InputRequired(said),
        })
    }
}
