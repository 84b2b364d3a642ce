//! Whether a data directory is sound: looks at the databases and the journal, and changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::database::Database;
use super::frames::{self, FileContent, JournalContent};
use super::{journal, open, schema};
use crate::store::access::SqliteAccess;
use crate::store::{Error, files};

/// How many problems of one database are reported.
const MAX_PROBLEMS: usize = 20;

/// What was found in a data directory.
#[derive(Debug)]
pub struct StoreReport {
    /// A server has it open.
    pub is_in_use: bool,
    /// Its files.
    pub files: Vec<FileReport>,
}

/// What was found in one file.
#[derive(Debug)]
pub struct FileReport {
    /// Its name.
    pub name: &'static str,
    /// What it holds, in a few words.
    pub detail: String,
    /// What is damaged; empty if it is sound.
    pub problems: Vec<String>,
}

impl StoreReport {
    /// Whether nothing is damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.files.iter().all(|file| file.problems.is_empty())
    }
}

/// Checks a data directory, whether or not a server has it open. Reads only. Blocks.
///
/// Beside a running server what is being written may look damaged for a moment: check again before you believe it.
///
/// # Errors
///
/// If the journal cannot be read at all. Databases that cannot be read are part of the report.
pub fn check(dir: &Path) -> Result<StoreReport, Error> {
    files::require_restored(dir)?;
    check_files(dir)
}

/// The same, of a directory that is being restored, too.
pub(in crate::store) fn check_files(dir: &Path) -> Result<StoreReport, Error> {
    let is_in_use = open::lock_to_read(dir)?.is_none();
    // Before the database: what that one says it holds then covers at least what was let go of the journal.
    let found = journal::read_in(dir)?;
    let mut database = FileReport::new(open::DATABASE);
    let noted = database.check(dir, &schema::STEPS, |connection| {
        // The first version had no journal.
        if !objects(&connection)?.contains_key("table journal") {
            return Ok((0, 0));
        }
        Database::new(connection).noted()
    });
    let mut files = Vec::new();
    let mut problem = None;
    // Keys can be made before a server has started for the first time.
    let is_new = found.files.is_empty() && !open::is_in(dir);
    if let Some((id, settled)) = noted {
        database.add_detail(&format!("commits up to {settled}"));
        problem = unreadable(&found, id, settled).map(|why| (why, settled));
    } else if found.last > 0 {
        let why = "the database that the journal belongs to cannot be read".to_owned();
        problem = Some((why, 0));
    }
    if !is_new {
        files.push(database);
    }
    for content in &found.files {
        let mut report = FileReport::new(name_of(content));
        report.describe(content);
        if let Some((why, settled)) = &problem
            && content.last > *settled
        {
            report.problems.push(why.clone());
        }
        files.push(report);
    }
    let mut access = FileReport::new(SqliteAccess::FILE);
    if dir.join(SqliteAccess::FILE).exists() {
        access.check(dir, SqliteAccess::STEPS, |_| Ok(()));
        files.push(access);
    }
    Ok(StoreReport { is_in_use, files })
}

/// Why the next start could not take over what the journal holds and the database does not.
pub(super) fn unreadable(found: &JournalContent, id: u64, settled: u64) -> Option<String> {
    let is_lost = found.complete_database().is_some_and(|lost| lost != id);
    if is_lost && settled == 0 {
        // A database that was lost while it was new: the next start restores it.
        return None;
    }
    if found.last > settled
        && let Err(error) = found.require_database(id)
    {
        return Some(error.to_string());
    }
    let missing = frames::missing(&found.frames, settled, found.last)?;
    Some(format!(
        "commit {missing} is missing from the journal, though commit {} was acknowledged after it: {} acknowledged \
         commits are affected",
        found.last,
        found.last - missing + 1
    ))
}

fn name_of(content: &FileContent) -> &'static str {
    let names = journal::NAMES.into_iter();
    let mut names = names.filter(|name| content.path.ends_with(name));
    names.next().unwrap_or(journal::NAMES[0])
}

impl FileReport {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            detail: String::new(),
            problems: Vec::new(),
        }
    }

    fn add_detail(&mut self, detail: &str) {
        if !self.detail.is_empty() {
            self.detail.push_str(", ");
        }
        self.detail.push_str(detail);
    }

    /// Says which commits a file of the journal holds.
    fn describe(&mut self, content: &FileContent) {
        let FileContent {
            first,
            last,
            readable,
            ..
        } = content;
        self.detail = match readable {
            0 if *last == 0 => "no commits".to_owned(),
            0 => format!("commits up to {last}, none of them readable"),
            // All, or all but those that the database has.
            _ if last - first + 1 == *readable => format!("commits {first} to {last}"),
            _ => format!("commits {first} to {last}, {readable} of them readable"),
        };
    }

    /// Checks a database, and reads something from it if that can be done.
    fn check<T>(
        &mut self,
        dir: &Path,
        steps: &[&str],
        read: impl FnOnce(Connection) -> Result<T, Error>,
    ) -> Option<T> {
        let checked = open::reader(&dir.join(self.name)).and_then(|connection| {
            self.check_schema(&connection, steps)?;
            self.check_integrity(&connection)?;
            Ok(connection)
        });
        let read = checked.and_then(|connection| {
            let is_sound = self.problems.is_empty();
            is_sound.then(|| read(connection)).transpose()
        });
        read.unwrap_or_else(|error| {
            self.problems.push(error.to_string());
            None
        })
    }

    /// SQLite's own check of pages, rows and indexes.
    fn check_integrity(&mut self, connection: &Connection) -> Result<(), Error> {
        let mut statement =
            connection.prepare(&format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
        let found = statement.query_map([], |row| row.get::<_, String>(0))?;
        for problem in found {
            let problem = problem?;
            if problem != "ok" {
                self.problems.push(problem);
            }
        }
        Ok(())
    }

    /// Whether all tables, indexes and triggers are there that the steps up to the database's version have made.
    fn check_schema(&mut self, connection: &Connection, steps: &[&str]) -> Result<(), Error> {
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        self.add_detail(&format!("format {version}"));
        let taken = usize::try_from(version).ok();
        let Some(taken) = taken.and_then(|version| steps.get(..version)) else {
            self.problems.push(format!(
                "written by a newer version: this one knows format {} at most",
                steps.len()
            ));
            return Ok(());
        };
        if taken.len() < steps.len() {
            self.add_detail("to be migrated at the next start");
        }
        let expected = Connection::open_in_memory()?;
        for step in taken {
            expected.execute_batch(step)?;
        }
        let found = objects(connection)?;
        for (name, sql) in objects(&expected)? {
            match found.get(&name) {
                None => self.problems.push(format!("{name} is missing")),
                Some(other) if *other != sql => {
                    self.problems.push(format!("{name} is not as it was made"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// The tables, indexes and triggers of a database, with the SQL that made them.
fn objects(connection: &Connection) -> Result<BTreeMap<String, Option<String>>, Error> {
    let sql = "SELECT type || ' ' || name, sql FROM sqlite_schema";
    let mut statement = connection.prepare(sql)?;
    let objects = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(objects.collect::<Result<_, _>>()?)
}
