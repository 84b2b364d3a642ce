//! What a turn knows of its run, and writes down.

use switchboard_server::agent::{AgentError, Said};
use switchboard_types::model::TaskId;

use super::api::Fault;
use super::note::{NAME, Note};
use super::run::{Run, Stop};
use crate::remote::note::{Note as At, Plan, State};

impl Run<'_> {
    /// Writes down that this is asked.
    pub(super) async fn waits(&mut self, question: &Said) -> Result<(), AgentError> {
        if let Some(note) = &mut self.note {
            let (task, message) = (&self.turn.task, &self.turn.message);
            note.at.waits(task, message, &question.parts);
            self.keep_note().await?;
        }
        Ok(())
    }

    pub(super) fn thread(&self) -> &str {
        self.note.as_ref().map(Note::thread).unwrap_or_default()
    }

    pub(super) fn run(&self) -> Option<&str> {
        self.note.as_ref().and_then(|note| note.run.as_deref())
    }

    /// Writes down which task and which run it is, as soon as that is known.
    pub(super) async fn know(
        &mut self,
        task: Option<&TaskId>,
        run: Option<String>,
    ) -> Result<(), AgentError> {
        let Some(note) = &mut self.note else {
            return Ok(());
        };
        note.at.state = State::Running;
        if let Some(task) = task {
            note.at.task = Some(task.to_string());
        }
        note.run = run.or(note.run.take());
        self.line.is_at(self.errand, note);
        self.keep_note().await
    }

    pub(super) fn is_forwarded(&self) -> bool {
        !self.line.identity.wants().is_empty()
    }

    /// Writes down what is to be done as soon as the caller has brought credentials.
    pub(super) async fn set_aside(&mut self, plan: &Plan) -> Result<(), AgentError> {
        let at = self.note.as_ref().map(|note| &note.at);
        let Some(at) = At::set_aside(at, self.turn, plan) else {
            return Ok(());
        };
        self.note = Some(match self.note.take() {
            Some(note) => Note { at, ..note },
            None => Note::of(at),
        });
        self.keep_note().await
    }

    /// The message did not get in. With credentials of the caller's that are better it will.
    pub(super) async fn refused_to_send(&mut self) -> Result<Stop, AgentError> {
        if let Some(note) = &mut self.note
            && !self.line.identity.wants().is_empty()
        {
            note.at.state = State::Unsent;
            self.keep_note().await?;
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
        if let Some(note) = &mut self.note
            && note.at.state == State::Sending
        {
            note.at.state = State::Unsent;
            self.keep_note().await?;
        }
        Ok(fault.down().map_or_else(|| fault.into(), Stop::Down))
    }

    /// Whether nothing of the turn is at the server.
    pub(super) fn is_unsent(&self) -> bool {
        self.note
            .as_ref()
            .is_none_or(|note| note.at.state == State::Unsent && note.at.task.is_none())
    }

    pub(super) async fn keep_note(&self) -> Result<(), AgentError> {
        match (self.progress, &self.note) {
            (Some(progress), Some(note)) => match serde_json::to_value(note) {
                Ok(value) => progress.note(NAME, value).await,
                Err(error) => Err(AgentError::new(error.to_string())),
            },
            _ => Ok(()),
        }
    }
}
