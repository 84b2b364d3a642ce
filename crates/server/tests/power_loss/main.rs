//! No acknowledged task is lost when the power goes, whenever it goes and whatever the disk had not synced.
//!
//! A process with the real store is traced (`Tracer`): what it writes and syncs, and what it acknowledges. Then the
//! states that a disk may be in after a loss of power are made from the trace (`Disk`), at every point of it; the store
//! is opened on each, and must hold what was acknowledged until then.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![cfg(all(feature = "testing", feature = "sqlite", target_os = "linux"))]

mod workload;

use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::Command;

use futures_util::FutureExt as _;
use rusqlite::Connection;
use switchboard_server::store::access::{AccessStore as _, SqliteAccess};
use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_server::store::{Store, TaskQuery};
use switchboard_server::task::Owner;
use switchboard_testkit::power_loss::{Disk, Operation, Tracer, Unsynced};
use tempfile::TempDir;

use workload::{DATA, Kind, rule, story};

/// How many states are made for each point by chance, beside those that are certain.
const RANDOM_STATES: u64 = 2;

/// A directory where syncs take no time: nothing here is to survive anything.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// A traced run, and the states after it.
struct Run {
    before: Disk,
    operations: Vec<Operation>,
    kind: Kind,
    /// Tasks that were there before.
    old: u64,
}

impl Run {
    /// Runs a workload in `root`: once for each number of a call at which it is killed, and then to its end.
    fn new(kind: Kind, root: &Path, killed_at: &[usize]) -> Self {
        let aside = in_memory();
        let before = Disk::of(root);
        let traced = Tracer::new(root, aside.path());
        for call in killed_at {
            run(kind, &traced, Some(*call));
        }
        run(kind, &traced, None);
        let operations = traced.operations();
        Self {
            before,
            operations,
            kind,
            old: 0,
        }
    }

    /// Checks states at every `step`th point, and after each acknowledgement. Tells how many there were.
    async fn check(mut self, step: usize) -> usize {
        let (mut acknowledged, mut states) = (Vec::new(), 0);
        for (point, operation) in self.operations.iter().enumerate() {
            self.before.apply(operation);
            let mut certain = vec![Unsynced::Lost, Unsynced::NamesKept];
            if let Operation::Acknowledge(number) = operation {
                acknowledged.push(*number);
                certain.push(Unsynced::Kept);
            } else if point % step != 0 || operation.is_volatile() {
                continue;
            }
            let seed = |n| u64::try_from(point).unwrap() * RANDOM_STATES + n;
            let some = (0..RANDOM_STATES).map(|n| Unsynced::Some(seed(n)));
            for unsynced in certain.into_iter().chain(some) {
                let found = in_memory();
                self.before.lose_power(unsynced, found.path());
                let checked = self.check_state(&acknowledged, found.path());
                if AssertUnwindSafe(checked).catch_unwind().await.is_err() {
                    let (all, kept) = (self.operations.len(), found.keep());
                    panic!(
                        "{:?}: power lost after operation {point} of {all} ({operation}), {unsynced:?}, see {}",
                        self.kind,
                        kept.display()
                    );
                }
                states += 1;
            }
        }
        assert!(!acknowledged.is_empty());
        states
    }

    async fn check_state(&self, acknowledged: &[u32], found: &Path) {
        if self.kind == Kind::Rules {
            let store = SqliteAccess::open(&found.join(DATA)).unwrap();
            let rules = store.rules().await.unwrap();
            for number in acknowledged {
                assert!(rules.contains(&rule(*number)), "{number}: {rules:?}");
            }
            return;
        }
        let store = SqliteStore::open(&SqliteOptions::new(found.join(DATA))).unwrap();
        for number in acknowledged {
            story(self.kind, *number).assert_stored_in(&store).await;
        }
        let query = TaskQuery::of("echo".into(), Owner::new("caller-a"));
        let total = store.list(query).await.unwrap().total;
        let least = self.old + u64::try_from(acknowledged.len()).unwrap();
        // One more may be there: it was written, but not acknowledged yet.
        assert!((least..=least + 1).contains(&total), "{total} of {least}");
    }
}

/// Runs the workload in a process of its own.
fn run(kind: Kind, traced: &Tracer<'_>, kill_at: Option<usize>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "workload::run", "--nocapture"])
        .env(workload::KIND, format!("{kind:?}"))
        .env(workload::ROOT, traced.root);
    traced.trace(&mut command, kill_at);
    let output = command.output().unwrap();
    let was_killed = output.status.code() == Some(137) && kill_at.is_some();
    assert!(was_killed || output.status.success(), "{output:?}");
}

#[tokio::test]
async fn power_loss_on_a_new_directory_loses_nothing() {
    let root = in_memory();
    let states = Run::new(Kind::Small, root.path(), &[]).check(1).await;
    assert!(states >= 300, "{states}");
}

#[tokio::test]
async fn power_loss_after_a_kill_during_creation_loses_nothing() {
    for killed_at in [&[7][..], &[31, 12], &[45]] {
        let root = in_memory();
        Run::new(Kind::Few, root.path(), killed_at).check(4).await;
    }
}

#[tokio::test]
async fn power_loss_on_an_existing_directory_loses_nothing() {
    let root = in_memory();
    let data = root.path().join(DATA);
    drop(SqliteStore::open(&SqliteOptions::new(&data)).unwrap());
    let states = Run::new(Kind::Reopened, root.path(), &[]).check(3).await;
    assert!(states >= 100, "{states}");
}

#[tokio::test]
async fn power_loss_during_a_migration_loses_nothing() {
    for version in 1..=3 {
        let root = in_memory();
        let data = root.path().join(DATA);
        fs::create_dir_all(&data).unwrap();
        let sql = format!("tests/stored/v{version}/database.sql");
        let sql = Path::new(env!("CARGO_MANIFEST_DIR")).join(sql);
        let database = Connection::open(data.join("switchboard.db")).unwrap();
        let sql = fs::read_to_string(sql).unwrap();
        database.execute_batch(&sql).unwrap();
        drop(database);
        let mut run = Run::new(Kind::Few, root.path(), &[]);
        // Those of one caller at one agent.
        run.old = 4;
        run.check(3).await;
    }
}

#[tokio::test]
async fn power_loss_loses_no_rule_of_an_operator() {
    for killed_at in [&[][..], &[12]] {
        let root = in_memory();
        Run::new(Kind::Rules, root.path(), killed_at).check(1).await;
    }
}

#[tokio::test]
async fn power_loss_during_checkpoints_loses_nothing() {
    let root = in_memory();
    let states = Run::new(Kind::Large, root.path(), &[]).check(61).await;
    assert!(states >= 100, "{states}");
}
