//! Restoring a backup to a data directory.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{BackupError, at};
use super::manifest::{FileEntry, MANIFEST, MANIFEST_DIGEST, Manifest, damaged};
use super::staging::{self, Staging};
use super::{BackupReport, DATA, StopFlag, copy, problems_in};
use crate::store::access::SqliteAccess;
use crate::store::files::{self, RESTORE_MARKER};
use crate::store::sqlite::open;

/// What a new disk has at its top.
pub(super) const LOST_AND_FOUND: &str = "lost+found";

/// What is in the marker, for those who look.
const MARKER_TEXT: &[u8] =
    b"A restore into this directory has not finished. Run `switchboard restore` again, or move it away.\n";

/// Restores a backup to the data directory `dir`, which must be empty or not exist. Blocks.
///
/// The directory is filled beside its name and renamed. Where that is impossible, because it is the top of a disk or
/// nothing can be made beside it, it is filled under a marker that keeps every command from using it until it is
/// complete.
///
/// # Errors
///
/// If the backup is damaged or of a newer version, if the directory is in use or not empty, or if a file cannot be
/// written. Then the directory is as it was.
pub fn restore(backup: &Path, dir: &Path, stop: &StopFlag) -> Result<BackupReport, BackupError> {
    let manifest = Manifest::read_from(backup)?;
    verify(backup, &manifest, stop)?;
    let dir = absolute(dir)?;
    let target = Target::look_at(&dir, &manifest)?;
    let filling = Filling {
        backup,
        manifest: &manifest,
        owner: target.owner,
        stop,
    };
    if !(target.can_be_replaced && filling.beside(&dir, target.mode)?) {
        filling.in_place(&dir)?;
    }
    Ok(BackupReport {
        path: dir,
        manifest,
    })
}

/// Checks that the backup has exactly the files that its manifest lists, as they were written.
fn verify(backup: &Path, manifest: &Manifest, stop: &StopFlag) -> Result<(), BackupError> {
    require_no_others(backup, manifest)?;
    let data = backup.join(DATA);
    for listed in &manifest.files {
        if fs::symlink_metadata(data.join(&listed.path)).is_err() {
            return Err(damaged(backup, &format!("{} is missing", listed.path)));
        }
        let found = copy::describe(&data, &listed.path, stop)?;
        require_same(backup, listed, &found)?;
    }
    Ok(())
}

fn require_same(backup: &Path, listed: &FileEntry, found: &FileEntry) -> Result<(), BackupError> {
    if (listed.size, &listed.sha256) == (found.size, &found.sha256) {
        return Ok(());
    }
    let why = format!("{} is not as it was written", listed.path);
    Err(damaged(backup, &why))
}

fn require_no_others(backup: &Path, manifest: &Manifest) -> Result<(), BackupError> {
    for name in names(backup)? {
        if ![MANIFEST, MANIFEST_DIGEST, DATA].contains(&name.as_str()) {
            return Err(damaged(backup, &format!("{name} does not belong to it")));
        }
    }
    let mut found = Vec::new();
    find_files(&backup.join(DATA), "", &mut found)?;
    let other = found
        .iter()
        .find(|name| !manifest.files.iter().any(|file| file.path == **name));
    match other {
        None => Ok(()),
        Some(name) => Err(damaged(
            backup,
            &format!("{DATA}/{name} does not belong to it"),
        )),
    }
}

fn find_files(dir: &Path, below: &str, found: &mut Vec<String>) -> Result<(), BackupError> {
    for name in names(&dir.join(below))? {
        let relative = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        let path = dir.join(&relative);
        let kind = fs::symlink_metadata(&path).map_err(at("read", &path))?;
        if kind.is_dir() {
            find_files(dir, &relative, found)?;
        } else {
            found.push(relative);
        }
    }
    Ok(())
}

fn names(dir: &Path) -> Result<Vec<String>, BackupError> {
    let entries = fs::read_dir(dir).map_err(at("read", dir))?;
    let names = entries.map(|entry| {
        let entry = entry.map_err(at("read", dir))?;
        Ok(entry.file_name().to_string_lossy().into_owned())
    });
    names.collect()
}

fn absolute(dir: &Path) -> Result<PathBuf, BackupError> {
    match dir.canonicalize() {
        Ok(dir) => Ok(dir),
        // Not there yet, so that only the directory above can be looked up.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = std::path::absolute(dir).map_err(at("use", dir))?;
            let (Some(above), Some(name)) = (dir.parent(), dir.file_name()) else {
                return Err(at("use", &dir)(error));
            };
            files::make_dir(above).map_err(at("make", above))?;
            Ok(above.canonicalize().map_err(at("use", above))?.join(name))
        }
        Err(error) => Err(at("use", dir)(error)),
    }
}

