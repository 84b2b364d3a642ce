//! The manifest of a backup: what it consists of, and how to see that it still does.

use std::fs;
use std::io;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use switchboard_keys::sha256_hex;

use super::copy;
use super::error::{BackupError, at};

/// The manifest in a backup.
pub(super) const MANIFEST: &str = "manifest.json";
/// The digest of the manifest, as `sha256sum` writes it.
pub(super) const MANIFEST_DIGEST: &str = "manifest.sha256";
/// The way backups are written. A higher number is refused.
const FORMAT: u32 = 1;

/// What a backup consists of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The way it is written.
    pub format: u32,
    /// The version of Switchboard that wrote it.
    pub version: String,
    /// When it was begun: it has everything that was acknowledged before.
    pub created: String,
    /// The data directory it was made from.
    pub source: String,
    /// Whether a server was running on it, or on a store below it.
    pub server_running: bool,
    /// Its files, by path.
    pub files: Vec<FileEntry>,
    /// What was left out.
    pub skipped: Vec<SkippedEntry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEntry {
    /// Where it is in the data directory.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its content, as hex digits.
    pub sha256: String,
    /// Its permissions, in octal digits.
    pub mode: String,
}

/// Something in the data directory that is not in the backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedEntry {
    /// Where it is in the data directory.
    pub path: String,
    /// Why it was left out.
    pub reason: String,
}

/// As much of a manifest as every format has.
#[derive(Deserialize)]
struct AnyManifest {
    format: u32,
    #[serde(default)]
    version: String,
}

impl Manifest {
    pub(super) fn new(created: String, source: &Path) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created,
            source: source.display().to_string(),
            server_running: false,
            files: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// The bytes of all files.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Writes it and its digest to a backup.
    pub(super) fn write_to(&self, dir: &Path) -> Result<(), BackupError> {
        let path = dir.join(MANIFEST);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| BackupError::File(format!("{MANIFEST} cannot be made: {error}")))?;
        text.push('\n');
        copy::write_new(&path, text.as_bytes()).map_err(at("write", &path))?;
        let path = dir.join(MANIFEST_DIGEST);
        let digest = format!("{}  {MANIFEST}\n", sha256_hex(text.as_bytes()));
        copy::write_new(&path, digest.as_bytes()).map_err(at("write", &path))
    }

    /// Reads the manifest of a backup, and checks that it is whole and that we know what it means.
    pub(super) fn read_from(dir: &Path) -> Result<Self, BackupError> {
        let path = dir.join(MANIFEST);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                BackupError::Refused(format!(
                    "{} is not a complete backup: it has no {MANIFEST}",
                    dir.display()
                ))
            }
            _ => at("read", &path)(error),
        })?;
        let digest_path = dir.join(MANIFEST_DIGEST);
        let digest = fs::read_to_string(&digest_path).map_err(at("read", &digest_path))?;
        if digest.split_whitespace().next() != Some(&sha256_hex(&text)) {
            return Err(damaged(
                dir,
                &format!("{MANIFEST} is not as it was written"),
            ));
        }
        let unreadable = |error| damaged(dir, &format!("{MANIFEST} cannot be read: {error}"));
        let any: AnyManifest = serde_json::from_slice(&text).map_err(unreadable)?;
        if any.format > FORMAT {
            return Err(BackupError::Refused(format!(
                "{} has format {}, this version of switchboard knows {FORMAT} at most: restore it with version {} or later",
                dir.display(),
                any.format,
                any.version
            )));
        }
        let manifest: Self = serde_json::from_slice(&text).map_err(unreadable)?;
        for file in &manifest.files {
            file.require_inner_path(dir)?;
        }
        Ok(manifest)
    }
}

impl FileEntry {
    /// The permissions, without what no file of ours needs.
    pub(super) fn permissions(&self) -> u32 {
        u32::from_str_radix(&self.mode, 8).unwrap_or(0o600) & 0o777
    }

    /// A manifest must not lead out of the directory.
    fn require_inner_path(&self, dir: &Path) -> Result<(), BackupError> {
        let path = Path::new(&self.path);
        let is_plain = |part| matches!(part, Component::Normal(_));
        if !self.path.is_empty() && path.components().all(is_plain) {
            return Ok(());
        }
        let why = format!("{MANIFEST} names the file {:?} outside of it", self.path);
        Err(damaged(dir, &why))
    }
}

/// The error for a backup that is not as it was written.
pub(super) fn damaged(dir: &Path, why: &str) -> BackupError {
    BackupError::Damaged(format!(
        "the backup {} is damaged: {why}. Nothing was restored; use another backup",
        dir.display()
    ))
}
