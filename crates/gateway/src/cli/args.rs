//! What can be written on the command line, and the help that explains it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::call::args::{
    self as call, AuthCommand, CardCommand, ChatArgs, ConfigCommand, SendArgs, TaskCommand,
};
use super::{Failure, audit, backup, conformance, key, route, store, trace, wrap};
use crate::config::value::Listen;
use crate::config::{Config, Env, Flags, LogFormat, Source, load};
use crate::telemetry;

const EXAMPLES: &str = "\
Examples:
  switchboard up                              try it: built-in agents, no configuration, no network
  switchboard wrap --exec -- tr a-z A-Z       any command, model or agent elsewhere as an agent, in one line
  switchboard check switchboard.yaml          look for mistakes without starting anything
  switchboard serve -c switchboard.yaml       put your own agents on the line
  switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard

Then, from another terminal, and with any other A2A agent as well:
  switchboard card get -a localhost:7420/a2a/echo
  switchboard send -a localhost:7420/a2a/echo \"hello there\"";

const UP: &str = "\
Examples:
  switchboard up
  switchboard up --listen 9000 --memory
  SWITCHBOARD_LOG=debug switchboard up

Tasks are kept in $XDG_DATA_HOME/switchboard, or ~/.local/share/switchboard. They survive a restart, a
crash and `kill -9`: what was running goes on, and a subscriber goes on at the next event.";

const SERVE: &str = "\
Examples:
  switchboard serve                           reads ./switchboard.yaml
  switchboard serve -c /etc/switchboard.yaml --listen 0.0.0.0:7420 --auth none
  SWITCHBOARD_LIMITS__BODY=20MiB switchboard serve
  switchboard serve --tls self-signed         https, with a certificate made at once

A configuration, complete:
  agents:
    greeter:
      description: Greets whoever writes
      script:
        - complete: \"Hello! You said: {{text}}\"

Every key can be set by a variable: SWITCHBOARD_ and its path in capitals, levels joined by two
underscores. Flags win over variables, variables over the file.

Signals: TERM and INT end the process after running requests, at most `shutdown.grace` later; HUP
reads the certificates of `tls` again.";

const CHECK: &str = "\
Examples:
  switchboard check
  switchboard check deploy/switchboard.yaml && echo fine
  switchboard check --explain question.yaml

Prints a summary, or every problem with its line and column. Exit code 0 or 2. For help while you write,
put this line at the top of the file:
  # yaml-language-server: $schema=config.schema.json
and make that file with `switchboard schema > config.schema.json`.";

const DELIVERIES: &str = "\
Examples:
  switchboard deliveries                      all that is late or was given up
  switchboard deliveries --dead -o json       given up only, one JSON object a line";

const SCHEMA: &str = "\
Examples:
  switchboard schema > config.schema.json

Editors use it if the configuration begins with
  # yaml-language-server: $schema=config.schema.json";

const COMPLETION: &str = "\
Examples:
  switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard
  switchboard completion zsh  > ~/.zfunc/_switchboard
  switchboard completion fish > ~/.config/fish/completions/switchboard.fish
  switchboard completion powershell >> $PROFILE";

/// Puts every agent on one line: declares agents of any kind in one file, and serves each of them over A2A,
/// with tasks that are never lost.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, disable_version_flag = true, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Flags of all commands.
    #[command(flatten)]
    pub global: Global,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Starts with built-in agents: no configuration, no keys, no network
    #[command(after_help = UP, visible_alias = "demo-server")]
    Up(UpArgs),
    /// Serves the agents of a configuration file
    #[command(after_help = SERVE)]
    Serve(ServeArgs),
    /// Serves one agent without a file: a model, a command, or an agent elsewhere
    #[command(after_help = wrap::WRAP)]
    Wrap(wrap::WrapArgs),
    /// Checks a configuration file without starting anything
    #[command(after_help = CHECK)]
    Check(CheckArgs),
    /// Tells which agent takes a message, by the rules in a configuration file
    #[command(after_help = route::ROUTE)]
    Route(route::RouteArgs),
    /// Lists webhook deliveries that fail or were given up
    #[command(after_help = DELIVERIES)]
    Deliveries(DeliveriesArgs),
    /// Makes, lists and revokes API keys
    #[command(subcommand, after_help = key::KEY)]
    Key(key::KeyCommand),
    /// Shows what happened at the doors: failed logins, keys, denials
    #[command(after_help = audit::AUDIT)]
    Audit(audit::AuditArgs),
    /// Checks the data directory for damage
    #[command(subcommand, after_help = store::STORE)]
    Store(store::StoreCommand),
    /// Back up the data directory, even while a server is running
    #[command(after_help = backup::BACKUP)]
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty data directory
    #[command(after_help = backup::RESTORE)]
    Restore(backup::RestoreArgs),
    /// Shows what became of a task: by whom, how long, what failed, and what was made for it
    #[command(after_help = trace::TRACE)]
    Trace(trace::TraceArgs),
    /// Shows the card of any agent: who it is, what it offers
    #[command(subcommand, after_help = call::CARD)]
    Card(CardCommand),
    /// Sends a message to any agent, and waits for what comes of it
    #[command(after_help = call::SEND)]
    Send(SendArgs),
    /// Shows, lists, follows, cancels or saves tasks of any agent
    #[command(subcommand, after_help = call::TASK)]
    Task(TaskCommand),
    /// Talks with any agent, line by line
    #[command(after_help = call::CHAT)]
    Chat(ChatArgs),
    /// Fetches and keeps a token for an agent
    #[command(subcommand, after_help = call::AUTH)]
    Auth(AuthCommand),
    /// Shows the settings of the commands that talk to agents
    #[command(subcommand, after_help = call::CONFIG)]
    Config(ConfigCommand),
    /// Checks any A2A agent against the specification
    #[command(after_help = conformance::CONFORMANCE)]
    Conformance(conformance::ConformanceArgs),
    /// Prints the JSON Schema of the configuration file
    #[command(after_help = SCHEMA)]
    Schema,
    /// Prints a completion script for a shell
    #[command(after_help = COMPLETION)]
    Completion {
        /// The shell
        #[arg(value_parser = shells())]
        shell: clap_complete::Shell,
    },
}

