//! Listing tasks. The index is ordered by state first, so that a state can be listed and aged out without
//! passing over the others; a list of all states merges nine short walks.

use std::cmp::Ordering;

use rusqlite::{Connection, OptionalExtension, Row, params};
use switchboard_types::model::{ContextId, TaskId, TaskState, Timestamp};

use super::read;
use super::rows::{self, IdColumn, ReadId};
use crate::store::page::Page;
use crate::store::{Error, Listed, RecentQuery, TaskList, TaskQuery};
use crate::task::{Head, Owner};

/// A place in the order of the list.
type Place = (i64, TaskId);

/// Compares as the index does.
fn by_place(a: &Place, b: &Place) -> Ordering {
    a.0.cmp(&b.0)
        .then_with(|| IdColumn::from(&a.1).cmp(&IdColumn::from(&b.1)))
}

/// Tasks that match, and how many do.
pub(super) fn list(db: &Connection, query: &TaskQuery) -> Result<TaskList, Error> {
    let Some(scope) = scope(db, query)? else {
        return Ok(TaskList {
            tasks: Vec::new(),
            more: false,
            total: 0,
        });
    };
    let total = total(db, scope, query)?;
    // One more than asked for tells whether there is another page.
    let mut ids = page(db, scope, query, query.limit.saturating_add(1))?;
    let beyond = ids.len() > query.limit;
    ids.truncate(query.limit);
    let (tasks, cut) = fill(db, &ids, query)?;
    Ok(TaskList {
        tasks,
        more: beyond || cut,
        total,
    })
}

/// The heads of tasks that match.
pub(super) fn heads(db: &Connection, query: &TaskQuery) -> Result<Vec<Head>, Error> {
    let Some(scope) = scope(db, query)? else {
        return Ok(Vec::new());
    };
    let ids = page(db, scope, query, query.limit)?;
    let heads = ids.iter().map(|id| read::head_of(db, id));
    heads.filter_map(Result::transpose).collect()
}

/// These tasks, as far as the budget of the query reaches.
pub(super) fn list_by_id(
    db: &Connection,
    ids: &[TaskId],
    query: &TaskQuery,
) -> Result<Vec<Listed>, Error> {
    Ok(fill(db, ids, query)?.0)
}

/// A page of these tasks, and whether it ends before they do.
fn fill(db: &Connection, ids: &[TaskId], query: &TaskQuery) -> Result<(Vec<Listed>, bool), Error> {
    let mut page = Page::new(query);
    for id in ids {
        if !page.has_room() {
            return Ok((page.into_tasks(), true));
        }
        match read::size(db, id)?.filter(|size| page.is_large(*size)) {
            Some(size) => {
                if let Some(head) = read::head_of(db, id)? {
                    page.push_large(head, size);
                }
            }
            None => {
                if let Some(stored) = read::task(db, id)? {
                    page.push(stored)?;
                }
            }
        }
    }
    Ok((page.into_tasks(), false))
}

/// The number of the agent and owner, if they have had tasks.
fn scope(db: &Connection, query: &TaskQuery) -> Result<Option<i64>, Error> {
    let mut statement =
        db.prepare_cached("SELECT id FROM scope WHERE agent = ?1 AND owner = ?2")?;
    let whose = (&query.agent, query.owner.as_str());
    Ok(statement.query_row(whose, |row| row.get(0)).optional()?)
}

/// How many tasks match, pages apart.
fn total(db: &Connection, scope: i64, query: &TaskQuery) -> Result<u64, Error> {
    rows::unsigned(match &query.context {
        Some(context) => count_of_context(db, scope, context, query)?,
        None => count_of_scope(db, scope, query)?,
    })
}

/// The ids of a page of so many tasks.
fn page(
    db: &Connection,
    scope: i64,
    query: &TaskQuery,
    limit: usize,
) -> Result<Vec<TaskId>, Error> {
    let places = match &query.context {
        Some(context) => of_context(db, scope, context, query, limit)?,
        None => of_scope(db, scope, query, limit)?,
    };
    Ok(places.into_iter().map(|(_, id)| id).collect())
}

/// The first tasks of a scope, in one state or in all.
fn of_scope(
    db: &Connection,
    scope: i64,
    query: &TaskQuery,
    limit: usize,
) -> Result<Vec<Place>, Error> {
    let mut page = db.prepare_cached(
        "SELECT updated, id FROM task INDEXED BY task_list
         WHERE scope = ?1 AND state = ?2 AND updated >= ?3 AND (updated, id) < (?4, ?5)
         ORDER BY updated DESC, id DESC LIMIT ?6",
    )?;
    let (updated, id) = start(query);
    let mut places = Vec::new();
    for (state, _) in tallies(db, scope, query.state)? {
        let found = page.query_map(
            params![scope, state, from(query), updated, id, rows::size(limit)],
            |row| Ok((row.get(0)?, row.get::<_, ReadId<_>>(1)?.0)),
        )?;
        for place in found {
            places.push(place?);
        }
    }
    places.sort_unstable_by(|a, b| by_place(b, a));
    places.truncate(limit);
    Ok(places)
}

