//! Reading tasks, events and answers.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use switchboard_types::model::{ContextId, TaskId, Timestamp};
use switchboard_types::{Dialect, wire};

use super::rows::{self, Entries, IdColumn, ReadId, number};
use super::schema::PLACES;
use super::times;
use crate::store::Error;
use crate::task::{Answer, Answered, Entry, Head, IdempotencyKey, Owner, Snapshot, StoredTask};

/// No id is empty, and text comes before bytes: this is before all of them.
const BEFORE_ALL: IdColumn<'static> = IdColumn::Text("");

/// Where a task stands.
pub(super) fn head_of(db: &Connection, id: &TaskId) -> Result<Option<Head>, Error> {
    let heads = heads(
        db,
        "SELECT task.id, agent, owner, context, state, updated, seq
         FROM task LEFT JOIN scope ON scope.id = task.scope WHERE task.id = ?1",
        params![IdColumn::from(id)],
    )?;
    Ok(heads.into_iter().next())
}

/// How many bytes are stored of a task, without reading them.
pub(super) fn size(db: &Connection, id: &TaskId) -> Result<Option<usize>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT bytes + CASE folded WHEN 0 THEN 0 ELSE
           coalesce((SELECT length(data) FROM snapshot WHERE snapshot.key = task.key), 0) END
         FROM task WHERE id = ?1",
    )?;
    let size = statement.query_row([IdColumn::from(id)], |row| row.get::<_, i64>(0));
    let size = size.optional()?;
    Ok(size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)))
}

/// One task.
pub(super) fn task(db: &Connection, id: &TaskId) -> Result<Option<StoredTask>, Error> {
    read_task(db, id).map_err(|error| of_task(id, error))
}

/// The same error, with the name of the task whose rows are damaged.
fn of_task(id: &TaskId, error: Error) -> Error {
    match error {
        Error::Damaged(what) => Error::Damaged(format!("task {id}: {what}")),
        error @ (Error::Unavailable(_) | Error::Exhausted(_) | Error::Refused(_)) => error,
    }
}

fn read_task(db: &Connection, id: &TaskId) -> Result<Option<StoredTask>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT task.id, agent, owner, context, state, updated, seq, key, folded, chunks,
                opened, format, opening
         FROM task LEFT JOIN scope ON scope.id = task.scope WHERE task.id = ?1",
    )?;
    let mut found = statement.query([IdColumn::from(id)])?;
    let Some(row) = found.next()? else {
        return Ok(None);
    };
    let head = head(row)?;
    let (key, folded) = (row.get(7)?, rows::unsigned(row.get(8)?)?);
    let snapshot = if folded == 0 {
        None
    } else {
        Some(snapshot(db, key)?)
    };
    let mut entries = Entries::all();
    let whose = (&head.id, &head.context);
    read_opening(row, 10, whose, folded, &mut entries)?;
    if row.get::<_, i64>(9)? > 0 {
        read_events(db, key, whose, folded, &mut entries)?;
    }
    times::complete(db, id, &mut entries)?;
    Ok(Some(StoredTask {
        head,
        snapshot,
        entries: entries.into_inner(),
    }))
}

/// Events of a task after one of them.
pub(super) fn events(
    db: &Connection,
    id: &TaskId,
    after: u64,
    limit: usize,
) -> Result<Vec<Arc<Entry>>, Error> {
    read_tail(db, id, after, limit).map_err(|error| of_task(id, error))
}

fn read_tail(
    db: &Connection,
    id: &TaskId,
    after: u64,
    limit: usize,
) -> Result<Vec<Arc<Entry>>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT id, context, key, opened, format, opening FROM task WHERE id = ?1",
    )?;
    let mut found = statement.query([IdColumn::from(id)])?;
    let mut entries = Entries::page(limit);
    if let Some(row) = found.next()? {
        let context = context(row, 0, 1)?;
        read_opening(row, 3, (id, &context), after, &mut entries)?;
        read_events(db, row.get(2)?, (id, &context), after, &mut entries)?;
        times::complete(db, id, &mut entries)?;
    }
    Ok(entries.into_inner())
}

