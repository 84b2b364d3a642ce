//! How model values stand in columns. Rows hold the 1.0 JSON form beside a format number, so that later
//! versions can read what earlier ones wrote.

use std::sync::Arc;

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use switchboard_types::Dialect;
use switchboard_types::model::{ContextId, Event, Id, Message, TaskId, TaskState, Timestamp};
use switchboard_types::wire;
use uuid::Uuid;

use crate::store::{Error, MAX_EVENT_PAGE};
use crate::task::{Entry, Head};

/// The format of `event.data`, `snapshot.data` and other JSON columns: lines of A2A 1.0 JSON.
pub(super) const FORMAT: i64 = 1;

/// Begins a line that holds the message an event was caused by; event lines begin with `{`.
const RECEIVED: u8 = b'<';

/// Begins the line of an event that states no time itself: the time follows, in microseconds since 1970, then the event.
/// Versions before format 5 of the database wrote none.
const TIME: u8 = b'@';

/// States up to this one are not over.
pub(super) const LAST_LIVE_STATE: i64 = 4;

/// An id as it is stored: 16 bytes if it is a UUID as we write them, else its text. Ordered as SQLite does,
/// which for ids of one kind is the order of their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IdColumn<'a> {
    Text(&'a str),
    Uuid([u8; 16]),
}

impl<'a, K> From<&'a Id<K>> for IdColumn<'a> {
    fn from(id: &'a Id<K>) -> Self {
        Self::from(id.as_str())
    }
}

impl<'a> From<&'a str> for IdColumn<'a> {
    fn from(text: &'a str) -> Self {
        // Only the canonical spelling, so that the text read back is the text given.
        let canonical = text.len() == 36 && !text.bytes().any(|b| b.is_ascii_uppercase());
        match Uuid::try_parse(text) {
            Ok(uuid) if canonical => Self::Uuid(uuid.into_bytes()),
            _ => Self::Text(text),
        }
    }
}

impl<'a> IdColumn<'a> {
    /// A column of an id.
    pub(super) fn read(value: ValueRef<'a>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Blob(bytes) => bytes
                .try_into()
                .map(Self::Uuid)
                .map_err(FromSqlError::other),
            other => other.as_str().map(Self::Text),
        }
    }

    /// As the id it is.
    pub(super) fn id<K>(self) -> FromSqlResult<Id<K>> {
        let mut text = Uuid::encode_buffer();
        let text: &str = match self {
            Self::Uuid(bytes) => Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut text),
            Self::Text(text) => text,
        };
        Id::new(text).map_err(FromSqlError::other)
    }

    /// The id that differs from this one in the last bit; of texts we know none.
    pub(super) fn twin(self) -> Option<Self> {
        match self {
            Self::Text(_) => None,
            Self::Uuid(bytes) => {
                let twin = u128::from_be_bytes(bytes) ^ 1;
                Some(Self::Uuid(twin.to_be_bytes()))
            }
        }
    }
}

impl ToSql for IdColumn<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Uuid(bytes) => ValueRef::Blob(bytes),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// An id as it is read back.
#[derive(Debug)]
pub(super) struct ReadId<K>(pub(super) Id<K>);

impl<K> FromSql for ReadId<K> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        IdColumn::read(value)?.id().map(Self)
    }
}

/// The number of a state. Live ones come first; numbers never change their meaning.
pub(super) fn state_number(state: TaskState) -> i64 {
    match state {
        TaskState::Submitted => 1,
        TaskState::Working => 2,
        TaskState::InputRequired => 3,
        TaskState::AuthRequired => 4,
        TaskState::Completed => 5,
        TaskState::Failed => 6,
        TaskState::Canceled => 7,
        TaskState::Rejected => 8,
        TaskState::Unknown => 9,
    }
}

/// The state of a number.
pub(super) fn state_of(number: i64) -> Result<TaskState, Error> {
    TaskState::ALL
        .into_iter()
        .find(|state| state_number(*state) == number)
        .ok_or_else(|| Error::Damaged(format!("no task state has the number {number}")))
}

/// Writes entries as lines into `data`, each event after the message that caused it, if one did.
pub(super) fn write_entries(head: &Head, entries: &[Arc<Entry>], data: &mut Vec<u8>) {
    for entry in entries {
        if let Some(message) = &entry.received {
            data.push(RECEIVED);
            wire::encode_message(Dialect::V1, message, data);
            data.push(b'\n');
        }
        if Entry::stated_time(&entry.event) != Some(entry.at) {
            data.push(TIME);
            data.extend_from_slice(entry.at.as_micros().to_string().as_bytes());
        }
        wire::encode_stored(&entry.event, &head.id, &head.context, data);
        data.push(b'\n');
    }
}

/// Cuts lines of events into pieces of about a page each, every one with how many events it holds: a reader of some of
/// them does not read all of a large commit.
pub(super) fn pieces(data: &[u8]) -> Vec<(u64, &[u8])> {
    let mut pieces = Vec::new();
    let (mut start, mut end, mut events) = (0, 0, 0);
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if line.first() == Some(&RECEIVED) {
            continue;
        }
        events += 1;
        if end - start >= MAX_EVENT_PAGE {
            pieces.push((events, &data[start..end]));
            (start, events) = (end, 0);
        }
    }
    if start < end {
        pieces.push((events, &data[start..end]));
    }
    pieces
}

