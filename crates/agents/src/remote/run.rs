//! One turn of our task, taken by an upstream task.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use http::HeaderMap;
use switchboard_client::{Client, Error, Kind, Sent};
use switchboard_server::agent::{
    AgentError, AgentErrorKind, Errand, Outcome, Progress, Said, Turn,
};
use switchboard_types::model::{ContextId, Event, TaskId, TaskState};

use super::begin::{Begun, told_of};
use super::checkpoint::{Checkpoint, NAME, Plan, State};
use super::events::{Ending, Heard, Step};
use super::failure::{down, may_be_keyed, may_pass, scrubbed, told, unknown};
use super::line::Line;
use crate::fetch::without;
use crate::identity::IdentityError;
use crate::upstream::{Down, Outage};

/// Why a turn does not go on.
pub(super) enum Stop {
    /// So it ends.
    Ended(Result<Outcome, AgentError>),
    /// A call failed.
    Failed(Error),
    /// The upstream is down, and what was asked of it may be repeated.
    Down(Down),
}

impl From<AgentError> for Stop {
    fn from(error: AgentError) -> Self {
        Self::Ended(Err(error))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<IdentityError> for Stop {
    fn from(error: IdentityError) -> Self {
        Self::Ended(error.ending())
    }
}

/// A checkpoint that is being written.
pub(super) type Recording<'a> = BoxFuture<'a, Result<(), AgentError>>;

/// A turn.
pub(super) struct Run<'a> {
    pub(super) line: &'a Line,
    pub(super) turn: &'a Turn,
    /// Nothing, if the turn is over.
    pub(super) progress: Option<&'a Progress>,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) recording: Option<Recording<'a>>,
    /// What is shown in each call.
    pub(super) shown: HeaderMap,
    /// Another identity was asked for, and was not taken yet.
    pub(super) renewed: bool,
    /// How often that was done in all.
    pub(super) renewals: u32,
    /// See [`Run::own_context`].
    pub(super) own_context: OnceLock<ContextId>,
    /// What operators see of it.
    pub(super) errand: Option<&'a Errand>,
    /// The upstream is down.
    pub(super) outage: Outage<'a>,
}

impl<'a> Run<'a> {
    pub(super) async fn new(
        line: &'a Line,
        turn: &'a Turn,
        progress: Option<&'a Progress>,
    ) -> Result<Self, AgentError> {
        // Nothing was done yet for a task that has only been handed in.
        let checkpoint = match turn.task.status.state {
            TaskState::Submitted => None,
            _ => turn.last_step(NAME).await?,
        };
        let checkpoint = checkpoint.map(serde_json::from_value).transpose();
        let checkpoint = checkpoint.map_err(|error| {
            tracing::error!(%error, task = %turn.task_id(), "could not read the checkpoint of a remote task");
            AgentError::new("the stored state of the remote task is unreadable")
        })?;
        Ok(Self {
            line,
            turn,
            progress,
            checkpoint,
            recording: None,
            shown: HeaderMap::new(),
            renewed: false,
            renewals: 0,
            own_context: OnceLock::new(),
            errand: None,
            outage: Outage::new(turn, progress, &line.address),
        })
    }

    /// Takes the turn.
    pub(super) async fn take(mut self) -> Result<Outcome, AgentError> {
        let plan = Checkpoint::plan(self.checkpoint.as_ref(), self.turn);
        match self.carry_out(plan).await {
            Ok(ending) => self.end(ending).await,
            // What was begun may go on there, and nobody waits for it any more.
            Err(Stop::Ended(Err(error))) if error.kind() == AgentErrorKind::Unavailable => {
                Err(error.release_pending())
            }
            Err(Stop::Ended(ended)) => ended,
            Err(Stop::Down(down)) => Err(AgentError::unavailable(down.to_string())),
            Err(Stop::Failed(error)) => {
                let failed = told(self.turn, &self.shown, &error);
                if matches!(error.kind(), Kind::Unreachable | Kind::Interrupted) {
                    self.line.forget();
                }
                Err(match error.kind() {
                    Kind::Unintelligible | Kind::TooLarge => match self.abandon().await {
                        Ok(()) => failed,
                        Err(stop) => failed.not_stopped(stop),
                    },
                    _ if self.leaves(&error) && may_pass(&error) => failed.release_pending(),
                    _ => failed,
                })
            }
        }
    }

