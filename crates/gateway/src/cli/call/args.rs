//! What can be written after the commands that talk to agents. Names and meanings are those of the A2A command
//! line conventions; what goes beyond them is said so in `docs/cli.md`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::parts::PartFlags;
use crate::cli::args::Output;

pub(crate) const CARD: &str = "\
Examples:
  switchboard card get -a localhost:7420
  switchboard card get -a https://agent.example/.well-known/agent-card.json -o json
  switchboard card get -a ./card.json --validate";

pub(crate) const TASK: &str = "\
Examples:
  switchboard task get -a localhost:7420 TASK_ID
  switchboard task list -a localhost:7420 --status working
  switchboard task subscribe -a localhost:7420 TASK_ID
  switchboard task download -a localhost:7420 TASK_ID --dir out";

pub(crate) const SEND: &str = "\
Examples:
  switchboard send -a localhost:7420 \"hello there\"
  switchboard send -a agent.example --text \"what is in it?\" --file report.pdf
  switchboard send -a localhost:7420 --stream -o json \"count to ten\"
  switchboard send -a localhost:7420 --task-id TASK_ID \"yes, go on\"

Waits until the task is over or asks for something, and tells on standard error how it goes. The exit code tells
whether the message was sent and the outcome known, not whether the task went well: see the line State.";

pub(crate) const CHAT: &str = "\
Examples:
  switchboard chat -a localhost:7420
  printf 'hello\\nand again\\n' | switchboard chat -a localhost:7420";

pub(crate) const CONFIG: &str = "\
Examples:
  switchboard config show
  A2ACLI_TIMEOUT=10s switchboard config show -o json";

const PUSH_CONFIG: &str = "\
Examples:
  switchboard task push-config create -a localhost:7420 TASK_ID --url https://me.example/hook
  switchboard task push-config list -a localhost:7420 TASK_ID";

/// How to reach an agent, and how to print what it says.
///
/// Each can be set by a variable `A2ACLI_` and its name in capitals, in the environment, in a `.env` here or
/// above, or in `~/.config/a2a-cli/.env`; flags win, then the environment, then the nearest file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agent options")]
pub struct AgentFlags {
    /// The agent: a host, the URL of its card, or a file with its card [env: A2ACLI_AGENT_CARD]
    #[arg(short, long, value_name = "REF")]
    pub agent_card: Option<String>,
    /// Speak only this version of A2A: 1.0, 0.3 or 0.2
    #[arg(long, value_name = "VERSION")]
    pub a2a_version: Option<String>,
    /// Prefer these bindings, in this order: jsonrpc, http+json, grpc; may be repeated
    #[arg(long, value_name = "BINDING")]
    pub transport: Vec<String>,
    /// A bearer token; others on this machine can read flags, so rather set A2ACLI_BEARER
    #[arg(long, value_name = "TOKEN")]
    pub bearer: Option<String>,
    /// An API key; the card says where it goes
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<String>,
    /// A user and a password
    #[arg(long, value_name = "USER:PASSWORD")]
    pub basic: Option<String>,
    /// The name of an OAuth client, for agents that take its tokens
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// Its secret; without one, a person enters a code in a browser
    #[arg(long, value_name = "SECRET")]
    pub client_secret: Option<String>,
    /// What to ask tokens for; by default, what the card requires; may be repeated
    #[arg(long, value_name = "SCOPE")]
    pub scope: Vec<String>,
    /// A header or gRPC metadata to send along; may be repeated
    #[arg(long, value_name = "NAME:VALUE")]
    pub svc_param: Vec<String>,
    /// An extension to ask for; may be repeated
    #[arg(long, value_name = "URI")]
    pub extension: Vec<String>,
    /// How long to wait for the outcome, 0 for as long as it takes [default: 300s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// How often to ask where a stream is not offered [default: 2s]
    #[arg(long, value_name = "TIME")]
    pub poll_interval: Option<String>,
    /// Go to the host named by -a, whatever host the card names
    #[arg(long)]
    pub use_given_address: bool,
    /// Take any certificate: only for tests
    #[arg(long)]
    pub insecure: bool,
    /// Certificates to trust beside those of the system, as PEM
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Our own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// The key of our own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
    /// Read settings from this file instead of the nearest .env
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How to print the result [default: text]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Output>,
    /// Print more of what the agent said
    #[arg(long)]
    pub verbose: bool,
    /// Tell on standard error what is sent and received
    #[arg(long)]
    pub debug: bool,
}

/// `switchboard card`
#[derive(Debug, Subcommand)]
pub enum CardCommand {
    /// Shows the card of an agent
    #[command(after_help = CARD)]
    Get(CardGetArgs),
}