/// Tasks that are not over, in id order.
pub(super) fn live(
    db: &Connection,
    after: Option<&TaskId>,
    limit: usize,
) -> Result<Vec<Head>, Error> {
    let start = after.map_or(BEFORE_ALL, IdColumn::from);
    heads(
        db,
        "SELECT task.id, agent, owner, context, state, updated, seq
         FROM task INDEXED BY task_live LEFT JOIN scope ON scope.id = task.scope
         WHERE state <= 4 AND task.id > ?1 ORDER BY task.id LIMIT ?2",
        params![start, rows::size(limit)],
    )
}

/// Tasks with a pending release, in id order.
pub(super) fn pending_releases(
    db: &Connection,
    after: Option<&TaskId>,
    limit: usize,
) -> Result<Vec<Head>, Error> {
    let start = after.map_or(BEFORE_ALL, IdColumn::from);
    heads(
        db,
        "SELECT task.id, agent, owner, context, state, updated, seq
         FROM pending_release
           JOIN task ON task.id = pending_release.task LEFT JOIN scope ON scope.id = task.scope
         WHERE pending_release.task > ?1 ORDER BY pending_release.task LIMIT ?2",
        params![start, rows::size(limit)],
    )
}

/// Finished tasks whose events are better folded.
pub(super) fn foldable(
    db: &Connection,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<TaskId>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM task INDEXED BY task_heavy
         WHERE state >= 5 AND (chunks > 4 OR bytes > 16384) AND updated <= ?1
           AND NOT EXISTS (SELECT 1 FROM webhook
                           WHERE webhook.task = task.id AND webhook.delivered < task.seq)
         ORDER BY updated, id LIMIT ?2",
    )?;
    let ids = statement.query_map([before.as_micros(), rows::size(limit)], |row| {
        Ok(row.get::<_, ReadId<_>>(0)?.0)
    })?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// What was answered under a key.
pub(super) fn answered(db: &Connection, key: IdempotencyKey) -> Result<Option<Answered>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT fingerprint, at, task, message, format FROM answer
         WHERE scope = (SELECT id FROM scope WHERE agent = ?1 AND owner = ?2) AND key = ?3",
    )?;
    let mut found = statement.query((&key.agent, key.owner.as_str(), &key.key))?;
    let Some(row) = found.next()? else {
        return Ok(None);
    };
    rows::check_format(row.get(4)?)?;
    let answer = match row.get::<_, Option<ReadId<_>>>(2)? {
        Some(task) => Answer::Task(task.0),
        None => Answer::Message(
            wire::decode_message(Dialect::V1, rows::text(row, 3)?).map_err(rows::damaged)?,
        ),
    };
    Ok(Some(Answered {
        fingerprint: row.get::<_, i64>(0)?.cast_unsigned(),
        at: Timestamp::from_micros(row.get(1)?),
        answer,
        key,
    }))
}

/// The keys of what was answered at `before` or earlier, oldest first.
pub(super) fn old_answers(
    db: &Connection,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<IdempotencyKey>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT agent, owner, key FROM answer INDEXED BY answer_at
         JOIN scope ON scope.id = answer.scope WHERE at <= ?1 ORDER BY at LIMIT ?2",
    )?;
    let keys = statement.query_map([before.as_micros(), rows::size(limit)], |row| {
        Ok(IdempotencyKey {
            agent: row.get(0)?,
            owner: Owner::new(row.get::<_, Arc<str>>(1)?),
            key: row.get(2)?,
        })
    })?;
    Ok(keys.collect::<Result<_, _>>()?)
}

fn heads(db: &Connection, sql: &str, params: &[&dyn ToSql]) -> Result<Vec<Head>, Error> {
    let mut statement = db.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    let mut heads = Vec::new();
    while let Some(row) = found.next()? {
        heads.push(head(row)?);
    }
    Ok(heads)
}

