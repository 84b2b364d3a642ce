//! What is in the way of a backup or a restore, and what is said about it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually};

use crate::{
    SWITCHBOARD, backup, complaint, killed_server, names, printed, restore, scratch, store_check,
    tree,
};

fn hello() -> Value {
    json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
}

#[tokio::test]
async fn backup_never_overwrites_and_names_the_way_out() {
    let server = killed_server().await;
    let place = scratch();
    let here = |name: &str| place.path().join(name);
    fs::create_dir(here("dir")).unwrap();
    fs::write(here("file"), "precious").unwrap();
    symlink("nowhere", here("link")).unwrap();
    for name in ["dir", "file", "link"] {
        let said = complaint(&backup(&server.data(), &here(name)));
        assert!(said.contains("never overwrite"), "{name}: {said}");
    }
    let said = complaint(&backup(&server.data(), &here("not-there/copy")));
    assert!(said.contains("make that directory first"), "{said}");
    let said = complaint(&backup(&server.data(), &server.data().join("copy")));
    assert!(said.contains("inside the data directory"), "{said}");
    let said = complaint(&backup(&here("no-data"), &here("copy")));
    assert!(said.contains("no data in"), "{said}");
    assert_eq!(names(place.path()), ["dir", "file", "link"]);
    assert_eq!(fs::read_to_string(here("file")).unwrap(), "precious");
}

/// Runs the binary where no file can become larger than so many blocks of 512 bytes: as if the disk were full.
fn with_file_limit(blocks: u32, args: [&Path; 4]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(SWITCHBOARD);
    command.args(args).output().unwrap()
}

#[tokio::test]
async fn disk_full_leaves_nothing_behind() {
    let server = killed_server().await;
    let place = scratch();
    let here = |name: &str| place.path().join(name);
    for blocks in [0, 1, 8, 100] {
        let copy = here("copy");
        let args = [
            Path::new("backup"),
            &copy,
            "--data".as_ref(),
            &server.data(),
        ];
        let said = complaint(&with_file_limit(blocks, args));
        assert!(said.starts_with("error: "), "{said}");
        assert_eq!(names(place.path()), [""; 0], "{said}");
    }
    printed(&backup(&server.data(), &here("copy")));
    for blocks in [0, 1, 8, 100] {
        let (copy, data) = (here("copy"), here("data"));
        let args = [Path::new("restore"), &copy, "--data".as_ref(), &data];
        complaint(&with_file_limit(blocks, args));
        assert_eq!(names(place.path()), ["copy"]);
    }
    // An existing directory is as it was, too.
    fs::create_dir(here("data")).unwrap();
    let (copy, data) = (here("copy"), here("data"));
    let args = [Path::new("restore"), &copy, "--data".as_ref(), &data];
    complaint(&with_file_limit(8, args));
    assert_eq!(names(&data), [""; 0]);
}

#[tokio::test]
async fn restore_refuses_a_directory_in_use_or_with_anything_in_it() {
    let server = killed_server().await;
    let place = scratch();
    let copy = place.path().join("copy");
    printed(&backup(&server.data(), &copy));

    let running = Server::up().await;
    let before = names(&running.data());
    let said = complaint(&restore(&copy, &running.data()));
    assert!(said.contains("a server is running on"), "{said}");
    assert_eq!(names(&running.data()), before);
    let sent = running.post_v1("/a2a/echo/message:send", &hello()).await;
    assert_eq!(sent.status, 200);

    let full = place.path().join("full of files");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("note.txt"), "mine").unwrap();
    let said = complaint(&restore(&copy, &full));
    let moved = format!("(mv '{0}' '{0}.old')", full.display());
    assert!(
        said.contains("not empty") && said.contains(&moved),
        "{said}"
    );
    assert_eq!(names(&full), ["note.txt"]);

    for name in ["no-backup", "full of files"] {
        let said = complaint(&restore(
            &place.path().join(name),
            &place.path().join("new"),
        ));
        assert!(said.contains("not a complete backup"), "{said}");
    }
    assert!(!place.path().join("new").exists());
}

