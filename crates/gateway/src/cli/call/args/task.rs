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
    /// Show a task
    Get(TaskGetArgs),
    /// List tasks, latest first
    List(TaskListArgs),
    /// Cancel a task
    Cancel(TaskCancelArgs),
    /// Follow a task to its end
    Subscribe(TaskSubscribeArgs),
    /// Save the artifacts of a task
    Download(TaskDownloadArgs),
    /// Manage the webhooks of a task
    #[command(subcommand, after_help = PUSH_CONFIG)]
    PushConfig(PushConfigCommand),
}

/// `switchboard task get`
#[derive(Debug, Args)]
pub struct TaskGetArgs {
    /// Task id
    pub id: String,
    /// Maximum number of history messages
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Wait until the task ends or needs input
    #[arg(long, visible_alias = "watch")]
    pub wait: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task list`
#[derive(Debug, Args)]
pub struct TaskListArgs {
    /// Only tasks in this state, such as working or input-required
    #[arg(long, value_name = "STATE")]
    pub status: Option<String>,
    /// Only tasks of this context
    #[arg(long, value_name = "ID", alias = "context")]
    pub context_id: Option<String>,
    /// Only tasks with a status update since then, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", alias = "since")]
    pub after: Option<String>,
    /// Page size
    #[arg(long, value_name = "N", alias = "limit")]
    pub page_size: Option<u32>,
    /// Page token of the previous page
    #[arg(long, value_name = "TOKEN", conflicts_with = "all")]
    pub page_token: Option<String>,
    /// Fetch all pages
    #[arg(long)]
    pub all: bool,
    /// Include artifacts
    #[arg(long, alias = "with-artifacts")]
    pub artifacts: bool,
    /// Maximum number of history messages per task
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Print one task per line (JSON Lines)
    #[arg(long)]
    pub stream: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task cancel`
#[derive(Debug, Args)]
pub struct TaskCancelArgs {
    /// Task id
    pub id: String,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task subscribe`
#[derive(Debug, Args)]
pub struct TaskSubscribeArgs {
    /// Task id
    pub id: String,
    /// Resume after this event
    #[arg(long, value_name = "ID")]
    pub last_event_id: Option<String>,
    /// Print each event as it arrives
    #[arg(long)]
    pub stream: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task download`
#[derive(Debug, Args)]
pub struct TaskDownloadArgs {
    /// Task id
    pub id: String,
    /// Directory for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Only this artifact (repeatable)
    #[arg(long, value_name = "ID")]
    pub artifact: Vec<String>,
    /// Overwrite existing files
    #[arg(long)]
    pub overwrite: bool,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task push-config`
#[derive(Debug, Subcommand)]
pub enum PushConfigCommand {
    /// Create a webhook
    Create(PushCreateArgs),
    /// Show a webhook
    Get(PushOneArgs),
    /// List the webhooks of a task
    List(PushListArgs),
    /// Delete a webhook
    Delete(PushOneArgs),
}

/// `switchboard task push-config create`
#[derive(Debug, Args)]
pub struct PushCreateArgs {
    /// Task id
    pub task: String,
    /// Webhook URL
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Id of the webhook [default: assigned by the agent]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Token that the agent sends with each notification
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Authentication scheme of the webhook, such as Bearer
    #[arg(long, value_name = "SCHEME")]
    pub auth_scheme: Option<String>,
    /// Credentials for that scheme
    #[arg(long, value_name = "SECRET", requires = "auth_scheme")]
    pub auth_credentials: Option<String>,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task push-config get` and `delete`
#[derive(Debug, Args)]
pub struct PushOneArgs {
    /// Task id
    pub task: String,
    /// Id of the webhook
    pub id: String,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}

/// `switchboard task push-config list`
#[derive(Debug, Args)]
pub struct PushListArgs {
    /// Task id
    pub task: String,
    /// How to reach the agent.
    #[command(flatten)]
    pub agent: AgentFlags,
}
