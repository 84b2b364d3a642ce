//! At start, no task is left hanging: each one that is not over is resumed, waits on, or fails with a reason.

use std::collections::HashMap;
use std::sync::Arc;

use switchboard_types::model::{Event, TaskState};

use super::Engine;
use super::events::{failure, status_event};
use super::run::last_message;
use crate::agent::Restart;
use crate::clock;
use crate::log::{Log, TaskLog};
use crate::store::{Error, Head};

/// How many tasks are looked at in one go.
const PAGE: usize = 256;

/// What became of the tasks that a restart cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Went on where they were.
    pub resumed: u64,
    /// Wait for their client, as before.
    pub waiting: u64,
    /// Could not go on.
    pub failed: u64,
}

/// Sees to every task that is not over. Call it before the server answers.
///
/// # Errors
///
/// If the store cannot be read or written.
pub async fn recover(log: &Log, engines: &HashMap<Arc<str>, Engine>) -> Result<Recovered, Error> {
    let mut recovered = Recovered::default();
    let mut after = None;
    loop {
        let page = log.store().live(after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(recovered);
        };
        after = Some(last.id.clone());
        for head in page {
            let Some(task) = log.open(&head.id).await? else {
                continue;
            };
            match engines.get(&head.agent) {
                Some(engine) => engine.revive(&task, &head, &mut recovered).await?,
                None => {
                    let text = format!("the agent {:?} is no longer there", head.agent);
                    fail(&task, &text);
                    recovered.failed += 1;
                }
            }
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
            if head.state == TaskState::InputRequired {
                let deadline = head.updated.as_micros().saturating_add(
                    i64::try_from(self.shared.settings.input_timeout.as_micros())
                        .unwrap_or(i64::MAX),
                );
                let left = clock::until(switchboard_types::model::Timestamp::from_micros(deadline));
                self.expire_input_after(head.id.clone(), head.seq, left);
            }
            return Ok(());
        }
        let resumable = self.shared.agent.on_restart() == Restart::Resume;
        let message = last_message(log).filter(|_| resumable);
        let Some(message) = message else {
            fail(log, "interrupted by a restart: send the message again");
            recovered.failed += 1;
            return Ok(());
        };
        let emitted = self.emitted_in_this_turn(head).await?;
        if let Some(canceled) = log.begin_turn(head.seq, None) {
            let principal = head.owner.clone().into();
            let mut turn = self.turn_for(principal, log, message, canceled);
            turn.emitted = emitted;
            self.start(Arc::clone(log), turn, None);
            recovered.resumed += 1;
        }
        Ok(())
    }

    /// How many events the turn that was cut off had stored, the one that began it not counted.
    async fn emitted_in_this_turn(&self, head: &Head) -> Result<u64, Error> {
        let (mut state, mut began, mut after) = (TaskState::Submitted, head.seq, 0);
        loop {
            let page = self
                .shared
                .log
                .store()
                .events(&head.id, after, 1024)
                .await?;
            let Some(last) = page.last() else {
                return Ok(head.seq - began);
            };
            after = last.seq;
            for entry in page {
                if let Event::Status(update) = &entry.event {
                    let now = update.status.state;
                    // A turn begins where a task that was not working begins to work.
                    if now == TaskState::Working && state != TaskState::Working {
                        began = entry.seq;
                    }
                    state = now;
                }
            }
        }
    }
}

fn fail(log: &Arc<TaskLog>, text: &str) {
    let event = status_event(log.origin(), TaskState::Failed, failure(text, "RESTARTED"));
    // Nothing runs on it yet, so nothing can have ended it.
    log.append(event, None).ok();
}
