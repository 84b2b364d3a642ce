//! Stores of `switchboard wrap`, which are inside the data directory of `switchboard up`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{SWITCHBOARD, printed, restore, scratch, store_check};
use switchboard_testkit::{Server, answer, eventually};

/// Callers at once.
const CALLERS: usize = 4;
/// Tasks that are acknowledged before the backup.
const BEFORE: usize = 60;

type Acknowledged = Arc<Mutex<BTreeSet<String>>>;

/// A server with a home directory instead of `--data`.
async fn at_home(home: &Path, args: &[&str]) -> Server {
    let home = home.to_str().unwrap();
    let variables = [("HOME", home), ("XDG_DATA_HOME", "")];
    Server::start_with(args, "", &[], &variables).await
}

async fn wrap(home: &Path) -> Server {
    at_home(home, &["wrap", "--exec", "--", "tr", "a-z", "A-Z"]).await
}

/// A command in an empty directory, with that home.
fn command_at_home(home: &Path, args: &[&str]) -> Output {
    let elsewhere = scratch();
    let mut command = Command::new(SWITCHBOARD);
    command.args(args).current_dir(elsewhere.path());
    command.env("HOME", home).env_remove("XDG_DATA_HOME");
    command.output().unwrap()
}

/// Sends without a pause, and notes what was acknowledged.
fn load(server: &Server, acknowledged: &Acknowledged) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let (http, url) = (server.http.clone(), server.url("/a2a/agent/message:send"));
        let acknowledged = Arc::clone(acknowledged);
        callers.spawn(async move {
            for count in 0.. {
                let id = format!("{number}-{count}");
                let message =
                    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]});
                let request = http.post(&url).header("A2A-Version", "1.0");
                let sent = answer(request.json(&json!({ "message": message }))).await;
                let task = &sent.body["task"];
                assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{sent:?}");
                let id = task["id"].as_str().unwrap().to_owned();
                acknowledged.lock().unwrap().insert(id);
            }
        });
    }
    callers
}

fn paths(copied: &Value) -> Vec<&str> {
    let files = copied["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_wrap_under_load_is_backed_up_with_a_snapshot_of_its_own() {
    let home = scratch();
    let data = home.path().join(".local/share/switchboard");
    let mut up = at_home(home.path(), &["up"]).await;
    let mut wrapped = wrap(home.path()).await;
    let acknowledged = Acknowledged::default();
    let mut load = load(&wrapped, &acknowledged);
    eventually("load", async || {
        acknowledged.lock().unwrap().len() >= BEFORE
    })
    .await;

    let place = scratch();
    let target = place.path().join("copy");
    let before = acknowledged.lock().unwrap().clone();
    let (from, to) = (home.path().to_owned(), target.clone());
    let copied = tokio::task::spawn_blocking(move || {
        let to = to.to_str().unwrap();
        command_at_home(&from, &["backup", to, "-o", "json"])
    });
    let copied = printed(&copied.await.unwrap());
    assert_eq!(copied["serverRunning"], true, "{copied}");
    let files = paths(&copied);
    for file in ["switchboard.db", "wrapped/agent/switchboard.db"] {
        assert!(files.contains(&file), "{files:?}");
    }
    let is_live = |path: &&str| {
        let ends = ["-wal", "-shm", ".lock", "journal-a", "journal-b"];
        ends.iter().any(|end| path.ends_with(end))
    };
    assert_eq!(files.iter().find(|path| is_live(path)), None);
    assert!(load.try_join_next().is_none(), "a caller got no answer");
    load.shutdown().await;

    wrapped.kill().await;
    up.kill().await;
    fs::remove_dir_all(&data).unwrap();
    printed(&restore(&target, &data));
    for store in [data.clone(), data.join("wrapped/agent")] {
        let checked = store_check(&store);
        assert!(checked.status.success(), "{checked:?}");
    }
    wrapped.restart().await;
    for id in before {
        let url = wrapped.url(&format!("/a2a/agent/tasks/{id}"));
        let request = wrapped.http.get(url).header("A2A-Version", "1.0");
        let got = answer(request).await;
        assert_eq!(got.status, 200, "{id}: {got:?}");
        assert_eq!(got.body["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn a_home_with_nothing_but_a_wrap_can_be_backed_up_and_damage_is_found() {
    let home = scratch();
    let mut wrapped = wrap(home.path()).await;
    wrapped.kill().await;
    let place = scratch();
    let target = place.path().join("copy");
    let target = target.to_str().unwrap();
    let copied = printed(&command_at_home(
        home.path(),
        &["backup", target, "-o", "json"],
    ));
    assert!(
        paths(&copied).contains(&"wrapped/agent/switchboard.db"),
        "{copied}"
    );

    let database = home
        .path()
        .join(".local/share/switchboard/wrapped/agent/switchboard.db");
    let database = rusqlite::Connection::open(database).unwrap();
    database.execute_batch("DROP TABLE tally").unwrap();
    drop(database);
    let other = place.path().join("other");
    let failed = command_at_home(home.path(), &["backup", other.to_str().unwrap()]);
    let said = crate::complaint(&failed);
    assert!(
        said.contains("wrapped/agent/switchboard.db: table tally is missing"),
        "{said}"
    );
    assert!(!other.exists());
}
