//! Backups that are not as they were written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::{backup, complaint, killed_server, names, printed, restore, scratch, tree};

/// A backup to be damaged, and a place to restore it to.
struct Sample {
    place: tempfile::TempDir,
}

impl Sample {
    async fn new() -> Self {
        let place = scratch();
        let server = killed_server().await;
        printed(&backup(&server.data(), &place.path().join("copy")));
        Self { place }
    }

    /// What a restore says of the backup after `damage`. The backup is as before afterwards, and nothing was restored.
    fn refusal_after(&self, damage: impl FnOnce(&Path)) -> String {
        let (copy, damaged) = (
            self.place.path().join("copy"),
            self.place.path().join("bad"),
        );
        for (path, _, content) in tree(&copy) {
            let path = damaged.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        damage(&damaged);
        let said = complaint(&restore(&damaged, &self.place.path().join("data")));
        fs::remove_dir_all(&damaged).unwrap();
        assert_eq!(names(self.place.path()), ["copy"], "{said}");
        said
    }
}

/// Writes a changed manifest with a digest that fits.
fn change_manifest(dir: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = dir.join("manifest.json");
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    let text = manifest.to_string();
    let digest = switchboard_keys::sha256_hex(text.as_bytes());
    fs::write(&path, text).unwrap();
    fs::write(
        dir.join("manifest.sha256"),
        format!("{digest}  manifest.json\n"),
    )
    .unwrap();
}

#[tokio::test]
async fn restore_refuses_every_flipped_byte() {
    let sample = Sample::new().await;
    for (path, _, content) in tree(&sample.place.path().join("copy")) {
        // The digest of the manifest ends with its name, which says nothing.
        let end = content.len().min(60);
        let places = [0, end / 2, end.saturating_sub(1), content.len() / 2];
        // The second file of the journal may be empty.
        for at in places.into_iter().take(4 * end.min(1)) {
            let said = sample.refusal_after(|dir| {
                let mut changed = content.clone();
                changed[at] ^= 1;
                fs::write(dir.join(&path), changed).unwrap();
            });
            assert!(said.contains("is damaged"), "{}: {said}", path.display());
            assert!(said.contains("not as it was written"), "{said}");
        }
    }
}

#[tokio::test]
async fn restore_refuses_missing_and_extra_files() {
    let sample = Sample::new().await;
    for (path, ..) in tree(&sample.place.path().join("copy")) {
        let said = sample.refusal_after(|dir| fs::remove_file(dir.join(&path)).unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(said.contains(name), "{name}: {said}");
    }
    for name in ["note.txt", "data/note.txt", "data/more/note.txt"] {
        let said = sample.refusal_after(|dir| {
            fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
            fs::write(dir.join(name), "hello").unwrap();
        });
        assert!(said.contains("does not belong to it"), "{name}: {said}");
    }
    let said = sample.refusal_after(|dir| {
        let file = dir.join("data/secret.key");
        let elsewhere = dir.join("../copy/data/secret.key");
        fs::remove_file(&file).unwrap();
        symlink(elsewhere, file).unwrap();
    });
    assert!(said.contains("not a regular file"), "{said}");
}

#[tokio::test]
async fn restore_refuses_newer_formats_and_paths_that_lead_out() {
    let sample = Sample::new().await;
    let said = sample.refusal_after(|dir| {
        change_manifest(dir, |manifest| {
            manifest["format"] = json!(2);
            manifest["version"] = json!("9.1.0");
        });
    });
    assert!(
        said.contains("format 2") && said.contains("9.1.0"),
        "{said}"
    );
    for path in ["../out", "/etc/passwd", "a/../../out", ""] {
        let said = sample.refusal_after(|dir| {
            change_manifest(dir, |manifest| manifest["files"][0]["path"] = json!(path));
        });
        assert!(said.contains("outside of it"), "{path}: {said}");
    }
    // A database that a newer version has written, in a backup that is as it was made.
    let said = sample.refusal_after(|dir| {
        let path = dir.join("data/switchboard.db");
        let database = rusqlite::Connection::open(&path).unwrap();
        database.pragma_update(None, "user_version", 99).unwrap();
        drop(database);
        change_manifest(dir, |manifest| {
            let content = fs::read(&path).unwrap();
            for file in manifest["files"].as_array_mut().unwrap() {
                if file["path"] == "switchboard.db" {
                    file["sha256"] = json!(switchboard_keys::sha256_hex(&content));
                    file["size"] = json!(content.len());
                }
            }
        });
    });
    assert!(said.contains("newer version"), "{said}");
}

#[tokio::test]
async fn backup_refuses_a_damaged_data_directory() {
    let mut server = killed_server().await;
    // Everything is in the database after a clean stop.
    server.restart().await;
    server.stop().await;
    let database = server.data().join("switchboard.db");
    let mut content = fs::read(&database).unwrap();
    content[16 * 1024..].fill(0x55);
    fs::write(&database, content).unwrap();
    let place = scratch();
    let said = complaint(&backup(&server.data(), &place.path().join("copy")));
    assert!(said.contains("damaged"), "{said}");
    assert_eq!(names(place.path()), [""; 0]);
}

#[tokio::test]
async fn backup_refuses_a_journal_that_lacks_an_acknowledged_commit() {
    let server = killed_server().await;
    let journal = server.data().join("switchboard.journal-a");
    let mut content = fs::read(&journal).unwrap();
    content[60] ^= 1;
    fs::write(&journal, content).unwrap();
    let place = scratch();
    let said = complaint(&backup(&server.data(), &place.path().join("copy")));
    assert!(said.contains("acknowledged"), "{said}");
    assert_eq!(names(place.path()), [""; 0]);
}
