//! What a webhook is told, in the dialect its client speaks.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_types::model::{Event, Task, TaskId, TaskState};
use switchboard_types::{Dialect, Notified, wire};

use crate::engine::lifecycle;
use crate::log::{Entry, Log};
use crate::store::{Error, StoredTask};

/// How many events are read at once to find out how a task stood.
const PAGE: usize = 256;

/// One notification.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) seq: u64,
    pub(super) content_type: &'static str,
    pub(super) version: &'static str,
    pub(super) body: Bytes,
}

/// The notification of one event; `None` if webhooks of this dialect do not hear of it.
pub(super) async fn notice(
    log: &Log,
    dialect: Dialect,
    task: &TaskId,
    entry: &Entry,
) -> Result<Option<Notice>, Error> {
    let dialect = dialect.of_webhooks();
    let body = match dialect.notified() {
        Notified::Events => entry.json(dialect, entry.ends_the_task()),
        Notified::Task => {
            if !concerns_the_client(&entry.event) {
                return Ok(None);
            }
            let Some(task) = task_as_of(log, task, entry).await? else {
                return Ok(None);
            };
            let mut body = Vec::new();
            wire::encode_task(dialect, &task, &mut body);
            Bytes::from(body)
        }
    };
    Ok(Some(Notice {
        seq: entry.seq,
        content_type: wire::rest::media_type(dialect),
        version: dialect.version().name(),
        body,
    }))
}

fn concerns_the_client(event: &Event) -> bool {
    let concerns = |state: TaskState| state.is_terminal() || state.is_interrupted();
    match event {
        Event::Status(update) => concerns(update.status.state),
        Event::Task(task) => concerns(task.status.state),
        Event::Message(_) | Event::Artifact(_) => false,
    }
}

/// The task as it stood after `entry`. If the events up to it are gone, the task as it stands.
async fn task_as_of(log: &Log, id: &TaskId, entry: &Entry) -> Result<Option<Arc<Task>>, Error> {
    if let Event::Task(task) = &entry.event {
        return Ok(Some(Arc::clone(task)));
    }
    let Some((head, latest)) = log.read(id).await? else {
        return Ok(None);
    };
    if head.seq == entry.seq {
        return Ok(Some(latest));
    }
    let Some(mut stored) = log.store().task(id).await? else {
        return Ok(None);
    };
    let too_late = |stored: &StoredTask| {
        let snapshot = stored.snapshot.as_ref();
        snapshot.is_some_and(|snapshot| snapshot.seq > entry.seq)
    };
    if too_late(&stored) {
        stored.snapshot = None;
        stored.entries = from_the_start(log, id, entry.seq).await?;
        if stored.entries.first().is_none_or(|first| first.seq != 1) {
            return Ok(Some(latest));
        }
    }
    stored.entries.retain(|earlier| earlier.seq <= entry.seq);
    lifecycle::fold(stored).map(|task| Some(Arc::new(task)))
}

async fn from_the_start(log: &Log, id: &TaskId, up_to: u64) -> Result<Vec<Arc<Entry>>, Error> {
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |last| last.seq);
        if after >= up_to {
            return Ok(entries);
        }
        let page = log.store().events(id, after, PAGE).await?;
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page);
    }
}
