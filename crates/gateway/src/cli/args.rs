//! What can be written on the command line, and the help that explains it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::call::args::{
    self as call, AuthCommand, CardCommand, ChatArgs, ConfigCommand, SendArgs, TaskCommand,
};
use super::serve::DEFAULT_FILE;
use super::{Failure, audit, backup, conformance, err, key, route, store, tasks, trace, wrap};
use crate::app;
use crate::config::value::Listen;
use crate::config::{Config, Env, Flags, LogFormat, Source, load};
use crate::telemetry;

const EXAMPLES: &str = "\
Examples:
  switchboard up                              start with built-in agents: no configuration, no network
  switchboard wrap --exec -- tr a-z A-Z       serve a command, a model or a remote agent
  switchboard check switchboard.yaml          validate a configuration
  switchboard serve -c switchboard.yaml       serve your own agents
  switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard

From another terminal, with these or any other A2A agents:
  switchboard card get -a localhost:7420/a2a/echo
  switchboard send -a localhost:7420/a2a/echo \"hello there\"";

const UP: &str = "\
Examples:
  switchboard up
  switchboard up --listen 9000 --memory
  SWITCHBOARD_LOG=debug switchboard up

Tasks are stored in $XDG_DATA_HOME/switchboard, or ~/.local/share/switchboard. They survive restarts,
crashes and `kill -9`: running tasks resume, and a subscriber continues at the next event.";

const SERVE: &str = "\
Examples:
  switchboard serve                           reads ./switchboard.yaml
  switchboard serve -c /etc/switchboard.yaml --listen 0.0.0.0:7420 --auth none
  SWITCHBOARD_LIMITS__BODY=20MiB switchboard serve
  switchboard serve --tls self-signed         HTTPS with a generated certificate

A complete configuration:
  agents:
    greeter:
      description: Greets everyone who writes
      script:
        - complete: \"Hello! You said: {{text}}\"

Every key can be set by an environment variable: SWITCHBOARD_ and its path in capitals, levels joined
by two underscores. Flags win over variables, variables over the file.

Signals: TERM and INT shut down after running requests, at most `shutdown.grace` later. HUP reloads the
configuration and the TLS certificates.";

const CHECK: &str = "\
Examples:
  switchboard check
  switchboard check deploy/switchboard.yaml && echo fine
  switchboard check --explain question.yaml

Prints a summary, or every problem with its line and column. Exit code 0 or 2. For completion in editors,
put this line at the top of the file:
  # yaml-language-server: $schema=config.schema.json
and create that file with `switchboard schema > config.schema.json`.";

const DELIVERIES: &str = "\
Examples:
  switchboard deliveries                      late deliveries and dead letters
  switchboard deliveries --dead -o json       dead letters only, one JSON object per line";

const SCHEMA: &str = "\
Examples:
  switchboard schema > config.schema.json

Editors use it if the configuration starts with
  # yaml-language-server: $schema=config.schema.json";

const COMPLETION: &str = "\
Examples:
  switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard
  switchboard completion zsh  > ~/.zfunc/_switchboard
  switchboard completion fish > ~/.config/fish/completions/switchboard.fish
  switchboard completion powershell >> $PROFILE";

/// Durable A2A gateway: serves agents of any kind over A2A, with tasks that survive crashes.
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
    /// Start with built-in agents: no configuration, no keys, no network
    #[command(after_help = UP, visible_alias = "demo-server")]
    Up(UpArgs),
    /// Serve the agents of a configuration file
    #[command(after_help = SERVE)]
    Serve(ServeArgs),
    /// Serve one agent without a file: a model, a command or a remote agent
    #[command(after_help = wrap::WRAP)]
    Wrap(wrap::WrapArgs),
    /// Validate a configuration file
    #[command(after_help = CHECK)]
    Check(CheckArgs),
    /// Show which agent the routing rules choose for a message
    #[command(after_help = route::ROUTE)]
    Route(route::RouteArgs),
    /// List failing webhook deliveries and dead letters
    #[command(after_help = DELIVERIES)]
    Deliveries(DeliveriesArgs),
    /// Create, list and revoke API keys
    #[command(subcommand, after_help = key::KEY)]
    Key(key::KeyCommand),
    /// Show the audit log: failed logins, API keys, denied requests
    #[command(after_help = audit::AUDIT)]
    Audit(audit::AuditArgs),
    /// Check the data directory for damage
    #[command(subcommand, after_help = store::STORE)]
    Store(store::StoreCommand),
    /// Back up the data directory, even while a server is running
    #[command(after_help = backup::BACKUP)]
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty data directory
    #[command(after_help = backup::RESTORE)]
    Restore(backup::RestoreArgs),
    /// List the latest tasks of all callers, and why they failed
    #[command(after_help = tasks::TASKS)]
    Tasks(tasks::TasksArgs),
    /// Show the trace of a task: delegated tasks, upstream calls, durations, failures
    #[command(after_help = trace::TRACE)]
    Trace(trace::TraceArgs),
    /// Show the agent card of any agent
    #[command(subcommand, after_help = call::CARD)]
    Card(CardCommand),
    /// Send a message to any agent and wait for the outcome
    #[command(after_help = call::SEND)]
    Send(SendArgs),
    /// Get, list, subscribe to, cancel or download tasks of any agent
    #[command(subcommand, after_help = call::TASK)]
    Task(TaskCommand),
    /// Chat with any agent
    #[command(after_help = call::CHAT)]
    Chat(ChatArgs),
    /// Log in to an agent with OAuth
    #[command(subcommand, after_help = call::AUTH)]
    Auth(AuthCommand),
    /// Show the settings of the client commands
    #[command(subcommand, after_help = call::CONFIG)]
    Config(ConfigCommand),
    /// Test any A2A agent for conformance to the specification
    #[command(after_help = conformance::CONFORMANCE)]
    Conformance(conformance::ConformanceArgs),
    /// Print the JSON Schema of the configuration file
    #[command(after_help = SCHEMA)]
    Schema,
    /// Print a shell completion script
    #[command(after_help = COMPLETION)]
    Completion {
        /// Shell
        #[arg(value_parser = shells())]
        shell: clap_complete::Shell,
    },
}

