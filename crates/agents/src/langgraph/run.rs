//! One turn of our task, taken by a run of a graph.

use std::time::Duration;

use http::HeaderMap;
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Outcome, Progress, Said, Turn};
use switchboard_types::Dialect;
use switchboard_types::model::{Artifact, ArtifactId, MessageId, Part, TaskId};
use tokio::time::{Instant, sleep, timeout};

use super::api::Fault;
use super::events::{Begun, Ending, found, is_old, question, settled, told};
use super::hear::{Heeded, Pen};
use super::line::{IDENTITY, Line};
use super::message;
use super::note::{NAME, Note};
use crate::fetch::{quoted, without};
use crate::identity::IdentityError;
use crate::remote::note::{Note as At, Plan, State};

/// What the answer is called.
pub(super) const ANSWER: &str = "answer";
/// How often a run is looked at that is followed without a stream: first, and at most.
const SOON: Duration = Duration::from_millis(100);
const SELDOM: Duration = Duration::from_secs(1);
/// How long a run is looked for that may have begun.
const BEGINS: Duration = Duration::from_secs(1);
/// How long a run that is to stop is looked for.
const STOPS: Duration = Duration::from_secs(3);
/// What callers are told if the server has forgotten a run.
const GONE: &str = "the LangGraph server no longer knows the run, it may have been restarted without its memory: send the message again";
/// What a graph is told whose question nobody answered.
const NO_ANSWER: &str = "No answer came in time. Go on without it.";
/// No such method: the release knows no streams.
const NO_METHOD: i32 = -32601;

/// Why a turn does not go on.
pub(super) enum Stop {
    Ended(Result<Outcome, AgentError>),
    Fault(Fault),
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
    pub(super) dialect: Dialect,
    pub(super) turn: &'a Turn,
    /// Nothing, if the turn is over.
    progress: Option<&'a Progress>,
    pub(super) note: Option<Note>,
    /// What is shown in each request.
    pub(super) shown: HeaderMap,
    /// What the answer is written with; nothing, if the turn is over.
    pub(super) pen: Option<Pen<'a>>,
}

