//! One turn, taken by a run of an OpenClaw agent over the socket.
//!
//! The run has the name of the task. It goes on without us: after a socket was lost, and after a restart of ours, it is
//! waited for. A gateway that was started anew has written down what became of it, and goes on with it by a run of
//! another name, which is followed then. A message is never sent again to a gateway that may have taken it and forgotten
//! that.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Outcome, Progress, Said, Turn};
use switchboard_server::push::Fetcher;
use switchboard_types::model::Object;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Settings;
use super::checkpoint::Checkpoint;
use super::events::{Ending, Row, Step, Told, ending, waited};
use super::frame::{Answer, Heard};
use super::gateway::{Gateway, Listening, Waiting};
use super::line::{Line, Unanswered};
use super::prompt::Prompt;
use super::recover::{REVIVAL, gone};
use super::refused::Refused;
use super::stop::stop;
use super::tools::Tools;
use crate::upstream::{Down, Outage};
use crate::writer::Writer;

/// How long a gateway is asked to wait for the end of a run, before it is asked again.
const WAIT: Duration = Duration::from_secs(15);
/// How long a gateway is waited for that is to stop a run, before that is left for later.
const STOPS: Duration = Duration::from_secs(2);
/// How long a cancel waits for the gateway to know what to stop.
const KNOWN: Duration = Duration::from_secs(2);

/// What it takes to run an agent.
pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) fetcher: &'a Fetcher,
    pub(super) turn: &'a Turn,
    pub(super) progress: &'a Progress,
    /// The conversation, by the gateway's name for it.
    pub(super) session: String,
}

/// What came of following a run.
pub(super) enum Followed {
    Ended(Ending),
    /// The socket is gone.
    Lost,
    /// It runs, and no answer is to be had that way.
    Runs,
    /// The gateway starts, and has not begun anything.
    Starting,
}

/// What is being waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    ToRun,
    ToWait,
}

/// A run that is being followed.
pub(super) struct Following<'a> {
    pub(super) run: &'a Run<'a>,
    /// The name of the run: that of the task, as long as the gateway lives.
    pub(super) name: String,
    pub(super) checkpoint: Checkpoint,
    /// What is to be run; nothing, as long as that was asked for only before a restart.
    pub(super) prompt: Option<Prompt>,
    pub(super) told: Told,
    /// The tools that are in use.
    pub(super) tools: Tools,
    pub(super) writer: Writer<'a>,
    pub(super) heard: mpsc::Receiver<Waiting>,
    pub(super) last_heard: Instant,
    /// The gateway was started anew since the run was begun.
    pub(super) cut_off: bool,
    /// It may run, and is to be stopped if nobody follows it any more.
    pub(super) runs: bool,
    pub(super) listening: Listening,
    /// The gateway is down.
    pub(super) outage: Outage<'a>,
}

