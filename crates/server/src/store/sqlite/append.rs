//! Writing events and snapshots: the hot path. A new task is one insert.

use rusqlite::{OptionalExtension, params};
use switchboard_types::{Dialect, wire};

use super::rows::{self, FORMAT, IdColumn, LAST_LIVE_STATE, number};
use super::schema::PLACES;
use super::write::Commit;
use crate::store::{Append, Error, Head, Snapshot, order};

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
    pub(super) fn append(&mut self, append: &Append) -> Result<(), Error> {
        let head = &append.head;
        if number(head.seq) >= PLACES {
            return Err(Error::Damaged(format!(
                "task {} has too many events",
                head.id
            )));
        }
        let id = IdColumn::from(&head.id);
        let key = if append.entries.first().is_some_and(|entry| entry.seq == 1) {
            self.create(id, append)?
        } else {
            self.extend(id, append)?
        };
        if let Some(snapshot) = &append.snapshot {
            self.put_snapshot(key, snapshot)?;
        }
        Ok(())
    }

    fn create(&mut self, id: IdColumn<'_>, append: &Append) -> Result<i64, Error> {
        order::check(append, 0)?;
        let head = &append.head;
        let scope = self.scope(&head.agent, &head.owner)?;
        let (state, seq) = (rows::state_number(head.state), number(head.seq));
        let context = IdColumn::from(&head.context);
        let events = self.encode(append);
        let small = events.len() <= OPENING;
        let made = self.new_task()?.execute(params![
            id,
            scope,
            (Some(context) != id.twin()).then_some(context),
            state,
            head.updated.as_micros(),
            seq,
            if small { 0 } else { rows::size(events.len()) },
            if small { seq } else { 0 },
            FORMAT,
            small.then_some(&*events),
        ])?;
        if made == 0 {
            return Err(Error::Damaged(format!("task {} is there already", head.id)));
        }
        let key = self.db.last_insert_rowid();
        if !small {
            self.put_events(key, append, &events)?;
        }
        self.memory.give_back(events);
        self.tally(scope, state, 1);
        Ok(key)
    }

    fn extend(&mut self, id: IdColumn<'_>, append: &Append) -> Result<i64, Error> {
        let head = &append.head;
        let Some(old) = self.stands(id)? else {
            return Err(Error::Damaged(format!("there is no task {}", head.id)));
        };
        order::check(append, old.seq)?;
        let events = self.encode(append);
        self.put_events(old.key, append, &events)?;
        self.move_on(&old, head, rows::size(events.len()))?;
        self.memory.give_back(events);
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

    /// Writes where a task stands now, after so many bytes of events. Only the columns that change: every
    /// index with a named column is written anew.
    fn move_on(&mut self, old: &Stands, head: &Head, bytes: i64) -> Result<(), Error> {
        let (key, seq, updated) = (old.key, number(head.seq), head.updated.as_micros());
        let state = rows::state_number(head.state);
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

    /// The entries as they are stored. Give the room back.
    fn encode(&mut self, append: &Append) -> Vec<u8> {
        let mut data = self.memory.room();
        rows::write_entries(&append.head, &append.entries, &mut data);
        data
    }

    /// Writes entries as one row.
    fn put_events(&mut self, key: i64, append: &Append, data: &[u8]) -> Result<(), Error> {
        if let (Some(first), Some(last)) = (append.entries.first(), append.entries.last()) {
            let place = key * PLACES + number(first.seq);
            self.new_event()?
                .execute(params![place, number(last.seq), FORMAT, data])?;
        }
        Ok(())
    }

    fn put_snapshot(&mut self, key: i64, snapshot: &Snapshot) -> Result<(), Error> {
        let seq = number(snapshot.seq);
        let mut data = self.memory.room();
        wire::encode_task(Dialect::V1, &snapshot.task, &mut data);
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO snapshot (key, seq, format, data) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![key, seq, FORMAT, &*data])?;
        self.memory.give_back(data);
        self.db
            .prepare_cached("UPDATE task SET folded = ?2 WHERE key = ?1")?
            .execute([key, seq])?;
        Ok(())
    }

    /// Keeps the snapshot and lets the events go that it holds. A row that goes beyond it stays.
    pub(super) fn fold(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let id = IdColumn::from(&snapshot.task.id);
        let Some(task) = self.stands(id)? else {
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