#[tokio::test]
async fn links_are_never_followed_and_are_named() {
    let server = killed_server().await;
    let place = scratch();
    let outside = place.path().join("outside");
    fs::write(&outside, "not yours").unwrap();
    symlink(&outside, server.data().join("link")).unwrap();
    symlink(place.path(), server.data().join("linked-dir")).unwrap();
    fs::create_dir(server.data().join("more")).unwrap();
    fs::write(server.data().join("more/found.json"), "{}").unwrap();
    fs::set_permissions(
        server.data().join("more/found.json"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    let copy = place.path().join("copy");
    let output = backup(&server.data(), &copy);
    let copied = printed(&output);
    let skipped: Vec<&str> = copied["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skipped| skipped["path"].as_str().unwrap())
        .collect();
    assert!(skipped.contains(&"link") && skipped.contains(&"linked-dir"));
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(warned.contains("not in the backup: link"), "{warned}");
    let data = place.path().join("data");
    printed(&restore(&copy, &data));
    assert!(!data.join("link").exists() && !data.join("linked-dir").exists());
    // Permissions are kept, and secrets stay secret all the way.
    let modes: Vec<(String, u32)> = tree(&data)
        .into_iter()
        .map(|(path, mode, _)| (path.display().to_string(), mode))
        .collect();
    for (path, mode) in &modes {
        let expected = if path == "more/found.json" {
            0o640
        } else {
            0o600
        };
        assert_eq!(*mode, expected, "{path}");
    }
    for dir in [&copy, &copy.join("data"), &data] {
        assert_eq!(fs::metadata(dir).unwrap().mode() & 0o777, 0o700);
    }
    fs::remove_file(server.data().join("link")).unwrap();
    // A database that is elsewhere is no part of the directory.
    let database = server.data().join("access.db");
    fs::copy(&database, place.path().join("access.db")).unwrap();
    fs::remove_file(&database).unwrap();
    symlink(place.path().join("access.db"), &database).unwrap();
    let said = complaint(&backup(&server.data(), &place.path().join("copy-2")));
    assert!(said.contains("not a regular file"), "{said}");
}

/// Whether a process has a handler for the signal to stop.
fn handles_stop(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let caught = lines.find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << (Signal::TERM.as_raw() - 1)) != 0)
}

#[tokio::test]
async fn a_stop_signal_ends_a_backup_and_removes_it() {
    let server = Server::up().await;
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    let place = scratch();
    let body = hello();
    for attempt in 0.. {
        let sent = server.post_v1("/a2a/echo/message:send", &body).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        // The server cannot settle what it has acknowledged, and the backup waits for that.
        kill_process(pid, Signal::STOP).unwrap();
        let target = place.path().join(format!("copy-{attempt}"));
        let begun = tokio::process::Command::new(SWITCHBOARD)
            .arg("backup")
            .arg(&target)
            .arg("--data")
            .arg(server.data())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let backup = Pid::from_raw(i32::try_from(begun.id().unwrap()).unwrap()).unwrap();
        eventually("a signal handler", async || {
            handles_stop(backup) || target.exists()
        })
        .await;
        // It fails if the backup has ended already.
        kill_process(backup, Signal::TERM).ok();
        let output = begun.wait_with_output().await.unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        // The server was quicker: it had settled before it was stopped.
        if output.status.success() && attempt < 5 {
            fs::remove_dir_all(&target).unwrap();
            continue;
        }
        let said = complaint(&output);
        assert!(said.contains("stopped before it was finished"), "{said}");
        break;
    }
    assert_eq!(names(place.path()), [""; 0]);
}

#[tokio::test]
async fn keys_without_a_first_start_can_be_backed_up() {
    let place = scratch();
    let data = place.path().join("data");
    let made = Command::new(SWITCHBOARD)
        .args(["key", "create", "--agent", "echo", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let copied = printed(&backup(&data, &place.path().join("copy")));
    assert_eq!(copied["files"].as_array().unwrap().len(), 1, "{copied}");
    printed(&restore(
        &place.path().join("copy"),
        &place.path().join("again"),
    ));
    let checked = store_check(&place.path().join("again"));
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test]
async fn restore_by_root_gives_files_to_the_owner_of_the_directory() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let server = killed_server().await;
    let place = scratch();
    let copy = place.path().join("copy");
    printed(&backup(&server.data(), &copy));
    for is_locked in [false, true] {
        // Another group only is another owner, too.
        for owner in [(65534, 65534), (0, 65534)] {
            let data = place.path().join(format!("data-{is_locked}-{}", owner.0));
            fs::create_dir(&data).unwrap();
            if is_locked {
                // It cannot be replaced as a whole then.
                fs::write(data.join("switchboard.lock"), "").unwrap();
            }
            chown(&data, Some(owner.0), Some(owner.1)).unwrap();
            printed(&restore(&copy, &data));
            let found = |path: &Path| {
                let found = fs::metadata(path).unwrap();
                (found.uid(), found.gid())
            };
            assert_eq!(found(&data), owner);
            for name in names(&data) {
                assert_eq!(found(&data.join(&name)), owner, "{name}");
            }
        }
    }
}
