//! The way of single fields into the model and back, in both packages: protobuf says absence by an empty string or 0.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::Error;
use crate::model::{
    Authentication, ContextId, Id, Message, MessageId, Part, Role, Secret, TaskId, TaskState,
    TaskStatus, Timestamp,
};
use crate::version::Dialect;
use crate::version::FileBytes;
use crate::wire::member;
use crate::wire::object::Reading;
use crate::wire::path::Path;
use crate::wire::read::{Text, Word};

/// How to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// A request is read strictly; what agents answer, leniently.
    pub(super) request: bool,
    /// What the bytes of a file are.
    pub(super) files: FileBytes,
}

impl How {
    /// The same, in the words of the JSON readers; both spell enums alike.
    fn reading(self) -> Reading {
        Reading {
            dialect: Dialect::V1,
            request: self.request,
        }
    }
}

/// Reads every item of a list.
pub(super) fn each<T, M>(
    items: Vec<T>,
    at: &Path<'_>,
    mut read: impl FnMut(T, &Path<'_>) -> Result<M, Error>,
) -> Result<Vec<M>, Error> {
    let mut models = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        models.push(read(item, &at.index(index))?);
    }
    Ok(models)
}

/// The parts of a message: at least one in a request; agents do send none.
pub(super) fn parts<T>(
    parts: Vec<T>,
    at: &Path<'_>,
    how: How,
    read: impl FnMut(T, &Path<'_>) -> Result<Part, Error>,
) -> Result<Vec<Part>, Error> {
    if how.request && parts.is_empty() {
        return Err(at.error("must hold at least one part"));
    }
    each(parts, at, read)
}

/// An identifier that must be there.
pub(super) fn id<K>(text: String, at: &Path<'_>) -> Result<Id<K>, Error> {
    if text.is_empty() {
        return Err(at.missing());
    }
    Id::new(text).map_err(|reason| at.error(reason))
}

/// An identifier that may be absent.
pub(super) fn optional_id<K>(text: String, at: &Path<'_>) -> Result<Option<Id<K>>, Error> {
    set(text).map(|text| id(text, at)).transpose()
}

/// The context of a task; an agent that names none keeps each task to itself.
pub(super) fn context(text: String, task: &TaskId, at: &Path<'_>) -> Result<ContextId, Error> {
    let named = optional_id(text, at)?;
    named.map_or_else(|| id(task.as_str().to_owned(), at), Ok)
}

/// Task ids.
pub(super) fn task_ids(texts: Vec<String>, at: &Path<'_>) -> Result<Vec<TaskId>, Error> {
    each(texts, at, id)
}

/// The id of a message; made from what is said if an agent gave none.
pub(super) fn message_id(
    text: String,
    parts: &[Part],
    at: &Path<'_>,
    how: How,
) -> Result<MessageId, Error> {
    let text = set(text).map(|text| Text(Cow::Owned(text)));
    member::message_id(text, parts, at, how.reading())
}

/// Who speaks.
pub(super) fn role(number: i32, at: &Path<'_>, how: How) -> Result<Role, Error> {
    let word = word(number).filter(|_| number != 0);
    member::role(word.as_ref(), at, how.reading())
}

/// The number of who speaks.
pub(super) fn role_number(role: Role) -> i32 {
    match role {
        Role::User => 1,
        Role::Agent => 2,
    }
}

/// A state to look for; 0 looks for none.
pub(super) fn wanted_state(number: i32, at: &Path<'_>) -> Result<Option<TaskState>, Error> {
    word(number)
        .and_then(|word| member::state(&word))
        .ok_or_else(|| at.error("must be the number of a task state"))
}

/// The state of a task. One of some later version must not end the stream of those who read it.
pub(super) fn state(number: i32) -> TaskState {
    let known = word(number).and_then(|word| member::state(&word)).flatten();
    known.unwrap_or(TaskState::Unknown)
}

/// How a task stands.
pub(super) fn status(
    number: i32,
    said: Option<Result<Message, Error>>,
    timestamp: Option<&prost_types::Timestamp>,
) -> Result<TaskStatus, Error> {
    Ok(TaskStatus {
        state: state(number),
        message: said.transpose()?.map(Arc::new),
        timestamp: timestamp.map(time),
    })
}

/// How a webhook is told who calls; `at` is where the scheme stands.
pub(super) fn authentication(
    scheme: Option<String>,
    credentials: String,
    at: &Path<'_>,
) -> Result<Authentication, Error> {
    Ok(Authentication {
        scheme: scheme.ok_or_else(|| at.missing())?,
        credentials: set(credentials).map(Secret::new),
    })
}

/// The error of a stream item that is none.
pub(super) fn no_item(at: &Path<'_>) -> Error {
    at.error("must have exactly one of task, message, statusUpdate and artifactUpdate")
}

/// The number of a state; the same in both packages.
pub(super) fn state_number(state: Option<TaskState>) -> i32 {
    let known = &TaskState::ALL[..8];
    let place = state.and_then(|state| known.iter().position(|one| *one == state));
    place
        .and_then(|place| i32::try_from(place + 1).ok())
        .unwrap_or(0)
}

fn word(number: i32) -> Option<Word<'static>> {
    u64::try_from(number).ok().map(Word::Number)
}

/// A moment; what is finer than the model's is dropped.
pub(super) fn time(wire: &prost_types::Timestamp) -> Timestamp {
    let fine = i64::from(wire.nanos / 1000);
    Timestamp::from_micros(wire.seconds.saturating_mul(1_000_000).saturating_add(fine))
}

/// A moment for the wire.
pub(super) fn wire_time(time: Timestamp) -> prost_types::Timestamp {
    let micros = time.as_micros();
    prost_types::Timestamp {
        seconds: micros.div_euclid(1_000_000),
        nanos: i32::try_from(micros.rem_euclid(1_000_000) * 1000).unwrap_or(0),
    }
}

/// A count that may be absent.
pub(super) fn count(number: Option<i32>, at: &Path<'_>) -> Result<Option<u32>, Error> {
    let within = |number| u32::try_from(number).map_err(|_| at.error("must not be negative"));
    number.map(within).transpose()
}

/// A count for the wire.
pub(super) fn wire_count(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// A string, where empty means absent.
pub(super) fn set(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// A string for the wire, where absent is empty.
pub(super) fn unset(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

/// An identifier for the wire, where absent is empty.
pub(super) fn unset_id<K>(id: Option<&Id<K>>) -> String {
    unset(id.map(Id::as_str))
}
