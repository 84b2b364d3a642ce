//! At start, no task is left hanging: each one that is not over is resumed, waits on, or fails with a reason.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use switchboard_types::model::{Event, Message, Role, TaskId, TaskState};
use tokio_util::sync::CancellationToken;

use super::events::failure;
use super::run::AGAIN;
use super::{Engine, untold};
use crate::agent::Said;
use crate::agent::status_event;
use crate::clock;
use crate::log::{Log, TaskLog};
use crate::principal::Principal;
use crate::store::Error;
use crate::task::{Change, Entry, Head, is_redacted};

/// How many tasks are looked at in one go.
const PAGE: usize = 256;

/// What became of the tasks that a restart interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Continue where they were.
    pub resumed: u64,
    /// Wait for their caller, as before.
    pub waiting: u64,
    /// Cannot continue: they have failed, or fail as soon as what they left behind is cleaned up.
    pub failed: u64,
}

/// Sees to every task that is not over. Call it before the server answers.
///
/// # Errors
///
/// If the store cannot be read or written.
pub async fn recover(log: &Log, engines: &HashMap<Arc<str>, Engine>) -> Result<Recovered, Error> {
    count(log).await?;
    let mut recovered = Recovered::default();
    let mut after = None;
    loop {
        let page = log.store().live(after, PAGE).await?;
        let Some(last) = page.last() else {
            break;
        };
        after = Some(last.id.clone());
        for head in page {
            let Some(task) = log.open_internal(&head.id).await? else {
                continue;
            };
            match engines.get(&head.agent) {
                Some(engine) => engine.revive(&task, &head, &mut recovered).await?,
                None => {
                    let text = format!("the agent {:?} no longer exists", head.agent);
                    // What stands behind it hears of that when it is there again.
                    let beside = Some(untold::noted(task.origin(), None));
                    recovered.failed += u64::from(fail(&task, head.seq, &text, beside));
                }
            }
        }
    }
    tell_again(engines).await?;
    Ok(recovered)
}

/// Goes on telling what stands behind these agents that tasks are over. To tell it twice does no harm.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn tell_again(engines: &HashMap<Arc<str>, Engine>) -> Result<(), Error> {
    let Some(one) = engines.values().next() else {
        return Ok(());
    };
    let mut after = None;
    loop {
        let page = one.shared.log.store().untold(after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.id.clone());
        for head in page {
            if let Some(engine) = engines.get(&head.agent) {
                engine.tell_again(head);
            }
        }
    }
}

/// Counts the tasks that are not over. Before any of them goes on: it may change others, and make new ones, which count
/// themselves.
async fn count(log: &Log) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = log.store().live(after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.id.clone());
        for head in page {
            let meter = log.metrics().agent(&head.agent);
            meter.stands(None, Some(head.state));
        }
    }
}

impl Engine {
    async fn revive(
        &self,
        log: &Arc<TaskLog>,
        head: &Head,
        recovered: &mut Recovered,
    ) -> Result<(), Error> {
        if head.state.is_interrupted() {
            recovered.waiting += 1;
            let deadline = head.updated.as_micros().saturating_add(
                i64::try_from(self.shared.settings.input_timeout.as_micros()).unwrap_or(i64::MAX),
            );
            let left = clock::until(switchboard_types::model::Timestamp::from_micros(deadline));
            self.expire_input_after(head.id.clone(), head.seq, left);
            return Ok(());
        }
        let cut_off = self.cut_off(&head.id, head.seq).await?;
        // What had not begun yet stood in line: it can begin, whatever it does.
        let in_line = head.state == TaskState::Submitted || log.stood_in_line().await?;
        let principal: Principal = head.owner.clone().into();
        let mut turn = cut_off.message.map(|message| {
            let mut turn = self.turn_for(principal, log, message, 0, CancellationToken::new());
            turn.emitted = cut_off.emitted;
            turn.began = cut_off.began;
            turn.input_timed_out = cut_off.input_timed_out;
            turn.question = cut_off.question;
            turn
        });
        if let Some(cut_off) = &turn
            && !in_line
            && !self.shared.agent.resumes(cut_off).await
        {
            turn = None;
        }
        let Some(mut turn) = turn else {
            let text = "interrupted by a restart: send the message again";
            recovered.failed += u64::from(fail(log, head.seq, text, None));
            return Ok(());
        };
        if is_redacted(&turn.message)
            && (in_line || !self.shared.agent.does_without_words(&turn).await)
        {
            let beside = in_line.then(|| log.out_of_line());
            if ask_again(log, head.seq, cut_off.asked, beside) {
                self.watch_input(log);
                recovered.waiting += 1;
            }
            return Ok(());
        }
        log.recall_trace().await?;
        let continues = in_line || self.shared.agent.continues(&turn).await;
        if let Some(canceled) = log.begin_turn(head.seq, None, cut_off.waiting) {
            turn.canceled = canceled;
            if in_line {
                log.stands_in_line();
                self.start_when_there_is_room(log, turn);
            } else {
                // It was at work, perhaps for another that waits for it: it goes on at once.
                let ticket = self.promised_ticket(&turn);
                self.start(log, turn, ticket.or_none());
            }
            match continues {
                true => recovered.resumed += 1,
                false => recovered.failed += 1,
            }
        }
        Ok(())
    }

