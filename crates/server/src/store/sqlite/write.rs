//! The writer: one transaction for all changes of a commit.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use rusqlite::{
    CachedStatement, Connection, OptionalExtension, Transaction, TransactionBehavior, params,
};
use switchboard_types::model::{TaskId, Timestamp};
use switchboard_types::{Dialect, wire};

use super::rows::{FORMAT, IdColumn, LAST_LIVE_STATE};
use super::schema::PLACES;
use crate::auth::Owner;
use crate::store::{Answer, Answered, Change, Error, IdempotencyKey};

/// How many scopes are remembered; beyond, they are looked up anew.
const SCOPES: usize = 10_000;

/// How much room for encoding is kept from one row to the next.
const ROOM: usize = 256 * 1024;

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    memory: Memory,
    /// On the data directory; released after the connection is closed.
    _lock: File,
}

/// What the writer knows from one commit to the next. Forgotten when a commit fails, since it may tell of
/// rows that were rolled back.
#[derive(Debug, Default)]
pub(super) struct Memory {
    scopes: HashMap<(Arc<str>, Owner), i64>,
    data: Vec<u8>,
}

/// A commit under way.
pub(super) struct Commit<'a> {
    pub(super) db: &'a Transaction<'a>,
    pub(super) memory: &'a mut Memory,
    /// How many tasks more, or less, a scope has in a state.
    tallies: HashMap<(i64, i64), i64>,
    /// The statements of the hot path, once they are needed: looking them up takes as long as half an insert.
    new_task: Option<CachedStatement<'a>>,
    new_event: Option<CachedStatement<'a>>,
}

impl Memory {
    /// Room for encoding one row. Give it back.
    pub(super) fn room(&mut self) -> Vec<u8> {
        let mut room = std::mem::take(&mut self.data);
        room.clear();
        room.shrink_to(ROOM);
        room
    }

    pub(super) fn give_back(&mut self, room: Vec<u8>) {
        self.data = room;
    }
}

impl Writer {
    /// Writes to the database of `connection`, under `lock`.
    pub(super) fn new(connection: Connection, lock: File) -> Self {
        Self {
            connection,
            memory: Memory::default(),
            _lock: lock,
        }
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Makes all changes durable, or none.
    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<(), Error> {
        let committed = self.write(changes);
        if committed.is_err() {
            self.memory = Memory::default();
        }
        committed
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), Error> {
        if !self.connection.is_autocommit() {
            // What failed last time could not be undone then.
            self.connection.execute_batch("ROLLBACK")?;
        }
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        Commit::new(&transaction, &mut self.memory).make(changes)?;
        transaction.commit()?;
        Ok(())
    }
}

impl<'a> Commit<'a> {
    fn new(db: &'a Transaction<'a>, memory: &'a mut Memory) -> Self {
        Self {
            db,
            memory,
            tallies: HashMap::new(),
            new_task: None,
            new_event: None,
        }
    }

