//! Agents that are a command, run for each message.
//!
//! The command is run in a process group of its own, by itself and not by a shell. It sees `PATH`, the variables that
//! [`Settings::inherit`] names, those of [`Settings::environment`], and these:
//!
//! | variable | |
//! |---|---|
//! | `SWITCHBOARD_TASK_ID` | the task |
//! | `SWITCHBOARD_CONTEXT_ID` | the A2A context, which the caller may have named |
//! | `SWITCHBOARD_SESSION_ID` | a name of Switchboard's for it, unique for each caller and agent |
//! | `SWITCHBOARD_AGENT` | the agent |
//! | `SWITCHBOARD_MESSAGE` | the message as JSON, as below; not if it is larger than 64 KiB |
//!
//! In both protocols stdin is a file that is complete before the command starts, so a command never sees a part of its
//! input, even if Switchboard is killed meanwhile.
//!
//! # [`Protocol::Text`]
//!
//! The text of the message is on stdin, one part after the other, data as JSON; a message with files is rejected. What
//! the command prints becomes the artifact `output`, which grows with each line. Exit code 0 completes the task. Any
//! other fails it, and the end of stderr says why.
//!
//! # [`Protocol::Json`]
//!
//! On stdin is one line with an object, and then nothing more:
//!
//! ```json
//! {"type": "message", "taskId": "…", "contextId": "…", "sessionId": "…", "agent": "…", "text": "all text",
//!  "message": {"messageId": "…", "role": "user", "parts": [{"text": "…"}], "metadata": {}},
//!  "history": [{"role": "user", "text": "…"}, {"role": "agent", "text": "a question"}]}
//! ```
//!
//! A part has one of `text`, `data` (any JSON), `raw` (bytes in base64) and `url`, and may have `mediaType` and
//! `filename`. `history` is what was said in the task before. Each line on stdout is an object:
//!
//! | `type` | more | what comes of it |
//! |---|---|---|
//! | `status` | `text` | a status update |
//! | `artifact` | `text` or `parts`; `id` (`output`), `name`, `append` (`false`), `last` (`true`) | an artifact, or a piece of one |
//! | `ask` | `text` | the task waits for input; the answer is a message, for which the command is run anew |
//! | `fail` | `text` | the task fails |
//! | `done` | `text`, if there is something to say | the task is completed |
//!
//! The last three end the turn: nothing more is read, and the command is stopped if it does not end in
//! [`Settings::grace`]. Without them its exit code decides, as above. A line that is something else fails the task.
//!
//! # The end
//!
//! When a turn ends, however it does, nothing of its process group is left. A cancel, and what goes beyond a limit, ends
//! the group with SIGTERM, and after [`Settings::grace`] with SIGKILL.
//!
//! What a command says on stderr goes to the log at level `debug` if it ends well, and to the reason of the failure
//! otherwise.
//!
//! It cannot be known what a command has done, so it is not run again after a restart: the task fails, and says so. With
//! [`OnRestart::Retry`] it is run again from the beginning, and what it had produced is taken back first. If
//! Switchboard was killed and the command still runs, it is ended then (on Linux), also if its agent is not there any more:
//! see [`end_left`].

mod left;
mod lines;
mod process;
mod protocol;
mod rerun;
mod settings;

use std::env;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use switchboard_server::agent::{Agent, AgentError, Ask, Outcome, Progress, Restart, Said, Turn};
use switchboard_server::backend::Health;
use tokio::process::ChildStdout;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

pub use self::left::end_left;
use self::lines::{Lines, Tail, TooMuch};
use self::process::{Ended, Process};
use self::protocol::{Line, Speech};
use self::rerun::take_back;
pub use self::settings::{Invalid, OnRestart, Protocol, Settings};
use crate::writer::Writer;

/// The name of the artifact that is what the command prints.
const OUTPUT: &str = "output";

/// How long what is in the pipes may be waited for, once the command has ended: whoever left its group may hold one open
/// for ever.
const DRAIN: Duration = Duration::from_secs(1);

/// An agent that is a command.
#[derive(Debug)]
pub struct ExecAgent {
    settings: Settings,
    /// Tells what was begun now from what was begun before a restart.
    life: String,
}