fn count_of_scope(db: &Connection, scope: i64, query: &TaskQuery) -> Result<i64, Error> {
    let mut total = 0;
    for (state, tasks) in tallies(db, scope, query.state)? {
        total += match query.updated_from {
            Some(_) => count_from(db, scope, state, from(query))?,
            None => tasks,
        };
    }
    Ok(total)
}

/// The states in which a scope has tasks, and how many.
fn tallies(
    db: &Connection,
    scope: i64,
    state: Option<TaskState>,
) -> Result<Vec<(i64, i64)>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT state, tasks FROM tally
         WHERE scope = ?1 AND (?2 IS NULL OR state = ?2) AND tasks > 0",
    )?;
    let state = state.map(rows::state_number);
    let found = statement.query_map(params![scope, state], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn count_from(db: &Connection, scope: i64, state: i64, from: i64) -> Result<i64, Error> {
    let mut statement = db.prepare_cached(
        "SELECT count(*) FROM task INDEXED BY task_list
         WHERE scope = ?1 AND state = ?2 AND updated >= ?3",
    )?;
    Ok(statement.query_row([scope, state, from], |row| row.get(0))?)
}

/// The first tasks of a conversation.
fn of_context(
    db: &Connection,
    scope: i64,
    context: &ContextId,
    query: &TaskQuery,
    limit: usize,
) -> Result<Vec<Place>, Error> {
    let mut page = db.prepare_cached(
        "SELECT updated, id FROM task WHERE key IN
         (SELECT key FROM task INDEXED BY task_context WHERE context = ?2
          UNION ALL SELECT key FROM task WHERE id = ?3 AND context IS NULL)
         AND scope = ?1 AND updated >= ?4 AND (?5 IS NULL OR state = ?5)
         AND (updated, id) < (?6, ?7)
         ORDER BY updated DESC, id DESC LIMIT ?8",
    )?;
    let context = IdColumn::from(context);
    let state = query.state.map(rows::state_number);
    let (updated, id) = start(query);
    let found = page.query_map(
        params![
            scope,
            context,
            // The task that began it has no context of its own in its row.
            context.twin(),
            from(query),
            state,
            updated,
            id,
            rows::size(limit)
        ],
        |row| Ok((row.get(0)?, row.get::<_, ReadId<_>>(1)?.0)),
    )?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn count_of_context(
    db: &Connection,
    scope: i64,
    context: &ContextId,
    query: &TaskQuery,
) -> Result<i64, Error> {
    let mut statement = db.prepare_cached(
        "SELECT count(*) FROM task WHERE key IN
         (SELECT key FROM task INDEXED BY task_context WHERE context = ?2
          UNION ALL SELECT key FROM task WHERE id = ?3 AND context IS NULL)
         AND scope = ?1 AND updated >= ?4 AND (?5 IS NULL OR state = ?5)",
    )?;
    let context = IdColumn::from(context);
    let state = query.state.map(rows::state_number);
    let params = params![scope, context, context.twin(), from(query), state];
    Ok(statement.query_row(params, |row| row.get(0))?)
}

/// The least time of a status that matches.
fn from(query: &TaskQuery) -> i64 {
    query.updated_from.map_or(i64::MIN, Timestamp::as_micros)
}

/// Where the page begins: before everything, or after the last task of the page before.
fn start(query: &TaskQuery) -> (i64, IdColumn<'_>) {
    match &query.after {
        Some((updated, id)) => (updated.as_micros(), id.into()),
        None => (i64::MAX, IdColumn::Text("")),
    }
}

/// Tasks of all callers, latest status first.
pub(super) fn recent(db: &Connection, query: &RecentQuery) -> Result<Vec<Head>, Error> {
    let places = match &query.context {
        Some(context) => recent_in_context(db, context, query)?,
        None => recent_in_scopes(db, query)?,
    };
    let heads = places.iter().map(|(_, id)| read::head_of(db, id));
    heads.filter_map(Result::transpose).collect()
}

/// Walks the index once for each caller, agent and state that has tasks, and reads no more of it than may be among the
/// latest.
fn recent_in_scopes(db: &Connection, query: &RecentQuery) -> Result<Vec<Place>, Error> {
    let mut scopes = db.prepare_cached(
        "SELECT tally.scope, tally.state FROM tally JOIN scope ON scope.id = tally.scope
         WHERE tally.tasks > 0 AND (?1 IS NULL OR scope.agent = ?1)
           AND (?2 IS NULL OR scope.owner = ?2)",
    )?;
    let mut latest = db.prepare_cached(
        "SELECT updated, id FROM task INDEXED BY task_list
         WHERE scope = ?1 AND state = ?2 AND updated >= ?3 AND (updated, id) < (?4, ?5)
         ORDER BY updated DESC, id DESC LIMIT ?6",
    )?;
    let (updated, id) = recent_start(query);
    let mut from = query.updated_from.map_or(i64::MIN, Timestamp::as_micros);
    let mut places: Vec<Place> = Vec::new();
    let owner = query.owner.as_ref().map(Owner::as_str);
    let scopes = scopes.query_map(params![query.agent.as_deref(), owner], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    })?;
    for scope in scopes {
        let (scope, state) = scope?;
        if !is_wanted(query, state) {
            continue;
        }
        let limit = rows::size(query.limit);
        let found = latest.query_map(params![scope, state, from, updated, id, limit], place)?;
        for place in found {
            places.push(place?);
        }
        places.sort_unstable_by(|a, b| by_place(b, a));
        places.truncate(query.limit);
        // With enough found, only what is newer still counts.
        if let (true, Some((updated, _))) = (places.len() == query.limit, places.last()) {
            from = *updated;
        }
    }
    Ok(places)
}

/// Reads the tasks of one context, which are few.
fn recent_in_context(
    db: &Connection,
    context: &ContextId,
    query: &RecentQuery,
) -> Result<Vec<Place>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT updated, task.id, state FROM task JOIN scope ON scope.id = task.scope
         WHERE key IN
           (SELECT key FROM task INDEXED BY task_context WHERE context = ?1
            UNION ALL SELECT key FROM task WHERE id = ?2 AND context IS NULL)
           AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR owner = ?4)
           AND updated >= ?5 AND (updated, task.id) < (?6, ?7)
         ORDER BY updated DESC, task.id DESC",
    )?;
    let context = IdColumn::from(context);
    let owner = query.owner.as_ref().map(Owner::as_str);
    let from = query.updated_from.map_or(i64::MIN, Timestamp::as_micros);
    let (updated, id) = recent_start(query);
    let mut found = statement.query(params![
        context,
        context.twin(),
        query.agent.as_deref(),
        owner,
        from,
        updated,
        id
    ])?;
    let mut places = Vec::new();
    while places.len() < query.limit
        && let Some(row) = found.next()?
    {
        if is_wanted(query, row.get(2)?) {
            places.push(place(row)?);
        }
    }
    Ok(places)
}