    /// Messages that came before a task asked for a secret wait for more than that: they come after the message that
    /// brings it, which the task has received just now.
    pub(super) async fn recall_inbox(&self, log: &TaskLog) {
        if let Some(brought) = log.recalls() {
            log.kept(brought).await;
            log.wait_again(self.waiting(log, brought).await);
        }
    }

    /// Messages that still wait after an event of a task, by the store.
    pub(super) async fn waiting(&self, log: &TaskLog, after: u64) -> VecDeque<Arc<Message>> {
        loop {
            match self.cut_off(log.id(), after).await {
                Ok(cut_off) => return cut_off.waiting,
                Err(error) => {
                    tracing::warn!(%error, task = %log.id(), "could not read queued messages");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    /// Reads from the log, up to `last`, how far the turn came that was cut off.
    async fn cut_off(&self, task: &TaskId, last: u64) -> Result<CutOff, Error> {
        let store = self.shared.log.store();
        let mut turn = CutOff::default();
        let mut after = 0;
        loop {
            let page = store.events(task, after, PAGE).await?;
            after = page.last().map_or(last, |entry| entry.seq);
            for entry in page.iter().filter(|entry| entry.seq <= last) {
                turn.see(entry);
            }
            if after >= last {
                // A task that had not begun to work begins now.
                turn.message = turn.message.or_else(|| turn.waiting.pop_front());
                // What came too late to be a secret was one all the same: nobody knows it any more.
                turn.waiting.retain(|message| !is_redacted(message));
                return Ok(turn);
            }
        }
    }
}

/// A turn that a restart cut off.
#[derive(Debug, Default)]
struct CutOff {
    /// The message it began with.
    message: Option<Arc<Message>>,
    /// The number of the event it began with.
    began: u64,
    /// How many events the agent had stored in it.
    emitted: u64,
    /// Messages that came while it ran.
    waiting: VecDeque<Arc<Message>>,
    /// It began because nobody answered.
    input_timed_out: bool,
    working: bool,
    /// What the task waited for before, and what it said then.
    asked: Option<TaskState>,
    question: Option<Arc<Message>>,
}

impl CutOff {
    fn see(&mut self, entry: &Entry) {
        let begins = match &entry.event {
            Event::Task(task) => {
                self.waiting.extend(task.history.last().cloned());
                return;
            }
            Event::Status(update) => {
                let was_working = self.working;
                if update.status.state.is_interrupted() {
                    self.asked = Some(update.status.state);
                    self.question.clone_from(&update.status.message);
                }
                self.working = update.status.state == TaskState::Working;
                self.working && !was_working
            }
            Event::Artifact(_) | Event::Message(_) => false,
        };
        self.waiting.extend(entry.received.clone());
        if begins {
            // Without a message that waits, the turn began because nobody answered. One that comes when the task waits
            // begins its own turn, whoever waits longer.
            let next = match (self.asked, &entry.received) {
                (Some(_), Some(_)) => self.waiting.pop_back(),
                _ => self.waiting.pop_front(),
            };
            self.input_timed_out = next.is_none();
            self.message = next.or(self.message.take());
            self.emitted = 0;
            self.began = entry.seq;
        } else if entry.received.is_none() {
            self.emitted += 1;
        }
    }
}

/// What was sensitive was not kept, so it is asked for once more.
fn ask_again(
    log: &Arc<TaskLog>,
    last: u64,
    asked: Option<TaskState>,
    beside: Option<Change>,
) -> bool {
    let question = log.view().and_then(|(_, task)| {
        let from_agent = |m: &&Arc<Message>| m.role == Role::Agent;
        task.history.iter().rfind(from_agent).cloned()
    });
    let said = question.map_or_else(Said::default, |question| Said {
        parts: question.parts.clone(),
        message_metadata: question.metadata.clone(),
        references: question.reference_task_ids.clone(),
        metadata: None,
    });
    // As before: what answers it is kept as safely.
    let asked = asked.unwrap_or(TaskState::InputRequired);
    let event = status_event(log.origin(), asked, said);
    log.append_if_idle(last, event, beside)
}

/// Fails a task that still stands at `last`. One that does not was begun or taken further since it was looked
/// up, by a turn that went on before it: tasks call each other.
fn fail(log: &Arc<TaskLog>, last: u64, text: &str, beside: Option<Change>) -> bool {
    let event = status_event(log.origin(), TaskState::Failed, failure(text, "RESTARTED"));
    log.append_if_idle(last, event, beside)
}
