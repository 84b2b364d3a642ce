//! A run that is not heard any more: it is looked for, looked at until it ends, and stopped.

use std::time::Duration;

use serde_json::json;
use switchboard_server::agent::{AgentError, AgentErrorKind};
use switchboard_types::backoff::Backoff;
use switchboard_types::model::{MessageId, TaskId};
use tokio::time::{Instant, sleep};

use super::api::Fault;
use super::checkpoint::Checkpoint;
use super::events::{Begun, Ending, found, is_old, settled};
use super::line::Unresolved;
use super::message;
use super::run::{BEGINS, Run, Stop, lost};
use crate::identity::IdentityError;
use crate::remote::checkpoint::State;

/// How often a run is looked at: first, and at most.
const SOON: Duration = Duration::from_millis(100);
const SELDOM: Duration = Duration::from_secs(1);
/// How long a run that is to stop is looked for.
const STOPS: Duration = Duration::from_secs(3);
/// What callers are told if the server has forgotten a run.
const GONE: &str = "the LangGraph server no longer knows the run, it may have been restarted without its memory: send the message again";

impl Run<'_> {
    /// The connection was lost, or what was said is not certain: how does the run stand?
    pub(super) async fn find(&mut self) -> Result<Ending, Stop> {
        if self.run().is_none() && !self.look(BEGINS).await? {
            return Err(lost().into());
        }
        self.follow().await
    }

    /// Looks for the run that the message of the checkpoint has begun; whether it is there.
    pub(super) async fn look(&mut self, within: Duration) -> Result<bool, Stop> {
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(false);
        };
        let begun = match (
            &checkpoint.resume,
            checkpoint.at.message_id(self.turn.task_id()),
        ) {
            (Some(value), _) => Begun::Resume(value.clone()),
            (None, Some(id)) => {
                message::begins(&checkpoint.at.message(self.turn).parts, id.as_str())
            }
            (None, None) => return Ok(false),
        };
        let (thread, seen) = (checkpoint.thread().to_owned(), checkpoint.seen.clone());
        let since = Instant::now();
        let mut patience = self.patience();
        loop {
            let runs = match self.server.runs(&self.shown, &thread).await {
                Ok(runs) => runs,
                Err(fault) => {
                    self.bear(fault, &mut patience).await?;
                    continue;
                }
            };
            if let Some(run) = found(&runs, seen.as_deref(), &begun) {
                let task = match run.is_old() {
                    true => run.run_id.clone(),
                    false => format!("{thread}:{}", run.run_id),
                };
                // What goes on after a question is the same task, but another run.
                let is_new = !matches!(begun, Begun::Resume(_));
                let task = TaskId::new(task).ok().filter(|_| is_new);
                self.know(task.as_ref(), Some(run.run_id.clone())).await?;
                return Ok(true);
            }
            if since.elapsed() >= within {
                return Ok(false);
            }
            sleep(SOON).await;
        }
    }

    /// Waits for the end of the run, by looking at it.
    pub(super) async fn follow(&mut self) -> Result<Ending, Stop> {
        let run = self.run().map(str::to_owned).ok_or_else(lost)?;
        let thread = self.thread().to_owned();
        let mut polls = Backoff::new(SOON, SELDOM);
        let mut patience = self.patience();
        let over = loop {
            match self.server.run(&self.shown, &thread, &run).await {
                Ok(now) if now.is_over() => break now,
                Ok(_) => {
                    patience = self.patience();
                    self.renewed = false;
                    sleep(polls.next_delay()).await;
                }
                Err(Fault::Missing(_)) => return Err(AgentError::new(GONE).into()),
                Err(fault) => self.bear(fault, &mut patience).await?,
            }
        };
        let state = loop {
            match self.server.state(&self.shown, &thread).await {
                Ok(state) => break state,
                Err(fault) => self.bear(fault, &mut patience).await?,
            }
        };
        let checkpoint = self
            .checkpoint
            .as_ref()
            .filter(|checkpoint| checkpoint.resume.is_none());
        let id = checkpoint.and_then(|checkpoint| checkpoint.at.message_id(self.turn.task_id()));
        Ok(settled(&over, state, id.as_ref().map(MessageId::as_str)))
    }

    /// The task is over, and nobody waits any more: what runs there is stopped, and what is asked there is withdrawn.
    ///
    /// # Errors
    ///
    /// If that may be possible later, or the server refuses.
    pub(super) async fn cancel(&mut self) -> Result<(), AgentError> {
        let there = |checkpoint: &Checkpoint| {
            checkpoint.at.state != State::Unsent || checkpoint.at.task.is_some()
        };
        if !self.checkpoint.as_ref().is_some_and(there) {
            return Ok(());
        }
        let task = self.turn.task_id();
        if self.shown.is_empty()
            && let Err(error) = self.identify().await
        {
            return match error {
                IdentityError::Unavailable(why) => {
                    Err(AgentError::unavailable(why).release_pending())
                }
                error => Err(refused(task, error.to_string())),
            };
        }
        // What was renewed may have expired since.
        self.renewed = false;
        let mut told = self.stop().await;
        if let Err(Stop::Fault(fault)) = &told {
            match self.renews(fault).await {
                Ok(true) => told = self.stop().await,
                Ok(false) => {}
                Err(stop) => told = Err(stop),
            }
        }
        match told {
            Ok(()) => Ok(()),
            Err(Stop::Fault(fault)) if fault.may_pass() => Err(fault.told().release_pending()),
            Err(Stop::Down(down)) => {
                Err(AgentError::unavailable(down.to_string()).release_pending())
            }
            Err(Stop::Ended(Err(error))) if error.kind() == AgentErrorKind::Unavailable => {
                Err(error.release_pending())
            }
            // What is not there does not go on.
            Err(Stop::Fault(fault @ Fault::Missing(_))) => {
                tracing::warn!(%fault, %task, "LangGraph run not canceled");
                Ok(())
            }
            Err(Stop::Fault(fault)) => Err(refused(task, fault.to_string())),
            Err(Stop::Ended(Err(error)) | Stop::Unheard(error)) => {
                Err(refused(task, error.to_string()))
            }
            Err(Stop::Ended(Ok(_))) => {
                Err(refused(task, "no credentials for the upstream".to_owned()))
            }
        }
    }

    async fn stop(&mut self) -> Result<(), Stop> {
        let state = self
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.at.state);
        if matches!(state, Some(State::Sending | State::Running)) {
            // That it cannot be written down any more does not matter.
            if self.run().is_none()
                && let Err(stop) = self.look(STOPS).await
                && self.run().is_none()
            {
                return Err(stop);
            }
            if let Some(run) = self.run() {
                let server = &self.server;
                server.cancel(&self.shown, self.thread(), run).await?;
            }
        }
        Ok(self.withdraw().await?)
    }

    /// Withdraws what is asked there, also by a run that was over before it was stopped. Releases that know tasks are told
    /// which one; at others the thread is brought to its end, unless another run has gone on from there.
    async fn withdraw(&self) -> Result<(), Fault> {
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(());
        };
        let task = checkpoint
            .at
            .task
            .as_deref()
            .and_then(|id| TaskId::new(id).ok());
        let Some(task) = task else { return Ok(()) };
        if !is_old(&task) {
            let id = self.line.id(&self.shown).await.map_err(|why| match why {
                Unresolved::Fault(fault) => fault,
                Unresolved::Which(which) => Fault::Missing(which),
            })?;
            let call = json!({
                "jsonrpc": "2.0",
                "id": self.turn.task_id().as_str(),
                "method": "tasks/cancel",
                "params": {"id": task.as_str()},
            });
            let call = call.to_string().into_bytes();
            return self.server.a2a(&self.shown, &id, call).await.map(drop);
        }
        let thread = checkpoint.thread();
        // What stood there before asks for us only if we have answered it: it may be another task's.
        let answered = checkpoint
            .seen
            .as_deref()
            .filter(|_| checkpoint.resume.is_some());
        let ours = [checkpoint.run.as_deref(), answered];
        match self.server.state(&self.shown, thread).await {
            Ok(state) if state.is_asked_by(&ours) => self.server.end(&self.shown, thread).await,
            Ok(_) | Err(Fault::Missing(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// After a refusal: whether there is something else to show now.
    pub(super) async fn renews(&mut self, fault: &Fault) -> Result<bool, Stop> {
        let identity = &self.line.identity;
        let refused = *fault == Fault::Unknown && !self.renewed;
        if !refused || !identity.refused(&self.turn.principal, &self.shown) {
            return Ok(false);
        }
        self.renewed = true;
        match self.identify().await {
            Ok(()) => Ok(true),
            // What the caller has shown is no good any more: the caller can help.
            Err(IdentityError::Refused(_)) if self.is_forwarded() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits a little, if it is worth to ask again.
    async fn bear(&mut self, fault: Fault, patience: &mut Patience) -> Result<(), Stop> {
        if self.renews(&fault).await? {
            return Ok(());
        }
        if !fault.may_pass() {
            return Err(fault.into());
        }
        let delay = patience.backoff.next_delay();
        if Instant::now() + delay >= patience.until {
            return Err(Fault::Lost.into());
        }
        sleep(delay).await;
        Ok(())
    }

    fn patience(&self) -> Patience {
        Patience {
            until: Instant::now() + self.line.settings.reconnect,
            backoff: Backoff::new(SOON, SELDOM),
        }
    }
}

/// How long a server that does not answer is waited for.
struct Patience {
    until: Instant,
    backoff: Backoff,
}

/// The run may go on, and asking again would not help.
fn refused(task: &TaskId, reason: String) -> AgentError {
    tracing::warn!(reason, %task, "LangGraph run not canceled");
    AgentError::over().cancel_refused(reason)
}
