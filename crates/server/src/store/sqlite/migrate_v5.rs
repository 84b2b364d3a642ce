//! What versions before format 5 stored as notes, as turns, steps and pending releases.
//!
//! Those versions stored no turns, and found out at every start from a task's events where its last turn began. This
//! module does that for the last time. It runs in the transaction that makes the tables, after the commits that an
//! earlier version has left in the journal.

use std::collections::VecDeque;

use rusqlite::{Connection, params};
use serde_json::Value;
use switchboard_types::model::{Event, TaskId, TaskState, Timestamp};

use super::commit::{Commit, Scopes};
use super::record::{self, NoteRecord};
use super::rows::{self, IdColumn};
use super::{read, turns};
use crate::store::Error;
use crate::task::{Change, Entry, Head, PendingRelease, Step, TurnRecord};

/// How many tasks, and events of a task, are read at once.
const PAGE: usize = 256;

/// How the names began of notes that were made in the course of a turn, for operators; a number followed.
const INTERNAL: &str = "internal:";

impl Commit<'_> {
    /// Takes a note from the journal of an earlier version.
    pub(super) fn note(&mut self, note: &NoteRecord<'_>) -> Result<(), Error> {
        if note.value == "null" {
            self.db
                .prepare_cached("DELETE FROM note WHERE task = ?1 AND name = ?2")?
                .execute(params![IdColumn::from(note.task), note.name])?;
            return Ok(());
        }
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO note (task, name, value)
                 SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM task WHERE id = ?1)",
            )?
            .execute(params![IdColumn::from(note.task), note.name, note.value])?;
        Ok(())
    }
}

/// Converts everything. The table of notes can be dropped then.
pub(super) fn convert(db: &Connection) -> Result<(), Error> {
    convert_live_tasks(db)?;
    let mut statement = db.prepare("SELECT DISTINCT task FROM note ORDER BY task")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let id = IdColumn::read(row.get_ref(0)?).map_err(rows::damaged)?;
        let id: TaskId = id.id().map_err(rows::damaged)?;
        if let Some(head) = read::head_of(db, &id)? {
            convert_notes(db, &head)?;
        }
    }
    Ok(())
}

