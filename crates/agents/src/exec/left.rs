//! What a restart may have left running: a command is recorded before it begins, and found again by that.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use serde_json::{Value, json};
use switchboard_server::agent::{AgentError, Progress, Turn};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{self, Store};
use switchboard_types::model::TaskId;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::protocol::TASK;

/// The name of the step.
const STEP: &str = "exec";

/// How long a command may take to end whose agent does not say so any more.
const GRACE: Duration = Duration::from_secs(2);

/// How often to look whether a command has ended that is not our child.
const LOOK: Duration = Duration::from_millis(20);

/// How many tasks are asked for at once.
const PAGE: usize = 256;

/// Which start of the machine this is, where that can be known.
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
});

/// Whether the command of the turn was begun before a restart.
pub(super) async fn was_begun(turn: &Turn, life: &str) -> Result<bool, AgentError> {
    Ok(begun(turn, life).await?.is_some())
}

/// What was noted about a command that was begun for the turn before a restart.
async fn begun(turn: &Turn, life: &str) -> Result<Option<Value>, AgentError> {
    let step = turn.last_step(STEP).await?;
    Ok(step.filter(|step| is_of(step, turn) && step["life"] != life))
}

/// Whether the turn had begun before a restart. If so, what still runs of it is ended.
pub(super) async fn is_cut_off(
    turn: &Turn,
    life: &str,
    grace: Duration,
) -> Result<bool, AgentError> {
    let Some(note) = begun(turn, life).await? else {
        return Ok(false);
    };
    let task = turn.task_id().clone();
    let found = seen(move || vec![Left::of(task, &note)]).await;
    end(found, grace).await;
    Ok(true)
}

/// Ends what the process before this one left running of its commands and nobody else will: their agents are not there
/// any more, or their tasks are over. Agents that `look` do so themselves when their tasks are taken up again.
///
/// # Errors
///
/// If the store cannot tell which tasks are not over.
pub async fn end_left(
    store: &dyn Store,
    look: impl Fn(&str) -> bool,
    tasks: &Tasks,
) -> Result<(), store::Error> {
    let named = || live().filter_map(|one| TaskId::new(one.task()?).ok());
    let mut named: BTreeSet<TaskId> = seen(move || named().collect()).await;
    let mut after = None;
    while !named.is_empty() {
        let page = store.live(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        for head in page.iter().filter(|head| look(&head.agent)) {
            named.remove(&head.id);
        }
    }
    let mut recorded = Vec::new();
    for id in named {
        match store.step(&id, STEP).await {
            // Without a step it is another Switchboard's.
            Ok(step) => recorded.extend(step.map(|stored| (id, stored.step.value))),
            Err(error) => {
                tracing::warn!(task = %id, %error, "could not find out what a command left running");
            }
        }
    }
    let found = move || recorded.into_iter().map(|(id, step)| Left::of(id, &step));
    let found: Vec<Left> = seen(move || found().collect()).await;
    tasks.spawn(end(found, GRACE));
    Ok(())
}

/// What is left of a command.
#[derive(Debug)]
struct Left {
    task: TaskId,
    groups: Vec<Pid>,
}

impl Left {
    fn of(task: TaskId, note: &Value) -> Self {
        let groups = left(note, &task);
        Self { task, groups }
    }
}

async fn end(found: Vec<Left>, grace: Duration) {
    let mut groups = Vec::new();
    for Left { task, groups: some } in found.into_iter().filter(|one| !one.groups.is_empty()) {
        tracing::info!(%task, "stopping a command that outlived a restart");
        groups.extend(some);
    }
    tell(&groups, Signal::TERM);
    let last = Instant::now() + grace;
    while !groups.is_empty() && Instant::now() < last {
        sleep(LOOK).await;
        groups = seen(move || still(groups)).await;
    }
    tell(&groups, Signal::KILL);
}

fn tell(groups: &[Pid], signal: Signal) {
    for group in groups {
        kill_process_group(*group, signal).ok();
    }
}

/// Those of the groups that have someone in them. The number of one that is gone may be given to others.
fn still(mut groups: Vec<Pid>) -> Vec<Pid> {
    let there: HashSet<Pid> = live().map(|one| one.group).collect();
    groups.retain(|group| there.contains(group));
    groups
}

/// What `look` sees of the processes. That may take a while, so nobody else waits for it; nothing, if it breaks down.
async fn seen<T: Default + Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    spawn_blocking(look).await.unwrap_or_default()
}

/// Notes that the command is about to begin, in this life of Switchboard.
pub(super) async fn begins(turn: &Turn, life: &str, progress: &Progress) -> Result<(), AgentError> {
    let step = json!({ "turn": turn.number, "life": life });
    progress.record(STEP, step).await
}

