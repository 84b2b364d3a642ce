//! Writing events and snapshots: the hot path. A new task is one insert.

use rusqlite::{OptionalExtension, params};

use super::commit::Commit;
use super::record::{AppendRecord, SnapshotRecord};
use super::rows::{self, FORMAT, IdColumn, LAST_LIVE_STATE, number};
use super::schema::PLACES;
use crate::store::{Error, MAX_EVENT_PAGE, order};

/// How many bytes of events the row of a task holds: what a quick agent says to a short message, few enough
/// that a row that is written anew whenever its task goes on stays on one page.
const OPENING: usize = 2048;

/// What an append needs to know of its task.
struct Stands {
    key: i64,
    scope: i64,
    state: i64,
    updated: i64,
    seq: u64,
}

impl Commit<'_> {
    /// Appends events; makes the task if it is new.
    pub(super) fn append(&mut self, append: &AppendRecord<'_>) -> Result<(), Error> {
        if number(append.last) >= PLACES {
            let id = append.id;
            return Err(Error::Damaged(format!("task {id} has too many events")));
        }
        let id = IdColumn::from(append.id);
        let key = if append.first == 1 {
            self.create(id, append)?
        } else {
            self.extend(id, append)?
        };
        if let Some(snapshot) = &append.snapshot {
            self.put_snapshot(key, snapshot)?;
        }
        Ok(())
    }

    fn create(&mut self, id: IdColumn<'_>, append: &AppendRecord<'_>) -> Result<i64, Error> {
        let scope = self.scope(append.agent, append.owner)?;
        let context = IdColumn::from(append.context);
        let (events, last) = (append.events.as_bytes(), number(append.last));
        let small = events.len() <= OPENING;
        let made = self.new_task()?.execute(params![
            id,
            scope,
            (Some(context) != id.twin()).then_some(context),
            append.state,
            append.updated,
            last,
            if small { 0 } else { rows::size(events.len()) },
            if small { last } else { 0 },
            FORMAT,
            small.then_some(events),
        ])?;
        if made == 0 {
            let id = append.id;
            return Err(order::conflict(format!("task {id} is there already")));
        }
        let key = self.db.last_insert_rowid();
        if !small {
            self.put_events(key, append)?;
        }
        self.tally(scope, append.state, 1);
        Ok(key)
    }

    fn extend(&mut self, id: IdColumn<'_>, append: &AppendRecord<'_>) -> Result<i64, Error> {
        let Some(old) = self.stands(id)? else {
            let id = append.id;
            return Err(order::conflict(format!("there is no task {id}")));
        };
        if append.first != old.seq + 1 {
            let (id, first, last) = (append.id, append.first, old.seq);
            return Err(order::conflict(format!(
                "task {id}: event {first} cannot follow event {last}"
            )));
        }
        self.put_events(old.key, append)?;
        self.move_on(&old, append)?;
        if old.state > LAST_LIVE_STATE {
            self.db
                .prepare_cached("UPDATE webhook SET settled = 0 WHERE task = ?1")?
                .execute([id])?;
        }
        Ok(old.key)
    }

    fn stands(&self, id: IdColumn<'_>) -> Result<Option<Stands>, Error> {
        let found = self
            .db
            .prepare_cached("SELECT key, scope, state, updated, seq FROM task WHERE id = ?1")?
            .query_row([id], |row| {
                Ok(Stands {
                    key: row.get(0)?,
                    scope: row.get(1)?,
                    state: row.get(2)?,
                    updated: row.get(3)?,
                    seq: row.get::<_, i64>(4)?.cast_unsigned(),
                })
            })
            .optional()?;
        Ok(found)
    }

    /// Writes where a task stands now. Only the columns that change: every index with a named column is
    /// written anew.
    fn move_on(&mut self, old: &Stands, append: &AppendRecord<'_>) -> Result<(), Error> {
        let (key, seq, updated) = (old.key, number(append.last), append.updated);
        let (state, bytes) = (append.state, rows::size(append.events.len()));
        if state != old.state {
            self.db
                .prepare_cached(
                    "UPDATE task SET seq = ?2, chunks = chunks + (?3 > 0), bytes = bytes + ?3,
                     updated = ?4, state = ?5 WHERE key = ?1",
                )?
                .execute([key, seq, bytes, updated, state])?;
            self.tally(old.scope, old.state, -1);
            self.tally(old.scope, state, 1);
        } else if updated != old.updated {
            self.db
                .prepare_cached(
                    "UPDATE task SET seq = ?2, chunks = chunks + (?3 > 0), bytes = bytes + ?3,
                     updated = ?4 WHERE key = ?1",
                )?
                .execute([key, seq, bytes, updated])?;
        } else {
            self.db
                .prepare_cached(
                    "UPDATE task SET seq = ?2, chunks = chunks + (?3 > 0), bytes = bytes + ?3
                     WHERE key = ?1",
                )?
                .execute([key, seq, bytes])?;
        }
        Ok(())
    }

    /// Writes events as one row, or as several if they are large.
    fn put_events(&mut self, key: i64, append: &AppendRecord<'_>) -> Result<(), Error> {
        if append.first > append.last {
            return Ok(());
        }
        let data = append.events.as_bytes();
        if data.len() <= MAX_EVENT_PAGE {
            return self.put_row(key, append.first, append.last, data);
        }
        let mut first = append.first;
        for (events, data) in rows::pieces(data) {
            self.put_row(key, first, first + events - 1, data)?;
            first += events;
        }
        Ok(())
    }

    fn put_row(&mut self, key: i64, first: u64, last: u64, data: &[u8]) -> Result<(), Error> {
        let (place, last) = (key * PLACES + number(first), number(last));
        self.new_event()?
            .execute(params![place, last, FORMAT, data])?;
        Ok(())
    }

    fn put_snapshot(&mut self, key: i64, snapshot: &SnapshotRecord<'_>) -> Result<(), Error> {
        let seq = number(snapshot.seq);
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO snapshot (key, seq, format, data) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![key, seq, FORMAT, snapshot.task.as_bytes()])?;
        self.db
            .prepare_cached("UPDATE task SET folded = ?2 WHERE key = ?1")?
            .execute([key, seq])?;
        Ok(())
    }

    /// Keeps the snapshot and lets the events go that it holds. A row that goes beyond it stays.
    pub(super) fn fold(&mut self, task: &str, snapshot: &SnapshotRecord<'_>) -> Result<(), Error> {
        let Some(task) = self.stands(IdColumn::from(task))? else {
            return Ok(());
        };
        let (key, seq) = (task.key, number(snapshot.seq));
        let (first, end) = (key * PLACES, (key + 1) * PLACES);
        self.put_snapshot(key, snapshot)?;
        self.db
            .prepare_cached("DELETE FROM event WHERE place >= ?1 AND place < ?2 AND last <= ?3")?
            .execute([first, end, seq])?;
        self.db
            .prepare_cached(
                "UPDATE task SET opened = 0, opening = NULL WHERE key = ?1 AND opened <= ?2",
            )?
            .execute([key, seq])?;
        self.db
            .prepare_cached(
                "UPDATE task SET (chunks, bytes) = (SELECT count(*), coalesce(sum(length(data)), 0)
                 FROM event WHERE place >= ?2 AND place < ?3) WHERE key = ?1",
            )?
            .execute([key, first, end])?;
        Ok(())
    }
}
