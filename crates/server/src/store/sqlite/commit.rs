//! One commit in the database: its records, written within the transaction that is open.

use hashbrown::{Equivalent, HashMap, HashSet};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::read;
use super::record::{self, AnsweredRecord, KeyRecord, Record};
use super::rows::{FORMAT, IdColumn, LAST_LIVE_STATE};
use super::schema::PLACES;
use crate::store::{Error, Refusal};
use crate::task::{Answer, IdempotencyKey, Owner};

/// How many scopes are remembered; beyond, they are looked up anew.
const SCOPES: usize = 10_000;

/// The numbers of agents and owners that are known. To be forgotten when a commit is undone, since it may have
/// made them.
#[derive(Debug, Default)]
pub(super) struct Scopes(HashMap<(Box<str>, Box<str>), i64>);

/// An agent and an owner.
#[derive(Hash)]
struct ScopeName<'a>(&'a str, &'a str);

/// A commit under way.
pub(super) struct Commit<'a> {
    pub(super) db: &'a Connection,
    scopes: &'a mut Scopes,
    /// How many tasks more, or less, a scope has in a state.
    tallies: HashMap<(i64, i64), i64>,
    /// The statements of the hot path, once they are needed: looking them up takes as long as half an insert.
    new_task: Option<CachedStatement<'a>>,
    new_event: Option<CachedStatement<'a>>,
    /// It was acknowledged before, by this version or an earlier one.
    is_replayed: bool,
}

impl Equivalent<(Box<str>, Box<str>)> for ScopeName<'_> {
    fn equivalent(&self, known: &(Box<str>, Box<str>)) -> bool {
        (self.0, self.1) == (&*known.0, &*known.1)
    }
}

impl<'a> Commit<'a> {
    pub(super) fn new(db: &'a Connection, scopes: &'a mut Scopes) -> Self {
        Self {
            db,
            scopes,
            tallies: HashMap::new(),
            new_task: None,
            new_event: None,
            is_replayed: false,
        }
    }

    /// A commit that is read from the journal.
    pub(super) fn replayed(db: &'a Connection, scopes: &'a mut Scopes) -> Self {
        Self {
            is_replayed: true,
            ..Self::new(db, scopes)
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

    /// Writes all records of a frame.
    pub(super) fn write(self, frame: &[u8]) -> Result<(), Error> {
        self.write_but(frame, &HashSet::new())
            .map_err(|(_, error)| error)
    }

    /// Writes the records of a frame, but for those of some tasks. An error comes with the task that it is about.
    pub(super) fn write_but<'f>(
        mut self,
        mut frame: &'f [u8],
        left_out: &HashSet<&str>,
    ) -> Result<(), (Option<&'f str>, Error)> {
        while !frame.is_empty() {
            let (record, rest) = record::read(frame).map_err(|error| (None, error))?;
            let task = record.task();
            if !task.is_some_and(|task| left_out.contains(task)) {
                self.apply(&record).map_err(|error| (task, error))?;
            }
            frame = rest;
        }
        self.finish().map_err(|error| (None, error))
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<(), Error> {
        match record {
            Record::Append(append) => self.append(append),
            Record::PutWebhook(webhook) => self.put_webhook(webhook),
            Record::DeleteWebhook(task, id) => self.delete_webhook(task, id),
            Record::Delivery(task, id, delivery) => self.delivery(task, id, delivery),
            Record::DeadLetter(letter) => self.dead_letter(letter),
            Record::Answered(answered) => self.answered(answered),
            Record::Fold(task, snapshot) => self.fold(task, snapshot),
            Record::Remove(task) => self.remove(task),
            Record::ForgetAnswer(key, before) => self.forget_answer(key, *before),
            Record::Note(note) => self.note(note),
            Record::Turn(turn) => self.put_turn(turn),
            Record::Step(step) => self.add_step(step),
            Record::ReleasePending(release) => self.put_release(release),
            Record::Released(task) => self.remove_release(task),
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
    pub(super) fn scope(&mut self, agent: &str, owner: &str) -> Result<i64, Error> {
        let known = &mut self.scopes.0;
        if let Some(scope) = known.get(&ScopeName(agent, owner)) {
            return Ok(*scope);
        }
        let found = self
            .db
            .prepare_cached("SELECT id FROM scope WHERE agent = ?1 AND owner = ?2")?
            .query_row((agent, owner), |row| row.get(0))
            .optional()?;
        let scope = if let Some(scope) = found {
            scope
        } else {
            self.db
                .prepare_cached("INSERT INTO scope (agent, owner) VALUES (?1, ?2)")?
                .insert((agent, owner))?
        };
        if known.len() >= SCOPES {
            known.clear();
        }
        known.insert((agent.into(), owner.into()), scope);
        Ok(scope)
    }

    fn answered(&mut self, answered: &AnsweredRecord<'_>) -> Result<(), Error> {
        let key = &answered.key;
        let scope = self.scope(key.agent, key.owner)?;
        let made = self
            .db
            .prepare_cached(
                "INSERT INTO answer (scope, key, fingerprint, at, task, format, message)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                scope,
                key.key,
                answered.fingerprint.cast_signed(),
                answered.at,
                answered.task.map(IdColumn::from),
                FORMAT,
                answered.message.map(str::as_bytes),
            ])?;
        // Earlier versions let the task be made all the same, and so did what is replayed.
        match answered.task.filter(|_| made == 0 && !self.is_replayed) {
            Some(task) => self.require_same(answered, task),
            None => Ok(()),
        }
    }

    /// Refuses a task under a key that has another answer already.
    fn require_same(&self, answered: &AnsweredRecord<'_>, task: &str) -> Result<(), Error> {
        let key = IdempotencyKey {
            agent: answered.key.agent.into(),
            owner: Owner::new(answered.key.owner),
            key: answered.key.key.to_owned(),
        };
        let Some(first) = read::answered(self.db, key)? else {
            return Ok(());
        };
        let is_task = matches!(&first.answer, Answer::Task(id) if id.as_str() == task);
        if is_task && first.fingerprint == answered.fingerprint {
            return Ok(());
        }
        Err(Refusal::AlreadyAnswered(Box::new(first)).into())
    }

    fn forget_answer(&mut self, key: &KeyRecord<'_>, before: i64) -> Result<(), Error> {
        let scope = self.scope(key.agent, key.owner)?;
        self.db
            .prepare_cached("DELETE FROM answer WHERE scope = ?1 AND key = ?2 AND at <= ?3")?
            .execute(params![scope, key.key, before])?;
        Ok(())
    }

    fn remove(&mut self, task: &str) -> Result<(), Error> {
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
            "DELETE FROM pending_release WHERE task = ?1",
        ] {
            self.db.prepare_cached(table)?.execute([id])?;
        }
        self.remove_turns(key)
    }
}
