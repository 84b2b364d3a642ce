//! Data directories of earlier versions: the server migrates them, and so it does after a backup and a restore.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use switchboard_testkit::{Server, look};

use crate::{backup, printed, restore, scratch, store_check};

const AGENTS: &str = "
agents:
  echo: { script: [{ complete: done }] }
  approver: { script: [{ complete: done }] }
  bot: { script: [{ complete: done }] }
";

/// A database that an earlier version has written.
struct Stored {
    version: u32,
    sql: String,
    /// A task that is over, and one that was at work.
    tasks: [&'static str; 2],
}

/// The databases that each version has written, from the server's own tests.
fn stored() -> Vec<Stored> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/stored");
    let mut versions: Vec<Stored> = fs::read_dir(dir)
        .unwrap()
        .map(|folder| {
            let folder = folder.unwrap();
            let name = folder.file_name().into_string().unwrap();
            let sql = fs::read_to_string(folder.path().join("database.sql")).unwrap();
            let (version, tasks) = match name.strip_suffix("-turns") {
                Some(version) => (version, ["completed", "mid-turn"]),
                None => {
                    let over = "0190a5c3-0000-7002-8000-00000000abcd";
                    (
                        name.as_str(),
                        [over, "0190a5c3-0000-7001-8000-00000000abcd"],
                    )
                }
            };
            Stored {
                version: version.trim_start_matches('v').parse().unwrap(),
                // Nobody is to be called for a task of then.
                sql: format!("{sql}\nDELETE FROM webhook;"),
                tasks,
            }
        })
        .collect();
    versions.sort_by_key(|stored| stored.version);
    versions
}

fn make(path: &Path, sql: &str) {
    let database = Connection::open(path).unwrap();
    database.execute_batch(sql).unwrap();
}

fn version(dir: &Path, name: &str) -> u32 {
    let database = Connection::open(dir.join(name)).unwrap();
    let version = database.query_row("PRAGMA user_version", [], |row| row.get(0));
    version.unwrap()
}

/// Fills the directory of a server that is stopped with what an earlier version has left.
fn fill(data: &Path, sql: &str) {
    fs::remove_dir_all(data).ok();
    fs::create_dir(data).unwrap();
    make(&data.join("switchboard.db"), sql);
    let access = "../server/tests/stored_access/v1.sql";
    let access = Path::new(env!("CARGO_MANIFEST_DIR")).join(access);
    make(
        &data.join("access.db"),
        &fs::read_to_string(access).unwrap(),
    );
}

/// What was there can be read, and what was at work comes to an end.
async fn assert_migrated(server: &Server, [over, at_work]: [&str; 2], latest: u32) {
    assert_eq!(version(&server.data(), "switchboard.db"), latest);
    assert!(version(&server.data(), "access.db") > 1);
    let over = look(server, &format!("/admin/traces/{over}")).await.body;
    assert_eq!(over["status"], "SUCCESS", "{over}");
    let begun = tokio::time::Instant::now();
    loop {
        let path = format!("/admin/traces/{at_work}");
        let at_work = look(server, &path).await.body;
        if at_work["status"] != "PENDING" {
            break;
        }
        assert!(begun.elapsed().as_secs() < 20, "{at_work}");
    }
    let checked = store_check(&server.data());
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test]
async fn a_server_starts_on_the_data_directory_of_every_version() {
    let versions = stored();
    let latest = versions.last().unwrap().version;
    let mut server = Server::serve(AGENTS).await;
    server.stop().await;
    for stored in versions {
        fill(&server.data(), &stored.sql);
        server.restart().await;
        assert_migrated(&server, stored.tasks, latest).await;
        // And again, after a crash.
        server.kill().await;
        server.restart().await;
        assert_migrated(&server, stored.tasks, latest).await;
        server.stop().await;
        assert!(stored.version <= latest);
    }
}

#[tokio::test]
async fn a_backup_of_an_earlier_version_is_not_changed_and_migrates_when_it_starts() {
    let versions = stored();
    let latest = versions.last().unwrap().version;
    let mut server = Server::serve(AGENTS).await;
    server.stop().await;
    for stored in versions {
        let old = stored.version;
        fill(&server.data(), &stored.sql);
        let place = scratch();
        let copy = place.path().join("copy");
        printed(&backup(&server.data(), &copy));
        assert_eq!(version(&copy.join("data"), "switchboard.db"), old);
        assert_eq!(version(&server.data(), "switchboard.db"), old);
        fs::remove_dir_all(server.data()).unwrap();
        printed(&restore(&copy, &server.data()));
        assert_eq!(version(&server.data(), "switchboard.db"), old);
        server.restart().await;
        assert_migrated(&server, stored.tasks, latest).await;
        server.stop().await;
    }
}