/// Events that are read until there are enough of them.
#[derive(Debug)]
pub(super) struct Entries {
    limit: usize,
    max_weight: usize,
    weight: usize,
    entries: Vec<Entry>,
    /// How many of the first ones were written without a time, and before any that has one.
    untimed: usize,
}

impl Entries {
    /// However many there are.
    pub(super) fn all() -> Self {
        Self::up_to(usize::MAX, usize::MAX)
    }

    /// So many, or as many as a page may weigh.
    pub(super) fn page(limit: usize) -> Self {
        Self::up_to(limit, MAX_EVENT_PAGE)
    }

    fn up_to(limit: usize, max_weight: usize) -> Self {
        Self {
            limit,
            max_weight,
            weight: 0,
            entries: Vec::new(),
            untimed: 0,
        }
    }

    pub(super) fn are_enough(&self) -> bool {
        self.entries.len() >= self.limit || self.weight >= self.max_weight
    }

    /// Adds an event; without a time, it has that of the event before it.
    fn push(
        &mut self,
        seq: u64,
        at: Option<Timestamp>,
        event: Event,
        received: Option<Arc<Message>>,
    ) {
        let at = at.unwrap_or_else(|| {
            let before = self.entries.last().map(|entry| entry.at);
            if self.untimed == self.entries.len() {
                self.untimed += 1;
            }
            before.unwrap_or(Timestamp::from_micros(0))
        });
        let entry = Entry::new(seq, at, event, received);
        self.weight += entry.weight();
        self.entries.push(entry);
    }

    /// The first event, if it has no time, nor has one before it.
    pub(super) fn first_untimed(&self) -> Option<u64> {
        let first = self.entries.first().filter(|_| self.untimed > 0);
        first.map(|entry| entry.seq)
    }

    /// Gives the first ones that time, if they have none.
    pub(super) fn set_time(&mut self, at: Timestamp) {
        for entry in self.entries.iter_mut().take(self.untimed) {
            entry.at = at;
        }
        self.untimed = 0;
    }

    /// The time of the last event that states one, up to `last`.
    pub(super) fn last_stated_time(&self, last: u64) -> Option<Timestamp> {
        let entries = self.entries.iter().filter(|entry| entry.seq <= last);
        entries
            .rev()
            .find_map(|entry| Entry::stated_time(&entry.event))
    }

    pub(super) fn into_inner(self) -> Vec<Arc<Entry>> {
        self.entries.into_iter().map(Arc::new).collect()
    }
}

/// Reads lines whose first event is `first`, and adds those after `after` to `entries` until they are enough. Returns
/// the number after the last one that was read.
pub(super) fn read_entries(
    (task, context): (&TaskId, &ContextId),
    data: &[u8],
    first: u64,
    after: u64,
    entries: &mut Entries,
) -> Result<u64, Error> {
    let text = str::from_utf8(data).map_err(damaged)?;
    let mut seq = first;
    let mut received = None;
    for line in text.split_terminator('\n') {
        if entries.are_enough() {
            break;
        }
        if let Some(message) = line.strip_prefix(char::from(RECEIVED)) {
            if seq > after {
                let message = wire::decode_message(Dialect::V1, message).map_err(damaged)?;
                received = Some(Arc::new(message));
            }
            continue;
        }
        if seq > after {
            let (at, line) = split_time(line)?;
            let event = wire::decode_stored(line, task, context).map_err(damaged)?;
            let at = at.or_else(|| Entry::stated_time(&event));
            entries.push(seq, at, event, received.take());
        }
        seq += 1;
    }
    Ok(seq)
}

/// The time at the beginning of a line, if there is one, and the event after it.
fn split_time(line: &str) -> Result<(Option<Timestamp>, &str), Error> {
    let Some(line) = line.strip_prefix(char::from(TIME)) else {
        return Ok((None, line));
    };
    let end = line.find('{').unwrap_or(line.len());
    let (micros, line) = line.split_at(end);
    let micros = micros.parse().map_err(damaged)?;
    Ok((Some(Timestamp::from_micros(micros)), line))
}

/// An unsigned number as SQLite keeps it; ours never reach the sign bit.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// An unsigned number as it is read back.
pub(super) fn unsigned(value: i64) -> Result<u64, Error> {
    u64::try_from(value).map_err(damaged)
}

/// A size or limit as SQLite takes it.
pub(super) fn size(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A row that cannot be read, because of `cause`.
pub(super) fn damaged(cause: impl std::fmt::Display) -> Error {
    Error::Damaged(cause.to_string())
}

/// A JSON column as text.
pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Error> {
    let bytes = row.get_ref(column)?.as_blob().map_err(damaged)?;
    str::from_utf8(bytes).map_err(damaged)
}

/// Checks that a row is written as we know it.
pub(super) fn check_format(format: i64) -> Result<(), Error> {
    if format == FORMAT {
        Ok(())
    } else {
        Err(Error::Damaged(format!(
            "a row has the unknown format {format}"
        )))
    }
}
