//! What can be written after `switchboard task`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AgentFlags;

/// Examples of all of them.
pub(crate) const TASK: &str = "\
Examples:
  switchboard task get -a localhost:7420 TASK_ID
  switchboard task list -a localhost:7420 --status working
  switchboard task subscribe -a localhost:7420 TASK_ID
  switchboard task download -a localhost:7420 TASK_ID --dir out";

const PUSH_CONFIG: &str = "\
Examples:
  switchboard task push-config create -a localhost:7420 TASK_ID --url https://me.example/hook
  switchboard task push-config list -a localhost:7420 TASK_ID";

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
