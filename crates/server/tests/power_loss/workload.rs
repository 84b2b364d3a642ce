//! What the traced process does.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use switchboard_server::store::access::{
    AccessStore as _, AuditEntry, RuleRecord, SqliteAccess, What,
};
use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_server::store::{Store, TaskQuery};
use switchboard_server::task::Owner;
use switchboard_server::testing::store_suite::{Story, at, commit};
use switchboard_testkit::power_loss::ACKNOWLEDGED;
use switchboard_types::model::TaskState;

/// The variables that tell the process what to do, and where.
pub(crate) const KIND: &str = "SWITCHBOARD_TEST_WORKLOAD";
pub(crate) const ROOT: &str = "SWITCHBOARD_TEST_ROOT";

/// The data directory. Both levels are new.
pub(crate) const DATA: &str = "new/data";

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A few small tasks.
    Few,
    /// Some more of them, with reads in between.
    Small,
    /// Small ones, a clean stop, a start, and others.
    Reopened,
    /// Rules of operators, which are in `access.db`.
    Rules,
    /// Tasks that fill the journal again and again, so that checkpoints are made.
    Large,
}

/// A task of a workload.
pub(crate) fn story(kind: Kind, number: u32) -> Story {
    let mut story = Story::new(100 + number);
    if kind == Kind::Large {
        story.step(TaskState::Working, at(1));
        story.tell(story.artifact(&"x".repeat(60_000), false), None);
    } else {
        story.step(TaskState::Completed, at(1));
    }
    story
}

/// A rule of a workload.
pub(crate) fn rule(number: u32) -> RuleRecord {
    RuleRecord {
        id: number.to_string(),
        agent: "desk".to_owned(),
        rule: serde_json::json!({ "to": "poet" }),
        made: at(number.into()),
    }
}

struct Workload {
    kind: Kind,
    acknowledged: File,
}

impl Workload {
    /// Stores rules, and says so after each.
    async fn put_rules(&mut self, dir: &Path, numbers: std::ops::Range<u32>) {
        let store = SqliteAccess::open(dir).unwrap();
        for number in numbers {
            let noted = AuditEntry::new(What::RuleStored, "operator");
            store.put_rule(rule(number), noted).await.unwrap();
            self.acknowledge(number);
        }
        std::mem::forget(store);
    }

    fn acknowledge(&mut self, number: u32) {
        let line = format!("{number}\n");
        self.acknowledged.write_all(line.as_bytes()).unwrap();
    }

    /// Commits tasks, and says so after each. Reads now and then, which ends the open transaction.
    async fn commit(&mut self, store: &SqliteStore, numbers: std::ops::Range<u32>) {
        for number in numbers {
            commit(store, [story(self.kind, number).append(0)]).await;
            self.acknowledge(number);
            if self.kind != Kind::Few && number % 7 == 3 {
                let query = TaskQuery::of("echo".into(), Owner::new("caller-a"));
                store.list(query).await.unwrap();
            }
        }
    }
}

/// Not a test by itself: what the traced process runs. It ends without closing the store.
#[tokio::test]
async fn run() {
    let (Ok(kind), Ok(root)) = (std::env::var(KIND), std::env::var(ROOT)) else {
        return;
    };
    let (kind, tasks) = match &*kind {
        "Few" => (Kind::Few, 4),
        "Small" => (Kind::Small, 12),
        "Reopened" => (Kind::Reopened, 6),
        "Rules" => (Kind::Rules, 4),
        "Large" => (Kind::Large, 24),
        other => panic!("{other}"),
    };
    let root = Path::new(&root);
    let options = SqliteOptions::new(root.join(DATA));
    let mut log = OpenOptions::new();
    let log = log.create(true).append(true);
    let acknowledged = log.open(root.join(ACKNOWLEDGED)).unwrap();
    let mut workload = Workload { kind, acknowledged };
    if kind == Kind::Rules {
        return workload.put_rules(&options.dir, 0..tasks).await;
    }
    let store = SqliteStore::open(&options).unwrap();
    workload.commit(&store, 0..tasks).await;
    if kind == Kind::Reopened {
        store.close().await.unwrap();
        drop(store);
        let store = SqliteStore::open(&options).unwrap();
        workload.commit(&store, tasks..2 * tasks).await;
        std::mem::forget(store);
    } else {
        std::mem::forget(store);
    }
}
