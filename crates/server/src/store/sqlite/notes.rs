//! What agents keep about their tasks.

use rusqlite::{Connection, params};
use switchboard_types::model::TaskId;

use super::commit::Commit;
use super::record::NoteRecord;
use super::rows::{self, IdColumn};
use crate::store::Error;
use crate::task::Note;

impl Commit<'_> {
    /// Keeps a note in place of the one of that name, or nothing.
    pub(super) fn note(&mut self, note: &NoteRecord<'_>) -> Result<(), Error> {
        if note.value == "null" {
            self.db
                .prepare_cached("DELETE FROM note WHERE task = ?1 AND name = ?2")?
                .execute(params![IdColumn::from(note.task), note.name])?;
            return Ok(());
        }
        self.db
            .prepare_cached(
                "INSERT INTO note (task, name, value)
                 SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM task WHERE id = ?1)
                 ON CONFLICT DO UPDATE SET value = ?3",
            )?
            .execute(params![IdColumn::from(note.task), note.name, note.value])?;
        Ok(())
    }
}

/// The notes about a task.
pub(super) fn of(db: &Connection, task: &TaskId) -> Result<Vec<Note>, Error> {
    let mut statement =
        db.prepare_cached("SELECT name, value FROM note WHERE task = ?1 ORDER BY name")?;
    let rows = statement.query_map([IdColumn::from(task.as_str())], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    rows.map(|row| {
        let (name, value) = row?;
        Ok(Note {
            task: task.clone(),
            name,
            value: serde_json::from_str(&value).map_err(rows::damaged)?,
        })
    })
    .collect()
}