/// How a turn comes to its end.
enum Heard {
    /// The command has ended.
    Ended(Ended),
    /// It has said how the turn ends.
    Said(Result<Outcome, AgentError>),
    /// It cannot go on.
    Failed(AgentError),
}

impl From<AgentError> for Heard {
    fn from(error: AgentError) -> Self {
        Self::Failed(error)
    }
}

impl ExecAgent {
    /// The agent that runs what `settings` say.
    ///
    /// # Errors
    ///
    /// If it could never be run.
    pub fn new(settings: Settings) -> Result<Self, Invalid> {
        let program = settings.command.first();
        if program.is_none_or(|program| program.is_empty()) {
            return Err(Invalid::Empty);
        }
        let named = settings.environment.iter().map(|(name, _)| name);
        for name in settings.inherit.iter().chain(named) {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(Invalid::Variable(name.clone()));
            }
        }
        let directory = settings
            .directory
            .as_ref()
            .map(|path| path.to_string_lossy());
        let values = settings.environment.iter().map(|(_, value)| value.reveal());
        let mut texts = settings.command.iter().map(String::as_str).chain(values);
        if texts.any(|text| text.contains('\0')) || directory.is_some_and(|d| d.contains('\0')) {
            return Err(Invalid::Nul);
        }
        let life = uuid::Uuid::new_v4().to_string();
        Ok(Self { settings, life })
    }

    async fn take(
        &self,
        process: &mut Process,
        turn: &Turn,
        progress: &Progress,
    ) -> Result<Outcome, AgentError> {
        let mut tail = Tail::without(self.settings.secrets());
        let mut writer = Writer::new(progress, OUTPUT, self.settings.coalesce);
        let heard = self.converse(process, &mut tail, &mut writer).await;
        if writer.has_text() {
            // Also of what failed, so that it can be seen how far it came.
            writer.close(None).await?;
        }
        match heard {
            Heard::Failed(error) => Err(error),
            Heard::Said(outcome) => {
                process.leave(self.settings.grace).await;
                tail.log(turn);
                outcome
            }
            Heard::Ended(Ended::Well) => {
                tail.log(turn);
                Ok(Outcome::Completed(Said::default()))
            }
            Heard::Ended(ended) => {
                let stderr = tail.text();
                let colon = if stderr.is_empty() { "" } else { ": " };
                Err(AgentError::new(format!("{ended}{colon}{stderr}")))
            }
        }
    }

    async fn converse(
        &self,
        process: &mut Process,
        tail: &mut Tail,
        writer: &mut Writer<'_>,
    ) -> Heard {
        let (stdout, stderr) = match process.pipes() {
            Ok(pipes) => pipes,
            Err(error) => return Heard::Failed(error),
        };
        // All to their ends, but for what ends the turn at once.
        let over = CancellationToken::new();
        let pipes = async {
            tokio::try_join!(self.hear(stdout, writer, &over), async {
                drained(&over, tail.fill(stderr)).await;
                Ok(())
            },)
        };
        tokio::pin!(pipes);
        let (heard, ended) = tokio::select! {
            biased;
            heard = &mut pipes => (heard, None),
            ended = process.ended() => {
                over.cancel();
                (pipes.await, Some(ended))
            }
        };
        if let Err(heard) = heard {
            return heard;
        }
        let ended = match ended {
            Some(ended) => ended,
            None => process.ended().await,
        };
        ended.map_or_else(Heard::Failed, Heard::Ended)
    }

    /// Hears the command out; what ends the turn before that is the error. Once it is `over`, only so long is waited for
    /// more; to store what came may take any time.
    async fn hear(
        &self,
        stdout: ChildStdout,
        writer: &mut Writer<'_>,
        over: &CancellationToken,
    ) -> Result<(), Heard> {
        let (most, longest) = (self.settings.max_output_bytes, self.settings.max_line_bytes);
        let mut lines = Lines::new(stdout, most, longest);
        // How long more is waited for, once it is over.
        let mut patience = None;
        loop {
            let waits = Instant::now();
            let line = tokio::select! {
                biased;
                line = lines.next() => Some(line),
                () = writer.due() => None,
                () = over.cancelled(), if patience.is_none() => {
                    patience = Some(DRAIN);
                    continue;
                }
                () = sleep(patience.unwrap_or_default()), if patience.is_some() => return Ok(()),
            };
            patience = patience.map(|left: Duration| left.saturating_sub(waits.elapsed()));
            let Some(line) = line else {
                writer.flush().await?;
                continue;
            };
            let Some(line) = line.map_err(|error: TooMuch| AgentError::new(error.to_string()))?
            else {
                return Ok(());
            };
            let text = String::from_utf8_lossy(&line);
            match self.settings.protocol {
                Protocol::Text => {
                    writer.add(&text);
                    if writer.is_due() {
                        writer.flush().await?;
                    }
                }
                Protocol::Json => {
                    let number = lines.count();
                    let read = protocol::read(&text);
                    let read = read.map_err(|why| {
                        AgentError::new(format!("line {number} of the command's output {why}"))
                    })?;
                    match read {
                        Line::Blank => {}
                        Line::Status(text) => writer.progress().working(Said::text(text)).await?,
                        Line::Artifact {
                            artifact,
                            append,
                            last,
                        } => {
                            writer.progress().chunk(artifact, append, last).await?;
                        }
                        Line::End(end) => return Err(Heard::Said(end)),
                    }
                }
            }
        }
    }
}