fn head(row: &Row<'_>) -> Result<Head, Error> {
    Ok(Head {
        id: row.get::<_, ReadId<_>>(0)?.0,
        agent: row.get(1)?,
        owner: Owner::new(row.get::<_, Arc<str>>(2)?),
        context: context(row, 0, 3)?,
        state: rows::state_of(row.get(4)?)?,
        updated: Timestamp::from_micros(row.get(5)?),
        seq: rows::unsigned(row.get(6)?)?,
    })
}

/// The conversation of a task, from the columns of both ids.
pub(super) fn context(row: &Row<'_>, id: usize, context: usize) -> Result<ContextId, Error> {
    let column = match row.get_ref(context)? {
        ValueRef::Null => IdColumn::read(row.get_ref(id)?).map(IdColumn::twin),
        context => IdColumn::read(context).map(Some),
    };
    let column = column.map_err(rows::damaged)?;
    let column = column.ok_or_else(|| rows::damaged("it has no context"))?;
    column.id().map_err(rows::damaged)
}

/// Adds the events after `after` that stand in the row of their task, in the columns from `opened` on.
pub(super) fn read_opening(
    row: &Row<'_>,
    opened: usize,
    whose: (&TaskId, &ContextId),
    after: u64,
    entries: &mut Entries,
) -> Result<(), Error> {
    let last = rows::unsigned(row.get(opened)?)?;
    if last <= after {
        return Ok(());
    }
    rows::check_format(row.get(opened + 1)?)?;
    let data = row.get_ref(opened + 2)?.as_blob().map_err(rows::damaged)?;
    let end = rows::read_entries(whose, data, 1, after, entries)?;
    if !entries.are_enough() && end != last + 1 {
        return Err(rows::damaged("its first events are not complete"));
    }
    Ok(())
}

fn snapshot(db: &Connection, key: i64) -> Result<Snapshot, Error> {
    let mut statement =
        db.prepare_cached("SELECT seq, format, data FROM snapshot WHERE key = ?1")?;
    let mut found = statement.query([key])?;
    let Some(row) = found.next()? else {
        return Err(Error::Damaged(format!("the snapshot {key} is missing")));
    };
    rows::check_format(row.get(1)?)?;
    let task = wire::decode_task(Dialect::V1, rows::text(row, 2)?).map_err(rows::damaged)?;
    Ok(Snapshot {
        task: Arc::new(task),
        seq: rows::unsigned(row.get(0)?)?,
    })
}

/// Adds events of a task after `after` to `entries` until those are enough.
fn read_events(
    db: &Connection,
    key: i64,
    whose: (&TaskId, &ContextId),
    after: u64,
    entries: &mut Entries,
) -> Result<(), Error> {
    if entries.are_enough() {
        return Ok(());
    }
    // From the row that holds the event after `after`: the last one that begins there or before.
    let mut statement = db.prepare_cached(
        "SELECT place, last, format, data FROM event
         WHERE place >= coalesce((SELECT max(place) FROM event WHERE place BETWEEN ?1 AND ?2), ?1)
           AND place < ?3 AND last > ?4
         ORDER BY place",
    )?;
    let first = key * PLACES;
    let after_column = number(after).min(PLACES - 2);
    let mut found = statement.query([
        first,
        first + after_column + 1,
        first + PLACES,
        number(after),
    ])?;
    while let Some(row) = found.next()? {
        let place: i64 = row.get(0)?;
        rows::check_format(row.get(2)?)?;
        let data = row.get_ref(3)?.as_blob().map_err(rows::damaged)?;
        let end = rows::read_entries(whose, data, rows::unsigned(place - first)?, after, entries)?;
        if entries.are_enough() {
            break;
        }
        if end != rows::unsigned(row.get(1)?)? + 1 {
            return Err(Error::Damaged(format!(
                "the events at {place} are not complete"
            )));
        }
    }
    Ok(())
}
