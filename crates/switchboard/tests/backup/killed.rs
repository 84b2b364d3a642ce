//! Backup and restore that are killed, or lose power, at every call that changes a file.
//!
//! The binary is traced by the same means as the store itself (`crates/server/tests/power_loss`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use switchboard_testkit::Server;
use switchboard_testkit::power_loss::{Disk, Operation, Tracer, Unsynced};
use tempfile::TempDir;

use crate::{
    SWITCHBOARD, backup, complaint, killed_server, names, printed, restore, scratch, store_check,
    tree,
};

/// A command that is traced.
struct Trial<'a> {
    args: &'a [&'a Path],
    aside: TempDir,
}

impl<'a> Trial<'a> {
    fn new(args: &'a [&'a Path]) -> Self {
        let aside = scratch();
        Self { args, aside }
    }

    /// Runs the command in `root`, killed at that call. Says whether it came to its end.
    fn run(&self, root: &Path, kill_at: Option<usize>) -> bool {
        let mut command = Command::new(SWITCHBOARD);
        command.args(self.args).current_dir(root);
        Tracer::new(root, self.aside.path()).trace(&mut command, kill_at);
        let output = command.output().unwrap();
        let was_killed = output.status.code() == Some(137) && kill_at.is_some();
        assert!(was_killed || output.status.success(), "{output:?}");
        !was_killed
    }
}

/// Where the server's data is, and a backup of it.
async fn sample() -> (Server, TempDir) {
    let server = killed_server().await;
    let place = scratch();
    printed(&backup(&server.data(), &place.path().join("copy")));
    (server, place)
}

/// The names and contents of all files below a directory.
fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = tree(dir).into_iter();
    files.map(|(path, _, content)| (path, content)).collect()
}

/// What can be restored is complete; everything else is refused. Says which.
fn is_complete(target: &Path, complete: &Path) -> bool {
    let place = scratch();
    let data = place.path().join("data");
    let output = restore(target, &data);
    if output.status.success() {
        assert_eq!(content(&data), content(&complete.join("data")));
        return true;
    }
    complaint(&output);
    assert!(!data.exists());
    false
}

#[tokio::test]
async fn a_backup_killed_at_any_call_leaves_no_half_backup() {
    let (server, complete) = sample().await;
    let data = server.data();
    let args = [
        "backup".as_ref(),
        "copy".as_ref(),
        "--data".as_ref(),
        data.as_path(),
    ];
    let trial = Trial::new(&args);
    let mut kills = 0;
    for call in 1.. {
        let root = scratch();
        let is_done = trial.run(root.path(), Some(call));
        let left = names(root.path());
        for name in &left {
            let is_complete = is_complete(&root.path().join(name), &complete.path().join("copy"));
            assert!(is_complete || name != "copy", "call {call}");
        }
        assert!(!is_done || left == ["copy"], "{left:?}");
        if is_done {
            break;
        }
        kills += 1;
    }
    assert!(kills > 20, "{kills}");
    assert!(store_check(&data).status.success());
}

#[tokio::test]
async fn a_restore_killed_at_any_call_leaves_nothing_or_all() {
    let (_server, place) = sample().await;
    let copy = place.path().join("copy");
    let args = [
        "restore".as_ref(),
        copy.as_path(),
        "--data".as_ref(),
        "data".as_ref(),
    ];
    let trial = Trial::new(&args);
    for is_there in [false, true] {
        let mut kills = 0;
        for call in 1.. {
            let root = scratch();
            let data = root.path().join("data");
            if is_there {
                fs::create_dir(&data).unwrap();
            }
            let is_done = trial.run(root.path(), Some(call));
            let is_restored = data.exists() && !names(&data).is_empty();
            if is_restored {
                assert_eq!(tree(&data), tree(&copy.join("data")));
            } else {
                assert!(!is_done);
                // Again, and it works.
                printed(&restore(&copy, &data));
                assert_eq!(tree(&data), tree(&copy.join("data")));
            }
            if is_done {
                break;
            }
            kills += 1;
        }
        assert!(kills > 10, "{kills}");
    }
}

