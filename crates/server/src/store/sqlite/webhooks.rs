//! Webhooks, how far their delivery has come, and the deliveries that were given up.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use switchboard_types::model::{PushConfigId, TaskId, Timestamp};
use switchboard_types::{Dialect, wire};

use super::commit::Commit;
use super::record::{DeliveryRecord, LetterRecord, WebhookRecord};
use super::rows::{self, FORMAT, IdColumn, LAST_LIVE_STATE, ReadId, number};
use crate::store::Error;
use crate::task::{DeadLetter, Delivery, Owner, Webhook};

impl Commit<'_> {
    /// Makes a webhook, or replaces the one of the same id in its place.
    pub(super) fn put_webhook(&mut self, webhook: &WebhookRecord<'_>) -> Result<(), Error> {
        self.db
            .prepare_cached(
                "INSERT INTO webhook (task, id, made, settled, format, config, dialect,
                                      delivered, attempts)
                 VALUES (?1, ?2, (SELECT coalesce(max(made), 0) + 1 FROM webhook WHERE task = ?1),
                         0, ?3, ?4, ?5, 0, 0)
                 ON CONFLICT DO UPDATE SET format = ?3, config = ?4, dialect = ?5",
            )?
            .execute(params![
                IdColumn::from(webhook.task),
                webhook.id,
                FORMAT,
                webhook.config.as_bytes(),
                webhook.dialect,
            ])?;
        self.delivery(webhook.task, webhook.id, &webhook.delivery)
    }

    /// Removes a webhook.
    pub(super) fn delete_webhook(&mut self, task: &str, id: &str) -> Result<(), Error> {
        self.db
            .prepare_cached("DELETE FROM webhook WHERE task = ?1 AND id = ?2")?
            .execute(params![IdColumn::from(task), id])?;
        Ok(())
    }

    /// Notes how far a webhook has come.
    pub(super) fn delivery(
        &mut self,
        task: &str,
        id: &str,
        delivery: &DeliveryRecord<'_>,
    ) -> Result<(), Error> {
        self.db
            .prepare_cached(
                "UPDATE webhook SET delivered = ?3, attempts = ?4, failing_since = ?5, retry_at = ?6,
                 last_error = ?7, settled = coalesce(
                     (SELECT ?3 >= task.seq AND task.state > ?8 FROM task WHERE task.id = ?1), 0)
                 WHERE task = ?1 AND id = ?2",
            )?
            .execute(params![
                IdColumn::from(task),
                id,
                number(delivery.delivered),
                delivery.attempts,
                delivery.failing_since,
                delivery.retry_at,
                delivery.last_error,
                LAST_LIVE_STATE,
            ])?;
        Ok(())
    }

    /// Keeps a delivery that was given up.
    pub(super) fn dead_letter(&mut self, letter: &LetterRecord<'_>) -> Result<(), Error> {
        self.db
            .prepare_cached(
                "INSERT INTO dead_letter (task, webhook, seq, url, body, attempts, error, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                IdColumn::from(letter.task),
                letter.webhook,
                number(letter.seq),
                letter.url,
                letter.body,
                letter.attempts,
                letter.error,
                letter.at,
            ])?;
        Ok(())
    }
}

/// The webhooks of a task.
pub(super) fn of(db: &Connection, task: &TaskId) -> Result<Vec<Webhook>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT task, id, config, dialect, delivered, attempts, failing_since, retry_at, last_error,
                format, (SELECT owner FROM scope JOIN task ON scope.id = task.scope WHERE task.id = ?1)
         FROM webhook WHERE task = ?1 ORDER BY made",
    )?;
    let mut found = statement.query([IdColumn::from(task)])?;
    let mut webhooks = Vec::new();
    while let Some(row) = found.next()? {
        webhooks.push(webhook(row)?);
    }
    Ok(webhooks)
}

/// The webhooks that have events left to deliver.
pub(super) fn undelivered(
    db: &Connection,
    after: Option<&(TaskId, PushConfigId)>,
    limit: usize,
) -> Result<Vec<Webhook>, Error> {
    // `settled = 0` makes this a walk over the few that may have something left.
    let mut statement = db.prepare_cached(
        "SELECT webhook.task, webhook.id, config, dialect, delivered, attempts, failing_since, retry_at,
                last_error, webhook.format, (SELECT owner FROM scope WHERE id = task.scope)
         FROM webhook INDEXED BY webhook_open CROSS JOIN task ON task.id = webhook.task
         WHERE settled = 0 AND delivered < task.seq AND (webhook.task, webhook.id) > (?1, ?2)
         ORDER BY webhook.task, webhook.id LIMIT ?3",
    )?;
    // No id is empty, and text comes before bytes: this is before all of them.
    let start = after.map_or((IdColumn::Text(""), ""), |(task, id)| {
        (task.into(), id.as_str())
    });
    let mut found = statement.query(params![start.0, start.1, rows::size(limit)])?;
    let mut webhooks = Vec::new();
    while let Some(row) = found.next()? {
        webhooks.push(webhook(row)?);
    }
    Ok(webhooks)
}

/// How many bytes of what could not be delivered a list holds; what is older comes without.
const MAX_LETTER_BYTES: usize = 16 << 20;

/// The deliveries that were given up, newest first.
pub(super) fn dead_letters(db: &Connection, limit: usize) -> Result<Vec<DeadLetter>, Error> {
    let mut statement = db.prepare_cached(
        "SELECT task, webhook, seq, url, body, attempts, error, at
         FROM dead_letter ORDER BY id DESC LIMIT ?1",
    )?;
    let mut found = statement.query([rows::size(limit)])?;
    let mut letters = Vec::new();
    let mut left = MAX_LETTER_BYTES;
    while let Some(row) = found.next()? {
        let body = row.get_ref(4)?.as_str().map_err(rows::damaged)?;
        let shown = &body[..body.floor_char_boundary(left)];
        left -= shown.len();
        letters.push(DeadLetter {
            task: row.get::<_, ReadId<_>>(0)?.0,
            webhook: row.get::<_, ReadId<_>>(1)?.0,
            seq: rows::unsigned(row.get(2)?)?,
            url: row.get(3)?,
            body: shown.to_owned(),
            attempts: row.get(5)?,
            error: row.get(6)?,
            at: Timestamp::from_micros(row.get(7)?),
        });
    }
    Ok(letters)
}

fn webhook(row: &Row<'_>) -> Result<Webhook, Error> {
    rows::check_format(row.get(9)?)?;
    let config = rows::text(row, 2)?;
    let tag: String = row.get(3)?;
    let dialect = Dialect::from_tag(&tag)
        .ok_or_else(|| Error::Damaged(format!("no dialect has the name {tag:?}")))?;
    // A webhook goes with its task: one without an owner is about to.
    let owner: Option<Arc<str>> = row.get(10)?;
    Ok(Webhook {
        task: row.get::<_, ReadId<_>>(0)?.0,
        id: row.get::<_, ReadId<_>>(1)?.0,
        owner: Owner::new(owner.unwrap_or_default()),
        config: wire::decode_push_config(Dialect::V1, config).map_err(rows::damaged)?,
        dialect,
        delivery: Delivery {
            delivered: rows::unsigned(row.get(4)?)?,
            attempts: row.get(5)?,
            failing_since: row.get::<_, Option<i64>>(6)?.map(Timestamp::from_micros),
            retry_at: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
            last_error: row.get(8)?,
        },
    })
}
