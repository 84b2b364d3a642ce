//! A command in a process group of its own, of which nothing is left in the end.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use switchboard_server::agent::AgentError;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::Settings;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    Code(i32),
    Signal(i32),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => f.write_str("the command ended well"),
            Self::Code(code) => write!(f, "the command ended with exit code {code}"),
            Self::Signal(signal) => write!(f, "the command was ended by signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Well,
            Some(code) => Self::Code(code),
            None => Self::Signal(status.signal().unwrap_or_default()),
        }
    }
}

/// A command that runs. Dropped, its group is killed, and it is waited for in the background.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
}

impl Process {
    /// Starts the command of `settings` with `input` on stdin.
    ///
    /// The input is complete before the command starts: through a pipe, a command that outlives us would read what we
    /// had written by then as the whole.
    pub(super) fn start(
        settings: &Settings,
        variables: Vec<(&'static str, String)>,
        input: &str,
    ) -> Result<Self, AgentError> {
        let Some((program, arguments)) = settings.command.split_first() else {
            return Err(AgentError::new("the agent has no command"));
        };
        let input = input_file(input).map_err(|error| {
            tracing::warn!(%error, program, "could not write the input of a command");
            AgentError::unavailable(format!(
                "the command cannot be started: its input cannot be written: {error}"
            ))
        })?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .stdin(Stdio::from(input))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        // Python buffers what it prints to a pipe until it ends, and callers would see it only then. Others ignore it, and
        // what is inherited or given goes before it.
        command.env("PYTHONUNBUFFERED", "1");
        let inherited = settings.inherit.iter().map(String::as_str).chain(["PATH"]);
        for name in inherited {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let given = settings.environment.iter();
        command.envs(given.map(|(name, value)| (name, value.reveal())));
        command.envs(variables);
        if let Some(directory) = &settings.directory {
            command.current_dir(directory);
        }
        let child = command.spawn().map_err(|error| {
            tracing::warn!(%error, program, "could not start a command");
            AgentError::unavailable(format!(
                "the command cannot be started: check the agent's command and directory: {error}"
            ))
        })?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Its number, and that of its group.
    pub(super) fn id(&self) -> Option<Pid> {
        self.group
    }

    /// Its ends of the pipes; once.
    pub(super) fn pipes(&mut self) -> Result<(ChildStdout, ChildStderr), AgentError> {
        let child = &mut self.child;
        match (child.stdout.take(), child.stderr.take()) {
            (Some(stdout), Some(stderr)) => Ok((stdout, stderr)),
            _ => Err(AgentError::new("the command has no pipes")),
        }
    }

    /// Waits until it has ended by itself, and ends what it has left behind.
    pub(super) async fn ended(&mut self) -> Result<Ended, AgentError> {
        let status = self.child.wait().await;
        // The number of a group is not given to others as long as anyone is in it.
        self.signal(Signal::KILL);
        self.group = None;
        let status = status
            .map_err(|error| AgentError::new(format!("could not wait for the command: {error}")))?;
        Ok(status.into())
    }

    /// Lets it end by itself for a while, and stops it then.
    pub(super) async fn leave(&mut self, grace: Duration) {
        if timeout(grace, self.ended()).await.is_err() {
            self.stop(grace).await;
        }
    }

    /// Tells the group to end, and ends it if it does not.
    pub(super) async fn stop(&mut self, grace: Duration) {
        if self.group.is_none() {
            return;
        }
        self.signal(Signal::TERM);
        if timeout(grace, self.ended()).await.is_err() {
            self.signal(Signal::KILL);
            drop(self.ended().await);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // There may be nobody left.
            kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// A nameless file with that content, to be read from its start.
fn input_file(content: &str) -> io::Result<File> {
    let mut file = nameless_file()?;
    file.write_all(content.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// In memory, so that no message is ever on a disk that we do not know.
#[cfg(target_os = "linux")]
fn nameless_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};

    let flags = MemfdFlags::CLOEXEC;
    // Hardened systems want to be promised that nobody runs it; kernels before 6.3 do not know that promise.
    let made = memfd_create("stdin", flags | MemfdFlags::NOEXEC_SEAL);
    let made = made.or_else(|_| memfd_create("stdin", flags))?;
    Ok(File::from(made))
}

#[cfg(not(target_os = "linux"))]
fn nameless_file() -> io::Result<File> {
    tempfile::tempfile()
}