impl Following<'_> {
    /// Follows the run to its end. One that nobody follows any more is stopped.
    pub(super) async fn through(
        mut self,
        begun: Result<Followed, AgentError>,
    ) -> Result<Outcome, AgentError> {
        match self.followed(begun).await {
            Ok(ending) => self.end(ending).await,
            Err(error) if !self.runs => Err(error),
            Err(error) => Err(match self.stop().await {
                Ok(()) => error,
                Err(stop) => error.not_stopped(stop),
            }),
        }
    }

    /// Over as many sockets as it takes.
    async fn followed(
        &mut self,
        begun: Result<Followed, AgentError>,
    ) -> Result<Ending, AgentError> {
        let mut followed = begun?;
        loop {
            let line = match followed {
                Followed::Ended(ending) => return Ok(ending),
                Followed::Lost | Followed::Runs | Followed::Starting => self.line().await?,
            };
            followed = if self.checkpoint.is_held(line.hello.boot.as_deref()) {
                self.wait(&line).await?
            } else {
                self.look(&line).await?
            };
        }
    }

    async fn stop(&self) -> Result<(), AgentError> {
        let line = self.run.gateway.line(STOPS).await;
        let line = line.map_err(|refused| refused.told())?;
        stop(&line, &self.run.session, &self.name, &self.checkpoint).await
    }

    async fn line(&mut self) -> Result<Line, AgentError> {
        let by = Instant::now() + self.run.settings.reconnect;
        let line = tokio::select! {
            biased;
            () = self.run.turn.canceled.cancelled() => return Err(AgentError::over()),
            line = self.run.gateway.line_by(by) => line,
        };
        line.map_err(|refused| match refused {
            Refused::Away(_) | Refused::Starting(_) => AgentError::unavailable(
                "the connection to the OpenClaw gateway was lost and could not be re-established in time",
            ),
            refused => refused.told(),
        })
    }

    /// Asks the gateway to run the agent.
    pub(super) async fn ask(&mut self, line: &Line) -> Result<Followed, AgentError> {
        let run = self.run;
        let prompt = match self.prompt.take() {
            Some(prompt) => prompt,
            None => match run.prompt().await? {
                Ok(prompt) => prompt,
                Err(why) => return Ok(Followed::Ended(Ending::Rejected(why))),
            },
        };
        if self.checkpoint.boot != line.hello.boot {
            // After a crash it must be known that this gateway was asked, not only the one before.
            self.checkpoint.boot.clone_from(&line.hello.boot);
            self.checkpoint.keep(run.progress).await?;
        }
        self.cut_off = false;
        loop {
            let (method, params) = prompt.request(run.settings, &run.session, &self.name);
            let Ok(answers) = line.ask(method, params).await else {
                self.prompt = Some(prompt);
                return Ok(Followed::Lost);
            };
            match self.watch(answers, Asked::ToRun).await? {
                Followed::Runs => return self.wait(line).await,
                Followed::Starting => {}
                followed => {
                    // One that the gateway has is not asked for again, and may be large.
                    self.prompt = (!self.checkpoint.known).then_some(prompt);
                    return Ok(followed);
                }
            }
        }
    }

    /// Waits for the end of a run that the gateway has.
    pub(super) async fn wait(&mut self, line: &Line) -> Result<Followed, AgentError> {
        loop {
            let millis = u64::try_from(WAIT.as_millis()).unwrap_or_default();
            let params = json!({ "runId": self.name, "timeoutMs": millis });
            let Ok(answers) = line.ask("agent.wait", params).await else {
                return Ok(Followed::Lost);
            };
            match self.watch(answers, Asked::ToWait).await? {
                Followed::Runs | Followed::Starting => {}
                Followed::Ended(ending) => return self.ended(line, ending).await,
                Followed::Lost => return Ok(Followed::Lost),
            }
            // That does not tell a run that goes on from one that is not there.
            match self.listed(line).await {
                Err(Unanswered::Lost) => return Ok(Followed::Lost),
                Ok(Some(Row::Ended(ending))) => return self.ended(line, ending).await,
                _ if self.cut_off && self.last_heard.elapsed() > REVIVAL => {
                    return Ok(Followed::Ended(gone()));
                }
                _ => {}
            }
        }
    }

    /// Passes on what is said, until there is an answer.
    async fn watch(
        &mut self,
        mut answers: mpsc::Receiver<Answer>,
        asked: Asked,
    ) -> Result<Followed, AgentError> {
        loop {
            let answer = tokio::select! {
                biased;
                () = self.run.turn.canceled.cancelled() => {
                    if asked == Asked::ToRun && !self.checkpoint.known {
                        // What it does not know yet it cannot stop.
                        let answered = tokio::time::timeout(KNOWN, answers.recv()).await;
                        self.checkpoint.known = matches!(answered, Ok(Some(_)));
                    }
                    return Err(AgentError::over());
                }
                Some(waiting) = self.heard.recv() => {
                    self.hear(&waiting.heard).await?;
                    continue;
                }
                () = self.writer.due() => {
                    self.writer.flush().await?;
                    continue;
                }
                answer = answers.recv() => answer,
            };
            let Some(answer) = answer else {
                return Ok(Followed::Lost);
            };
            match asked {
                Asked::ToWait => {
                    return Ok(match answer.fault {
                        None => waited(&answer.payload).map_or(Followed::Runs, Followed::Ended),
                        Some(_) => ending(&answer).map_or(Followed::Runs, Followed::Ended),
                    });
                }
                Asked::ToRun => match ending(&answer) {
                    Some(_) if answer.is_starting() => {
                        // It never began.
                        self.runs = false;
                        let asked = answer.fault.as_ref().and_then(|fault| fault.retry_after());
                        let down = Down::unavailable("the gateway is starting", asked);
                        self.outage.wait(&down).await?;
                        self.runs = true;
                        return Ok(Followed::Starting);
                    }
                    Some(ending) => return Ok(Followed::Ended(ending)),
                    None => {
                        self.known(self.checkpoint.boot.clone()).await?;
                        if answer.status() != "accepted" {
                            return Ok(Followed::Runs);
                        }
                    }
                },
            }
        }
    }

    /// The gateway has it.
    pub(super) async fn known(&mut self, boot: Option<String>) -> Result<(), AgentError> {
        self.checkpoint.known = true;
        self.checkpoint.boot = boot;
        // It is not asked again, and may be large.
        self.prompt = None;
        self.checkpoint.keep(self.run.progress).await?;
        self.outage.over().await
    }

    pub(super) async fn hear(&mut self, heard: &Heard) -> Result<(), AgentError> {
        self.last_heard = Instant::now();
        let shown = self.without_secrets(heard);
        let heard = shown.as_ref().unwrap_or(heard);
        self.tools.hear(heard, self.run.progress);
        match self.told.hear(heard, self.run.settings.tools) {
            Some(Step::Says(said)) => {
                self.writer.flush().await?;
                self.run.progress.working(said).await
            }
            Some(step) => self.write(&step).await,
            None => Ok(()),
        }
    }

    /// What is said about the work, without what the gateway was shown.
    fn without_secrets(&self, heard: &Heard) -> Option<Heard> {
        (heard.stream != "assistant").then(|| Heard {
            stream: heard.stream.clone(),
            data: self.run.gateway.hide_in(heard.data.clone()),
            size: heard.size,
        })
    }

    async fn write(&mut self, step: &Step) -> Result<(), AgentError> {
        if self.told.is_longer_than(self.run.settings.max_answer_bytes) {
            return Err(AgentError::new("the answer of the agent is too long"));
        }
        match step {
            Step::Append(text) => self.writer.add(text),
            Step::Replace(text) => self.writer.replace(text),
            Step::Says(_) => {}
        }
        if self.writer.is_due() {
            self.writer.flush().await?;
        }
        Ok(())
    }

    async fn end(mut self, ending: Ending) -> Result<Outcome, AgentError> {
        // What came with the end, and before it.
        while let Ok(waiting) = self.heard.try_recv() {
            self.hear(&waiting.heard).await?;
        }
        match ending {
            Ending::Done(text, about) => {
                if let Some(about) = &about {
                    self.run.progress.operator_note("llm-call", about.clone());
                }
                let text = Some(text).filter(|text| !text.trim().is_empty());
                if let Some(step) = text.and_then(|text| self.told.settle(&text)) {
                    self.write(&step).await?;
                }
                let metadata = about.as_ref().and_then(Value::as_object).map(Object::from);
                if self.writer.has_text() {
                    self.writer.close(metadata.clone()).await?;
                }
                Ok(Outcome::Completed(Said {
                    metadata,
                    ..Said::default()
                }))
            }
            Ending::Cut => Err(AgentError::new("the answer of the agent is lost")),
            Ending::Failed(why) => {
                self.writer.flush().await?;
                Err(AgentError::new(self.run.gateway.quote(why)))
            }
            Ending::Rejected(why) => Ok(Outcome::Rejected(Said::text(why))),
            Ending::Stopped => {
                self.writer.flush().await?;
                Err(AgentError::new("the run was stopped in OpenClaw"))
            }
        }
    }
}