/// Flags of all commands.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Print the version
    #[arg(short, long, action = clap::ArgAction::Version, help_heading = "Global options")]
    version: Option<bool>,
    /// Log level: error, warn, info, debug, trace, or directives such as info,switchboard=debug [env: SWITCHBOARD_LOG]
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        help_heading = "Global options"
    )]
    pub log_level: Option<String>,
    /// Log format [default: text on a terminal, otherwise json]
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
    /// Listen address: HOST:PORT, or a port on 127.0.0.1
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<Listen>,
    /// Authentication: `none` allows listening beyond loopback without it
    #[arg(long, value_name = "WHO")]
    pub auth: Option<AuthFlag>,
    /// Serve HTTPS with a generated certificate
    #[arg(long, value_name = "HOW")]
    pub tls: Option<TlsFlag>,
    /// Data directory
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Keep tasks in memory only
    #[arg(long)]
    pub memory: bool,
    /// Write the access log: one line per request
    #[arg(long)]
    pub access_log: bool,
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuthFlag {
    /// No authentication: everyone who can reach the address may call
    None,
}

/// How to encrypt connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TlsFlag {
    /// A certificate generated at the first start
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
    /// Configuration file [default: switchboard.yaml]
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
    /// Configuration file [default: switchboard.yaml] [env: SWITCHBOARD_CONFIG]
    #[arg(value_name = "FILE", conflicts_with = "config")]
    pub file: Option<PathBuf>,
    /// Configuration file, as other commands take it
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Explain the authorization decision for a request: a file with agent, operation and caller, or `-` for standard input
    #[arg(long, value_name = "QUESTION")]
    pub explain: Option<PathBuf>,
}

/// `switchboard deliveries`
#[derive(Debug, Clone, Default, Args)]
pub struct DeliveriesArgs {
    /// Dead letters only
    #[arg(long)]
    pub dead: bool,
    /// Where they are kept.
    #[command(flatten)]
    pub kept: Kept,
}

/// What a server keeps, running or not, and how to print it.
#[derive(Debug, Clone, Default, Args)]
pub struct Kept {
    /// Configuration file that names the data directory [default: switchboard.yaml if it exists, otherwise the data
    /// directory of `switchboard up`]
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "SWITCHBOARD_CONFIG",
        hide_env_values = true
    )]
    config: Option<PathBuf>,
    /// Data directory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

impl Kept {
    /// The configuration that is meant, and the log begun.
    pub(super) fn load(&self, global: &Global, env: &Env) -> Result<Config, Failure> {
        let here = PathBuf::from(DEFAULT_FILE);
        let source = match &self.config {
            Some(file) => Source::File(file.clone()),
            // As `serve` does, so that what it stores is found.
            None if self.data.is_none() && here.exists() => Source::File(here),
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

    /// Says which data directory is used, unless the command line names it.
    pub(super) fn name_dir_unless_given(&self, config: &Config) -> anyhow::Result<()> {
        match self.data {
            Some(_) => Ok(()),
            None => name_dir(config),
        }
    }

    pub(super) fn json(&self) -> bool {
        self.output == Output::Json
    }
}

/// Says which data directory was read: an empty result is often that of another directory.
pub(super) fn name_dir(config: &Config) -> anyhow::Result<()> {
    let dir = std::path::absolute(app::dir_on_disk(config)?)?;
    err(format_args!("data directory: {}\n", dir.display()))?;
    Ok(())
}

/// How to print a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// Human-readable text
    #[default]
    Text,
    /// JSON
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
            access_log: self.access_log,
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
