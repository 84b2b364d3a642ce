//! The way of single members into the model: what must be there, what may be empty, what a name or
//! a number stands for.
//!
//! Called by `object` and by the version folders.

use serde_json::value::RawValue;

use super::object::{IntoModel, Reading};
use super::path::Path;
use super::read::{Maybe, Obj, Text, Word};
use crate::error::Error;
use crate::model::{
    self, ArtifactId, ContextId, Id, Json, MessageId, Role, TaskId, TaskState, Timestamp,
};
use crate::version::Dialect;

/// An object that must be there, as it is or shared.
pub(crate) fn required<T: IntoModel, M: From<T::Model>>(
    object: Option<Obj<T>>,
    at: &Path<'_>,
    how: Reading,
) -> Result<M, Error> {
    let object = object.ok_or_else(|| at.missing())?;
    object.0.into_model(at, how).map(M::from)
}

/// A list, its items as they are or shared; absent means empty.
pub(crate) fn list<T: IntoModel, M: From<T::Model>>(
    items: Option<Vec<Obj<T>>>,
    at: &Path<'_>,
    how: Reading,
) -> Result<Vec<M>, Error> {
    let items = items.unwrap_or_default();
    let mut models = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        models.push(item.0.into_model(&at.index(index), how)?.into());
    }
    Ok(models)
}

/// The parts of a message or an artifact. A request has at least one; agents do send none, and things that are no
/// parts, which are passed over.
pub(crate) fn parts<P: IntoModel<Model = model::Part>>(
    parts: Option<Vec<Maybe<P>>>,
    at: &Path<'_>,
    how: Reading,
) -> Result<Vec<model::Part>, Error> {
    if how.request && parts.is_none() {
        return Err(at.missing());
    }
    let parts = parts.unwrap_or_default();
    if how.request && parts.is_empty() {
        return Err(at.error("must hold at least one part"));
    }
    let mut models = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let at = at.index(index);
        match part.0 {
            Some(part) => models.push(part.into_model(&at, how)?),
            None if how.request => return Err(at.error("must be an object")),
            None => {}
        }
    }
    Ok(models)
}

/// An identifier that must be there.
pub(crate) fn required_id<K>(text: Option<Text<'_>>, at: &Path<'_>) -> Result<Id<K>, Error> {
    let text = text.ok_or_else(|| at.missing())?;
    Id::new(text.as_str()).map_err(|reason| at.error(reason))
}

/// An identifier that may be absent; `ProtoJSON` spells absence as an empty string, too.
pub(crate) fn optional_id<K>(
    text: Option<Text<'_>>,
    at: &Path<'_>,
) -> Result<Option<Id<K>>, Error> {
    text.filter(|text| !text.as_str().is_empty())
        .map(|text| Id::new(text.as_str()).map_err(|reason| at.error(reason)))
        .transpose()
}

/// The id of an artifact that has none: its place tells it from its neighbours.
pub(crate) fn artifact_id(index: usize, at: &Path<'_>) -> Result<ArtifactId, Error> {
    ArtifactId::new(format!("artifact-{index}")).map_err(|reason| at.error(reason))
}

/// Task ids.
pub(crate) fn task_ids(texts: Option<Vec<Text<'_>>>, at: &Path<'_>) -> Result<Vec<TaskId>, Error> {
    let texts = texts.unwrap_or_default();
    let mut ids = Vec::with_capacity(texts.len());
    for (index, text) in texts.into_iter().enumerate() {
        ids.push(required_id(Some(text), &at.index(index))?);
    }
    Ok(ids)
}

/// The context of a task; an agent that names none keeps each task to itself, so the task's id
/// stands for it (1.0 does not require `contextId`, the model does).
pub(crate) fn context_or_task(
    context: Option<Text<'_>>,
    task: &TaskId,
    at: &Path<'_>,
) -> Result<ContextId, Error> {
    match optional_id(context, at)? {
        Some(context) => Ok(context),
        None => ContextId::new(task.as_str()).map_err(|reason| at.error(reason)),
    }
}

