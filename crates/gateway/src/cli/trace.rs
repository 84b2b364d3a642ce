//! `switchboard trace`: what became of a task, and of those that were made for it. Reads the store beside a running
//! server.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use switchboard_types::model::TaskId;
use tokio::time::Instant;

use super::args::{Global, Kept};
use super::{Failure, block_on, out};
use crate::config::Env;
use crate::traces::Node;
use crate::{app, traces};

pub(super) const TRACE: &str = "\
Examples:
  switchboard trace 019a8b1c-7d2e-7f00-8000-1234567890ab
  switchboard trace TASK -o json              --json is the same
  switchboard trace TASK --json --content     with the messages that started the tasks

Shows the whole tree of tasks that the task belongs to: delegation, durations, sizes, tokens, failures, and internal
notes of agents that callers do not see.";

/// After this everything is seen that a running server had stored before.
const SETTLED: Duration = Duration::from_millis(1200);
/// How often is looked.
const PAUSE: Duration = Duration::from_millis(100);

/// `switchboard trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Task id
    task: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Include message content (JSON only)
    #[arg(long)]
    content: bool,
    #[command(flatten)]
    kept: Kept,
}

pub(super) fn run(args: &TraceArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let unknown = || {
        let dir = app::dir_on_disk(&config).map(std::path::absolute);
        let place = match dir {
            Ok(Ok(dir)) => format!(" in {}", dir.display()),
            _ => String::new(),
        };
        let message = format!("no task {:?}{place}", args.task);
        let hint = "name the server's configuration with -c, or its directory with --data";
        Failure::Usage(message, hint.to_owned())
    };
    let task = TaskId::new(args.task.as_str()).map_err(|_| unknown())?;
    let mut found = None;
    block_on(async {
        let store = app::store_to_read(&config)?;
        let deadline = Instant::now() + SETTLED;
        loop {
            found = traces::of(&store, &task, args.content).await?;
            if found.as_ref().is_some_and(Node::is_over) || Instant::now() >= deadline {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    })?;
    let Some(tree) = found else {
        return Err(unknown());
    };
    let text = if args.json || args.kept.json() {
        format!("{}\n", json!(tree))
    } else {
        traces::as_text(&tree).map_err(Failure::failed)?
    };
    out(format_args!("{text}")).map_err(Failure::failed)
}
