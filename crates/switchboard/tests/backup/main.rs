//! Backup and restore with the real binary: beside a server under load, killed at every call, on damaged backups, in
//! places where nothing can be written, and with data directories of earlier versions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod damaged;
mod killed;
mod load;
mod refused;
mod upgrade;
mod wrapped;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The binary.
const SWITCHBOARD: &str = env!("CARGO_BIN_EXE_switchboard");

/// A directory for one test, where syncs take no time.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn switchboard(args: &[&OsStr]) -> Output {
    let mut command = Command::new(SWITCHBOARD);
    command.args(args).env_remove("SWITCHBOARD_LOG");
    command.output().unwrap()
}

fn backup(data: &Path, target: &Path) -> Output {
    let data = data.as_os_str();
    let json = [OsStr::new("--data"), data, "-o".as_ref(), "json".as_ref()];
    switchboard(&[&["backup".as_ref(), target.as_os_str()][..], &json].concat())
}

fn restore(backup: &Path, data: &Path) -> Output {
    let data = data.as_os_str();
    let json = [OsStr::new("--data"), data, "-o".as_ref(), "json".as_ref()];
    switchboard(&[&["restore".as_ref(), backup.as_os_str()][..], &json].concat())
}

fn store_check(data: &Path) -> Output {
    let args = ["store", "check", "--data"].map(OsStr::new);
    switchboard(&[&args[..], &[data.as_os_str()]].concat())
}

/// What a command printed that must succeed.
#[track_caller]
fn printed(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a command complained of that must fail, with exit code 1.
#[track_caller]
fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Every file below a directory: path, permissions, content.
fn tree(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            let relative = path.strip_prefix(dir).unwrap().to_owned();
            found.push((relative, mode, fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The names in a directory.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A small data directory of a server that was killed, so that its journal holds what the database does not.
async fn killed_server() -> switchboard_testkit::Server {
    let mut server = switchboard_testkit::Server::up().await;
    let body = serde_json::json!({"message": {
        "messageId": "1", "role": "ROLE_USER", "parts": [{"text": "remember me"}],
    }});
    let sent = server.post_v1("/a2a/echo/message:send", &body).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    server.kill().await;
    server
}
