//! What a webhook is told, in the dialect its client speaks.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_types::model::{Event, Task, TaskId, TaskState};
use switchboard_types::wire::Rendering;
use switchboard_types::{Dialect, Notified, wire};

use crate::log::Log;
use crate::store::Error;
use crate::task::{Entry, LARGE, StoredTask, lifecycle};

/// How many events are read at once to find out how a task stood.
const PAGE: usize = 256;

/// One notification.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) seq: u64,
    pub(super) content_type: &'static str,
    pub(super) version: &'static str,
    pub(super) body: NoticeBody,
}

/// What a notification says.
#[derive(Debug)]
pub(super) enum NoticeBody {
    /// As it is sent.
    Whole(Bytes),
    /// A large event, rendered as it is sent.
    Event(Dialect, Event, bool),
    /// A large task, rendered as it is sent.
    Task(Dialect, Arc<Task>),
}

/// The bytes of a body, as they are sent.
pub(super) enum Pieces {
    /// All at once.
    Whole(Option<Bytes>),
    /// One by one.
    Rendering(Rendering),
}

impl NoticeBody {
    /// Its bytes, from the first on.
    pub(super) fn pieces(&self) -> Pieces {
        match self {
            Self::Whole(bytes) => Pieces::Whole(Some(bytes.clone())),
            Self::Event(dialect, event, last) => {
                Pieces::Rendering(Rendering::event(*dialect, event.clone(), *last))
            }
            Self::Task(dialect, task) => {
                Pieces::Rendering(Rendering::task(*dialect, Arc::clone(task)))
            }
        }
    }

    /// Its beginning as text, of about so many bytes.
    pub(super) fn beginning(&self, max: usize) -> String {
        let mut text = Vec::new();
        for piece in self.pieces() {
            text.extend_from_slice(&piece);
            if text.len() > max {
                text.truncate(max);
                break;
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        match self {
            Self::Whole(bytes) => bytes.take(),
            Self::Rendering(rendering) => rendering.next_piece().map(Bytes::from),
        }
    }
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
        Notified::Events if entry.is_large() => {
            NoticeBody::Event(dialect, entry.event.clone(), entry.ends_the_task())
        }
        Notified::Events => NoticeBody::Whole(entry.json(dialect, entry.ends_the_task())),
        Notified::Task => {
            if !concerns_the_client(&entry.event) {
                return Ok(None);
            }
            let Some(task) = task_as_of(log, task, entry).await? else {
                return Ok(None);
            };
            if task.weight() > LARGE {
                NoticeBody::Task(dialect, task)
            } else {
                let mut body = Vec::new();
                wire::encode_task(dialect, &task, &mut body);
                NoticeBody::Whole(Bytes::from(body))
            }
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
    let Some((head, latest)) = log.read_internal(id).await? else {
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
    drop(latest);
    stored.entries.retain(|earlier| earlier.seq <= entry.seq);
    let task = Arc::new(lifecycle::fold(stored)?);
    // Nobody shares a task as it once stood.
    log.count_load(&task);
    Ok(Some(task))
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