/// The id of a message. Agents forget it; then it is made from what is said, so
/// that the same message has the same id whenever it is read.
pub(crate) fn message_id(
    text: Option<Text<'_>>,
    parts: &[model::Part],
    at: &Path<'_>,
    how: Reading,
) -> Result<MessageId, Error> {
    let text = text.filter(|text| how.request || !text.as_str().is_empty());
    if how.request || text.is_some() {
        return required_id(text, at);
    }
    // FNV-1a: short, and stable for ever, which the hashers of the standard library are not.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts
        .iter()
        .filter_map(model::Part::as_text)
        .flat_map(str::bytes)
    {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    MessageId::new(format!("unnamed-{hash:016x}")).map_err(|reason| at.error(reason))
}

/// Who speaks. Agents forget it or say `assistant`; callers must say it.
pub(crate) fn role(word: Option<&Word<'_>>, at: &Path<'_>, how: Reading) -> Result<Role, Error> {
    match word {
        Some(Word::Number(1)) => Ok(Role::User),
        Some(Word::Number(2)) => Ok(Role::Agent),
        Some(Word::Name(name)) if matches!(name.as_str(), "ROLE_USER" | "user") => Ok(Role::User),
        Some(Word::Name(name)) if matches!(name.as_str(), "ROLE_AGENT" | "agent" | "assistant") => {
            Ok(Role::Agent)
        }
        _ if !how.request => Ok(Role::Agent),
        None => Err(at.missing()),
        Some(_) if how.dialect == Dialect::V0Json => Err(at.error("must be 'user' or 'agent'")),
        Some(_) => Err(at.error("must be ROLE_USER or ROLE_AGENT")),
    }
}

/// A state: `None` if the word names none, `Some(None)` if it says "unspecified".
pub(crate) fn state(word: &Word<'_>) -> Option<Option<TaskState>> {
    let state = match word {
        Word::Number(0) => return Some(None),
        Word::Number(number) => {
            let index = usize::try_from(*number).ok()?.checked_sub(1)?;
            *TaskState::ALL[..8].get(index)?
        }
        Word::Name(name) => match name.as_str() {
            "TASK_STATE_UNSPECIFIED" => return Some(None),
            "unknown" => TaskState::Unknown,
            "TASK_STATE_SUBMITTED" | "submitted" | "started" => TaskState::Submitted,
            "TASK_STATE_WORKING" | "working" => TaskState::Working,
            "TASK_STATE_COMPLETED" | "completed" => TaskState::Completed,
            "TASK_STATE_FAILED" | "failed" => TaskState::Failed,
            "TASK_STATE_CANCELED" | "TASK_STATE_CANCELLED" | "canceled" => TaskState::Canceled,
            "TASK_STATE_INPUT_REQUIRED" | "input-required" => TaskState::InputRequired,
            "TASK_STATE_REJECTED" | "rejected" => TaskState::Rejected,
            "TASK_STATE_AUTH_REQUIRED" | "auth-required" => TaskState::AuthRequired,
            _ => return None,
        },
    };
    Some(Some(state))
}

/// A moment.
pub(crate) fn time(text: Option<Text<'_>>, at: &Path<'_>) -> Result<Option<Timestamp>, Error> {
    text.filter(|text| !text.as_str().is_empty())
        .map(|text| Timestamp::parse(text.as_str()).map_err(|reason| at.error(reason)))
        .transpose()
}

/// Free JSON. In a request no member may be given twice: a policy would judge one, and the backend act on the other.
pub(crate) fn free(raw: &RawValue, at: &Path<'_>, how: Reading) -> Result<Json, Error> {
    let json = match how.request {
        true => Json::from_request(raw.to_owned()),
        false => Json::from_answer(raw.to_owned()),
    };
    json.map_err(|reason| reason.at(at))
}

/// A free JSON object.
pub(crate) fn free_object(
    raw: Option<&RawValue>,
    at: &Path<'_>,
    how: Reading,
) -> Result<Option<model::Object>, Error> {
    raw.map(|raw| model::Object::try_from(free(raw, at, how)?).map_err(|reason| at.error(reason)))
        .transpose()
}

/// Strings.
pub(crate) fn strings(texts: Option<Vec<Text<'_>>>) -> Vec<String> {
    texts
        .unwrap_or_default()
        .into_iter()
        .map(Text::into_string)
        .collect()
}

/// A string, where empty means absent.
pub(crate) fn not_empty(text: Option<Text<'_>>) -> Option<String> {
    text.map(Text::into_string).filter(|text| !text.is_empty())
}
