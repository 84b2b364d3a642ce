//! Writing events and snapshots: the hot path. A new task is two inserts.

use rusqlite::{OptionalExtension, params};
use switchboard_types::{Dialect, wire};

use super::rows::{self, FORMAT, IdColumn, LAST_LIVE_STATE, number};
use super::schema::PLACES;
use super::write::Commit;
use crate::store::{Append, Error, Head, Snapshot, order};

/// What an append needs to know of its task.
struct Stands {
    key: i64,
    scope: i64,
    state: i64,
    updated: i64,
    seq: u64,
}

/// How much an append adds to a task's row.
struct Added {
    chunks: i64,
    bytes: i64,
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
            self.put_snapshot(id, key, snapshot)?;
        }
        Ok(())
    }

    fn create(&mut self, id: IdColumn<'_>, append: &Append) -> Result<i64, Error> {
        order::check(append, 0)?;
        let head = &append.head;
        let (key, scope) = (self.next_key()?, self.scope(&head.agent, &head.owner)?);
        let state = rows::state_number(head.state);
        let added = self.put_entries(key, append)?;
        let made = self.new_task()?.execute(params![
            id,
            key,
            scope,
            IdColumn::from(&head.context),
            state,
            head.updated.as_micros(),
            number(head.seq),
            added.chunks,
            added.bytes,
        ])?;
        if made == 0 {
            return Err(Error::Damaged(format!("task {} is there already", head.id)));
        }
        self.tally(scope, state, 1);
        Ok(key)
    }

    fn extend(&mut self, id: IdColumn<'_>, append: &Append) -> Result<i64, Error> {
        let head = &append.head;
        let Some(old) = self.stands(id)? else {
            return Err(Error::Damaged(format!("there is no task {}", head.id)));
        };
        order::check(append, old.seq)?;
        let added = self.put_entries(old.key, append)?;
        self.move_on(id, &old, head, &added)?;
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
    fn move_on(
        &mut self,
        id: IdColumn<'_>,
        old: &Stands,
        head: &Head,
        added: &Added,
    ) -> Result<(), Error> {
        let (seq, updated) = (number(head.seq), head.updated.as_micros());
        let state = rows::state_number(head.state);
        let Added { chunks, bytes } = added;
        if state != old.state {
            self.db
                .prepare_cached(
                    "UPDATE task SET seq = ?2, chunks = chunks + ?3, bytes = bytes + ?4,
                     updated = ?5, state = ?6 WHERE id = ?1",
                )?
                .execute(params![id, seq, chunks, bytes, updated, state])?;
            self.tally(old.scope, old.state, -1);
            self.tally(old.scope, state, 1);
        } else if updated != old.updated {
            self.db
                .prepare_cached(
                    "UPDATE task SET seq = ?2, chunks = chunks + ?3, bytes = bytes + ?4,
                     updated = ?5 WHERE id = ?1",
                )?
                .execute(params![id, seq, chunks, bytes, updated])?;
        } else {
            self.db
                .prepare_cached(
                    "UPDATE task SET seq = ?2, chunks = chunks + ?3, bytes = bytes + ?4
                     WHERE id = ?1",
                )?
                .execute(params![id, seq, chunks, bytes])?;
        }
        Ok(())
    }

    /// Writes the entries as one row.
    fn put_entries(&mut self, key: i64, append: &Append) -> Result<Added, Error> {
        let (Some(first), Some(last)) = (append.entries.first(), append.entries.last()) else {
            return Ok(Added {
                chunks: 0,
                bytes: 0,
            });
        };
        let place = key * PLACES + number(first.seq);
        let mut data = self.memory.room();
        rows::write_entries(&append.head, &append.entries, &mut data);
        self.new_event()?
            .execute(params![place, number(last.seq), FORMAT, &*data])?;
        let bytes = rows::size(data.len());
        self.memory.give_back(data);
        Ok(Added { chunks: 1, bytes })
    }

    fn put_snapshot(
        &mut self,
        id: IdColumn<'_>,
        key: i64,
        snapshot: &Snapshot,
    ) -> Result<(), Error> {
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
            .prepare_cached("UPDATE task SET folded = ?2 WHERE id = ?1")?
            .execute(params![id, seq])?;
        Ok(())
    }

    /// Keeps the snapshot and lets the events go that it holds. A row that goes beyond it stays.
    pub(super) fn fold(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let id = IdColumn::from(&snapshot.task.id);
        let Some(task) = self.stands(id)? else {
            return Ok(());
        };
        let (first, end) = (task.key * PLACES, (task.key + 1) * PLACES);
        self.put_snapshot(id, task.key, snapshot)?;
        self.db
            .prepare_cached("DELETE FROM event WHERE place >= ?1 AND place < ?2 AND last <= ?3")?
            .execute([first, end, number(snapshot.seq)])?;
        self.db
            .prepare_cached(
                "UPDATE task SET (chunks, bytes) = (SELECT count(*), coalesce(sum(length(data)), 0)
                 FROM event WHERE place >= ?2 AND place < ?3) WHERE id = ?1",
            )?
            .execute(params![id, first, end])?;
        Ok(())
    }
}