fn is_wanted(query: &RecentQuery, state: i64) -> bool {
    let mut states = query.states.iter().copied();
    query.states.is_empty() || states.any(|wanted| rows::state_number(wanted) == state)
}

/// The place that all tasks of the page come after: the last one of the page before, or the end of the time asked for.
fn recent_start(query: &RecentQuery) -> (i64, IdColumn<'_>) {
    let until = query.updated_until.map(Timestamp::as_micros);
    let end = until.map(|until| until.saturating_add(1));
    match (&query.after, end) {
        (Some((updated, id)), end) if end.is_none_or(|end| updated.as_micros() < end) => {
            (updated.as_micros(), id.into())
        }
        (_, end) => (end.unwrap_or(i64::MAX), IdColumn::Text("")),
    }
}

fn place(row: &Row<'_>) -> rusqlite::Result<Place> {
    Ok((row.get(0)?, row.get::<_, ReadId<_>>(1)?.0))
}

/// Tasks in a state whose status is of `before` or earlier, oldest first.
pub(super) fn expired(
    db: &Connection,
    state: TaskState,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<TaskId>, Error> {
    if !state.is_terminal() {
        return Ok(Vec::new());
    }
    let state = rows::state_number(state);
    let mut scopes = db.prepare_cached(
        "SELECT scope FROM tally INDEXED BY tally_state WHERE state = ?1 AND tasks > 0",
    )?;
    let mut oldest = db.prepare_cached(
        "SELECT updated, id FROM task INDEXED BY task_list
         WHERE scope = ?1 AND state = ?2 AND updated <= ?3
         ORDER BY updated, id LIMIT ?4",
    )?;
    let mut places: Vec<Place> = Vec::new();
    let mut before = before.as_micros();
    let scopes = scopes.query_map([state], |row| row.get::<_, i64>(0))?;
    for scope in scopes {
        let found = oldest.query_map([scope?, state, before, rows::size(limit)], |row| {
            Ok((row.get(0)?, row.get::<_, ReadId<_>>(1)?.0))
        })?;
        for place in found {
            places.push(place?);
        }
        places.sort_unstable_by(by_place);
        places.truncate(limit);
        // With enough found, only what is older still counts.
        if let (true, Some((updated, _))) = (places.len() == limit, places.last()) {
            before = *updated;
        }
    }
    Ok(places.into_iter().map(|(_, id)| id).collect())
}