/// A disk of its own cannot be renamed. A lock file is what the test has in common with it: the directory is filled where
/// it is.
#[tokio::test]
async fn a_restore_in_place_killed_at_any_call_keeps_servers_from_starting() {
    let (_server, place) = sample().await;
    let copy = place.path().join("copy");
    let args = [
        "restore".as_ref(),
        copy.as_path(),
        "--data".as_ref(),
        "data".as_ref(),
    ];
    let trial = Trial::new(&args);
    let (mut kills, mut refusals) = (0, 0);
    for call in 1.. {
        let root = scratch();
        let data = root.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("switchboard.lock"), "").unwrap();
        let is_done = trial.run(root.path(), Some(call));
        if data.join("restore.incomplete").exists() {
            assert!(!is_done);
            for args in [
                &["store", "check"][..],
                &["up", "--listen", "0"],
                &["key", "create", "--agent", "echo"],
                &["audit"],
            ] {
                let mut command = Command::new(SWITCHBOARD);
                let output = command
                    .args(args)
                    .arg("--data")
                    .arg(&data)
                    .output()
                    .unwrap();
                let said = complaint(&output);
                let is_named = said.contains("restore into") && said.contains("was interrupted");
                assert!(is_named || said.contains("no data in"), "{said}");
            }
            refusals += 1;
        }
        let is_whole = names(&data).contains(&"switchboard.db".to_owned())
            && !data.join("restore.incomplete").exists();
        if !is_whole {
            assert!(!is_done);
            printed(&restore(&copy, &data));
        }
        fs::remove_file(data.join("switchboard.lock")).unwrap();
        assert_eq!(tree(&data), tree(&copy.join("data")));
        if is_done {
            break;
        }
        kills += 1;
    }
    assert!(kills > 10 && refusals > 10, "{kills} {refusals}");
}

/// How a command leaves the disk when the power goes after each of its operations.
fn check_power_loss(args: &[&Path], root: &TempDir, mut check: impl FnMut(&Path, bool)) {
    let mut disk = Disk::of(root.path());
    let trial = Trial::new(args);
    assert!(trial.run(root.path(), None));
    let operations = Tracer::new(root.path(), trial.aside.path()).operations();
    for (point, operation) in operations.iter().enumerate() {
        disk.apply(operation);
        let is_one_of_many = matches!(operation, Operation::Write(..)) && point % 7 != 0;
        if is_one_of_many || operation.is_volatile() {
            continue;
        }
        let is_last = point + 1 == operations.len();
        let seed = u64::try_from(point).unwrap();
        for unsynced in [
            Unsynced::Lost,
            Unsynced::Kept,
            Unsynced::NamesKept,
            Unsynced::Some(seed),
        ] {
            let found = scratch();
            disk.lose_power(unsynced, found.path());
            check(found.path(), is_last);
        }
    }
}

#[tokio::test]
async fn power_loss_leaves_a_complete_backup_or_none() {
    let (server, complete) = sample().await;
    let data = server.data();
    let args = [
        "backup".as_ref(),
        "copy".as_ref(),
        "--data".as_ref(),
        data.as_path(),
    ];
    let complete = complete.path().join("copy");
    check_power_loss(&args, &scratch(), |found, is_last| {
        let copy = found.join("copy");
        assert!(copy.exists() || !is_last, "acknowledged and lost");
        assert!(!copy.exists() || is_complete(&copy, &complete));
    });
}

#[tokio::test]
async fn power_loss_leaves_all_of_a_restore_or_nothing() {
    let (_server, place) = sample().await;
    let copy = place.path().join("copy");
    let args = [
        "restore".as_ref(),
        copy.as_path(),
        "--data".as_ref(),
        "data".as_ref(),
    ];
    let content =
        |dir: &Path| -> Vec<_> { tree(dir).into_iter().map(|(p, _, c)| (p, c)).collect() };
    let expected = content(&copy.join("data"));
    for in_place in [false, true] {
        let root = scratch();
        if in_place {
            fs::create_dir(root.path().join("data")).unwrap();
            fs::write(root.path().join("data/switchboard.lock"), "").unwrap();
        }
        check_power_loss(&args, &root, |found, is_last| {
            let data = found.join("data");
            let mut left = if data.exists() {
                names(&data)
            } else {
                Vec::new()
            };
            left.retain(|name| name != "switchboard.lock");
            let is_marked = left.contains(&"restore.incomplete".to_owned());
            assert!(
                !(is_last && (left.is_empty() || is_marked)),
                "acknowledged and lost"
            );
            if !left.is_empty() && !is_marked {
                fs::remove_file(data.join("switchboard.lock")).ok();
                assert_eq!(content(&data), expected);
            }
        });
    }
}
