//! One turn of our task, taken by a run of a graph.

use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;
use switchboard_server::agent::{
    AgentError, AgentErrorKind, Errand, Outcome, Progress, Said, Turn,
};
use switchboard_types::Dialect;
use switchboard_types::model::{Artifact, ArtifactId, Part, TaskId};
use tokio::time::{Instant, timeout};

use super::api::{Fault, Server};
use super::checkpoint::{Checkpoint, NAME};
use super::events::{Ending, is_old, question, told};
use super::hear::{Heeded, Pen};
use super::line::{IDENTITY, Line, Unresolved};
use super::message;
use crate::fetch::{quoted, without};
use crate::identity::IdentityError;
use crate::remote::checkpoint::{Checkpoint as At, Plan};
use crate::upstream::{Down, Outage};

/// What the answer is called.
pub(super) const ANSWER: &str = "answer";
/// How long a run is looked for that may have begun.
pub(super) const BEGINS: Duration = Duration::from_secs(1);
/// The same after a restart. What was on its way then has arrived by now, and is not sent again.
const ARRIVES: Duration = Duration::from_secs(5);
/// What a graph is told whose question nobody answered.
const NO_ANSWER: &str = "No answer came in time. Go on without it.";
/// No such method: the release knows no streams.
const NO_METHOD: i32 = -32601;

/// Why a turn does not go on.
pub(super) enum Stop {
    Ended(Result<Outcome, AgentError>),
    Fault(Fault),
    /// The upstream is down, and what was asked of it may be repeated.
    Down(Down),
    /// The run may go on, and is not heard out.
    Unheard(AgentError),
}

impl Stop {
    /// The same, after something that may always be repeated: a read.
    fn or_down(self) -> Self {
        match self {
            Self::Fault(fault) => fault.down().map_or(Self::Fault(fault), Self::Down),
            stop => stop,
        }
    }
}

impl From<AgentError> for Stop {
    fn from(error: AgentError) -> Self {
        Self::Ended(Err(error))
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<IdentityError> for Stop {
    fn from(error: IdentityError) -> Self {
        Self::Ended(error.ending())
    }
}

/// A turn.
pub(super) struct Run<'a> {
    pub(super) line: &'a Line,
    /// The server; what it is asked belongs to the turn.
    pub(super) server: Server,
    pub(super) dialect: Dialect,
    pub(super) turn: &'a Turn,
    /// Nothing, if the turn is over.
    pub(super) progress: Option<&'a Progress>,
    pub(super) checkpoint: Option<Checkpoint>,
    /// What is shown in each request.
    pub(super) shown: HeaderMap,
    /// What the answer is written with; nothing, if the turn is over.
    pub(super) pen: Option<Pen<'a>>,
    /// Another identity was asked for, and was not taken yet.
    pub(super) renewed: bool,
    pub(super) errand: Option<&'a Errand>,
    /// The upstream is down.
    pub(super) outage: Outage<'a>,
}

impl<'a> Run<'a> {
    pub(super) async fn new(
        line: &'a Line,
        dialect: Dialect,
        turn: &'a Turn,
        progress: Option<&'a Progress>,
    ) -> Result<Self, AgentError> {
        let checkpoint = turn.last_step(NAME).await?.map(serde_json::from_value);
        let checkpoint = checkpoint.transpose().map_err(|error| {
            tracing::error!(%error, task = %turn.task_id(), "could not read a checkpoint");
            AgentError::new("the stored state of the run is unreadable")
        })?;
        Ok(Self {
            line,
            server: line.server.traced(turn.trace()),
            dialect,
            turn,
            progress,
            checkpoint,
            shown: HeaderMap::new(),
            renewed: false,
            errand: None,
            outage: Outage::new(turn, progress, &line.address),
            pen: progress.map(|progress| {
                let told = told(&turn.task, ANSWER).filter(|_| turn.emitted > 0);
                Pen::new(progress, line.settings.coalesce, told)
            }),
        })
    }