impl<'a> Run<'a> {
    pub(super) async fn new(
        line: &'a Line,
        dialect: Dialect,
        turn: &'a Turn,
        progress: Option<&'a Progress>,
    ) -> Result<Self, AgentError> {
        let note = turn.note(NAME).await?.map(serde_json::from_value);
        let note = note.transpose().map_err(|error| {
            tracing::error!(%error, task = %turn.task_id(), "a note cannot be read");
            AgentError::new("what was noted about the run cannot be read")
        })?;
        Ok(Self {
            line,
            dialect,
            turn,
            progress,
            note,
            shown: HeaderMap::new(),
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
        let taken = tokio::select! {
            biased;
            () = canceled.cancelled() => None,
            taken = timeout(limit, self.carry_out()) => Some(taken),
        };
        match taken {
            None => {
                self.cancel().await;
                Err(AgentError::over())
            }
            Some(Err(_)) => {
                self.cancel().await;
                Err(AgentError::new(format!(
                    "the assistant was not done within {} s, and its run was canceled: the agent's `timeout` can be raised",
                    limit.as_secs_f64()
                )))
            }
            Some(Ok(Ok(ending))) => self.end(ending).await,
            Some(Ok(Err(Stop::Ended(ended)))) => ended,
            Some(Ok(Err(Stop::Fault(fault)))) => Err(self.failed(&fault)),
        }
    }

    /// A question was withdrawn. Releases that know tasks are told; for others nothing runs that could be stopped.
    pub(super) async fn let_go(mut self) {
        let task = self.note.as_ref().and_then(|note| note.at.task.clone());
        let Some(task) = task
            .and_then(|id| TaskId::new(id).ok())
            .filter(|id| !is_old(id))
        else {
            return;
        };
        let told = async {
            self.identify().await.map_err(|error| error.to_string())?;
            let id = self
                .line
                .id(&self.shown)
                .await
                .map_err(|error| error.to_string())?;
            let call = json!({
                "jsonrpc": "2.0",
                "id": self.turn.task_id().as_str(),
                "method": "tasks/cancel",
                "params": {"id": task.as_str()},
            });
            let call = call.to_string().into_bytes();
            let sent = self.line.server.a2a(&self.shown, &id, call).await;
            sent.map(drop).map_err(|fault| fault.to_string())
        };
        if let Err(error) = told.await {
            tracing::warn!(error, "a question of a graph was not withdrawn");
        }
    }

    async fn identify(&mut self) -> Result<(), IdentityError> {
        let deadline = Instant::now() + IDENTITY;
        let identity = &self.line.identity;
        self.shown = identity.headers(&self.turn.principal, deadline).await?;
        Ok(())
    }

    async fn carry_out(&mut self) -> Result<Ending, Stop> {
        let plan = At::plan(self.note.as_ref().map(|note| &note.at), self.turn);
        if let Err(error) = self.identify().await {
            if error == IdentityError::NoCredential && !matches!(plan, Plan::Send(_)) {
                self.mark(State::Detached).await?;
            }
            return Err(error.into());
        }
        match plan {
            Plan::Send(to) => {
                // A token may have been taken back since it was given out.
                let mut begun = self.write_down(to.as_ref()).await;
                if let Err(Stop::Fault(Fault::Unknown)) = begun
                    && self
                        .line
                        .identity
                        .refused(&self.turn.principal, &self.shown)
                {
                    self.identify().await?;
                    begun = self.write_down(to.as_ref()).await;
                }
                begun?;
                self.send().await
            }
            Plan::Attach(_) if self.run().is_some() => self.follow().await,
            Plan::Attach(_) | Plan::Check(_) | Plan::Look => match self.look(BEGINS).await? {
                true => self.follow().await,
                // The server answers questions in the order they come: it would know of it.
                false => self.send().await,
            },
        }
    }

    /// Writes down what goes out, before it does.
    async fn write_down(&mut self, to: Option<&TaskId>) -> Result<(), Stop> {
        let before = self.note.as_ref();
        let resume = match to {
            None => None,
            Some(_) => Some(self.answer(before).map_err(|why| self.ask_again(why))?),
        };
        if to.is_none() {
            self.outgoing()?;
        }
        let thread = self.turn.own_context();
        let runs = self.line.server.runs(&self.shown, thread.as_str()).await?;
        self.note = Some(Note {
            at: At::sending(before.map(|note| &note.at), self.turn, to, Some(&thread)),
            seen: runs.into_iter().next().map(|run| run.run_id),
            run: None,
            interrupts: Vec::new(),
            resume,
        });
        self.keep_note().await?;
        Ok(())
    }

    fn answer(&self, note: Option<&Note>) -> Result<serde_json::Value, String> {
        let asked = note
            .map(|note| note.interrupts.as_slice())
            .unwrap_or_default();
        if self.turn.input_timed_out {
            return Ok(message::addressed(NO_ANSWER.into(), asked));
        }
        message::answer(&self.turn.message.parts, asked)
    }

    /// What was said is no answer. The question stands.
    fn ask_again(&self, why: String) -> Stop {
        Stop::Ended(Ok(Outcome::InputRequired(Said::text(why))))
    }

    /// Sends the message of the note, and follows what comes of it.
    async fn send(&mut self) -> Result<Ending, Stop> {
        let id = match self.line.id(&self.shown).await {
            Ok(id) => id,
            Err(unresolved) => {
                tracing::warn!(agent = &**self.turn.agent(), error = %unresolved, "an assistant was not found");
                return Err(unresolved.told().into());
            }
        };
        if let Some(value) = self.resumes_by_hand() {
            let thread = self.thread().to_owned();
            let begun = self.line.server.resume(&self.shown, &thread, &id, &value);
            let run = match begun.await {
                Err(Fault::Lost) => return self.find().await,
                begun => begun?,
            };
            self.know(None, Some(run.run_id)).await?;
            return self.follow().await;
        }
        let mut streams = self.line.settings.streaming;
        loop {
            let call = self.call(streams)?;
            let response = match self.line.server.a2a(&self.shown, &id, call).await {
                Err(Fault::Lost) => return self.find().await,
                response => response?,
            };
            match self.hear(response).await? {
                Heeded::Ended(ending) => return self.certain(ending).await,
                Heeded::CutOff => return self.find().await,
                Heeded::Refused(NO_METHOD, _) if streams => streams = false,
                Heeded::Refused(code, said) => return Err(self.refused(code, &said)),
            }
        }
    }

    /// The answer to a question, where A2A has no word for it.
    fn resumes_by_hand(&self) -> Option<Value> {
        let note = self.note.as_ref()?;
        let task = TaskId::new(note.at.task.as_deref()?).ok()?;
        note.resume.clone().filter(|_| is_old(&task))
    }

    /// The end, if it can be believed, and else the one that the run and its thread tell.
    async fn certain(&mut self, ending: Ending) -> Result<Ending, Stop> {
        if ending != Ending::Unsure {
            return Ok(ending);
        }
        self.find().await
    }

    /// The connection was lost, or what was said is not certain: how does the run stand?
    async fn find(&mut self) -> Result<Ending, Stop> {
        if self.run().is_none() && !self.look(BEGINS).await? {
            return Err(lost().into());
        }
        self.follow().await
    }

    /// Looks for the run that the message of the note has begun; whether it is there.
    async fn look(&mut self, within: Duration) -> Result<bool, Stop> {
        let Some(note) = &self.note else {
            return Ok(false);
        };
        let begun = match (&note.resume, note.at.message_id(self.turn.task_id())) {
            (Some(value), _) => Begun::Resume(value.clone()),
            (None, Some(id)) => {
                let sent = message::outgoing(&self.turn.message.parts, None).unwrap_or_default();
                let text = sent.first().and_then(Part::as_text).unwrap_or_default();
                Begun::Message(id.to_string(), text.to_owned())
            }
            (None, None) => return Ok(false),
        };
        let (thread, seen) = (note.thread().to_owned(), note.seen.clone());
        let since = Instant::now();
        let mut patience = self.patience();
        loop {
            let runs = match self.line.server.runs(&self.shown, &thread).await {
                Ok(runs) => runs,
                Err(fault) => {
                    patience.bear(fault).await?;
                    continue;
                }
            };
            if let Some(run) = found(&runs, seen.as_deref(), &begun) {
                let task = match run.is_old() {
                    true => run.run_id.clone(),
                    false => format!("{thread}:{}", run.run_id),
                };
                let (task, run) = (TaskId::new(task).ok(), run.run_id.clone());
                let task = task.filter(|_| matches!(begun, Begun::Message(..)));
                self.know(task.as_ref(), Some(run)).await?;
                return Ok(true);
            }
            if since.elapsed() >= within {
                return Ok(false);
            }
            sleep(SOON).await;
        }
    }

    /// Waits for the end of the run, by looking at it.
    async fn follow(&mut self) -> Result<Ending, Stop> {
        let run = self.run().map(str::to_owned).ok_or_else(lost)?;
        let thread = self.thread().to_owned();
        let server = &self.line.server;
        let mut pause = SOON;
        let mut patience = self.patience();
        let over = loop {
            match server.run(&self.shown, &thread, &run).await {
                Ok(now) if now.is_over() => break now,
                Ok(_) => {
                    patience = self.patience();
                    sleep(pause).await;
                    pause = (pause * 2).min(SELDOM);
                }
                Err(Fault::Missing(_)) => return Err(AgentError::new(GONE).into()),
                Err(fault) => patience.bear(fault).await?,
            }
        };
        let state = loop {
            match server.state(&self.shown, &thread).await {
                Ok(state) => break state,
                Err(fault) => patience.bear(fault).await?,
            }
        };
        let note = self.note.as_ref();
        let id = note.and_then(|note| note.at.message_id(self.turn.task_id()));
        let id = id.filter(|_| note.is_some_and(|note| note.resume.is_none()));
        Ok(settled(&over, state, id.as_ref().map(MessageId::as_str)))
    }

    fn patience(&self) -> Patience {
        Patience {
            until: Instant::now() + self.line.settings.reconnect,
            pause: SOON,
        }
    }

    /// Stops the run, if there is one or may be one.
    async fn cancel(&mut self) {
        let Some(note) = &self.note else { return };
        if note.at.state == State::Waiting {
            return;
        }
        let canceled = async {
            if self.run().is_none() && !matches!(self.look(STOPS).await, Ok(true)) {
                return Ok(());
            }
            let run = self.run().unwrap_or_default();
            let server = &self.line.server;
            server.cancel(&self.shown, self.thread(), run).await
        };
        if let Err(fault) = canceled.await {
            tracing::warn!(%fault, task = %self.turn.task_id(), "a run was not canceled");
        }
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
                if let Some(note) = &mut self.note {
                    note.at.waits(&said.parts);
                    note.interrupts = interrupts
                        .into_iter()
                        .filter_map(|asked| asked.id)
                        .collect();
                    self.keep_note().await?;
                }
                Ok(Outcome::InputRequired(said))
            }
            Ending::Canceled => Err(AgentError::new(
                "the run was canceled at the LangGraph server",
            )),
            Ending::Failed(said) => {
                let said = quoted(&without(&self.shown, said));
                tracing::warn!(said, agent = &**self.turn.agent(), task = %self.turn.task_id(), "a graph failed");
                Err(AgentError::new(match said.as_str() {
                    said if self.line.settings.show_errors && !said.is_empty() => {
                        format!("the assistant failed: {said}")
                    }
                    _ => "the assistant failed: what it said is in Switchboard's log and in that of the LangGraph server".to_owned(),
                }))
            }
            Ending::Unsure => Err(lost()),
        }
    }