    pub(super) async fn act(&mut self, client: &Client, plan: Plan) -> Result<Ending, Stop> {
        match plan {
            Plan::Send(to) => {
                self.write_down(to.as_ref()).await?;
                if self.turn.canceled.is_cancelled() {
                    // The message is not sent any more, and what waits for it need not.
                    if let Some(id) = &to {
                        Box::pin(self.cancel(client, id)).await?;
                    }
                    return Err(AgentError::over().into());
                }
                self.send(client, to).await
            }
            Plan::Attach(id) => self.attach(client, id).await,
            Plan::Check(id) => {
                let of = &id;
                let get = move |options| async move { client.get_with(of, None, &options).await };
                let task = self.insist(get).await.map_err(Stop::or_down)?;
                if self.was_not_heard(&task) {
                    self.send(client, Some(id)).await
                } else {
                    self.attach(client, id).await
                }
            }
            Plan::Look if self.line.settings.idempotent => self.send(client, None).await,
            Plan::Look => self.look(client).await,
        }
    }

    /// Writes down that a message goes out, before it does.
    async fn write_down(&mut self, to: Option<&TaskId>) -> Result<(), Stop> {
        let context = self.context().await?;
        let checkpoint =
            Checkpoint::sending(self.checkpoint.as_ref(), self.turn, to, context.as_ref());
        let value = serde_json::to_value(&checkpoint).map_err(|_| unknown())?;
        self.checkpoint = Some(checkpoint);
        if let Some(progress) = self.progress {
            // What may be answered with a bare message stays able to, and no task comes of it without the checkpoint.
            progress.record_with_task(NAME, value).await?;
        }
        Ok(())
    }

    /// Sends the message of the checkpoint, and follows what comes of it.
    async fn send(&mut self, client: &Client, to: Option<TaskId>) -> Result<Ending, Stop> {
        let message = self.message(to.as_ref())?;
        let mut begun = self.begin(client, &message).await;
        if let Err(Stop::Failed(error)) = &begun
            && self.renews(error).await?
        {
            begun = self.begin(client, &message).await;
        }
        let begun = match begun {
            Ok(begun) => Ok(begun),
            Err(Stop::Failed(error)) => Err(error),
            Err(stop) => return Err(stop),
        };
        if let Err(error) = &begun
            && self.asks_the_caller(error)
        {
            self.mark(State::Unsent).await?;
        }
        match (begun, to) {
            (Ok(begun), Some(id)) => {
                let context = self.checkpoint.as_ref().and_then(Checkpoint::context_id);
                let heard = Heard::answered(id, context, &self.turn.task);
                self.hear(client, begun, heard).await
            }
            (Ok(begun), None) => self.hear(client, begun, Heard::nothing()).await,
            // The upstream knows a repetition by its key.
            (Err(error), None) if self.line.settings.idempotent && may_be_keyed(&error) => {
                Err(Stop::Down(down(&error)))
            }
            (Err(error), to) if error.may_have_arrived() => {
                tracing::warn!(%error, task = %self.turn.task_id(), "message may not have arrived, checking");
                match to {
                    Some(id) => self.attach(client, id).await,
                    None => self.look(client).await,
                }
            }
            // It may have ended by itself, and takes no message any more.
            (Err(error), Some(id)) if error.kind() == Kind::Protocol && !error.was_not_begun() => {
                let options = self.options();
                match client.get_with(&id, None, &options).await {
                    Ok(task) if task.status.state.is_terminal() => self.attach(client, id).await,
                    _ => Err(error.into()),
                }
            }
            (Err(error), _) => Err(self.not_taken(error).await?),
        }
    }

    /// Looks for the task that a message has begun, and follows it.
    async fn look(&mut self, client: &Client) -> Result<Ending, Stop> {
        match self.listed(client).await {
            Ok(Some(id)) => self.attach(client, id).await,
            // Whoever brings credentials can look again.
            Err(Stop::Failed(error)) if self.asks_the_caller(&error) => Err(error.into()),
            Err(Stop::Failed(error)) if may_pass(&error) => Err(Stop::Down(down(&error))),
            Ok(None) | Err(Stop::Failed(_)) => Err(unknown().into()),
            Err(stop) => Err(stop),
        }
    }

    /// Follows a task that runs, and tells what was not told yet.
    async fn attach(&mut self, client: &Client, id: TaskId) -> Result<Ending, Stop> {
        let context = self.checkpoint.as_ref().and_then(Checkpoint::context_id);
        let heard = Heard::of(id, context, &self.turn.task);
        let events = heard
            .task()
            .map(|known| client.resume(Arc::clone(known), &self.options()))
            .ok_or_else(unknown)?;
        let begun = Begun::Events(Box::new(events));
        Box::pin(self.hear(client, begun, heard)).await
    }