/// Whether the command was begun for this turn. Earlier versions did not record the turn.
fn is_of(step: &Value, turn: &Turn) -> bool {
    match step["turn"].as_u64() {
        Some(number) => number == u64::from(turn.number),
        None => step["message"] == turn.message.id.as_str(),
    }
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
    let began = Live::of(pid).map(|one| one.began);
    let step = json!({ "turn": turn.number, "life": life, "pid": pid, "began": began });
    progress.record(STEP, step).await
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
        let boot = BOOT.as_deref()?;
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
            began: format!("{boot} {ticks}"),
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

    use async_trait::async_trait;
    use switchboard_server::task::{Change, Step};
    use switchboard_server::testing::store_suite::{Story, at, commit};
    use switchboard_server::testing::troubled::{Request, Trouble, Troubled};
    use switchboard_types::model::TaskState;

    use super::*;

    /// A process in a group of its own, which belongs to that task.
    fn started(task: &str) -> (Child, Pid) {
        let mut command = Command::new("sleep");
        let child = command.arg("1000").env(TASK, task).process_group(0).spawn();
        let child = child.unwrap();
        let id = i32::try_from(child.id()).unwrap();
        // The kernel lets us go on before the new program has its environment.
        while Live::of(id).is_some_and(|one| one.task().is_none()) {
            std::thread::yield_now();
        }
        (child, Pid::from_raw(id).unwrap())
    }

    #[test]
    fn what_is_left_is_known_by_when_it_began_or_by_its_task() {
        // All processes of the machine are looked at, those of other runs of this test as well.
        let name = |n: u32| format!("t-{}-{n}", std::process::id());
        let (mut child, pid) = started(&name(1));
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
        let task = |n| TaskId::new(name(n)).unwrap();
        let (ours, others) = (task(1), task(2));
        let noted = |began: &str| json!({ "pid": pid.as_raw_nonzero().get(), "began": began });
        assert_eq!(left(&noted(&known.began), &others), [pid]);
        assert_eq!(left(&noted("another time"), &ours), [pid]);
        // Nobody had the time to note who it was.
        assert_eq!(left(&json!({ "turn": 1 }), &ours), [pid]);
        // Another one that has the number of ours now.
        assert!(left(&noted("another time"), &others).is_empty());
        assert!(left(&json!({ "turn": 1 }), &others).is_empty());
        // What is in our own group is us, or has started us.
        let mut command = Command::new("sleep");
        let mut beside = command.arg("1000").env(TASK, name(3)).spawn().unwrap();
        let started_us = json!({ "pid": getpgrp().as_raw_nonzero().get() });
        assert!(left(&started_us, &task(3)).is_empty());
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

    /// The steps of one task cannot be read.
    #[derive(Debug)]
    struct Damaged(String);

    #[async_trait]
    impl Trouble for Damaged {
        async fn meet(&self, request: Request<'_>) -> Result<(), store::Error> {
            match request {
                Request::Steps(task) if task.as_str() == self.0 => {
                    Err(store::Error::Damaged("a step".to_owned()))
                }
                _ => Ok(()),
            }
        }
    }

    #[tokio::test]
    async fn what_is_left_is_ended_unless_an_agent_looks_after_its_task() {
        if std::env::consts::OS != "linux" {
            return;
        }
        // It comes before the others, and does not keep them from being found.
        let damaged = format!("0-{}", uuid::Uuid::new_v4());
        let mut left = vec![(started(&damaged), false)];
        let (store, tasks) = (Troubled::by(Damaged(damaged)), Tasks::default());
        for (number, (state, agent, ends)) in (1..).zip([
            (TaskState::Failed, "looks", true),
            (TaskState::Working, "gone", true),
            (TaskState::Working, "looks", false),
        ]) {
            let id = uuid::Uuid::new_v4().to_string();
            let mut story = Story::new(number).named(&id).at_agent(agent);
            let step = Change::Step(Step {
                task: story.id().clone(),
                turn: 1,
                at: at(1),
                name: STEP.to_owned(),
                value: json!({ "turn": 1 }),
            });
            commit(&store, [story.step(state, at(1)), step]).await;
            left.push((started(&id), ends));
        }
        // Nobody here knows of its task.
        left.push((started(&uuid::Uuid::new_v4().to_string()), false));
        end_left(&store, |agent| agent == "looks", &tasks)
            .await
            .unwrap();
        assert!(tasks.drain(GRACE * 10).await);
        let (mut ended, mut expected) = (Vec::new(), Vec::new());
        for ((mut child, pid), ends) in left {
            ended.push(Live::of(pid.as_raw_nonzero().get()).is_none());
            expected.push(ends);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(ended, expected);
    }
}
