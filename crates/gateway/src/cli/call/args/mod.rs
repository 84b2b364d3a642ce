//! What can be written after the commands that talk to agents. Names and meanings are those of the A2A command
//! line conventions; what goes beyond them is said so in `docs/cli.md`.

mod task;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::parts::PartFlags;
use crate::cli::args::Output;
pub(crate) use task::{
    PushConfigCommand, PushCreateArgs, TASK, TaskCancelArgs, TaskCommand, TaskDownloadArgs,
    TaskGetArgs, TaskListArgs, TaskSubscribeArgs,
};

pub(crate) const CARD: &str = "\
Examples:
  switchboard card get -a localhost:7420
  switchboard card get -a https://agent.example/.well-known/agent-card.json -o json
  switchboard card get -a ./card.json --validate
  switchboard card get -a agents.example#poet --card-keys trusted.json";

pub(crate) const SEND: &str = "\
Examples:
  switchboard send -a localhost:7420 \"hello there\"
  switchboard send -a agent.example --text \"what is in it?\" --file report.pdf
  switchboard send -a localhost:7420 --stream -o json \"count to ten\"
  switchboard send -a localhost:7420 --task-id TASK_ID \"yes, go on\"

Waits until the task ends or needs input, with progress on standard error. The exit code is 0 if the outcome is known,
even if the task failed: see the line State.";

pub(crate) const CHAT: &str = "\
Examples:
  switchboard chat -a localhost:7420
  printf 'hello\\nand again\\n' | switchboard chat -a localhost:7420";

pub(crate) const AUTH: &str = "\
Examples:
  switchboard auth login -a agent.example --client-id me
  A2ACLI_CLIENT_SECRET=... switchboard auth login -a agent.example --client-id robot

With a client secret the token is fetched directly; without one, you get a URL and a code to enter there. Later commands
with the same -a send the token until it expires.";

pub(crate) const CONFIG: &str = "\
Examples:
  switchboard config show
  A2ACLI_TIMEOUT=10s switchboard config show -o json";

/// How to reach an agent, and how to print what it says.
///
/// Each can be set by a variable `A2ACLI_` and its name in capitals, in the environment, in a `.env` in this directory or
/// above it, or in `~/.config/a2a-cli/.env`; flags win, then the environment, then the nearest file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agent options")]
pub struct AgentFlags {
    /// Agent: a host, the URL of its card, or a card file [env: A2ACLI_AGENT_CARD]
    #[arg(short, long, value_name = "REF")]
    pub agent_card: Option<String>,
    /// Protocol version: 1.0 or 0.3 (also used for 0.2)
    #[arg(long, value_name = "VERSION")]
    pub a2a_version: Option<String>,
    /// Preferred binding: jsonrpc, http+json (or rest), grpc (repeatable, in order of preference)
    #[arg(long, value_name = "BINDING")]
    pub transport: Vec<String>,
    /// Bearer token; prefer A2ACLI_BEARER, since other users can read flags
    #[arg(long, value_name = "TOKEN")]
    pub bearer: Option<String>,
    /// API key, sent where the card says
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<String>,
    /// User and password
    #[arg(long, value_name = "USER:PASSWORD")]
    pub basic: Option<String>,
    /// OAuth client id
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// OAuth client secret; without one, the device flow is used
    #[arg(long, value_name = "SECRET")]
    pub client_secret: Option<String>,
    /// OAuth scope [default: what the card requires] (repeatable)
    #[arg(long, value_name = "SCOPE")]
    pub scope: Vec<String>,
    /// Another origin that may receive credentials, such as `https://login.example.com` (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    pub credentials_to: Vec<String>,
    /// Service parameter: HTTP header or gRPC metadata (repeatable)
    #[arg(long, value_name = "NAME:VALUE")]
    pub svc_param: Vec<String>,
    /// Extension to request (repeatable)
    #[arg(long, value_name = "URI")]
    pub extension: Vec<String>,
    /// How long to wait for the outcome; 0 for no limit [default: 300s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Poll interval for agents without streaming [default: 2s]
    #[arg(long, value_name = "TIME", alias = "polling-interval")]
    pub poll_interval: Option<String>,
    /// Call the host given by -a, whatever host the card names
    #[arg(long)]
    pub use_given_address: bool,
    /// Encoding of file bytes in A2A 0.3 over HTTP+JSON or gRPC: base64 (Python, Java, Go) or raw (JavaScript)
    /// [default: base64]
    #[arg(long, value_name = "FORM")]
    pub file_bytes: Option<String>,
    /// Skip TLS certificate verification (development only)
    #[arg(long)]
    pub insecure: bool,
    /// CA certificates to trust besides the system's, as PEM
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Client certificate for mTLS, as PEM
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// Key of the client certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
    /// Keys to verify card signatures with, as JWKS; a card signed by other keys is rejected
    #[arg(long, value_name = "FILE")]
    pub card_keys: Option<PathBuf>,
    /// Reject a card that is not signed by one of --card-keys
    #[arg(long)]
    pub require_signature: bool,
    /// Settings file instead of the nearest .env
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format [default: text]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Output>,
    /// Print the full messages and parts
    #[arg(long)]
    pub verbose: bool,
    /// Log requests and responses on standard error, without credentials
    #[arg(long)]
    pub debug: bool,
}

/// `switchboard card`
#[derive(Debug, Subcommand)]
pub enum CardCommand {
    /// Show the agent card
    #[command(after_help = CARD)]
    Get(CardGetArgs),
}

/// `switchboard card get`
#[derive(Debug, Args)]
pub struct CardGetArgs {
    /// Agent, same as -a
    #[arg(value_name = "REF", conflicts_with = "agent_card")]
    pub reference: Option<String>,
    /// Validate the card
    #[arg(long)]
    pub validate: bool,
    /// Show the extended card for authenticated callers
    #[arg(long)]
    pub extended: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard send`
#[derive(Debug, Args)]
pub struct SendArgs {
    /// Text of the message, same as --text
    pub message: Option<String>,
    /// The parts.
    #[command(flatten)]
    pub(super) parts: PartFlags,
    /// What it belongs to.
    #[command(flatten)]
    pub belongs: BelongsFlags,
    /// Return the task at once instead of waiting
    #[arg(long = "async", visible_aliases = ["return-immediately", "no-wait"], alias = "immediate")]
    pub no_wait: bool,
    /// Wait for the outcome (default)
    #[arg(long, conflicts_with = "no_wait")]
    pub wait: bool,
    /// Print each event as it arrives
    #[arg(long)]
    pub stream: bool,
    /// Maximum number of history messages
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Idempotency key: a repeated send with the same key returns the first task
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// What a message belongs to.
#[derive(Debug, Clone, Default, Args)]
pub struct BelongsFlags {
    /// Context of the message
    #[arg(long, value_name = "ID", alias = "context")]
    pub context_id: Option<String>,
    /// Task to continue
    #[arg(long, value_name = "ID", alias = "task")]
    pub task_id: Option<String>,
    /// Request metadata as a JSON object
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}

/// `switchboard chat`
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Context of the message
    #[arg(long, value_name = "ID", alias = "context")]
    pub context_id: Option<String>,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard auth`
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Get a token by OAuth, as the card says, and store it
    #[command(after_help = AUTH)]
    Login(AuthLoginArgs),
}

/// `switchboard auth login`
#[derive(Debug, Args)]
pub struct AuthLoginArgs {
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show every setting and its source
    Show(ConfigShowArgs),
}

/// `switchboard config show`
#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// The settings.
    #[command(flatten)]
    pub agent: AgentFlags,
}