    /// Takes the turn. Whoever stops waiting for a run cancels it: it would go on by itself.
    pub(super) async fn take(mut self) -> Result<Outcome, AgentError> {
        let limit = self.line.settings.timeout;
        let canceled = self.turn.canceled.clone();
        let taken = loop {
            // The time that the server is down is none of the assistant's.
            let taken = tokio::select! {
                biased;
                () = canceled.cancelled() => None,
                taken = timeout(limit, self.carry_out()) => Some(taken),
            };
            let Some(Ok(Err(Stop::Down(down)))) = &taken else {
                break taken;
            };
            match self.outage.wait(down).await {
                Ok(()) => {}
                Err(_) if canceled.is_cancelled() => break None,
                Err(ended) => break Some(Ok(Err(ended.into()))),
            }
        };
        match taken {
            None => {
                self.cancel().await?;
                Err(AgentError::over())
            }
            Some(Err(_)) => {
                let late = AgentError::new(format!(
                    "the assistant timed out after {} s; the run was canceled. Raise `timeout` of the agent",
                    limit.as_secs_f64()
                ));
                Err(self.leave(late).await)
            }
            Some(Ok(Ok(ending))) => self.end(ending).await,
            // What was begun may go on there, and nobody waits for it any more.
            Some(Ok(Err(Stop::Ended(Err(error)))))
                if error.kind() == AgentErrorKind::Unavailable =>
            {
                Err(match self.is_unsent() {
                    true => error,
                    false => error.release_pending(),
                })
            }
            Some(Ok(Err(Stop::Down(down)))) => Err(AgentError::unavailable(down.to_string())),
            Some(Ok(Err(Stop::Ended(ended)))) => ended,
            Some(Ok(Err(Stop::Unheard(error)))) => Err(self.leave(error).await),
            // Where it is the caller's own, the caller can bring another.
            Some(Ok(Err(Stop::Fault(Fault::Unknown)))) if self.is_forwarded() => {
                IdentityError::NoCredential.ending()
            }
            Some(Ok(Err(Stop::Fault(fault)))) => {
                let failed = self.failed(&fault);
                Err(match fault.may_pass() {
                    true => failed.release_pending(),
                    false => failed,
                })
            }
        }
    }

    /// The turn ends so, and what runs is stopped.
    async fn leave(&mut self, error: AgentError) -> AgentError {
        match self.cancel().await {
            Ok(()) => error,
            Err(stop) => error.not_stopped(stop),
        }
    }

    pub(super) async fn identify(&mut self) -> Result<(), IdentityError> {
        let deadline = Instant::now() + IDENTITY;
        let identity = &self.line.identity;
        self.shown = identity.headers(&self.turn.principal, deadline).await?;
        Ok(())
    }

    async fn carry_out(&mut self) -> Result<Ending, Stop> {
        let plan = At::plan(
            self.checkpoint.as_ref().map(|checkpoint| &checkpoint.at),
            self.turn,
        );
        if let Err(error) = self.identify().await {
            if error == IdentityError::NoCredential {
                self.set_aside(&plan).await?;
            }
            return Err(match error {
                IdentityError::Unavailable(why) => Stop::Down(Down::without_token(why)),
                error => error.into(),
            });
        }
        match plan {
            Plan::Send(to) => {
                let mut begun = self.write_down(to.as_ref()).await;
                if let Err(Stop::Fault(fault)) = &begun
                    && self.renews(fault).await?
                {
                    begun = self.write_down(to.as_ref()).await;
                }
                if let Err(Stop::Fault(Fault::Unknown)) = &begun
                    && self.is_forwarded()
                {
                    self.set_aside(&Plan::Send(to)).await?;
                }
                begun.map_err(Stop::or_down)?;
                self.send().await
            }
            Plan::Attach(_) => self.find().await,
            Plan::Check(_) | Plan::Look => match self.look(ARRIVES).await.map_err(Stop::or_down)? {
                true => self.follow().await,
                // The server answers questions in the order they come: it would know of it.
                false => self.send().await,
            },
        }
    }

    /// Writes down what goes out, before it does.
    async fn write_down(&mut self, to: Option<&TaskId>) -> Result<(), Stop> {
        let before = self.checkpoint.as_ref();
        let thread = self.turn.own_context();
        let before_at = before.map(|checkpoint| &checkpoint.at);
        let at = At::sending(before_at, self.turn, to, Some(&thread));
        let interrupts = before.map(|checkpoint| checkpoint.interrupts.clone());
        let interrupts = interrupts.unwrap_or_default();
        let said = &at.message(self.turn).parts;
        let resume = match to {
            None => {
                self.outgoing(said)?;
                None
            }
            Some(_) if at.unanswered => Some(message::addressed(NO_ANSWER.into(), &interrupts)),
            Some(_) => match message::answer(said, &interrupts) {
                Ok(value) => Some(value),
                Err(why) => return Err(self.ask_again(why).await?),
            },
        };
        let runs = self.server.runs(&self.shown, thread.as_str()).await?;
        self.checkpoint = Some(Checkpoint {
            at,
            seen: runs.into_iter().next().map(|run| run.run_id),
            run: None,
            interrupts,
            resume,
        });
        self.record_checkpoint().await?;
        Ok(())
    }

    /// What was said is no answer. The question stands.
    async fn ask_again(&mut self, why: String) -> Result<Stop, AgentError> {
        let said = Said::text(why);
        self.waits().await?;
        Ok(Stop::Ended(Ok(Outcome::InputRequired(said))))
    }