/// What is done with a pipe, until it is over and there was time for the rest.
async fn drained(over: &CancellationToken, with_pipe: impl Future<Output = ()>) {
    let late = async {
        over.cancelled().await;
        sleep(DRAIN).await;
    };
    tokio::select! {
        biased;
        () = with_pipe => {}
        () = late => {}
    }
}

#[async_trait]
impl Agent for ExecAgent {
    async fn on_restart(&self, turn: &Turn) -> Restart {
        let retries = self.settings.on_restart == OnRestart::Retry;
        match retries || !left::was_begun(turn, &self.life).await.unwrap_or(false) {
            true => Restart::Resume,
            // What is left of the command must have ended before the task fails.
            false => Restart::CleanUp,
        }
    }

    fn upstream(&self) -> Option<String> {
        Some(format!("exec:{}", self.settings.command.first()?))
    }

    async fn health(&self) -> Health {
        let program = self.settings.command.first().map_or("", String::as_str);
        let there = match program.contains('/') {
            true => Path::new(program).is_file(),
            false => {
                let places = env::var_os("PATH").unwrap_or_default();
                env::split_paths(&places).any(|place| place.join(program).is_file())
            }
        };
        match there {
            true => Health::up("the program is there"),
            false => Health::down(format!("there is no program {program:?} on this machine")),
        }
    }

    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let (life, grace) = (&self.life, self.settings.grace);
        if left::is_cut_off(&turn, life, grace).await? {
            if self.settings.on_restart == OnRestart::Fail {
                let text = "interrupted by a restart: send the message again";
                return Err(AgentError::new(text));
            }
            tracing::info!(agent = &**turn.agent(), task = %turn.task_id(), "retrying command after restart");
            take_back(&turn, &progress).await?;
        }
        let speech = Speech::of(&turn);
        let input = match self.settings.protocol {
            Protocol::Json => speech.line(),
            Protocol::Text => match speech.text() {
                Some(text) => text,
                None => {
                    let text = "the agent accepts only text and data parts";
                    return Ok(Outcome::Rejected(Said::text(text)));
                }
            },
        };
        left::begins(&turn, life, &progress).await?;
        let mut variables = speech.variables();
        let program = self.settings.command.first().map_or("", String::as_str);
        let errand = progress.asks(&turn, Ask::Command(program));
        variables.extend(errand.trace().map(|t| ("TRACEPARENT", t.traceparent())));
        let mut process = match Process::start(&self.settings, variables, &input) {
            Ok(process) => process,
            Err(error) => {
                let failed = Err(error);
                errand.ended(&failed);
                return failed;
            }
        };
        left::runs(&turn, life, process.id(), &progress).await?;
        let taken = Box::pin(self.take(&mut process, &turn, &progress));
        let outcome = tokio::select! {
            biased;
            () = turn.canceled.cancelled() => Err(AgentError::over()),
            taken = timeout(self.settings.timeout, taken) => taken.unwrap_or_else(|_| {
                let seconds = self.settings.timeout.as_secs_f64();
                Err(AgentError::new(format!("the command took longer than {seconds} s")))
            }),
        };
        process.stop(grace).await;
        errand.ended(&outcome);
        outcome
    }
}