    pub(super) fn new_task(&mut self) -> Result<&mut CachedStatement<'a>, Error> {
        let prepared = match self.new_task.take() {
            Some(prepared) => prepared,
            None => self.db.prepare_cached(
                "INSERT INTO task (id, scope, context, state, updated, seq, folded, chunks, bytes,
                                   opened, format, opening)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7 > 0, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
            )?,
        };
        Ok(self.new_task.insert(prepared))
    }

    pub(super) fn new_event(&mut self) -> Result<&mut CachedStatement<'a>, Error> {
        let prepared = match self.new_event.take() {
            Some(prepared) => prepared,
            None => self.db.prepare_cached(
                "INSERT INTO event (place, last, format, data) VALUES (?1, ?2, ?3, ?4)",
            )?,
        };
        Ok(self.new_event.insert(prepared))
    }

    /// Makes all changes.
    fn make(mut self, changes: &[Change]) -> Result<(), Error> {
        for change in changes {
            self.apply(change)?;
        }
        self.finish()
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        match change {
            Change::Append(append) => self.append(append),
            Change::PutWebhook(webhook) => self.put_webhook(webhook),
            Change::DeleteWebhook(task, id) => self.delete_webhook(task, id),
            Change::Delivery(task, id, delivery) => self.delivery(task, id, delivery),
            Change::DeadLetter(letter) => self.dead_letter(letter),
            Change::Answered(answered) => self.answered(answered),
            Change::Fold(snapshot) => self.fold(snapshot),
            Change::Remove(task) => self.remove(task),
            Change::ForgetAnswer(key, before) => self.forget_answer(key, *before),
        }
    }

    /// Writes what was gathered while the changes were applied.
    fn finish(&mut self) -> Result<(), Error> {
        let mut statement = self.db.prepare_cached(
            "INSERT INTO tally (scope, state, tasks) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET tasks = tasks + ?3",
        )?;
        for ((scope, state), more) in self.tallies.drain().filter(|(_, more)| *more != 0) {
            statement.execute((scope, state, more))?;
        }
        Ok(())
    }

    /// Counts `more` tasks of a scope in a state.
    pub(super) fn tally(&mut self, scope: i64, state: i64, more: i64) {
        *self.tallies.entry((scope, state)).or_default() += more;
    }

    /// The number of a scope, a new one if it is new.
    pub(super) fn scope(&mut self, agent: &Arc<str>, owner: &Owner) -> Result<i64, Error> {
        let name = (Arc::clone(agent), owner.clone());
        if let Some(scope) = self.memory.scopes.get(&name) {
            return Ok(*scope);
        }
        let found = self
            .db
            .prepare_cached("SELECT id FROM scope WHERE agent = ?1 AND owner = ?2")?
            .query_row((agent, owner.as_str()), |row| row.get(0))
            .optional()?;
        let scope = if let Some(scope) = found {
            scope
        } else {
            self.db
                .prepare_cached("INSERT INTO scope (agent, owner) VALUES (?1, ?2)")?
                .insert((agent, owner.as_str()))?
        };
        if self.memory.scopes.len() >= SCOPES {
            self.memory.scopes.clear();
        }
        self.memory.scopes.insert(name, scope);
        Ok(scope)
    }

    fn answered(&mut self, answered: &Answered) -> Result<(), Error> {
        let scope = self.scope(&answered.key.agent, &answered.key.owner)?;
        let (task, message) = match &answered.answer {
            Answer::Task(task) => (Some(IdColumn::from(task)), None),
            Answer::Message(message) => {
                let mut data = Vec::new();
                wire::encode_message(Dialect::V1, message, &mut data);
                (None, Some(data))
            }
        };
        self.db
            .prepare_cached(
                "INSERT INTO answer (scope, key, fingerprint, at, task, format, message)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                scope,
                answered.key.key,
                answered.fingerprint.cast_signed(),
                answered.at.as_micros(),
                task,
                FORMAT,
                message,
            ])?;
        Ok(())
    }

    fn forget_answer(&mut self, key: &IdempotencyKey, before: Timestamp) -> Result<(), Error> {
        let scope = self.scope(&key.agent, &key.owner)?;
        self.db
            .prepare_cached("DELETE FROM answer WHERE scope = ?1 AND key = ?2 AND at <= ?3")?
            .execute(params![scope, key.key, before.as_micros()])?;
        Ok(())
    }

    fn remove(&mut self, task: &TaskId) -> Result<(), Error> {
        let id = IdColumn::from(task);
        let found = self
            .db
            .prepare_cached(
                "DELETE FROM task WHERE id = ?1 AND state > ?2 RETURNING key, scope, state",
            )?
            .query_row(params![id, LAST_LIVE_STATE], |row| {
                Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        let Some((key, scope, state)) = found else {
            return Ok(());
        };
        self.tally(scope, state, -1);
        let first = key * PLACES;
        self.db
            .prepare_cached("DELETE FROM event WHERE place BETWEEN ?1 AND ?2")?
            .execute([first, first + PLACES - 1])?;
        self.db
            .prepare_cached("DELETE FROM snapshot WHERE key = ?1")?
            .execute([key])?;
        for table in [
            "DELETE FROM webhook WHERE task = ?1",
            "DELETE FROM dead_letter WHERE task = ?1",
            "DELETE FROM answer WHERE task = ?1",
        ] {
            self.db.prepare_cached(table)?.execute([id])?;
        }
        Ok(())
    }
}