    /// Sends the message of the checkpoint, and follows what comes of it.
    async fn send(&mut self) -> Result<Ending, Stop> {
        let id = match self.line.id(&self.shown).await {
            Ok(id) => id,
            Err(Unresolved::Fault(Fault::Unknown)) => return Err(self.refused_to_send().await?),
            Err(Unresolved::Fault(fault)) if fault.down().is_some() => {
                return Err(self.not_sent(fault).await?);
            }
            Err(unresolved) => {
                tracing::warn!(agent = &**self.turn.agent(), error = %unresolved, "LangGraph assistant not found");
                return Err(unresolved.told().into());
            }
        };
        if let Some(value) = self.resumes_by_hand() {
            let thread = self.thread().to_owned();
            let begun = self.server.resume(&self.shown, &thread, &id, &value);
            let run = match begun.await {
                Err(Fault::Lost) => return self.find().await,
                Err(Fault::Unknown) => return Err(self.refused_to_send().await?),
                Err(fault) => return Err(self.not_taken(fault).await?),
                Ok(begun) => begun,
            };
            self.outage.over().await?;
            self.know(None, Some(run.run_id)).await?;
            return self.follow().await;
        }
        let mut streams = self.line.settings.streaming;
        loop {
            let call = self.call(streams)?;
            let response = match self.server.a2a(&self.shown, &id, call).await {
                Err(Fault::Lost) => return self.find().await,
                Err(Fault::Unknown) => return Err(self.refused_to_send().await?),
                Err(fault) => return Err(self.not_taken(fault).await?),
                Ok(response) => response,
            };
            self.outage.over().await?;
            match self.hear(response).await? {
                Heeded::Ended(Ending::Unsure) | Heeded::CutOff => return self.find().await,
                Heeded::Ended(ending) => return Ok(ending),
                Heeded::Refused(NO_METHOD, _) if streams => streams = false,
                Heeded::Refused(code, said) => return Err(self.refused(code, &said)),
            }
        }
    }

    /// The answer to a question, where A2A has no word for it.
    fn resumes_by_hand(&self) -> Option<Value> {
        let checkpoint = self.checkpoint.as_ref()?;
        let task = TaskId::new(checkpoint.at.task.as_deref()?).ok()?;
        checkpoint.resume.clone().filter(|_| is_old(&task))
    }

    async fn end(&mut self, ending: Ending) -> Result<Outcome, AgentError> {
        match ending {
            Ending::Answer(parts) => {
                let text: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
                let text = text.join("\n");
                let rest: Vec<Part> = parts
                    .iter()
                    .filter(|p| p.as_text().is_none())
                    .cloned()
                    .collect();
                let has_text = match self.pen.take() {
                    Some(mut pen) => {
                        if !text.is_empty() {
                            pen.say(&text);
                        }
                        pen.close().await?
                    }
                    None => false,
                };
                if let (Some(progress), false) = (self.progress, rest.is_empty()) {
                    let id = ArtifactId::new(ANSWER).map_err(|e| AgentError::new(e.to_string()))?;
                    let more = Artifact {
                        name: (!has_text).then(|| ANSWER.to_owned()),
                        ..Artifact::new(id, rest)
                    };
                    progress.chunk(more, has_text, true).await?;
                }
                Ok(Outcome::Completed(Said::default()))
            }
            Ending::Asks(interrupts) => {
                let said = question(&interrupts);
                if let Some(checkpoint) = &mut self.checkpoint {
                    let ids = interrupts.into_iter().filter_map(|asked| asked.id);
                    checkpoint.interrupts = ids.collect();
                }
                self.waits().await?;
                Ok(Outcome::InputRequired(said))
            }
            Ending::Canceled => Err(AgentError::new(
                "the run was canceled at the LangGraph server",
            )),
            Ending::Failed(said) => {
                let said = quoted(&without(&self.shown, said));
                tracing::warn!(reason = said, agent = &**self.turn.agent(), task = %self.turn.task_id(), "LangGraph run failed");
                Err(AgentError::new(match said.as_str() {
                    said if self.line.settings.show_errors && !said.is_empty() => {
                        format!("the assistant failed: {said}")
                    }
                    _ => "the assistant failed: see the logs of Switchboard and of the LangGraph server".to_owned(),
                }))
            }
            Ending::Unsure => Err(lost().release_pending()),
        }
    }

    fn failed(&self, fault: &Fault) -> AgentError {
        tracing::warn!(%fault, agent = &**self.turn.agent(), task = %self.turn.task_id(), "LangGraph server call failed");
        fault.told()
    }
}

/// A message went out, and nothing came back.
pub(super) fn lost() -> AgentError {
    AgentError::unavailable(
        "the connection to the LangGraph server was lost after the message was sent; it is unknown whether it was processed",
    )
}