    fn failed(&self, fault: &Fault) -> AgentError {
        tracing::warn!(%fault, agent = &**self.turn.agent(), task = %self.turn.task_id(), "a LangGraph server could not be talked to");
        fault.told()
    }

    fn thread(&self) -> &str {
        self.note.as_ref().map(Note::thread).unwrap_or_default()
    }

    fn run(&self) -> Option<&str> {
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
        self.keep_note().await
    }

    async fn mark(&mut self, state: State) -> Result<(), AgentError> {
        if let Some(note) = &mut self.note {
            note.at.state = state;
        }
        self.keep_note().await
    }

    async fn keep_note(&self) -> Result<(), AgentError> {
        match (self.progress, &self.note) {
            (Some(progress), Some(note)) => match serde_json::to_value(note) {
                Ok(value) => progress.note(NAME, value).await,
                Err(error) => Err(AgentError::new(error.to_string())),
            },
            _ => Ok(()),
        }
    }
}

/// How long a server that does not answer is waited for.
struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    /// Waits a little, if it is worth to ask again.
    async fn bear(&mut self, fault: Fault) -> Result<(), Fault> {
        if !fault.may_pass() {
            return Err(fault);
        }
        if Instant::now() + self.pause >= self.until {
            return Err(Fault::Lost);
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(SELDOM);
        Ok(())
    }
}

/// A message went out, and nothing came back.
pub(super) fn lost() -> AgentError {
    AgentError::unavailable(
        "the LangGraph server was sent the message, and then the connection was lost: it is not known whether it ran",
    )
}