/// The data directory that is to be filled.
struct Target {
    /// Who owns it, if it exists: who restores may be an administrator.
    owner: Option<(u32, u32)>,
    mode: u32,
    /// It is not there, or there is nothing in it that would be lost.
    can_be_replaced: bool,
}

impl Target {
    /// Refuses a directory that holds anything.
    fn look_at(dir: &Path, manifest: &Manifest) -> Result<Self, BackupError> {
        let found = match fs::metadata(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    owner: None,
                    mode: 0o700,
                    can_be_replaced: true,
                });
            }
            found => found.map_err(at("use", dir))?,
        };
        let here = names(dir)?;
        if let Some(other) = foreign(&here, manifest) {
            return Err(not_empty(dir, other));
        }
        let above = dir.parent().and_then(|above| fs::metadata(above).ok());
        let is_mounted = above.is_none_or(|above| above.dev() != found.dev());
        Ok(Self {
            owner: Some((found.uid(), found.gid())),
            mode: found.mode() & 0o777,
            can_be_replaced: here.is_empty() && !is_mounted,
        })
    }
}

/// A name that neither a restore nor a new disk has left in a directory.
fn foreign<'a>(here: &'a [String], manifest: &Manifest) -> Option<&'a String> {
    let is_marked = here.iter().any(|name| name == RESTORE_MARKER);
    let is_ours = |name: &String| {
        let belongs = |file: &FileEntry| Path::new(&file.path).starts_with(name);
        [RESTORE_MARKER, open::LOCK, LOST_AND_FOUND].contains(&name.as_str())
            || is_marked && manifest.files.iter().any(belongs)
    };
    here.iter().find(|name| !is_ours(name))
}

fn not_empty(dir: &Path, other: &str) -> BackupError {
    let shown = dir.display();
    let way_out = way_out(dir);
    BackupError::Refused(match open::lock_to_read(dir) {
        Ok(None) => format!("a server is running on {shown}: stop it, and {way_out}"),
        _ => format!(
            "{shown} is not empty (it holds {other}), and a restore never overwrites anything: {way_out}"
        ),
    })
}

fn filled_meanwhile(dir: &Path) -> BackupError {
    BackupError::Refused(format!(
        "{} was empty, but files appeared in it during the restore, which never overwrites anything: {}",
        dir.display(),
        way_out(dir)
    ))
}

fn way_out(dir: &Path) -> String {
    let (from, to) = (quoted(dir, ""), quoted(dir, ".old"));
    format!("move it away (mv {from} {to}), or restore to another directory with --data")
}

/// A path with a suffix as one word of a shell.
fn quoted(path: &Path, suffix: &str) -> String {
    let path = format!("{}{suffix}", path.display());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// A backup on its way into a directory.
struct Filling<'a> {
    backup: &'a Path,
    manifest: &'a Manifest,
    owner: Option<(u32, u32)>,
    stop: &'a StopFlag,
}

