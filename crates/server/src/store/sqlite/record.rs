//! How changes stand in a frame of the journal: one record after the other, plain fields and JSON as it stands
//! in rows. What is written to the database is what is read from a frame, when it is new as after a crash.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_types::model::Timestamp;
use switchboard_types::{Dialect, wire};

use super::rows;
use crate::store::{Error, order};
use crate::task::{
    Answer, Answered, Append, Change, DeadLetter, Delivery, IdempotencyKey, TurnRecord,
};

/// One change. A frame that a crash left behind is read by the version that is started next: add variants at
/// the end, and count up the journal's magic if one changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Record<'a> {
    #[serde(borrow)]
    Append(AppendRecord<'a>),
    PutWebhook(WebhookRecord<'a>),
    DeleteWebhook(&'a str, &'a str),
    Delivery(&'a str, &'a str, DeliveryRecord<'a>),
    DeadLetter(LetterRecord<'a>),
    Answered(AnsweredRecord<'a>),
    Fold(&'a str, SnapshotRecord<'a>),
    Remove(&'a str),
    ForgetAnswer(KeyRecord<'a>, i64),
    /// Of versions before format 5 of the database, which had notes in place of turns and steps.
    Note(NoteRecord<'a>),
    Turn(TurnFields<'a>),
    Step(StepRecord<'a>),
    ReleasePending(ReleaseRecord<'a>),
    Released(&'a str),
}

impl<'a> Record<'a> {
    /// The task that it is about: see [`Change::task`].
    pub(super) fn task(&self) -> Option<&'a str> {
        match self {
            Self::Append(append) => Some(append.id),
            Self::PutWebhook(webhook) => Some(webhook.task),
            Self::DeadLetter(letter) => Some(letter.task),
            Self::Note(note) => Some(note.task),
            Self::Turn(turn) => Some(turn.task),
            Self::Step(step) => Some(step.task),
            Self::ReleasePending(release) => Some(release.task),
            Self::DeleteWebhook(task, _)
            | Self::Delivery(task, _, _)
            | Self::Fold(task, _)
            | Self::Remove(task)
            | Self::Released(task) => Some(task),
            Self::Answered(answered) => answered.task,
            Self::ForgetAnswer(..) => None,
        }
    }
}

/// Events of a task, and where it stands after them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AppendRecord<'a> {
    pub(super) id: &'a str,
    pub(super) agent: &'a str,
    pub(super) owner: &'a str,
    pub(super) context: &'a str,
    pub(super) state: i64,
    pub(super) updated: i64,
    /// The first of the events, and the last. If there are none, the first is the one after the last.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) events: &'a str,
    pub(super) snapshot: Option<SnapshotRecord<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SnapshotRecord<'a> {
    pub(super) seq: u64,
    pub(super) task: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WebhookRecord<'a> {
    pub(super) task: &'a str,
    pub(super) id: &'a str,
    pub(super) config: &'a str,
    pub(super) dialect: &'a str,
    pub(super) delivery: DeliveryRecord<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DeliveryRecord<'a> {
    pub(super) delivered: u64,
    pub(super) attempts: u32,
    pub(super) failing_since: Option<i64>,
    pub(super) retry_at: Option<i64>,
    pub(super) last_error: Option<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LetterRecord<'a> {
    pub(super) task: &'a str,
    pub(super) webhook: &'a str,
    pub(super) seq: u64,
    pub(super) url: &'a str,
    pub(super) body: &'a str,
    pub(super) attempts: u32,
    pub(super) error: &'a str,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AnsweredRecord<'a> {
    pub(super) key: KeyRecord<'a>,
    pub(super) fingerprint: u64,
    pub(super) at: i64,
    pub(super) task: Option<&'a str>,
    pub(super) message: Option<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeyRecord<'a> {
    pub(super) agent: &'a str,
    pub(super) owner: &'a str,
    pub(super) key: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NoteRecord<'a> {
    pub(super) task: &'a str,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TurnFields<'a> {
    pub(super) task: &'a str,
    pub(super) number: u32,
    pub(super) is_implied: bool,
    pub(super) message_at: Option<u64>,
    pub(super) begins_at: u64,
    pub(super) answers: Option<u64>,
    pub(super) decision: Option<&'a str>,
    pub(super) trace: Option<&'a str>,
    pub(super) queued: bool,
    pub(super) secret: Option<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StepRecord<'a> {
    pub(super) task: &'a str,
    pub(super) turn: u32,
    pub(super) at: i64,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReleaseRecord<'a> {
    pub(super) task: &'a str,
    pub(super) question: Option<&'a str>,
}

/// Writes a change at the end of `frame`. `json` is room for what is written twice: as JSON, and as a field.
pub(super) fn write(change: &Change, json: &mut Vec<u8>, frame: &mut Vec<u8>) -> Result<(), Error> {
    json.clear();
    let record = match change {
        Change::Append(change) => Record::Append(append(change, json)?),
        Change::PutWebhook(webhook) => {
            wire::encode_push_config(Dialect::V1, &webhook.config, json);
            Record::PutWebhook(WebhookRecord {
                task: webhook.task.as_str(),
                id: webhook.id.as_str(),
                config: text(json)?,
                dialect: webhook.dialect.tag(),
                delivery: delivery(&webhook.delivery),
            })
        }
        Change::DeleteWebhook(task, id) => Record::DeleteWebhook(task.as_str(), id.as_str()),
        Change::Delivery(task, id, to) => {
            Record::Delivery(task.as_str(), id.as_str(), delivery(to))
        }
        Change::DeadLetter(dead) => Record::DeadLetter(letter(dead)),
        Change::Answered(change) => Record::Answered(answered(change, json)?),
        Change::Fold(snapshot) => {
            wire::encode_task(Dialect::V1, &snapshot.task, json);
            let (seq, task) = (snapshot.seq, text(json)?);
            Record::Fold(snapshot.task.id.as_str(), SnapshotRecord { seq, task })
        }
        Change::Remove(task) => Record::Remove(task.as_str()),
        Change::ForgetAnswer(of, before) => Record::ForgetAnswer(key(of), before.as_micros()),
        Change::Turn(change) => Record::Turn(turn(change, json)?),
        Change::Step(step) => {
            to_json(&step.value, json)?;
            Record::Step(StepRecord {
                task: step.task.as_str(),
                turn: step.turn,
                at: step.at.as_micros(),
                name: &step.name,
                value: text(json)?,
            })
        }
        Change::ReleasePending(release) => {
            let task = release.task.as_str();
            let question = release.question.as_ref();
            let question = question
                .map(|question| to_json(question, json))
                .transpose()?;
            let question = question.map(|_| text(json)).transpose()?;
            Record::ReleasePending(ReleaseRecord { task, question })
        }
        Change::Released(task) => Record::Released(task.as_str()),
    };
    *frame = postcard::to_extend(&record, std::mem::take(frame)).map_err(rows::damaged)?;
    Ok(())
}

/// The first record of `frame`, and what comes after it.
pub(super) fn read(frame: &[u8]) -> Result<(Record<'_>, &[u8]), Error> {
    postcard::take_from_bytes(frame).map_err(rows::damaged)
}

fn append<'a>(append: &'a Append, json: &'a mut Vec<u8>) -> Result<AppendRecord<'a>, Error> {
    let head = &append.head;
    let first = append
        .entries
        .first()
        .map_or(head.seq + 1, |entry| entry.seq);
    order::check(append, first.saturating_sub(1))?;
    rows::write_entries(head, &append.entries, json);
    let events = json.len();
    if let Some(snapshot) = &append.snapshot {
        wire::encode_task(Dialect::V1, &snapshot.task, json);
    }
    let (events, task) = text(json)?.split_at(events);
    Ok(AppendRecord {
        id: head.id.as_str(),
        agent: &head.agent,
        owner: head.owner.as_str(),
        context: head.context.as_str(),
        state: rows::state_number(head.state),
        updated: head.updated.as_micros(),
        first,
        last: head.seq,
        events,
        snapshot: append.snapshot.as_ref().map(|snapshot| SnapshotRecord {
            seq: snapshot.seq,
            task,
        }),
    })
}

fn turn<'a>(turn: &'a TurnRecord, json: &'a mut Vec<u8>) -> Result<TurnFields<'a>, Error> {
    if let Some(decision) = &turn.decision {
        to_json(decision, json)?;
    }
    let decision = json.len();
    if let Some(trace) = &turn.trace {
        to_json(trace, json)?;
    }
    let (decision, trace) = text(json)?.split_at(decision);
    Ok(TurnFields {
        task: turn.task.as_str(),
        number: turn.number,
        is_implied: turn.is_implied(),
        message_at: turn.message_at,
        begins_at: turn.begins_at,
        answers: turn.answers,
        decision: turn.decision.is_some().then_some(decision),
        trace: turn.trace.is_some().then_some(trace),
        queued: turn.queued,
        secret: turn.secret.as_deref(),
    })
}

fn to_json(value: &Value, json: &mut Vec<u8>) -> Result<(), Error> {
    serde_json::to_writer(json, value).map_err(rows::damaged)
}

fn answered<'a>(
    answered: &'a Answered,
    json: &'a mut Vec<u8>,
) -> Result<AnsweredRecord<'a>, Error> {
    let (task, message) = match &answered.answer {
        Answer::Task(task) => (Some(task.as_str()), None),
        Answer::Message(message) => {
            wire::encode_message(Dialect::V1, message, json);
            (None, Some(text(json)?))
        }
    };
    Ok(AnsweredRecord {
        key: key(&answered.key),
        fingerprint: answered.fingerprint,
        at: answered.at.as_micros(),
        task,
        message,
    })
}

fn letter(letter: &DeadLetter) -> LetterRecord<'_> {
    LetterRecord {
        task: letter.task.as_str(),
        webhook: letter.webhook.as_str(),
        seq: letter.seq,
        url: &letter.url,
        body: &letter.body,
        attempts: letter.attempts,
        error: &letter.error,
        at: letter.at.as_micros(),
    }
}

fn delivery(delivery: &Delivery) -> DeliveryRecord<'_> {
    DeliveryRecord {
        delivered: delivery.delivered,
        attempts: delivery.attempts,
        failing_since: delivery.failing_since.map(Timestamp::as_micros),
        retry_at: delivery.retry_at.map(Timestamp::as_micros),
        last_error: delivery.last_error.as_deref(),
    }
}

fn key(key: &IdempotencyKey) -> KeyRecord<'_> {
    KeyRecord {
        agent: &key.agent,
        owner: key.owner.as_str(),
        key: &key.key,
    }
}

fn text(json: &[u8]) -> Result<&str, Error> {
    str::from_utf8(json).map_err(rows::damaged)
}
