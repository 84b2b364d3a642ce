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

Waits until the task is over or asks for something, and tells on standard error how it goes. The exit code tells
whether the message was sent and the outcome known, not whether the task went well: see the line State.";

pub(crate) const CHAT: &str = "\
Examples:
  switchboard chat -a localhost:7420
  printf 'hello\\nand again\\n' | switchboard chat -a localhost:7420";

pub(crate) const AUTH: &str = "\
Examples:
  switchboard auth login -a agent.example --client-id me
  A2ACLI_CLIENT_SECRET=... switchboard auth login -a agent.example --client-id robot

With a secret the token is fetched at once; without one, a page and a code are shown for a person to enter. The
commands that follow, with the same -a, send the token along until it expires.";

pub(crate) const CONFIG: &str = "\
Examples:
  switchboard config show
  A2ACLI_TIMEOUT=10s switchboard config show -o json";

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
    /// Another origin that may receive credentials, such as `https://login.example.com`; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub credentials_to: Vec<String>,
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
    /// What an agent of A2A 0.3 over HTTP+JSON or gRPC holds files as: base64 (Python, Java, Go) or raw (JavaScript)
    /// [default: base64]
    #[arg(long, value_name = "FORM")]
    pub file_bytes: Option<String>,
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
    /// Keys to check the signatures of cards with, as a JWKS; a card that is signed by none of them is refused
    #[arg(long, value_name = "FILE")]
    pub card_keys: Option<PathBuf>,
    /// Refuse a card that is not signed by one of --card-keys
    #[arg(long)]
    pub require_signature: bool,
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

/// `switchboard auth`
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Fetches a token by OAuth, as the card of the agent says, and keeps it
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
