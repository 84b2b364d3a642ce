//! Questions that nobody answers in time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use switchboard_types::ErrorKind;
use switchboard_types::model::{TaskId, TaskState};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::events::failure;
use super::run::STORE_RETRY_DELAY;
use super::turns::last_message;
use super::{Engine, OnInputTimeout, release};
use crate::agent::{Said, Turn, status_event};
use crate::log::TaskLog;
use crate::principal::Principal;
use crate::store;

/// When the open questions of an agent's tasks expire. One spawned task waits for the earliest of them: a task of its own
/// for each question would outlive its answer by a day.
#[derive(Debug, Default)]
pub(super) struct InputDeadlines {
    open: Mutex<Open>,
    /// Rings when there is an earlier deadline than before.
    earlier: Notify,
}

#[derive(Debug, Default)]
struct Open {
    by_time: BTreeMap<(Instant, TaskId), Question>,
    by_task: HashMap<TaskId, Instant>,
    /// A spawned task waits for the earliest.
    is_watched: bool,
}

/// A question that waits for its answer. What happens then was settled when it was asked: a hot reload does not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Question {
    /// The event that asked.
    asked: u64,
    timeout: Duration,
    on_timeout: OnInputTimeout,
}

impl InputDeadlines {
    /// Adds the deadline of a task, in place of the one that it had. Whether somebody must be spawned to watch.
    #[must_use]
    fn add(&self, task: TaskId, question: Question, at: Instant) -> bool {
        let mut open = self.lock();
        open.remove(&task);
        let is_first = open
            .by_time
            .keys()
            .next()
            .is_none_or(|(first, _)| at < *first);
        open.by_task.insert(task.clone(), at);
        open.by_time.insert((at, task), question);
        if is_first {
            self.earlier.notify_one();
        }
        !std::mem::replace(&mut open.is_watched, true)
    }

    /// The task waits for no answer any more.
    pub(super) fn remove(&self, task: &TaskId) {
        self.lock().remove(task);
    }

    /// The earliest deadline. Without one, nobody watches any more.
    fn first(&self) -> Option<Instant> {
        let mut open = self.lock();
        let first = open.by_time.keys().next().map(|(at, _)| *at);
        open.is_watched = first.is_some();
        first
    }

    /// Takes out a question that has expired.
    fn take_expired(&self) -> Option<(TaskId, Question)> {
        let mut open = self.lock();
        let first = open.by_time.first_entry()?;
        if first.key().0 > Instant::now() {
            return None;
        }
        let ((_, task), question) = first.remove_entry();
        open.by_task.remove(&task);
        Some((task, question))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }
}

impl Open {
    fn remove(&mut self, task: &TaskId) {
        if let Some((task, at)) = self.by_task.remove_entry(task) {
            self.by_time.remove(&(at, task));
        }
    }
}

impl Engine {
    /// Bounds how long a task waits for an answer, or for credentials.
    pub(super) fn watch_input(&self, log: &TaskLog) {
        let (seq, state) = log.last();
        if state.is_interrupted() {
            self.expire_input_after(log.id().clone(), seq, self.shared.settings.input_timeout);
        }
    }

    /// Acts on a question that is still open `after` that long; `asked` is the event that asked it.
    pub(super) fn expire_input_after(&self, id: TaskId, asked: u64, after: Duration) {
        let settings = &self.shared.settings;
        let question = Question {
            asked,
            timeout: settings.input_timeout,
            on_timeout: settings.on_input_timeout,
        };
        let deadlines = &self.shared.lineage.input_deadlines;
        if deadlines.add(id, question, Instant::now() + after) {
            self.shared.tasks.spawn(self.clone().expire_inputs());
        }
    }

