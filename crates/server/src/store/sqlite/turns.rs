//! Turns, their steps, and pending releases. The first turn of a plain task has no row: its task implies it.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use switchboard_types::model::{TaskId, Timestamp};

use super::commit::Commit;
use super::record::{ReleaseRecord, StepRecord, TurnFields};
use super::rows::{self, IdColumn, number};
use super::schema::PLACES;
use crate::store::{Error, MAX_EVENT_PAGE};
use crate::task::{PendingRelease, Step, StoredStep, TurnRecord};

impl Commit<'_> {
    /// Writes a turn in place of the one with its number, if its task exists.
    pub(super) fn put_turn(&mut self, turn: &TurnFields<'_>) -> Result<(), Error> {
        let id = IdColumn::from(turn.task);
        if turn.is_implied {
            self.db
                .prepare_cached(
                    "DELETE FROM turn WHERE task = (SELECT key FROM task WHERE id = ?1)
                     AND number = ?2",
                )?
                .execute(params![id, turn.number])?;
            return Ok(());
        }
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO turn (task, number, message_at, begins_at, answers,
                                              decision, trace, queued, secret)
                 SELECT key, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM task WHERE id = ?1",
            )?
            .execute(params![
                id,
                turn.number,
                turn.message_at.map(number),
                number(turn.begins_at),
                turn.answers.map(number),
                turn.decision,
                turn.trace,
                turn.queued,
                turn.secret,
            ])?;
        Ok(())
    }

    /// Appends a step, if its task exists.
    pub(super) fn add_step(&mut self, step: &StepRecord<'_>) -> Result<(), Error> {
        let found = self
            .db
            .prepare_cached(
                "SELECT key, (SELECT max(place) FROM step
                              WHERE place BETWEEN key * ?2 AND key * ?2 + ?2 - 1)
                 FROM task WHERE id = ?1",
            )?
            .query_row(params![IdColumn::from(step.task), PLACES], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?))
            })
            .optional()?;
        let Some((key, last)) = found else {
            return Ok(());
        };
        let place = last.unwrap_or(key * PLACES) + 1;
        if place >= (key + 1) * PLACES {
            let id = step.task;
            return Err(Error::Damaged(format!("task {id} has too many steps")));
        }
        self.db
            .prepare_cached(
                "INSERT INTO step (place, task, turn, at, name, value)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                place, key, step.turn, step.at, step.name, step.value
            ])?;
        Ok(())
    }

    /// Writes that a release is pending, if its task exists.
    pub(super) fn put_release(&mut self, release: &ReleaseRecord<'_>) -> Result<(), Error> {
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO pending_release (task, question)
                 SELECT id, ?2 FROM task WHERE id = ?1",
            )?
            .execute(params![IdColumn::from(release.task), release.question])?;
        Ok(())
    }

    pub(super) fn remove_release(&mut self, task: &str) -> Result<(), Error> {
        self.db
            .prepare_cached("DELETE FROM pending_release WHERE task = ?1")?
            .execute([IdColumn::from(task)])?;
        Ok(())
    }

    /// Removes what is about the task with that key.
    pub(super) fn remove_turns(&mut self, key: i64) -> Result<(), Error> {
        self.db
            .prepare_cached("DELETE FROM turn WHERE task = ?1")?
            .execute([key])?;
        self.db
            .prepare_cached("DELETE FROM step WHERE place BETWEEN ?1 AND ?2")?
            .execute([key * PLACES, (key + 1) * PLACES - 1])?;
        Ok(())
    }
}

/// The latest turn of a task.
pub(super) fn latest(db: &Connection, task: &TaskId) -> Result<Option<TurnRecord>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT number, message_at, begins_at, answers, decision, trace, queued, secret
         FROM task LEFT JOIN turn ON turn.task = task.key WHERE task.id = ?1
         ORDER BY number DESC LIMIT 1",
    )?;
    let mut found = statement.query([IdColumn::from(task)])?;
    let Some(row) = found.next()? else {
        return Ok(None);
    };
    let turn = turn(row, task)?;
    Ok(Some(
        turn.unwrap_or_else(|| TurnRecord::first(task.clone())),
    ))
}

