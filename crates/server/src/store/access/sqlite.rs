//! Keys and audit in an SQLite database of their own, in the data directory. Several processes may have it open:
//! each writes in short transactions and waits for the others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior, named_params, params};
use serde_json::Value;
use switchboard_types::model::Timestamp;
use tokio::task;

use super::{AccessStore, AuditEntry, AuditQuery, KeyId, KeyRecord, RuleRecord, What};
use crate::store::Error;
use crate::store::files::{make_dir, require_restored, secret_file, sync_names, unusable};

/// The database in the data directory.
const DATABASE: &str = "access.db";

/// How long one process waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The steps to the tables of today, oldest first. One that was released is never changed, only followed.
const STEPS: [&str; 2] = [V1, V2];

const V1: &str = "
CREATE TABLE api_key (
    id        TEXT PRIMARY KEY,
    hash      BLOB NOT NULL UNIQUE, -- SHA-256 of the key
    label     TEXT NOT NULL,
    agents    TEXT,                 -- a JSON list; NULL: all
    scopes    TEXT NOT NULL,        -- a JSON list
    tenant    TEXT,
    subject   TEXT NOT NULL,
    made      INTEGER NOT NULL,     -- microseconds since 1970, as all times here
    made_by   TEXT NOT NULL,
    expires   INTEGER,
    last_used INTEGER,
    revoked   INTEGER
) STRICT, WITHOUT ROWID;

-- Counts the changes, so that a server sees what a command has done beside it.
CREATE TABLE key_change (number INTEGER NOT NULL) STRICT;
INSERT INTO key_change VALUES (0);
CREATE TRIGGER key_made AFTER INSERT ON api_key
    BEGIN UPDATE key_change SET number = number + 1; END;
CREATE TRIGGER key_revoked AFTER UPDATE OF revoked ON api_key
    BEGIN UPDATE key_change SET number = number + 1; END;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    what    TEXT NOT NULL,
    who     TEXT NOT NULL,
    agent   TEXT,
    object  TEXT,
    address TEXT,
    count   INTEGER NOT NULL,
    detail  TEXT NOT NULL           -- a JSON object
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
";

const V2: &str = "
CREATE TABLE rule (
    id    TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    rule  TEXT NOT NULL,            -- a JSON object
    made  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Keeps keys and audit in `access.db`.
#[derive(Debug)]
pub struct SqliteAccess(Arc<Mutex<Connection>>);

impl SqliteAccess {
    /// Its file in the data directory.
    pub(in crate::store) const FILE: &str = DATABASE;
    /// The steps to its tables.
    pub(in crate::store) const STEPS: &[&str] = &STEPS;

    /// Whether there is one in a data directory.
    #[must_use]
    pub fn is_in(dir: &Path) -> bool {
        dir.join(DATABASE).exists()
    }

    /// Opens the database in a data directory, making both and bringing it up to date where needed. Blocks.
    ///
    /// # Errors
    ///
    /// If it cannot be used, or was written by a newer version.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        make_dir(dir).map_err(|e| unusable(dir, &e))?;
        require_restored(dir)?;
        let path = dir.join(DATABASE);
        // SQLite gives the files beside it the same mode.
        secret_file(&path).map_err(|e| unusable(&path, &e))?;
        let mode = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, mode)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        // A key that was taken back stays so, whatever happens to the machine.
        connection.pragma_update(None, "synchronous", "full")?;
        migrate(&mut connection, &path)?;
        // A key that was acknowledged is of no use in a file whose name is lost.
        sync_names(dir).map_err(|e| unusable(dir, &e))?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Opens the database in a data directory only to be read: it is neither made nor brought up to date, and nobody who
    /// writes has to wait. Blocks.
    ///
    /// # Errors
    ///
    /// If it is not there or cannot be read.
    pub fn open_to_read(dir: &Path) -> Result<Self, Error> {
        require_restored(dir)?;
        let path = dir.join(DATABASE);
        let mode = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, mode)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Runs `work` in one transaction, where it may block.
    async fn write<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.with(|connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&change)?;
            change.commit()?;
            Ok(done)
        })
        .await
    }

    /// Runs `work` where it may block.
    async fn with<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    {
        let connection = Arc::clone(&self.0);
        let done = task::spawn_blocking(move || work(&mut connection.lock()));
        done.await
            .map_err(|_| Error::Unavailable("the store has stopped".to_owned()))?
    }
}

