//! The log line that says how a task ended: which one, whose, in which state, why, and after how long.
//!
//! The writer calls it once the end is committed, so no line tells of an end that a crash undoes. A server that ends
//! tens of thousands of tasks a second must not write as many lines: each state has [`MAX_LINES_PER_SECOND`], and one line
//! counts those that were left out. At `debug` all are written. All failures are in the store: `switchboard tasks --failed`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use switchboard_types::model::{Task, TaskId, TaskState, Timestamp};
use tokio::time::Instant;
use tracing::Level;
use uuid::Uuid;

use crate::task::Origin;
use crate::trace::Trace;

/// The target of these lines, for directives such as `switchboard::task=debug`.
pub const TASK_LOG: &str = "switchboard::task";

/// How many lines one state may have in a second, unless the level is `debug`.
const MAX_LINES_PER_SECOND: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// How many characters of a reason are written; the task has all of it.
const MAX_REASON: usize = 500;

/// The states in which a task can end.
const ENDS: [TaskState; 4] = [
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::Rejected,
];

/// Writes the lines, as many as may be.
#[derive(Debug, Default)]
pub(super) struct TaskEndLog([Mutex<Window>; ENDS.len()]);

/// The lines of one state in one second.
#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    written: u32,
    suppressed: u64,
}

/// A task that has ended, and the trace that its last turn was part of.
#[derive(Debug)]
pub(super) struct EndedTask {
    pub(super) task: Arc<Task>,
    pub(super) trace: Option<Arc<Trace>>,
}

impl EndedTask {
    /// What a line needs of a task that went to `state`; nothing if it has not ended, or the level leaves its line out.
    pub(super) fn of(
        state: TaskState,
        task: Option<&Arc<Task>>,
        trace: Option<&Arc<Trace>>,
    ) -> Option<Self> {
        let is_logged = match state {
            TaskState::Failed => tracing::enabled!(target: TASK_LOG, Level::WARN),
            state if state.is_terminal() => tracing::enabled!(target: TASK_LOG, Level::INFO),
            _ => false,
        };
        is_logged.then(|| {
            Some(Self {
                task: Arc::clone(task?),
                trace: trace.cloned(),
            })
        })?
    }
}

impl TaskEndLog {
    pub(super) fn write(&self, origin: &Origin, ended: &EndedTask) {
        let status = &ended.task.status;
        let state = status.state;
        let Some(suppressed) = self.admit(state) else {
            return;
        };
        tell_suppressed(state, suppressed);
        let Origin {
            id,
            agent,
            owner,
            context,
        } = origin;
        let (agent, caller) = (&**agent, owner.as_str());
        let reason = reason(&ended.task);
        let duration_ms = status.timestamp.and_then(|end| duration_ms(id, end));
        let trace_id = ended.trace.as_ref().map(|trace| trace.id());
        let trace_id = trace_id.as_ref().map(tracing::field::display);
        let name = state.name();
        // A level belongs to its line of code, so there are two.
        if state == TaskState::Failed {
            tracing::warn!(
                target: TASK_LOG,
                agent, task = %id, %context, caller, state = name, reason = reason.as_deref(), duration_ms, trace_id,
                "task {name}"
            );
        } else {
            tracing::info!(
                target: TASK_LOG,
                agent, task = %id, %context, caller, state = name, reason = reason.as_deref(), duration_ms, trace_id,
                "task {name}"
            );
        }
    }

    /// Counts the lines that were left out and that no later line has counted.
    pub(super) fn flush(&self) {
        for (state, window) in ENDS.iter().zip(&self.0) {
            let mut window = window.lock();
            tell_suppressed(*state, std::mem::take(&mut window.suppressed));
        }
    }

    /// Whether a line may be written now, and how many were left out before it.
    fn admit(&self, state: TaskState) -> Option<u64> {
        if tracing::enabled!(target: TASK_LOG, Level::DEBUG) {
            return Some(0);
        }
        let at = ENDS.iter().position(|end| *end == state)?;
        let mut window = self.0[at].lock();
        let now = Instant::now();
        if window.since.is_none_or(|since| now - since >= WINDOW) {
            let suppressed = window.suppressed;
            *window = Window {
                since: Some(now),
                written: 1,
                suppressed: 0,
            };
            return Some(suppressed);
        }
        if window.written >= MAX_LINES_PER_SECOND {
            window.suppressed += 1;
            return None;
        }
        window.written += 1;
        Some(0)
    }
}

