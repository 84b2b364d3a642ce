//! What a restart may have left running: a command is noted before it begins, and found again by that.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Progress, Turn};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{self, Store, StoredTask};
use switchboard_types::model::{Role, TaskId};
use tokio::time::{Instant, sleep};

use super::protocol::TASK;

/// The name of the note.
const NOTE: &str = "exec";

/// How long a command may take to end whose agent does not say so any more.
const GRACE: Duration = Duration::from_secs(2);

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
    end(turn.task_id(), &left(&note, turn.task_id()), grace).await;
    Ok(true)
}

/// Ends what the process before this one left running of its commands and nobody else will: their agents are not there
/// any more, or their tasks are over. Agents that `look` do so themselves when their tasks are taken up again.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn end_left(
    store: &dyn Store,
    look: impl Fn(&str) -> bool,
    tasks: &Tasks,
) -> Result<(), store::Error> {
    let named: BTreeSet<String> = live().filter_map(|one| one.task()).collect();
    for id in named.into_iter().filter_map(|id| TaskId::new(id).ok()) {
        // It may be another Switchboard's.
        let Some(StoredTask { head, .. }) = store.task(&id).await? else {
            continue;
        };
        if !head.state.is_terminal() && look(&head.agent) {
            continue;
        }
        let notes = store.notes(&id).await?;
        let note = notes.into_iter().find(|note| note.name == NOTE);
        let groups = note.map_or_else(Vec::new, |note| left(&note.value, &id));
        tasks.spawn(async move { end(&id, &groups, GRACE).await });
    }
    Ok(())
}

async fn end(task: &TaskId, groups: &[Pid], grace: Duration) {
    if groups.is_empty() {
        return;
    }
    tracing::info!(%task, "a command that outlived a restart is ended");
    let tell = |signal| {
        for group in groups {
            kill_process_group(*group, signal).ok();
        }
    };
    tell(Signal::TERM);
    let last = Instant::now() + grace;
    while live().any(|one| groups.contains(&one.group)) && Instant::now() < last {
        sleep(LOOK).await;
    }
    tell(Signal::KILL);
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
    let (said, began) = (said(turn), Live::of(pid).map(|one| one.began));
    let note =
        json!({ "message": message, "said": said, "life": life, "pid": pid, "began": began });
    progress.note(NOTE, note).await
}

/// The process groups that are left of a command. The number of a group is not given to others as long as anyone is in
/// it, so one that has someone of ours in it is ours.
fn left(note: &Value, task: &TaskId) -> Vec<Pid> {
    let noted = note["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let is_tagged = |one: &Live| one.task().as_deref() == Some(task.as_str());
    // It may be the command that has started us.
    let mut others = live().filter(|one| one.group != getpgrp());
    let Some(group) = noted.and_then(Pid::from_raw) else {
        // It began, and who it was could not be noted any more.
        return others.filter(is_tagged).map(|one| one.group).collect();
    };
    let is_ours = |one: &Live| {
        let is_first = one.id == group && note["began"] == one.began;
        // The first may have gone, and left others behind.
        is_first || one.group == group && is_tagged(one)
    };
    others.find(is_ours).map(|_| group).into_iter().collect()
}

/// A process that is not dead.
#[derive(Debug)]
struct Live {
    id: Pid,
    group: Pid,
    /// When it began, so that another with its number is not taken for it.
    began: String,
}

impl Live {
    /// The process of that number; `None` where that cannot be known, or if it is dead.
    fn of(id: i32) -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // Behind the name, which may have anything in it: state, parent, group, and 16 more before the time.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let group = fields.nth(1)?.parse().ok()?;
        let ticks = fields.nth(16)?;
        Some(Self {
            id: Pid::from_raw(id)?,
            group: Pid::from_raw(group)?,
            began: format!("{} {ticks}", boot.trim()),
        })
    }

    /// The task that it was given when it began, if it was.
    fn task(&self) -> Option<String> {
        let given = std::fs::read(format!("/proc/{}/environ", self.id.as_raw_nonzero())).ok()?;
        let mut given = given.split(|byte| *byte == 0);
        let task = given.find_map(|one| one.strip_prefix(TASK.as_bytes())?.strip_prefix(b"="))?;
        String::from_utf8(task.to_vec()).ok()
    }
}

/// All processes that can be seen.
fn live() -> impl Iterator<Item = Live> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|entry| Live::of(entry.file_name().to_str()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    /// A process in a group of its own, which belongs to that task.
    fn started(task: &str) -> (Child, Pid) {
        let mut command = Command::new("sleep");
        let child = command.arg("1000").env(TASK, task).process_group(0).spawn();
        let child = child.unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        (child, pid)
    }

    #[test]
    fn what_is_left_is_known_by_when_it_began_or_by_its_task() {
        let (mut child, pid) = started("t-1");
        let Some(known) = Live::of(pid.as_raw_nonzero().get()) else {
            child.kill().unwrap();
            child.wait().unwrap();
            // Elsewhere nobody tells.
            assert_ne!(
                std::env::consts::OS,
                "linux",
                "a process that runs is not seen"
            );
            return;
        };
        let task = |id| TaskId::new(id).unwrap();
        let (ours, others) = (task("t-1"), task("t-2"));
        let noted = |began: &str| json!({ "pid": pid.as_raw_nonzero().get(), "began": began });
        assert_eq!(left(&noted(&known.began), &others), [pid]);
        assert_eq!(left(&noted("another time"), &ours), [pid]);
        // Nobody had the time to note who it was.
        assert_eq!(left(&json!({ "message": "m" }), &ours), [pid]);
        // Another one that has the number of ours now.
        assert!(left(&noted("another time"), &others).is_empty());
        assert!(left(&json!({ "message": "m" }), &others).is_empty());
        // What is in our own group is us, or has started us.
        let mut command = Command::new("sleep");
        let mut beside = command.arg("1000").env(TASK, "t-3").spawn().unwrap();
        let started_us = json!({ "pid": getpgrp().as_raw_nonzero().get() });
        assert!(left(&started_us, &task("t-3")).is_empty());
        beside.kill().unwrap();
        beside.wait().unwrap();
        child.kill().unwrap();
        // It is dead, though nobody has waited for it.
        while Live::of(pid.as_raw_nonzero().get()).is_some() {
            std::thread::yield_now();
        }
        assert!(left(&noted(&known.began), &ours).is_empty());
        child.wait().unwrap();
    }
}
