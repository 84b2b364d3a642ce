//! What a turn knows of its run, and writes down.

use switchboard_server::agent::AgentError;
use switchboard_types::model::TaskId;

use super::api::Fault;
use super::checkpoint::{Checkpoint, NAME};
use super::run::{Run, Stop};
use crate::remote::checkpoint::{Checkpoint as At, Plan, State};

impl Run<'_> {
    /// Writes down that this is asked.
    pub(super) async fn waits(&mut self) -> Result<(), AgentError> {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.at.waits(self.turn);
            self.record_checkpoint().await?;
        }
        Ok(())
    }

    pub(super) fn thread(&self) -> &str {
        self.checkpoint
            .as_ref()
            .map(Checkpoint::thread)
            .unwrap_or_default()
    }

    pub(super) fn run(&self) -> Option<&str> {
        self.checkpoint
            .as_ref()
            .and_then(|checkpoint| checkpoint.run.as_deref())
    }

    /// Writes down which task and which run it is, as soon as that is known.
    pub(super) async fn know(
        &mut self,
        task: Option<&TaskId>,
        run: Option<String>,
    ) -> Result<(), AgentError> {
        let Some(checkpoint) = &mut self.checkpoint else {
            return Ok(());
        };
        checkpoint.at.state = State::Running;
        if let Some(task) = task {
            checkpoint.at.task = Some(task.to_string());
        }
        checkpoint.run = run.or(checkpoint.run.take());
        self.line.is_at(self.errand, checkpoint);
        self.record_checkpoint().await
    }

    pub(super) fn is_forwarded(&self) -> bool {
        !self.line.identity.wants().is_empty()
    }

    /// Writes down what is to be done as soon as the caller has brought credentials.
    pub(super) async fn set_aside(&mut self, plan: &Plan) -> Result<(), AgentError> {
        let at = self.checkpoint.as_ref().map(|checkpoint| &checkpoint.at);
        let Some(at) = At::set_aside(at, self.turn, plan) else {
            return Ok(());
        };
        self.checkpoint = Some(match self.checkpoint.take() {
            Some(checkpoint) => Checkpoint { at, ..checkpoint },
            None => Checkpoint::of(at),
        });
        self.record_checkpoint().await
    }

    /// The message did not get in. With credentials of the caller's that are better it will.
    pub(super) async fn refused_to_send(&mut self) -> Result<Stop, AgentError> {
        if let Some(checkpoint) = &mut self.checkpoint
            && !self.line.identity.wants().is_empty()
        {
            checkpoint.at.state = State::Unsent;
            self.record_checkpoint().await?;
        }
        Ok(Fault::Unknown.into())
    }

    /// The message was not taken. Where nothing was sent, it is sent again; where a proxy or the server turned it away, the
    /// run is looked for before that.
    pub(super) async fn not_taken(&mut self, fault: Fault) -> Result<Stop, AgentError> {
        match fault {
            Fault::Unreached(_) => self.not_sent(fault).await,
            fault => Ok(fault.down().map_or_else(|| fault.into(), Stop::Down)),
        }
    }

    /// Nothing was sent: after a restart it must be known that the message did not go out.
    pub(super) async fn not_sent(&mut self, fault: Fault) -> Result<Stop, AgentError> {
        if let Some(checkpoint) = &mut self.checkpoint
            && checkpoint.at.state == State::Sending
        {
            checkpoint.at.state = State::Unsent;
            self.record_checkpoint().await?;
        }
        Ok(fault.down().map_or_else(|| fault.into(), Stop::Down))
    }

    /// Whether nothing of the turn is at the server.
    pub(super) fn is_unsent(&self) -> bool {
        self.checkpoint.as_ref().is_none_or(|checkpoint| {
            checkpoint.at.state == State::Unsent && checkpoint.at.task.is_none()
        })
    }

    pub(super) async fn record_checkpoint(&self) -> Result<(), AgentError> {
        match (self.progress, &self.checkpoint) {
            (Some(progress), Some(checkpoint)) => match serde_json::to_value(checkpoint) {
                Ok(value) => progress.record(NAME, value).await,
                Err(error) => Err(AgentError::new(error.to_string())),
            },
            _ => Ok(()),
        }
    }
}