/// Flags of all commands.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Prints the version
    #[arg(short, long, action = clap::ArgAction::Version, help_heading = "Global options")]
    version: Option<bool>,
    /// error, warn, info, debug, trace, or directives such as info,switchboard=debug [env: SWITCHBOARD_LOG]
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        help_heading = "Global options"
    )]
    pub log_level: Option<String>,
    /// How log lines look; by default text on a terminal, json elsewhere
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        help_heading = "Global options"
    )]
    pub log_format: Option<LogFormat>,
}

/// Where to listen and what to keep.
#[derive(Debug, Clone, Default, Args)]
pub struct Place {
    /// Where to listen: an address and a port, or a port on 127.0.0.1
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<Listen>,
    /// Who may call; `none` is needed to listen beyond this machine
    #[arg(long, value_name = "WHO")]
    pub auth: Option<AuthFlag>,
    /// Encrypts connections with a certificate that is made at once
    #[arg(long, value_name = "HOW")]
    pub tls: Option<TlsFlag>,
    /// The directory for what must last
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Keeps nothing: all tasks are lost at the end
    #[arg(long)]
    pub memory: bool,
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuthFlag {
    /// Everyone who can reach the address
    None,
}

/// How to encrypt connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TlsFlag {
    /// With a certificate of our own making
    SelfSigned,
}

/// `switchboard up`
#[derive(Debug, Clone, Default, Args)]
pub struct UpArgs {
    /// Where to listen and what to keep.
    #[command(flatten)]
    pub place: Place,
}

/// `switchboard serve`
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// The configuration; by default switchboard.yaml in this directory
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "SWITCHBOARD_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
    /// Where to listen and what to keep.
    #[command(flatten)]
    pub place: Place,
}

/// `switchboard check`
#[derive(Debug, Clone, Default, Args)]
pub struct CheckArgs {
    /// The configuration; by default switchboard.yaml in this directory [env: SWITCHBOARD_CONFIG]
    #[arg(value_name = "FILE", conflicts_with = "config")]
    pub file: Option<PathBuf>,
    /// The same, as other commands take it
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Tells what would be decided on a request, and by which rule: agent, operation and caller in a file, or `-`
    #[arg(long, value_name = "QUESTION")]
    pub explain: Option<PathBuf>,
}

/// `switchboard deliveries`
#[derive(Debug, Clone, Default, Args)]
pub struct DeliveriesArgs {
    /// Only those that were given up
    #[arg(long)]
    pub dead: bool,
    /// Where they are kept.
    #[command(flatten)]
    pub kept: Kept,
}

/// What a server keeps, running or not, and how to print it.
#[derive(Debug, Clone, Default, Args)]
pub struct Kept {
    /// The configuration that names the data directory; without one, that of `switchboard up`
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "SWITCHBOARD_CONFIG",
        hide_env_values = true
    )]
    config: Option<PathBuf>,
    /// The directory that holds what lasts
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How to print the result
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

impl Kept {
    /// The configuration that is meant, and the log begun.
    pub(super) fn load(&self, global: &Global, env: &Env) -> Result<Config, Failure> {
        let source = match &self.config {
            Some(file) => Source::File(file.clone()),
            None => Source::BuiltIn,
        };
        let place = Place {
            data: self.data.clone(),
            ..Place::default()
        };
        let config = load(&source, env, &place.flags(global))?;
        telemetry::start(&config.log).map_err(Failure::Failed)?;
        Ok(config)
    }

    pub(super) fn json(&self) -> bool {
        self.output == Output::Json
    }
}

/// How to print a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

impl Output {
    /// As it is written.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl Place {
    /// These flags, for the configuration.
    pub(super) fn flags(&self, global: &Global) -> Flags {
        Flags {
            listen: self.listen,
            data: self.data.clone(),
            memory: self.memory,
            auth_none: self.auth == Some(AuthFlag::None),
            self_signed: self.tls == Some(TlsFlag::SelfSigned),
            log_level: global.log_level.clone(),
            log_format: global.log_format,
        }
    }
}

/// The shells we promise, and no others.
fn shells() -> impl clap::builder::TypedValueParser<Value = clap_complete::Shell> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    use clap_complete::Shell;

    PossibleValuesParser::new(["bash", "zsh", "fish", "powershell"])
        .map(|name| name.parse().unwrap_or(Shell::Bash))
}