    /// Waits for deadlines until there are none.
    async fn expire_inputs(mut self) {
        let stopping = self.shared.tasks.stopping().clone();
        let lineage = Arc::clone(&self.shared.lineage);
        while let Some(first) = lineage.input_deadlines.first() {
            tokio::select! {
                () = sleep_until(first) => {}
                () = lineage.input_deadlines.earlier.notified() => {}
                () = stopping.cancelled() => return,
            }
            // A hot reload may have replaced the engine; the old one is to go.
            self = self.latest();
            while let Some((id, question)) = lineage.input_deadlines.take_expired() {
                if let Err(error) = self.expire_input(&id, question).await {
                    tracing::warn!(%error, agent = %self.shared.name, task = %id, "could not expire an unanswered question, will retry");
                    let again = Instant::now() + STORE_RETRY_DELAY;
                    // It is this task that watches.
                    let _is_watched = lineage.input_deadlines.add(id, question, again);
                }
            }
        }
    }

    async fn expire_input(&self, id: &TaskId, question: Question) -> Result<(), store::Error> {
        let Some(log) = self.shared.log.open_internal(id).await? else {
            return Ok(());
        };
        let asked = question.asked;
        // No agent continues without the credentials that it asked for, whatever `on_input_timeout` says.
        let wants_credentials = log.last().1 == TaskState::AuthRequired;
        if question.on_timeout == OnInputTimeout::Fail || wants_credentials {
            let seconds = question.timeout.as_secs_f64();
            let text = match wants_credentials {
                true => format!("input timeout: no credentials within {seconds} s"),
                false => format!("input timeout: no answer within {seconds} s"),
            };
            let failed = failure(&text, ErrorKind::InputTimeout.reason());
            let failed = status_event(log.origin(), TaskState::Failed, failed);
            let release = Some(release::pending(log.origin(), None));
            if log.append_if_idle(asked, failed, release) {
                let owner = log.origin().owner.clone();
                self.release_in_background(&log, owner.into());
            }
            return Ok(());
        }
        let Some(message) = last_message(&log) else {
            return Ok(());
        };
        let owner: Principal = log.origin().owner.clone().into();
        let ticket = self.promised_ticket(&owner);
        let said = Said::text("Continuing without client input...");
        let working = status_event(log.origin(), TaskState::Working, said);
        let Some(begun) = log.begin_unanswered(asked, working, ticket.waits()) else {
            return Ok(());
        };
        let shown = Arc::clone(&message);
        let turn = Turn {
            question: begun.question,
            canceled: begun.canceled,
            ..self.begun_turn(owner, &log, begun.record, message, shown)
        };
        self.start(&log, turn, ticket);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str) -> TaskId {
        TaskId::new(name).unwrap()
    }

    fn question(asked: u64) -> Question {
        Question {
            asked,
            timeout: Duration::from_secs(1),
            on_timeout: OnInputTimeout::Fail,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answered_question_leaves_nothing_behind() {
        let deadlines = InputDeadlines::default();
        let day = Instant::now() + Duration::from_secs(24 * 3600);
        assert!(
            deadlines.add(task("a"), question(3), day),
            "nobody watches yet"
        );
        assert!(!deadlines.add(task("b"), question(4), day));
        assert!(
            !deadlines.add(task("a"), question(9), day),
            "asked once more"
        );
        assert_eq!(deadlines.first(), Some(day));
        deadlines.remove(&task("a"));
        deadlines.remove(&task("b"));
        assert_eq!(deadlines.first(), None);
        let open = deadlines.lock();
        assert!(open.by_task.is_empty() && open.by_time.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn questions_expire_in_the_order_of_their_deadlines() {
        let deadlines = InputDeadlines::default();
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        for (name, seconds) in [("a", 3), ("b", 1), ("c", 2)] {
            let _watch = deadlines.add(task(name), question(seconds), after(seconds));
        }
        assert_eq!(deadlines.take_expired(), None);
        sleep_until(after(2)).await;
        assert_eq!(deadlines.take_expired(), Some((task("b"), question(1))));
        assert_eq!(deadlines.take_expired(), Some((task("c"), question(2))));
        assert_eq!(deadlines.take_expired(), None);
        assert_eq!(deadlines.first(), Some(after(3)));
    }
}