/// `switchboard card get`
#[derive(Debug, Args)]
pub struct CardGetArgs {
    /// Tell what is wrong with the card
    #[arg(long)]
    pub validate: bool,
    /// The card for callers who are known
    #[arg(long)]
    pub extended: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard send`
#[derive(Debug, Args)]
pub struct SendArgs {
    /// What to say; the same as --text
    pub message: Option<String>,
    /// The parts.
    #[command(flatten)]
    pub(super) parts: PartFlags,
    /// What it belongs to.
    #[command(flatten)]
    pub belongs: BelongsFlags,
    /// Do not wait for the outcome
    #[arg(long = "async", visible_aliases = ["return-immediately", "no-wait"])]
    pub no_wait: bool,
    /// Wait for the outcome; this is the default
    #[arg(long, conflicts_with = "no_wait")]
    pub wait: bool,
    /// Print each event as it comes
    #[arg(long)]
    pub stream: bool,
    /// At most so many messages of the history
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// What a message belongs to.
#[derive(Debug, Clone, Default, Args)]
pub struct BelongsFlags {
    /// The conversation to go on with
    #[arg(long, value_name = "ID")]
    pub context_id: Option<String>,
    /// The task to go on with
    #[arg(long, value_name = "ID")]
    pub task_id: Option<String>,
    /// Metadata of the request, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}

/// `switchboard task`
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Shows a task
    Get(TaskGetArgs),
    /// Lists tasks, latest first
    List(TaskListArgs),
    /// Stops a task
    Cancel(TaskCancelArgs),
    /// Follows a task to its end
    Subscribe(TaskSubscribeArgs),
    /// Saves what a task has made
    Download(TaskDownloadArgs),
    /// Where the agent calls back about a task
    #[command(subcommand, after_help = PUSH_CONFIG)]
    PushConfig(PushConfigCommand),
}

/// `switchboard task get`
#[derive(Debug, Args)]
pub struct TaskGetArgs {
    /// The task
    pub id: String,
    /// At most so many messages of the history
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Wait until it is over or asks for something
    #[arg(long, visible_alias = "watch")]
    pub wait: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task list`
#[derive(Debug, Args)]
pub struct TaskListArgs {
    /// Only in this state, such as working or input-required
    #[arg(long, value_name = "STATE")]
    pub status: Option<String>,
    /// Only of this conversation
    #[arg(long, value_name = "ID")]
    pub context_id: Option<String>,
    /// Only with a status of this moment or later, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    pub after: Option<String>,
    /// So many at once
    #[arg(long, value_name = "N")]
    pub page_size: Option<u32>,
    /// Where the last page ended
    #[arg(long, value_name = "TOKEN", conflicts_with = "all")]
    pub page_token: Option<String>,
    /// All pages
    #[arg(long)]
    pub all: bool,
    /// With what the tasks have made
    #[arg(long)]
    pub artifacts: bool,
    /// At most so many messages of each history
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Print each task on its own
    #[arg(long)]
    pub stream: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task cancel`
#[derive(Debug, Args)]
pub struct TaskCancelArgs {
    /// The task
    pub id: String,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task subscribe`
#[derive(Debug, Args)]
pub struct TaskSubscribeArgs {
    /// The task
    pub id: String,
    /// Go on after this event
    #[arg(long, value_name = "ID")]
    pub last_event_id: Option<String>,
    /// Print each event as it comes
    #[arg(long)]
    pub stream: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task download`
#[derive(Debug, Args)]
pub struct TaskDownloadArgs {
    /// The task
    pub id: String,
    /// Where to put the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Only this artifact; may be repeated
    #[arg(long, value_name = "ID")]
    pub artifact: Vec<String>,
    /// Write over files that are there
    #[arg(long)]
    pub overwrite: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task push-config`
#[derive(Debug, Subcommand)]
pub enum PushConfigCommand {
    /// Has the agent call back
    Create(PushCreateArgs),
    /// Shows one
    Get(PushOneArgs),
    /// Shows all of a task
    List(PushListArgs),
    /// Has the agent call no more
    Delete(PushOneArgs),
}

/// `switchboard task push-config create`
#[derive(Debug, Args)]
pub struct PushCreateArgs {
    /// The task
    pub task: String,
    /// Where to call
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// A name of your own for it
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// What the agent sends along, so that you know it
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// How the agent is to authenticate, such as Bearer
    #[arg(long, value_name = "SCHEME")]
    pub auth_scheme: Option<String>,
    /// With what
    #[arg(long, value_name = "SECRET", requires = "auth_scheme")]
    pub auth_credentials: Option<String>,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task push-config get` and `delete`
#[derive(Debug, Args)]
pub struct PushOneArgs {
    /// The task
    pub task: String,
    /// The name of the config
    pub id: String,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task push-config list`
#[derive(Debug, Args)]
pub struct PushListArgs {
    /// The task
    pub task: String,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard chat`
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// The conversation to go on with
    #[arg(long, value_name = "ID")]
    pub context_id: Option<String>,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Shows every setting of the client commands, and where it comes from
    Show(ConfigShowArgs),
}

/// `switchboard config show`
#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// The settings.
    #[command(flatten)]
    pub agent: AgentFlags,
}
