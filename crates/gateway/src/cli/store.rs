//! `switchboard store`: looks after the data directory, beside a running server or without one.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchboard_server::store::access::SqliteAccess;
use switchboard_server::store::sqlite::{self, FileReport, SqliteStore, StoreReport};

use super::args::{Global, Kept};
use super::{Failure, block_on, out};
use crate::app;
use crate::config::Env;

pub(super) const STORE: &str = "\
Examples:
  switchboard store check
  switchboard store check --data /var/lib/switchboard -o json

Checks the database, the journal and access.db, and reports damage. Read-only; works beside a running server.
Exit code 0 if everything is sound, 1 if something is damaged.";

/// Beside a running server, damage is believed when it is found so often: a file may be read while it is written.
const ATTEMPTS: usize = 3;
const RETRY_DELAY: Duration = Duration::from_millis(300);

/// `switchboard store`
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Check the data directory for damage, read-only
    #[command(after_help = STORE)]
    Check(StoreCheckArgs),
}

/// `switchboard store check`
#[derive(Debug, Args)]
pub struct StoreCheckArgs {
    #[command(flatten)]
    kept: Kept,
}

pub(super) fn run(command: &StoreCommand, global: &Global, env: &Env) -> Result<(), Failure> {
    match command {
        StoreCommand::Check(args) => check(args, global, env),
    }
}

fn check(args: &StoreCheckArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    block_on(async {
        let dir = app::dir_on_disk(&config)?;
        app::must_hold(dir, SqliteStore::is_in(dir) || SqliteAccess::is_in(dir))?;
        let mut report = sqlite::check(dir)?;
        for _ in 1..ATTEMPTS {
            if report.is_sound() || !report.is_in_use {
                break;
            }
            tokio::time::sleep(RETRY_DELAY).await;
            report = sqlite::check(dir)?;
        }
        if args.kept.json() {
            out(format_args!("{}\n", as_json(dir, &report)))?;
        } else {
            out(format_args!("{}", as_text(dir, &report)?))?;
        }
        anyhow::ensure!(
            report.is_sound(),
            "{} is damaged: keep a copy of it before you change anything, then see docs/storage.md",
            dir.display()
        );
        Ok(())
    })
}

fn as_text(dir: &Path, report: &StoreReport) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let by = if report.is_in_use {
        "in use by a running server"
    } else {
        "not in use"
    };
    writeln!(text, "{} ({by})", dir.display())?;
    for file in &report.files {
        let FileReport { name, detail, .. } = file;
        writeln!(text, "{name:<22} {:<8} {detail}", status(file))?;
        for problem in &file.problems {
            writeln!(text, "  {problem}")?;
        }
    }
    Ok(text)
}

fn as_json(dir: &Path, report: &StoreReport) -> Value {
    let files = report.files.iter().map(|file| {
        json!({
            "file": file.name,
            "status": status(file).to_lowercase(),
            "detail": file.detail,
            "problems": file.problems,
        })
    });
    json!({
        "directory": dir.display().to_string(),
        "inUse": report.is_in_use,
        "sound": report.is_sound(),
        "files": files.collect::<Vec<_>>(),
    })
}

fn status(file: &FileReport) -> &'static str {
    if file.problems.is_empty() {
        "ok"
    } else {
        "DAMAGED"
    }
}