#[async_trait]
impl AccessStore for SqliteAccess {
    async fn put_key(&self, key: KeyRecord, noted: AuditEntry) -> Result<(), Error> {
        self.write(move |change| {
            change.execute(
                "INSERT INTO api_key VALUES (:id, :hash, :label, :agents, :scopes, :tenant, :subject, :made,
                 :made_by, :expires, :last_used, :revoked)",
                named_params! {
                    ":id": key.id.as_str(),
                    ":hash": key.hash,
                    ":label": key.label,
                    ":agents": key.agents.map(|agents| Value::from(agents).to_string()),
                    ":scopes": Value::from(key.scopes).to_string(),
                    ":tenant": key.tenant,
                    ":subject": key.subject,
                    ":made": key.made.as_micros(),
                    ":made_by": key.made_by,
                    ":expires": key.expires.map(Timestamp::as_micros),
                    ":last_used": key.last_used.map(Timestamp::as_micros),
                    ":revoked": key.revoked.map(Timestamp::as_micros),
                },
            )?;
            write_note(change, &noted)
        })
        .await
    }

    async fn revoke_key(&self, id: &KeyId, noted: AuditEntry) -> Result<bool, Error> {
        let id = id.clone();
        self.write(move |change| {
            let revoked = change.execute(
                "UPDATE api_key SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
                params![id.as_str(), noted.at.as_micros()],
            )?;
            if revoked > 0 {
                write_note(change, &noted)?;
            }
            Ok(revoked > 0)
        })
        .await
    }

    async fn keys(&self) -> Result<Vec<KeyRecord>, Error> {
        self.with(|connection| {
            let mut all = connection.prepare_cached("SELECT * FROM api_key ORDER BY made, id")?;
            let mut rows = all.query([])?;
            let mut keys = Vec::new();
            while let Some(row) = rows.next()? {
                keys.push(read_key(row)?);
            }
            Ok(keys)
        })
        .await
    }

    async fn used(&self, used: Vec<(KeyId, Timestamp)>) -> Result<(), Error> {
        self.write(move |change| {
            let mut keep = change.prepare_cached(
                "UPDATE api_key SET last_used = ?2 WHERE id = ?1 AND (last_used IS NULL OR last_used < ?2)",
            )?;
            for (id, at) in used {
                keep.execute(params![id.as_str(), at.as_micros()])?;
            }
            Ok(())
        })
        .await
    }

    async fn revision(&self) -> Result<u64, Error> {
        self.with(|connection| {
            let mut number = connection.prepare_cached("SELECT number FROM key_change")?;
            let number: i64 = number.query_row([], |row| row.get(0))?;
            Ok(number.unsigned_abs())
        })
        .await
    }

    async fn rules(&self) -> Result<Vec<RuleRecord>, Error> {
        self.with(|connection| {
            let sql = "SELECT id, agent, rule, made FROM rule ORDER BY made, id";
            let mut all = connection.prepare_cached(sql)?;
            let mut rows = all.query([])?;
            let mut rules = Vec::new();
            while let Some(row) = rows.next()? {
                let rule: String = row.get("rule")?;
                rules.push(RuleRecord {
                    id: row.get("id")?,
                    agent: row.get("agent")?,
                    rule: serde_json::from_str(&rule)
                        .map_err(|e| Error::Damaged(format!("a rule: {e}")))?,
                    made: Timestamp::from_micros(row.get("made")?),
                });
            }
            Ok(rules)
        })
        .await
    }

    async fn put_rule(&self, rule: RuleRecord, noted: AuditEntry) -> Result<(), Error> {
        self.write(move |change| {
            change.execute(
                "INSERT OR REPLACE INTO rule (id, agent, rule, made) VALUES (?1, ?2, ?3, ?4)",
                params![
                    rule.id,
                    rule.agent,
                    rule.rule.to_string(),
                    rule.made.as_micros()
                ],
            )?;
            write_note(change, &noted)
        })
        .await
    }

    async fn delete_rule(&self, id: &str, noted: AuditEntry) -> Result<bool, Error> {
        let id = id.to_owned();
        self.write(move |change| {
            let deleted = change.execute("DELETE FROM rule WHERE id = ?1", params![id])?;
            if deleted > 0 {
                write_note(change, &noted)?;
            }
            Ok(deleted > 0)
        })
        .await
    }

    async fn note(&self, entries: Vec<AuditEntry>) -> Result<(), Error> {
        self.write(move |change| entries.iter().try_for_each(|e| write_note(change, e)))
            .await
    }

    async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, Error> {
        self.with(move |connection| {
            let mut wanted = connection.prepare_cached(
                "SELECT at, what, who, agent, object, address, count, detail FROM audit
                 WHERE at >= ?1 AND (?2 IS NULL OR what = ?2) AND (?3 IS NULL OR who = ?3)
                 ORDER BY id DESC LIMIT ?4",
            )?;
            let mut rows = wanted.query(params![
                query.since.map_or(i64::MIN, Timestamp::as_micros),
                query.what.map(What::name),
                query.who,
                i64::try_from(query.limit).unwrap_or(i64::MAX),
            ])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                entries.push(read_note(row)?);
            }
            Ok(entries)
        })
        .await
    }
}