    /// Passes on what is said, until it ends.
    async fn hear(
        &mut self,
        client: &Client,
        begun: Begun,
        mut heard: Heard,
    ) -> Result<Ending, Stop> {
        self.outage.over().await?;
        let mut events = match begun {
            Begun::Events(events) => *events,
            Begun::Answer(Sent::Message(message)) => {
                let ended = self.pass(&mut heard, &Event::Message(message)).await?;
                return ended.ok_or_else(|| unknown().into());
            }
            Begun::Answer(Sent::Task(task)) => {
                let event = Event::Task(Arc::clone(&task));
                if let Some(ending) = self.pass(&mut heard, &event).await? {
                    return Ok(ending);
                }
                client.resume(task, &self.options())
            }
        };
        loop {
            let item = tokio::select! {
                biased;
                () = self.turn.canceled.cancelled() => {
                    match heard.task() {
                        Some(task) => Box::pin(self.cancel(client, &task.id)).await?,
                        None => Box::pin(self.withdraw(client, None, told_of(events))).await?,
                    }
                    return Err(AgentError::over().into());
                }
                item = events.next() => item,
                // Whatever has come already may be the end, and then there is nothing to write down.
                recorded = written(&mut self.recording) => {
                    self.recording = None;
                    recorded?;
                    continue;
                }
            };
            match item {
                Some(Ok(item)) => {
                    if let Some(ending) = self.pass(&mut heard, &item.event).await? {
                        return self.rest(events, heard, ending).await;
                    }
                }
                Some(Err(error)) => {
                    self.renewed &= !events.has_answered();
                    match heard.task().cloned() {
                        Some(known) if self.renews(&error).await? => {
                            events = client.resume(known, &self.options());
                        }
                        None if error.may_have_arrived() => return self.look(client).await,
                        None if self.asks_the_caller(&error) => {
                            self.mark(State::Unsent).await?;
                            return Err(error.into());
                        }
                        None => return Err(self.not_taken(error).await?),
                        Some(_) => return Err(error.into()),
                    }
                }
                None => return heard.stands().ok_or_else(|| unknown().into()),
            }
        }
    }

    /// Passes on one event.
    pub(super) async fn pass(
        &mut self,
        heard: &mut Heard,
        event: &Event,
    ) -> Result<Option<Ending>, Stop> {
        self.renewed = false;
        let (steps, ending) = heard.hear(event, &self.shown);
        if let Some(task) = heard.task() {
            self.know(task);
        }
        if let Some(progress) = self.progress {
            for step in steps {
                match step {
                    Step::Working(parts, message_metadata, metadata) => {
                        let said = Said {
                            parts,
                            message_metadata,
                            metadata,
                            references: Vec::new(),
                        };
                        progress.working(said).await?;
                    }
                    Step::Chunk(artifact, append, last) => {
                        let artifact = Arc::unwrap_or_clone(artifact);
                        progress.chunk(artifact, append, last).await?;
                    }
                }
            }
        }
        Ok(ending)
    }

    async fn end(&mut self, ending: Ending) -> Result<Outcome, AgentError> {
        match ending {
            Ending::Completed(said) => {
                // The next task needs to know what the conversation is called, unless we have named it.
                let named = self.checkpoint.as_ref().and_then(Checkpoint::context_id);
                if named.as_ref() != Some(self.own_context()) {
                    self.recorded().await?;
                }
                Ok(Outcome::Completed(said))
            }
            Ending::InputRequired(said) => {
                let said = scrubbed(&self.shown, said);
                self.waits().await?;
                Ok(Outcome::InputRequired(said))
            }
            Ending::AuthRequired(said) => {
                let said = scrubbed(&self.shown, said);
                self.waits().await?;
                Ok(Outcome::AuthRequired(said))
            }
            Ending::Rejected(said) => Ok(Outcome::Rejected(scrubbed(&self.shown, said))),
            Ending::Reply(said) => Ok(Outcome::Reply(said)),
            Ending::Failed(reason, spent) => {
                Err(AgentError::new(without(&self.shown, reason)).costing(spent))
            }
        }
    }
}

/// Waits for a checkpoint that is being written; for ever, if none is.
async fn written(recording: &mut Option<Recording<'_>>) -> Result<(), AgentError> {
    match recording {
        Some(recording) => recording.await,
        None => std::future::pending().await,
    }
}