impl Filling<'_> {
    /// Fills a directory beside `dir` and gives it that name. `false` if that is impossible here.
    fn beside(&self, dir: &Path, mode: u32) -> Result<bool, BackupError> {
        let staging = match Staging::beside(dir) {
            Err(error) if dir.exists() && cannot_be_replaced(&error) => return Ok(false),
            staging => staging.map_err(at("write beside", dir))?,
        };
        self.fill(staging.path())?;
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(staging.path(), permissions).map_err(at("write", dir))?;
        self.give_to_owner(staging.path())
            .map_err(at("write", dir))?;
        self.stop.check()?;
        match staging.publish() {
            // A directory that another one is mounted on.
            Err(error) if cannot_be_replaced(&error) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(filled_meanwhile(dir))
            }
            published => {
                published.map_err(at("write", dir))?;
                staging::sync_name(dir).map(|()| true)
            }
        }
    }

    /// Fills the directory itself. A marker keeps others from using it, even if this process is killed.
    fn in_place(&self, dir: &Path) -> Result<(), BackupError> {
        let _lock = open::lock(dir, Duration::ZERO)?;
        // Again, now that no server can start: what came since the first look is not ours to remove.
        if foreign(&names(dir)?, self.manifest).is_some() {
            return Err(filled_meanwhile(dir));
        }
        let marker = dir.join(RESTORE_MARKER);
        if !marker.exists() {
            copy::write_new(&marker, MARKER_TEXT).map_err(at("write", &marker))?;
        }
        files::sync_names(dir).map_err(at("write", dir))?;
        // What a restore that was interrupted has left.
        self.clear(dir).map_err(at("empty", dir))?;
        let filled = self.fill(dir).and_then(|()| {
            self.stop.check()?;
            let given = self.give_to_owner(dir);
            given
                .and_then(|()| staging::sync_dirs(dir))
                .map_err(at("write", dir))
        });
        if filled.is_err() {
            self.clear(dir).map_err(at("empty", dir))?;
        }
        // From here on it is a data directory, or an empty one.
        fs::remove_file(&marker).map_err(at("remove", &marker))?;
        let synced = File::open(dir).and_then(|dir| dir.sync_all());
        filled.and(synced.map_err(at("write", dir)))
    }

    fn fill(&self, dir: &Path) -> Result<(), BackupError> {
        let data = self.backup.join(DATA);
        for listed in &self.manifest.files {
            let path = data.join(&listed.path);
            let source = copy::open_regular(&path).map_err(at("read", &path))?;
            staging::make_dirs_above(dir, &listed.path).map_err(at("write", dir))?;
            let copied = copy::copy(source, &data, dir, &listed.path, self.stop)?;
            require_same(self.backup, listed, &copied)?;
            let path = dir.join(&listed.path);
            let permissions = fs::Permissions::from_mode(listed.permissions());
            fs::set_permissions(&path, permissions).map_err(at("write", &path))?;
        }
        for store in self.stores() {
            if let Some(problem) = problems_in(dir, store)?.first() {
                return Err(BackupError::Refused(format!(
                    "{} cannot be used by this version of switchboard: {problem}. Nothing was restored",
                    self.backup.display()
                )));
            }
        }
        Ok(())
    }

    /// The directories with databases: the data directory itself, and those of `switchboard wrap` below it.
    fn stores(&self) -> BTreeSet<&Path> {
        let paths = self.manifest.files.iter().map(|file| Path::new(&file.path));
        let is_database =
            |path: &&Path| path.ends_with(open::DATABASE) || path.ends_with(SqliteAccess::FILE);
        paths.filter(is_database).filter_map(Path::parent).collect()
    }

    /// Gives what was restored to the owner and the group of the directory, if they are others.
    fn give_to_owner(&self, dir: &Path) -> io::Result<()> {
        let Some((user, group)) = self.owner else {
            return Ok(());
        };
        let mut paths = vec![dir.to_owned()];
        let lock = dir.join(open::LOCK);
        paths.extend(lock.exists().then_some(lock));
        for listed in &self.manifest.files {
            let path = dir.join(&listed.path);
            let inner = path.ancestors().take_while(|above| *above != dir);
            paths.extend(inner.map(Path::to_owned));
        }
        for path in paths {
            let found = fs::symlink_metadata(&path)?;
            if (found.uid(), found.gid()) == (user, group) {
                continue;
            }
            match chown(&path, Some(user), Some(group)) {
                // Only root can give files away. Another user restores them for a server that runs as that user.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                given => given?,
            }
        }
        Ok(())
    }

    /// Removes the files that are restored.
    fn clear(&self, dir: &Path) -> io::Result<()> {
        for listed in &self.manifest.files {
            let path = dir.join(&listed.path);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let inner = path.ancestors().skip(1).take_while(|above| *above != dir);
            // Those that hold another file go with that one.
            inner.for_each(|above| drop(fs::remove_dir(above)));
        }
        Ok(())
    }
}

/// Whether a directory must be filled where it is.
fn cannot_be_replaced(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};

    matches!(
        error.kind(),
        CrossesDevices | PermissionDenied | ReadOnlyFilesystem | ResourceBusy
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_appears_before_the_directory_is_filled_in_place_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let (backup, dir) = (place.path().join("backup"), place.path().join("dir"));
        fs::create_dir_all(backup.join(DATA)).unwrap();
        fs::create_dir(&dir).unwrap();
        let mut manifest = Manifest::new(String::new(), &dir);
        fs::write(backup.join(DATA).join("secret.key"), "restored").unwrap();
        let stop = StopFlag::default();
        let described = copy::describe(&backup.join(DATA), "secret.key", &stop);
        manifest.files.push(described.unwrap());
        let filling = Filling {
            backup: &backup,
            manifest: &manifest,
            owner: None,
            stop: &stop,
        };
        // A server has started since the directory was looked at, and is gone again.
        fs::write(dir.join("secret.key"), "made meanwhile").unwrap();
        let refused = filling.in_place(&dir).unwrap_err().to_string();
        let why = "files appeared in it during the restore";
        assert!(refused.contains(why), "{refused}");
        let kept = fs::read_to_string(dir.join("secret.key")).unwrap();
        assert_eq!(kept, "made meanwhile");
        assert!(!dir.join(RESTORE_MARKER).exists());

        fs::remove_file(dir.join("secret.key")).unwrap();
        filling.in_place(&dir).unwrap();
        let restored = fs::read_to_string(dir.join("secret.key")).unwrap();
        assert_eq!(restored, "restored");
    }

    #[test]
    fn paths_in_commands_are_quoted_for_the_shell() {
        for (path, word) in [
            ("/var/lib/switchboard", "/var/lib/switchboard.old"),
            ("/my data", "'/my data.old'"),
            ("/it's", r"'/it'\''s.old'"),
        ] {
            assert_eq!(quoted(Path::new(path), ".old"), word);
        }
    }
}