fn write_note(change: &Connection, entry: &AuditEntry) -> Result<(), Error> {
    let mut insert = change.prepare_cached(
        "INSERT INTO audit (at, what, who, agent, object, address, count, detail)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    insert.execute(params![
        entry.at.as_micros(),
        entry.what.name(),
        entry.who,
        entry.agent,
        entry.object,
        entry.address,
        entry.count,
        Value::Object(entry.detail.clone()).to_string(),
    ])?;
    Ok(())
}

fn read_key(row: &Row<'_>) -> Result<KeyRecord, Error> {
    let moment = |name: &str| -> Result<Option<Timestamp>, Error> {
        let micros: Option<i64> = row.get(name)?;
        Ok(micros.map(Timestamp::from_micros))
    };
    let list = |text: String| -> Result<Vec<String>, Error> {
        serde_json::from_str(&text).map_err(|e| Error::Damaged(format!("a list of a key: {e}")))
    };
    let agents: Option<String> = row.get("agents")?;
    Ok(KeyRecord {
        id: KeyId::new(row.get::<_, String>("id")?),
        hash: row.get("hash")?,
        label: row.get("label")?,
        agents: agents.map(list).transpose()?,
        scopes: list(row.get("scopes")?)?,
        tenant: row.get("tenant")?,
        subject: row.get("subject")?,
        made: Timestamp::from_micros(row.get("made")?),
        made_by: row.get("made_by")?,
        expires: moment("expires")?,
        last_used: moment("last_used")?,
        revoked: moment("revoked")?,
    })
}

fn read_note(row: &Row<'_>) -> Result<AuditEntry, Error> {
    let damaged = |what: &str| Error::Damaged(format!("a line of the audit: {what}"));
    let what: String = row.get("what")?;
    let detail: String = row.get("detail")?;
    Ok(AuditEntry {
        at: Timestamp::from_micros(row.get("at")?),
        what: What::from_name(&what).ok_or_else(|| damaged(&what))?,
        who: row.get("who")?,
        agent: row.get("agent")?,
        object: row.get("object")?,
        address: row.get("address")?,
        count: row.get("count")?,
        detail: serde_json::from_str(&detail).map_err(|e| damaged(&e.to_string()))?,
    })
}

/// Takes the steps that are missing. In one transaction: of two processes that open a new database, one waits.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version as usize == STEPS.len() {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken: u32 = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let Some(missing) = STEPS.get(taken as usize..) else {
        return Err(Error::Unavailable(format!(
            "{} was written by a newer version of switchboard: use that one, or another data directory",
            path.display()
        )));
    };
    for (step, number) in missing.iter().zip(taken + 1..) {
        change.execute_batch(step)?;
        change.pragma_update(None, "user_version", number)?;
    }
    change.commit()?;
    Ok(())
}
