//! The tables, as an ordered list of steps. `PRAGMA user_version` counts the steps a database has taken;
//! a step that was released is never changed, only followed by another. The last step also converts rows, in
//! `migrate_v5`.
//!
//! A task that is made and over within one commit is one row and two entries of an index, all at the right
//! edge of their trees: a commit of many such tasks writes few pages.

use rusqlite::{Connection, TransactionBehavior};

use crate::store::Error;

/// How many events a task can have: `event.place` is the task's key times this, plus a number of an event.
pub(super) const PLACES: i64 = 1 << 24;

/// The steps, oldest first.
pub(super) const STEPS: [&str; 5] = [V1, V2, V3, V4, V5];

const V1: &str = "
-- Whose tasks at which agent: a short number for a pair that many tasks share.
CREATE TABLE scope (
    id    INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (agent, owner)
) STRICT;

-- Where each task stands, and how it began. UUIDs are kept as 16 bytes, other ids as text.
CREATE TABLE task (
    key     INTEGER PRIMARY KEY, -- names the task in event and snapshot
    id      ANY NOT NULL UNIQUE,
    scope   INTEGER NOT NULL,
    context ANY,                -- NULL: the id with its last bit flipped
    state   INTEGER NOT NULL,   -- 1 submitted 2 working 3 input-required 4 auth-required
                                -- 5 completed 6 failed 7 canceled 8 rejected 9 unknown
    updated INTEGER NOT NULL,   -- microseconds since 1970
    seq     INTEGER NOT NULL,   -- the last event
    folded  INTEGER NOT NULL,   -- the event of the snapshot, 0 if there is none
    chunks  INTEGER NOT NULL,   -- rows in event
    bytes   INTEGER NOT NULL,   -- size of these rows
    opened  INTEGER NOT NULL,   -- the last event in opening, 0 if there is none
    format  INTEGER NOT NULL,   -- of opening, as in event
    opening BLOB                -- the events of the first commit, if they are small
) STRICT;
CREATE INDEX task_list ON task (scope, state, updated, id);
-- Nothing that changes: a task that goes on leaves it as it is.
CREATE INDEX task_context ON task (context) WHERE context IS NOT NULL;
CREATE INDEX task_live ON task (id) WHERE state <= 4;
CREATE INDEX task_heavy ON task (updated) WHERE state >= 5 AND (chunks > 4 OR bytes > 16384);

-- The events of a task that were committed together, but those in task.opening.
CREATE TABLE event (
    place  INTEGER PRIMARY KEY, -- task.key * 2^24 + the first event
    last   INTEGER NOT NULL,    -- the last event
    format INTEGER NOT NULL,    -- 1: a line of A2A 1.0 JSON per event, without the ids of its task; each
    data   BLOB NOT NULL        --    after `<` and the message that caused it, if one did
) STRICT;

-- A task as it stood after one event.
CREATE TABLE snapshot (
    key    INTEGER PRIMARY KEY, -- task.key
    seq    INTEGER NOT NULL,
    format INTEGER NOT NULL,    -- 1: A2A 1.0 JSON
    data   BLOB NOT NULL
) STRICT;

