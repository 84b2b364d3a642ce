//! What is run, and within which limits.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use switchboard_types::model::Secret;

/// How a command is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Text in, lines of text out.
    #[default]
    Text,
    /// A line of JSON in, lines of JSON out.
    Json,
}

/// What becomes of a command that a restart of Switchboard interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnRestart {
    /// The task fails: nobody knows what the command has done already.
    #[default]
    Fail,
    /// The command is run again from the beginning, with the same input.
    Retry,
}

/// What is run, and within which limits.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs; where Switchboard does, if nothing is said.
    pub directory: Option<PathBuf>,
    /// Variables of Switchboard's own environment that it may see, beside `PATH`. They are taken out of what is told of
    /// stderr, but for those that are surely no secrets, such as `HOME`.
    pub inherit: Vec<String>,
    /// Variables that it is given. They are taken out of what is told of stderr. Arguments are not: every program on the
    /// machine can see those, so secrets belong here.
    pub environment: Vec<(String, Secret)>,
    /// How it is talked to.
    pub protocol: Protocol,
    /// What becomes of one that a restart interrupted.
    pub on_restart: OnRestart,
    /// How long it may run. 600 s.
    pub timeout: Duration,
    /// How long it may take to end when it is told to. 2 s; no more than the engine's own grace.
    pub grace: Duration,
    /// The most that it may print, in bytes. 4 MiB.
    pub max_output_bytes: usize,
    /// The longest line, in bytes. 1 MiB.
    pub max_line_bytes: usize,
    /// How long lines are gathered before they become an event. 50 ms; the first does not wait.
    pub coalesce: Duration,
}

impl Settings {
    /// This program with these arguments, and the rest as it usually is.
    pub fn new<S: Into<String>>(command: impl IntoIterator<Item = S>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            directory: None,
            inherit: Vec::new(),
            environment: Vec::new(),
            protocol: Protocol::Text,
            on_restart: OnRestart::Fail,
            timeout: Duration::from_secs(600),
            grace: Duration::from_secs(2),
            max_output_bytes: 4 << 20,
            max_line_bytes: 1 << 20,
            coalesce: Duration::from_millis(50),
        }
    }
}

impl Settings {
    /// What the command was given that callers are not to see: it may say what it was given when it fails.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        let given = self.environment.iter().map(|(_, secret)| secret.clone());
        let inherited = self.inherit.iter().filter(|name| !is_plain(name));
        let inherited = inherited.filter_map(|name| env::var(name).ok());
        // What is shorter is no secret, and stands in every text.
        let inherited = inherited.filter(|value| value.len() >= 6);
        given.chain(inherited.map(Secret::new)).collect()
    }
}

/// Whether a variable of that name is surely no secret.
fn is_plain(name: &str) -> bool {
    const PLAIN: [&str; 11] = [
        "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ",
        "USER",
    ];
    PLAIN.contains(&name) || name.starts_with("LC_")
}

/// Why there can be no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There is nothing to run.
    #[error("the command is empty")]
    Empty,
    /// No program can be given this.
    #[error("the command, its directory or its environment has a NUL character")]
    Nul,
    /// It is not a valid variable name.
    #[error("{0:?} is not a valid variable name")]
    Variable(String),
}
