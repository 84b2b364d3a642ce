//! `switchboard tasks`: the latest tasks of all callers, and why they failed. Reads the store beside a running server.

use std::fmt::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use switchboard_server::clock;
use switchboard_server::log::{created_at, duration_ms, reason};
use switchboard_server::store::{self, RecentQuery, Store};
use switchboard_server::task::Head;
use switchboard_types::model::{Event, Task, TaskState, TaskStatus};
use switchboard_types::printable;

use super::args::{Global, Kept, name_dir};
use super::{Failure, block_on, out};
use crate::app;
use crate::config::Env;
use crate::config::value::Time;

pub(super) const TASKS: &str = "\
Examples:
  switchboard tasks --failed                  why did a task fail?
  switchboard tasks --agent clerk --since 1h
  switchboard tasks --state input-required    tasks that wait for an answer
  switchboard tasks --failed --json           one JSON object a line
  switchboard trace TASK                      then: one task with all its delegated tasks

Lists the tasks of all callers, the latest status first, with time, agent, state, duration, task, context and caller,
and the reason of those that failed. Reads the data directory, whether the server runs or not.";

/// All states, by name.
const STATES: [TaskState; 8] = [
    TaskState::Submitted,
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::AuthRequired,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::Rejected,
];

/// `switchboard tasks`
#[derive(Debug, Args)]
pub struct TasksArgs {
    /// Only failed and rejected tasks
    #[arg(long, conflicts_with = "state")]
    failed: bool,
    /// Only tasks of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only tasks in this state; may be repeated
    #[arg(long, value_name = "STATE", value_parser = states())]
    state: Vec<TaskState>,
    /// Only tasks whose status changed within this time, such as 30m, 1h or 7d
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,
    /// Show at most so many tasks
    #[arg(long, value_name = "N", default_value = "50")]
    limit: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kept: Kept,
}

fn states() -> impl TypedValueParser<Value = TaskState> {
    PossibleValuesParser::new(STATES.map(TaskState::name)).try_map(|name| {
        let state = STATES.into_iter().find(|state| state.name() == name);
        state.ok_or("is not a state")
    })
}

pub(super) fn run(args: &TasksArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let query = RecentQuery {
        agent: args.agent.as_deref().map(Into::into),
        states: match args.failed {
            true => vec![TaskState::Failed, TaskState::Rejected],
            false => args.state.clone(),
        },
        updated_from: args.since.as_ref().map(|Time(ago)| clock::before_now(*ago)),
        limit: args.limit,
        ..RecentQuery::default()
    };
    let json = args.json || args.kept.json();
    let mut text = String::new();
    block_on(async {
        let store = app::store_to_read(&config)?;
        store.catch_up(app::dir_on_disk(&config)?).await?;
        for head in store.recent(query).await? {
            let reason = reason_of(&store, &head).await?;
            match json {
                true => writeln!(text, "{}", shown(&head, reason.as_deref()))?,
                false => lines(&head, reason.as_deref(), &mut text)?,
            }
        }
        if text.is_empty() {
            name_dir(&config)?;
            text.push_str(if json { "" } else { "no task matches\n" });
        }
        Ok(())
    })?;
    out(format_args!("{text}")).map_err(Failure::failed)
}

/// Why a task ended as it did. The end is its last event, so no more than that is read, unless the events are deleted:
/// then it is in the snapshot.
async fn reason_of(store: &dyn Store, head: &Head) -> Result<Option<String>, store::Error> {
    if !head.state.is_terminal() || head.state == TaskState::Completed {
        return Ok(None);
    }
    let last = store
        .events(&head.id, head.seq.saturating_sub(1), 1)
        .await?;
    if let Some(Event::Status(update)) = last.last().map(|entry| &entry.event) {
        return Ok(text_of(head, update.status.clone()));
    }
    let stored = store.task(&head.id).await?;
    let status = stored.and_then(|stored| Some(stored.snapshot?.task.status.clone()));
    Ok(status.and_then(|status| text_of(head, status)))
}

fn text_of(head: &Head, status: TaskStatus) -> Option<String> {
    let ended = Task {
        id: head.id.clone(),
        context_id: head.context.clone(),
        status,
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    };
    reason(&ended).map(std::borrow::Cow::into_owned)
}

/// How long the task took, or has taken so far.
fn took_ms(head: &Head) -> Option<u64> {
    let end = match head.state.is_terminal() {
        true => head.updated,
        false => clock::now(),
    };
    duration_ms(&head.id, end)
}

fn shown(head: &Head, reason: Option<&str>) -> Value {
    json!({
        "task": head.id.as_str(),
        "agent": &*head.agent,
        "context": head.context.as_str(),
        "caller": head.owner.as_str(),
        "state": head.state.name(),
        "created": created_at(&head.id).map(|at| at.to_string()),
        "updated": head.updated.to_string(),
        "duration_ms": took_ms(head),
        "reason": reason,
    })
}

/// One line for a task, and one for its reason.
fn lines(head: &Head, reason: Option<&str>, text: &mut String) -> std::fmt::Result {
    let took = took_ms(head).map_or_else(String::new, |ms| {
        let seconds = std::time::Duration::from_millis(ms).as_secs_f64();
        format!("{seconds:.3} s")
    });
    writeln!(
        text,
        "{}  {:<14}  {}  {took}  task {}  context {}  caller {}",
        head.updated,
        head.state.name(),
        printable::line(&head.agent),
        printable::line(head.id.as_str()),
        printable::line(head.context.as_str()),
        printable::line(head.owner.as_str()),
    )?;
    match reason {
        Some(reason) => writeln!(text, "  reason: {}", printable::line(reason)),
        None => Ok(()),
    }
}