/// All turns of a task, in order.
pub(super) fn of(db: &Connection, task: &TaskId) -> Result<Vec<TurnRecord>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT number, message_at, begins_at, answers, decision, trace, queued, secret
         FROM task LEFT JOIN turn ON turn.task = task.key WHERE task.id = ?1 ORDER BY number",
    )?;
    let mut found = statement.query([IdColumn::from(task)])?;
    let mut turns = Vec::new();
    while let Some(row) = found.next()? {
        let turn = turn(row, task)?;
        if turns.is_empty() && turn.as_ref().is_none_or(|turn| turn.number > 1) {
            turns.push(TurnRecord::first(task.clone()));
        }
        turns.extend(turn);
    }
    Ok(turns)
}

/// A turn, from a row that is empty if none is stored.
fn turn(row: &Row<'_>, task: &TaskId) -> Result<Option<TurnRecord>, Error> {
    let Some(number) = row.get(0)? else {
        return Ok(None);
    };
    let event = |column| -> Result<Option<u64>, Error> {
        let seq: Option<i64> = row.get(column)?;
        seq.map(rows::unsigned).transpose()
    };
    Ok(Some(TurnRecord {
        task: task.clone(),
        number,
        message_at: event(1)?,
        begins_at: rows::unsigned(row.get(2)?)?,
        answers: event(3)?,
        decision: json(row, 4)?,
        trace: json(row, 5)?,
        queued: row.get(6)?,
        secret: row.get(7)?,
    }))
}

/// The latest step of a task under a name.
pub(super) fn step(
    db: &Connection,
    task: &TaskId,
    name: &str,
) -> Result<Option<StoredStep>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT place, turn, at, name, value FROM step INDEXED BY step_name
         WHERE task = (SELECT key FROM task WHERE id = ?1) AND name = ?2
         ORDER BY place DESC LIMIT 1",
    )?;
    let mut found = statement.query(params![IdColumn::from(task), name])?;
    found.next()?.map(|row| read_step(row, task)).transpose()
}

/// Steps of a task after one of them.
pub(super) fn steps(
    db: &Connection,
    task: &TaskId,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredStep>, Error> {
    let key = db
        .prepare_cached("SELECT key FROM task WHERE id = ?1")?
        .query_row([IdColumn::from(task)], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(key) = key else {
        return Ok(Vec::new());
    };
    let mut statement = db.prepare_cached(
        "SELECT place, turn, at, name, value FROM step WHERE place > ?1 AND place < ?2
         ORDER BY place LIMIT ?3",
    )?;
    let after = key * PLACES + number(after).min(PLACES - 1);
    let mut found = statement.query([after, (key + 1) * PLACES, rows::size(limit)])?;
    let (mut steps, mut weight) = (Vec::new(), 0);
    while weight < MAX_EVENT_PAGE
        && let Some(row) = found.next()?
    {
        weight += row.get_ref(4)?.as_str().map_err(rows::damaged)?.len();
        steps.push(read_step(row, task)?);
    }
    Ok(steps)
}

fn read_step(row: &Row<'_>, task: &TaskId) -> Result<StoredStep, Error> {
    let place: i64 = row.get(0)?;
    let value = json(row, 4)?.ok_or_else(|| rows::damaged("a step has no value"))?;
    Ok(StoredStep {
        number: rows::unsigned(place % PLACES)?,
        step: Step {
            task: task.clone(),
            turn: row.get(1)?,
            at: Timestamp::from_micros(row.get(2)?),
            name: row.get(3)?,
            value,
        },
    })
}

/// The release that is pending for a task.
pub(super) fn pending_release(
    db: &Connection,
    task: &TaskId,
) -> Result<Option<PendingRelease>, Error> {
    let mut statement =
        db.prepare_cached("SELECT question FROM pending_release WHERE task = ?1")?;
    let mut found = statement.query([IdColumn::from(task)])?;
    let Some(row) = found.next()? else {
        return Ok(None);
    };
    Ok(Some(PendingRelease {
        task: task.clone(),
        question: json(row, 0)?,
    }))
}

/// A JSON column that may be empty.
fn json(row: &Row<'_>, column: usize) -> Result<Option<Value>, Error> {
    let text = row
        .get_ref(column)?
        .as_str_or_null()
        .map_err(rows::damaged)?;
    text.map(serde_json::from_str)
        .transpose()
        .map_err(rows::damaged)
}