CREATE TABLE webhook (
    task          ANY NOT NULL,
    id            TEXT NOT NULL,
    made          INTEGER NOT NULL, -- counts the webhooks of a task
    settled       INTEGER NOT NULL, -- 1: the task is over and all of it is delivered
    format        INTEGER NOT NULL, -- 1: A2A 1.0 JSON
    config        BLOB NOT NULL,
    dialect       TEXT NOT NULL,
    delivered     INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    failing_since INTEGER,
    retry_at      INTEGER,
    last_error    TEXT,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_open ON webhook (task, id) WHERE settled = 0;

CREATE TABLE dead_letter (
    id       INTEGER PRIMARY KEY,
    task     ANY NOT NULL,
    webhook  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    url      TEXT NOT NULL,
    body     TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error    TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
CREATE INDEX dead_letter_task ON dead_letter (task);

-- What was answered under an idempotency key: a task, or a message.
CREATE TABLE answer (
    scope       INTEGER NOT NULL,
    key         TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    task        ANY,
    format      INTEGER NOT NULL, -- 1: A2A 1.0 JSON
    message     BLOB,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_at ON answer (at);
CREATE INDEX answer_task ON answer (task) WHERE task IS NOT NULL;

-- How many tasks of a scope are in a state: totals without counting.
CREATE TABLE tally (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;
CREATE INDEX tally_state ON tally (state, scope) WHERE tasks > 0;
";

const V2: &str = "
-- One row: what the database knows of its journal.
CREATE TABLE journal (
    database INTEGER NOT NULL, -- tells the journal of this database from others
    settled  INTEGER NOT NULL  -- the last commit of it that is in the tables
) STRICT;
INSERT INTO journal VALUES (random(), 0);
";

const V3: &str = "
-- What agents keep about their tasks.
CREATE TABLE note (
    task  ANY NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL, -- JSON
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
";

const V4: &str = "
-- Tasks that are over, of which what stands behind their agents does not know it yet.
CREATE INDEX note_untold ON note (task) WHERE name = 'switchboard/untold';
";

/// Since this step, lines of `event.data` and `task.opening` also hold the time of events that state none: see `rows`.
const V5: &str = "
-- Turns of tasks. The first turn of a task is not here if the task implies it: message 1, working at 2.
CREATE TABLE turn (
    task       INTEGER NOT NULL, -- task.key
    number     INTEGER NOT NULL, -- 1, 2, 3 …
    message_at INTEGER,          -- the event with its message
    begins_at  INTEGER NOT NULL, -- the event that it begins with
    answers    INTEGER,          -- the event with the question that it answers
    decision   TEXT,             -- JSON
    trace      TEXT,             -- JSON
    queued     INTEGER NOT NULL, -- 1: it waits for capacity
    secret     TEXT,             -- the sealed message
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

-- What turns record. Rows can be large, so they have a rowid.
CREATE TABLE step (
    place INTEGER PRIMARY KEY, -- task.key * 2^24 + the number of the step
    task  INTEGER NOT NULL,    -- task.key
    turn  INTEGER NOT NULL,
    at    INTEGER NOT NULL,    -- microseconds since 1970
    name  TEXT NOT NULL,
    value TEXT NOT NULL        -- JSON
) STRICT;
-- And by place, as every index.
CREATE INDEX step_name ON step (task, name);

-- Tasks that ended, and whose upstream must still be released.
CREATE TABLE pending_release (
    task     ANY NOT NULL PRIMARY KEY,
    question TEXT                      -- JSON
) STRICT, WITHOUT ROWID;

-- Once they are converted:
DROP TABLE note;
";

/// Divides the last step: notes are converted in between.
const CONVERTED: &str = "-- Once they are converted:";

/// Whether the fifth step is missing, the last one. It is taken with what an earlier version has left in the journal:
/// see [`Database::upgrade`](super::database::Database::upgrade).
pub(super) fn is_outdated(connection: &Connection) -> Result<bool, Error> {
    Ok(version(connection)? < STEPS.len())
}

/// Makes the tables of the last step, and of those before it that are missing. The notes of earlier versions are there
/// still.
pub(super) fn begin_last_step(connection: &Connection) -> Result<(), Error> {
    let before = STEPS.len() - 1;
    for step in STEPS.get(version(connection)?..before).unwrap_or_default() {
        connection.execute_batch(step)?;
    }
    let tables = V5.split(CONVERTED).next().unwrap_or_default();
    Ok(connection.execute_batch(tables)?)
}

/// Ends it, once the notes are converted.
pub(super) fn end_last_step(connection: &Connection) -> Result<(), Error> {
    let rest = V5.split(CONVERTED).nth(1).unwrap_or_default();
    connection.execute_batch(rest)?;
    connection.pragma_update(None, "user_version", super::rows::size(STEPS.len()))?;
    Ok(())
}

/// How many steps a database has taken.
fn version(connection: &Connection) -> Result<usize, Error> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

/// Takes the steps that are missing, but for the last one.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let version = version(connection)?;
    let last = STEPS.len() - 1;
    let Some(missing) = STEPS.get(version..) else {
        let known = STEPS.len();
        return Err(Error::Unavailable(format!(
            "the database has format {version}, this version of switchboard knows {known} at most: \
             use the newer version that wrote it, or another data directory"
        )));
    };
    let Some((_, missing)) = missing
        .split_last()
        .filter(|(_, missing)| !missing.is_empty())
    else {
        return Ok(());
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", super::rows::size(last))?;
    transaction.commit()?;
    Ok(())
}
