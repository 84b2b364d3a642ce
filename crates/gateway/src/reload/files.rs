//! Which files have changed? They are looked at again and again: that works on every file system, with links, with
//! directories that are swapped, and with editors that write a new file in place of the old one.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// What tells one version of a file from the next, links followed; nothing if there is none.
type Stamp = Option<[i128; 4]>;

/// The files that matter, and what they were when they were looked at before they were read.
#[derive(Debug)]
pub(super) struct Files(BTreeMap<PathBuf, Option<Stamp>>);

impl Files {
    /// One that was never looked at.
    pub(super) fn new(file: PathBuf) -> Self {
        Self(BTreeMap::from([(file, None)]))
    }

    /// Whether one is not what it was.
    pub(super) fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, was)| *was != Some(stamp(path)))
    }

    /// Waits until they stay as they are, `latest` at most, and takes note of how they are then. Returns those that
    /// have changed since they were looked at before.
    pub(super) async fn settle(&mut self, quiet: Duration, latest: Instant) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        loop {
            for (path, was) in &mut self.0 {
                let now = Some(stamp(path));
                if was.is_some() && *was != now && !changed.contains(path) {
                    changed.push(path.clone());
                }
                *was = now;
            }
            if Instant::now() >= latest {
                return changed;
            }
            sleep(quiet).await;
            if !self.have_changed() {
                return changed;
            }
        }
    }

    /// These were read. New ones were not looked at before: they are, and are read, the next time. Others do not matter
    /// any more, but if `all` was not read, they still may.
    pub(super) fn also(&mut self, named: Vec<PathBuf>, all: bool) {
        if all {
            self.0.retain(|path, _| named.contains(path));
        }
        for path in named {
            self.0.entry(path).or_default();
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    let data = std::fs::metadata(path).ok()?;
    let moment = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    Some([
        moment(data.mtime(), data.mtime_nsec()),
        // It cannot be set back.
        moment(data.ctime(), data.ctime_nsec()),
        i128::from(data.len()),
        i128::from(data.ino()),
    ])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn every_way_to_save_a_file_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let (file, beside) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&file, "one").unwrap();
        let mut files = Files::new(file.clone());
        let settle = async |files: &mut Files| {
            assert!(files.have_changed());
            let latest = Instant::now() + Duration::from_secs(1);
            let changed = files.settle(Duration::from_millis(1), latest).await;
            assert!(!files.have_changed());
            changed
        };
        assert!(settle(&mut files).await.is_empty(), "looked at first");
        // In place of the old one, with the same length.
        fs::write(&beside, "two").unwrap();
        fs::rename(&beside, &file).unwrap();
        assert_eq!(settle(&mut files).await, std::slice::from_ref(&file));
        fs::write(&file, "longer").unwrap();
        settle(&mut files).await;
        fs::remove_file(&file).unwrap();
        settle(&mut files).await;
        fs::write(&file, "again").unwrap();
        settle(&mut files).await;
    }

    #[tokio::test]
    async fn files_that_are_named_are_watched_until_they_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let [main, script] = ["main", "script"].map(|name| dir.path().join(name));
        fs::write(&main, "").unwrap();
        let mut files = Files::new(main.clone());
        let latest = Instant::now() + Duration::from_secs(1);
        files.settle(Duration::from_millis(1), latest).await;
        // One that is not there yet may come.
        files.also(vec![main.clone(), script.clone()], true);
        assert!(files.have_changed());
        files.settle(Duration::from_millis(1), latest).await;
        assert!(!files.have_changed());
        fs::write(&script, "x").unwrap();
        assert!(files.have_changed());
        // What cannot be read names nothing, and may be mended in any file.
        files.also(vec![main.clone()], false);
        assert!(files.have_changed());
        files.also(vec![main], true);
        assert!(!files.have_changed());
    }
}