fn tell_suppressed(state: TaskState, suppressed: u64) {
    if suppressed > 0 {
        tracing::warn!(target: TASK_LOG, state = state.name(), suppressed, "task log lines suppressed");
    }
}

/// Why a task ended as it did, as its status says. The answer of a completed task is message content, and no reason.
#[must_use]
pub fn reason(task: &Task) -> Option<Cow<'_, str>> {
    if !task.status.state.is_terminal() || task.status.state == TaskState::Completed {
        return None;
    }
    let message = task.status.message.as_ref()?;
    let mut texts = message.parts.iter().filter_map(|part| part.as_text());
    let first = texts.next()?;
    let reason = match texts.next() {
        None => Cow::Borrowed(first),
        Some(_) => Cow::Owned(message.text()),
    };
    Some(match reason.char_indices().nth(MAX_REASON) {
        Some((end, _)) => Cow::Owned(format!("{}…", &reason[..end])),
        None => reason,
    })
}

/// When a task began. Ids of ours hold the moment at which they were made (UUID version 7).
#[must_use]
pub fn created_at(task: &TaskId) -> Option<Timestamp> {
    let (seconds, nanos) = Uuid::parse_str(task.as_str())
        .ok()?
        .get_timestamp()?
        .to_unix();
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Some(Timestamp::from_micros(micros + i64::from(nanos / 1000)))
}

/// The milliseconds from when a task began until `end`.
#[must_use]
pub fn duration_ms(task: &TaskId, end: Timestamp) -> Option<u64> {
    let began = created_at(task)?;
    let micros = end.as_micros().saturating_sub(began.as_micros());
    Some(u64::try_from(micros / 1000).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::{Message, Part, Role, TaskStatus};

    use super::*;
    use crate::clock;
    use crate::task::fresh_id;

    fn ended(state: TaskState, parts: Vec<Part>) -> Task {
        Task {
            id: fresh_id(),
            context_id: fresh_id(),
            status: TaskStatus {
                state,
                message: Some(Arc::new(Message::new(fresh_id(), Role::Agent, parts))),
                timestamp: None,
            },
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }
    }

    #[test]
    fn a_reason_is_the_text_of_a_task_that_did_not_complete() {
        let text = |text: &str| vec![Part::text(text)];
        let failed = ended(TaskState::Failed, text("upstream returned 503"));
        assert_eq!(reason(&failed).as_deref(), Some("upstream returned 503"));
        assert_eq!(reason(&ended(TaskState::Completed, text("a poem"))), None);
        assert_eq!(reason(&ended(TaskState::Working, text("a poem"))), None);
        let long = ended(TaskState::Rejected, text(&"ü".repeat(600)));
        assert_eq!(reason(&long).unwrap().chars().count(), MAX_REASON + 1);
    }

    #[test]
    fn the_duration_is_counted_from_the_moment_in_the_id() {
        let id: TaskId = fresh_id();
        let later = Timestamp::from_micros(clock::now().as_micros() + 5_000_000);
        let took = duration_ms(&id, later).unwrap();
        assert!((4_000..=5_100).contains(&took), "{took}");
        assert_eq!(duration_ms(&TaskId::new("not-ours").unwrap(), later), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_one_state_is_counted_and_leaves_the_others_alone() {
        let log = TaskEndLog::default();
        let admitted = (0..1000).filter(|_| log.admit(TaskState::Completed).is_some());
        assert_eq!(admitted.count(), MAX_LINES_PER_SECOND as usize);
        assert_eq!(log.admit(TaskState::Failed), Some(0));
        tokio::time::advance(WINDOW).await;
        assert_eq!(log.admit(TaskState::Completed), Some(900));
        assert_eq!(log.admit(TaskState::Completed), Some(0));
    }
}
