//! Times of events that versions before format 5 of the database stored without one.

use rusqlite::Connection;
use switchboard_types::model::{TaskId, Timestamp};

use super::read;
use super::rows::{self, Entries, IdColumn, number};
use super::schema::PLACES;
use crate::store::Error;

/// Gives the first events a time, if they have none: that of the last status before them.
pub(super) fn complete(db: &Connection, task: &TaskId, entries: &mut Entries) -> Result<(), Error> {
    if let Some(first) = entries.first_untimed() {
        entries.set_time(time_before(db, task, first)?);
    }
    Ok(())
}

/// The time of the last status before an event of a task.
fn time_before(db: &Connection, task: &TaskId, seq: u64) -> Result<Timestamp, Error> {
    let mut statement = db.prepare_cached(
        "SELECT id, context, key, opened, format, opening, updated FROM task WHERE id = ?1",
    )?;
    let mut found = statement.query([IdColumn::from(task)])?;
    let Some(row) = found.next()? else {
        return Err(rows::damaged("the task is gone"));
    };
    let context = read::context(row, 0, 1)?;
    let key: i64 = row.get(2)?;
    let mut earlier = db.prepare_cached(
        "SELECT place, data FROM event WHERE place > ?1 AND place < ?2 ORDER BY place DESC",
    )?;
    let first = key * PLACES;
    let mut chunks = earlier.query([first, first + number(seq)])?;
    while let Some(chunk) = chunks.next()? {
        let data = chunk.get_ref(1)?.as_blob().map_err(rows::damaged)?;
        let place = rows::unsigned(chunk.get::<_, i64>(0)? - first)?;
        let mut entries = Entries::all();
        rows::read_entries((task, &context), data, place, 0, &mut entries)?;
        if let Some(at) = entries.last_stated_time(seq) {
            return Ok(at);
        }
    }
    let mut entries = Entries::all();
    read::read_opening(row, 3, (task, &context), 0, &mut entries)?;
    // What began the task is folded: its last status must do.
    let updated = Timestamp::from_micros(row.get(6)?);
    Ok(entries.last_stated_time(seq).unwrap_or(updated))
}
