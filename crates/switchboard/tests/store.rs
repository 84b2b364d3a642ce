//! The store under the real binary: one that refuses commits, one that is damaged, and starts that have to wait.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually};

fn hello() -> Value {
    json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
}

async fn ready_as(server: &Server, status: u16) -> Value {
    eventually(&format!("/readyz is {status}"), async || {
        let answer = server.get("/readyz").await;
        match answer.status == status {
            true => Ok(answer.body),
            false => Err(answer.status),
        }
    })
    .await
}

/// The messages of the log that are warnings or worse.
fn complaints(server: &Server) -> Vec<String> {
    let lines = server.logged();
    let records = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    records
        .filter(|record: &Value| record["level"] == "ERROR" || record["level"] == "WARN")
        .map(|record| record["message"].as_str().unwrap().to_owned())
        .filter(|message| message.contains("store") || message.contains("refused"))
        .collect()
}

#[tokio::test]
async fn a_server_whose_store_refuses_commits_is_not_ready_until_it_accepts_them() {
    let server = Server::up().await;
    let body = hello();
    let send = || server.post_v1("/a2a/echo/message:send", &body);
    assert_eq!(send().await.status, 200);
    assert_eq!(ready_as(&server, 200).await["status"], "ready");
    // Another process writes to the database, and does not end.
    let database = Connection::open(server.data().join("switchboard.db")).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (one, two, three) = tokio::join!(send(), send(), send());
    for refused in [one, two, three] {
        assert_eq!(refused.status, 503, "{refused:?}");
    }
    let answered = ready_as(&server, 503).await;
    assert_eq!(answered["status"], "not ready", "{answered}");
    assert_eq!(server.get("/livez").await.status, 200);
    assert_eq!(complaints(&server), ["store refuses commits"]);
    // Nobody sends anything: it is seen all the same.
    database.execute_batch("ROLLBACK").unwrap();
    ready_as(&server, 200).await;
    assert_eq!(send().await.status, 200);
    assert_eq!(complaints(&server), ["store refuses commits"]);
    assert!(server.logged().contains("store accepts commits again"));
}

fn check(data: &Path, output: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["store", "check", "-o", output, "--data"])
        .arg(data)
        .output()
        .unwrap()
}

#[tokio::test]
async fn store_check_tells_sound_from_damaged_and_changes_nothing() {
    let mut server = Server::up().await;
    server.post_v1("/a2a/echo/message:send", &hello()).await;
    let beside = check(&server.data(), "json");
    assert_eq!(beside.status.code(), Some(0), "{beside:?}");
    let told: Value = serde_json::from_slice(&beside.stdout).unwrap();
    assert_eq!(
        (&told["inUse"], &told["sound"]),
        (&json!(true), &json!(true))
    );

    server.kill().await;
    let killed = check(&server.data(), "text");
    assert_eq!(killed.status.code(), Some(0), "{killed:?}");
    let text = String::from_utf8(killed.stdout).unwrap();
    for file in ["switchboard.db ", "switchboard.journal-a ", "access.db "] {
        assert!(text.contains(file), "{text}");
    }

    // After a clean stop the database has everything.
    server.restart().await;
    server.stop().await;
    let database = server.data().join("switchboard.db");
    let mut data = fs::read(&database).unwrap();
    data[16 * 1024..].fill(0x55);
    fs::write(&database, &data).unwrap();
    let damaged = check(&server.data(), "json");
    assert_eq!(damaged.status.code(), Some(1), "{damaged:?}");
    let told: Value = serde_json::from_slice(&damaged.stdout).unwrap();
    assert_eq!(told["sound"], false);
    assert_eq!(told["files"][0]["status"], "damaged");
    assert!(!told["files"][0]["problems"].as_array().unwrap().is_empty());
    assert_eq!(fs::read(&database).unwrap(), data);
}

#[tokio::test]
async fn a_start_waits_for_its_address_and_says_so_if_it_stays_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.txt");
    let mut up = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    up.args(["up", "--memory", "--listen", &address])
        .args(["--log-format", "json"])
        .env_remove("SWITCHBOARD_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let refused = up.output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("cannot listen on") && said.contains("--listen"),
        "{said}"
    );

    let mut child = up.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    eventually("a log line that it waits", async || {
        fs::read_to_string(&log).unwrap().contains("waiting for it")
    })
    .await;
    drop(taken);
    let url = format!("http://{address}/readyz");
    eventually("it is ready", async || {
        let over = child.try_wait().unwrap();
        assert!(over.is_none(), "{over:?}");
        let answer = reqwest::get(&url).await;
        answer.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Whether another process has the file open.
fn is_open_elsewhere(file: &Path) -> bool {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| process.file_name() != *own)
        .filter_map(|process| fs::read_dir(process.path().join("fd")).ok())
        .flat_map(|descriptors| descriptors.flatten())
        .any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|target| target == file))
}

/// Waits until another process has opened the file and keeps it open: one that gives up at once is gone a moment later.
async fn until_held_open(file: &Path) {
    let mut seen = 0;
    eventually(
        &format!("a process that holds {}", file.display()),
        async || {
            seen = if is_open_elsewhere(file) { seen + 1 } else { 0 };
            seen == 3
        },
    )
    .await;
}

/// A process that was killed, or a command that reads, may hold the lock for a moment.
#[tokio::test]
async fn a_start_waits_for_its_data_directory() {
    let mut server = Server::up().await;
    let sent = server.post_v1("/a2a/echo/message:send", &hello()).await;
    server.kill().await;
    let lock = server.data().join("switchboard.lock");
    let holder = fs::File::open(&lock).unwrap();
    holder.lock().unwrap();
    let release = async {
        until_held_open(&lock).await;
        holder.unlock().unwrap();
    };
    tokio::join!(server.restart(), release);
    let task = sent.body["task"]["id"].as_str().unwrap();
    let request = server
        .http
        .get(server.url(&format!("/a2a/echo/tasks/{task}")));
    let read = switchboard_testkit::answer(request.header("A2A-Version", "1.0")).await;
    assert_eq!(read.status, 200, "{read:?}");
}
