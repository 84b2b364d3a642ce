//! `switchboard backup` and `switchboard restore`: a data directory to a safe place, and back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use switchboard_server::shutdown::stop_signal;
use switchboard_server::store::access::SqliteAccess;
use switchboard_server::store::backup::{self, BackupError, BackupReport, StopFlag};
use switchboard_server::store::sqlite::SqliteStore;
use switchboard_types::printable;

use super::args::{Global, Kept};
use super::{Failure, block_on, err, out};
use crate::app;
use crate::config::{Env, WRAPPED};

pub(super) const BACKUP: &str = "\
Examples:
  switchboard backup /backups/switchboard-$(date +%F)
  switchboard backup /backups/latest -c /etc/switchboard.yaml -o json

Copies the whole data directory at one moment: databases, API keys, audit log, encryption keys, certificates. Works
while the server is running, and the server keeps running; the backup has everything that it acknowledged before the
command started. Stores of `switchboard wrap` below the data directory are part of it.
The directory must not exist; it appears when the backup is complete and checked. It holds secrets in clear: protect it
as you protect the data directory. The configuration file and the keys it names are not part of it.";

pub(super) const RESTORE: &str = "\
Examples:
  switchboard restore /backups/switchboard-2026-11-18 --data /var/lib/switchboard
  switchboard store check --data /var/lib/switchboard

Checks every file of the backup, then fills the data directory, which must be empty or not exist. Start a server on it
with the same configuration as before. A restored server continues every task that was unfinished at the moment of the
backup: do not run it while the server that the backup was made from is running.";

/// `switchboard backup`
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The directory to write, which must not exist
    #[arg(value_name = "DIR")]
    target: PathBuf,
    /// The same as `-o json`
    #[arg(long, hide = true)]
    json: bool,
    #[command(flatten)]
    kept: Kept,
}

/// `switchboard restore`
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The same as `-o json`
    #[arg(long, hide = true)]
    json: bool,
    #[command(flatten)]
    kept: Kept,
}

pub(super) fn create(args: BackupArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let is_json = args.json || args.kept.json();
    block_on(async {
        let dir = app::dir_on_disk(&config)?;
        let has_wrapped = dir.join(WRAPPED).is_dir();
        app::must_hold(
            dir,
            SqliteStore::is_in(dir) || SqliteAccess::is_in(dir) || has_wrapped,
        )?;
        args.kept.name_dir_unless_given(&config)?;
        let (dir, target) = (dir.to_owned(), args.target);
        let report = until_stopped(move |stop| backup::create(&dir, &target, stop)).await?;
        warn_of_skipped(&report)?;
        let by = if report.manifest.server_running {
            "while its server is running"
        } else {
            "without a running server"
        };
        let source = printable::line(&report.manifest.source);
        print(&report, is_json, &format!("of {source}, {by}"))
    })
}

pub(super) fn restore(args: RestoreArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let is_json = args.json || args.kept.json();
    block_on(async {
        let dir = app::dir_on_disk(&config)?.to_owned();
        args.kept.name_dir_unless_given(&config)?;
        let source = args.backup;
        let report = until_stopped(move |stop| backup::restore(&source, &dir, stop)).await?;
        warn_of_skipped(&report)?;
        let created = printable::line(&report.manifest.created);
        print(&report, is_json, &format!("as of {created}"))
    })
}

/// Runs `work` until it ends. A signal asks it to stop, and it removes what it has written.
async fn until_stopped(
    work: impl FnOnce(&StopFlag) -> Result<BackupReport, BackupError> + Send + 'static,
) -> anyhow::Result<BackupReport> {
    let stop = Arc::new(StopFlag::default());
    let flag = Arc::clone(&stop);
    let mut done = tokio::task::spawn_blocking(move || work(&flag));
    let ended = tokio::select! {
        ended = &mut done => ended,
        signal = stop_signal() => {
            signal?;
            stop.stop();
            done.await
        }
    };
    Ok(ended.context("the work was cut off")??)
}

/// What a backup lacks is not a failure, but must not be overlooked.
fn warn_of_skipped(report: &BackupReport) -> anyhow::Result<()> {
    for skipped in &report.manifest.skipped {
        let path = printable::line(&skipped.path);
        let reason = printable::line(&skipped.reason);
        err(format_args!(
            "warning: not in the backup: {path} ({reason})\n"
        ))?;
    }
    Ok(())
}

fn print(report: &BackupReport, is_json: bool, what: &str) -> anyhow::Result<()> {
    if is_json {
        out(format_args!("{}\n", as_json(report)))?;
        return Ok(());
    }
    let files = report.manifest.files.len();
    let bytes = report.manifest.size();
    let path = shown(&report.path);
    out(format_args!(
        "{path}: {files} files, {bytes} bytes, {what}\n"
    ))?;
    Ok(())
}

fn shown(path: &Path) -> String {
    printable::line(&path.display().to_string())
}

fn as_json(report: &BackupReport) -> Value {
    let manifest = &report.manifest;
    json!({
        "path": report.path.display().to_string(),
        "created": manifest.created,
        "version": manifest.version,
        "source": manifest.source,
        "serverRunning": manifest.server_running,
        "bytes": manifest.size(),
        "files": manifest.files,
        "skipped": manifest.skipped,
    })
}