/// Stores the turns of all tasks that are not over.
fn convert_live_tasks(db: &Connection) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = read::live(db, after.as_ref(), PAGE)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.id.clone());
        for head in page {
            match derive(db, &head) {
                Ok(turns) => write(db, turns.into_iter().map(Change::Turn))?,
                // It stays as it is, and is reported again when it is opened; the others go on.
                Err(Error::Damaged(cause)) => {
                    tracing::error!(task = %head.id, %cause, "cannot derive the turns of a damaged task");
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn derive(db: &Connection, head: &Head) -> Result<Vec<TurnRecord>, Error> {
    let mut derived = DerivedTurns::default();
    let mut after = 0;
    while after < head.seq {
        let page = read::events(db, &head.id, after, PAGE)?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.seq;
        page.iter().for_each(|entry| derived.see(entry));
    }
    Ok(derived.into_turns(head))
}

/// The turns of a task, as its events show them.
#[derive(Debug, Default)]
struct DerivedTurns {
    turns: Vec<Boundaries>,
    /// Messages that no turn has taken yet.
    waiting: VecDeque<u64>,
    /// The last event with a question.
    question: Option<u64>,
    working: bool,
}

/// Where a turn begins.
#[derive(Debug)]
struct Boundaries {
    message_at: Option<u64>,
    begins_at: u64,
    answers: Option<u64>,
}

impl DerivedTurns {
    fn see(&mut self, entry: &Entry) {
        let begins = match &entry.event {
            Event::Task(_) => {
                self.waiting.push_back(entry.seq);
                return;
            }
            Event::Status(update) => {
                let was_working = self.working;
                self.working = update.status.state == TaskState::Working;
                // An agent could ask at once, without a word that it works.
                let asks = update.status.state.is_interrupted();
                (self.working && !was_working) || (asks && self.turns.is_empty())
            }
            Event::Artifact(_) | Event::Message(_) => false,
        };
        if entry.received.is_some() {
            self.waiting.push_back(entry.seq);
        }
        if begins {
            // A message that came while the task waited began its turn at once. Without one, the turn took the message
            // that had waited longest, or began because nobody answered.
            let message_at = match (self.question, &entry.received) {
                (Some(_), Some(_)) => self.waiting.pop_back(),
                _ => self.waiting.pop_front(),
            };
            self.turns.push(Boundaries {
                message_at,
                begins_at: entry.seq,
                answers: self.question,
            });
        }
        if let Event::Status(update) = &entry.event
            && update.status.state.is_interrupted()
        {
            self.question = Some(entry.seq);
        }
    }

    fn into_turns(mut self, head: &Head) -> Vec<TurnRecord> {
        let is_queued = head.state == TaskState::Submitted;
        if self.turns.is_empty() {
            self.turns.push(Boundaries {
                message_at: Some(1),
                begins_at: head.seq + 1,
                answers: None,
            });
        }
        let numbered = (1..).zip(self.turns);
        let turns = numbered.map(|(number, turn)| TurnRecord {
            number,
            message_at: turn.message_at,
            begins_at: turn.begins_at,
            answers: turn.answers,
            queued: is_queued,
            ..TurnRecord::first(head.id.clone())
        });
        turns.collect()
    }
}

/// Stores the notes about one task as what they are now.
fn convert_notes(db: &Connection, head: &Head) -> Result<(), Error> {
    let mut turns = turns::of(db, &head.id)?;
    let latest = turns.last().map_or(1, |turn| turn.number);
    // Operators' notes first: the time of the others is that of the task's last status.
    let (mut steps, mut later) = (Vec::new(), Vec::new());
    let mut release = None;
    for (name, value) in notes(db, &head.id)? {
        match name.as_str() {
            "switchboard/untold" => {
                let task = head.id.clone();
                let question = Some(value).filter(Value::is_object);
                release = Some(Change::ReleasePending(PendingRelease { task, question }));
            }
            "switchboard/decision" => {
                for turn in &mut turns {
                    turn.decision = Some(value.clone());
                }
            }
            "switchboard/trace" => {
                if let Some(turn) = turns.last_mut() {
                    turn.trace = Some(value);
                }
            }
            "switchboard/in-line" => {
                if let Some(turn) = turns.last_mut() {
                    turn.queued = value == Value::Bool(true);
                }
            }
            _ if name.starts_with(INTERNAL) => steps.push(internal(head, latest, value)),
            _ => later.push(Step {
                task: head.id.clone(),
                turn: latest,
                at: head.updated,
                name,
                value,
            }),
        }
    }
    steps.append(&mut later);
    let turns = turns.into_iter().map(Change::Turn);
    let steps = steps.into_iter().map(Change::Step);
    write(db, turns.chain(steps).chain(release))
}

/// The step of an operator's note.
fn internal(head: &Head, turn: u32, mut note: Value) -> Step {
    let at = note["at"].as_str().and_then(|at| Timestamp::parse(at).ok());
    let name = note["name"].as_str().unwrap_or_default();
    Step {
        task: head.id.clone(),
        turn,
        at: at.unwrap_or(head.updated),
        name: format!("{INTERNAL}{name}"),
        value: note["value"].take(),
    }
}

fn notes(db: &Connection, task: &TaskId) -> Result<Vec<(String, Value)>, Error> {
    let mut statement =
        db.prepare_cached("SELECT name, value FROM note WHERE task = ?1 ORDER BY name")?;
    let rows = statement.query_map([IdColumn::from(task)], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut notes = Vec::new();
    for row in rows {
        let (name, value) = row?;
        match serde_json::from_str(&value) {
            Ok(value) => notes.push((name, value)),
            Err(error) => tracing::error!(%task, name, %error, "left out a damaged note"),
        }
    }
    Ok(notes)
}

/// Writes changes as a commit does.
fn write(db: &Connection, changes: impl Iterator<Item = Change>) -> Result<(), Error> {
    let (mut json, mut records) = (Vec::new(), Vec::new());
    for change in changes {
        record::write(&change, &mut json, &mut records)?;
    }
    Commit::new(db, &mut Scopes::default()).write(&records)
}
