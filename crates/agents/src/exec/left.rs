//! What a restart may have left running: a command is noted before it begins, and found again by that.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Progress, Turn};
use switchboard_types::model::Role;
use tokio::time::{Instant, sleep};

/// The name of the note.
const NOTE: &str = "exec";

/// How often to look whether a command has ended that is not our child.
const LOOK: Duration = Duration::from_millis(20);

/// Whether the turn had begun before a restart. If so, what still runs of it is ended.
pub(super) async fn is_cut_off(
    turn: &Turn,
    life: &str,
    grace: Duration,
) -> Result<bool, AgentError> {
    let Some(note) = turn.note(NOTE).await? else {
        return Ok(false);
    };
    if !is_of(&note, turn) || note["life"] == life {
        return Ok(false);
    }
    if let Some(group) = still_there(&note) {
        tracing::info!(task = %turn.task_id(), "a command that outlived a restart is ended");
        kill_process_group(group, Signal::TERM).ok();
        let last = Instant::now() + grace;
        while still_there(&note).is_some() && Instant::now() < last {
            sleep(LOOK).await;
        }
        // Also who stays when the first of the group goes.
        kill_process_group(group, Signal::KILL).ok();
    }
    Ok(true)
}

/// Notes that the command is about to begin, in this life of Switchboard.
pub(super) async fn begins(turn: &Turn, life: &str, progress: &Progress) -> Result<(), AgentError> {
    let message = turn.message.id.as_str();
    let note = json!({ "message": message, "said": said(turn), "life": life });
    progress.note(NOTE, note).await
}

/// Whether the command was begun for this turn. Some clients use one id for different messages; but what was said before
/// a turn is the same only for that turn, until it says something itself.
fn is_of(note: &Value, turn: &Turn) -> bool {
    let same_id = note["message"] == turn.message.id.as_str();
    same_id && (turn.emitted > 0 || note["said"] == said(turn))
}

/// How often the agent has spoken in the task. The question that a message answers may still stand as open.
fn said(turn: &Turn) -> usize {
    let task = &turn.task;
    let history = task.history.iter().filter(|m| m.role == Role::Agent);
    let asked = task.status.state.is_interrupted() && task.status.message.is_some();
    history.count() + usize::from(asked)
}

/// Notes who it is.
pub(super) async fn runs(
    turn: &Turn,
    life: &str,
    pid: Option<Pid>,
    progress: &Progress,
) -> Result<(), AgentError> {
    let Some(pid) = pid.map(|pid| pid.as_raw_nonzero().get()) else {
        return Ok(());
    };
    let message = turn.message.id.as_str();
    let (said, began) = (said(turn), began(pid));
    let note =
        json!({ "message": message, "said": said, "life": life, "pid": pid, "began": began });
    progress.note(NOTE, note).await
}

/// The command that was noted, if it is still the same.
fn still_there(note: &Value) -> Option<Pid> {
    let pid = i32::try_from(note["pid"].as_i64()?).ok()?;
    let same = began(pid).is_some_and(|began| note["began"] == began);
    Pid::from_raw(pid).filter(|_| same)
}

/// When a process began, so that another with its number is not taken for it; `None` where that cannot be known, or
/// if it is dead.
fn began(pid: i32) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may have anything in it: state, and 18 more before the time.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let ticks = fields.nth(18).filter(|_| !is_dead)?;
    Some(format!("{} {ticks}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_when_it_began() {
        let me = i32::try_from(std::process::id()).unwrap();
        let noted = |began: Option<String>| json!({ "pid": me, "began": began });
        if began(me).is_some() {
            assert!(still_there(&noted(began(me))).is_some());
        }
        assert!(still_there(&noted(Some("another".to_owned()))).is_none());
        assert!(still_there(&noted(None)).is_none());
        assert!(still_there(&json!({ "message": "m" })).is_none());
    }
}
