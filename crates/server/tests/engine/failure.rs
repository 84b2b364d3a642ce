//! Agents that break, and a store that does not take it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Said, Turn};
use switchboard_server::engine::Settings;
use switchboard_server::log::Log;
use switchboard_server::store::{Error, Store};
use switchboard_server::task::Change;
use switchboard_server::testing::agent::{FnAgent, Line, says};
use switchboard_server::testing::troubled::{Request, Trouble, Troubled};
use switchboard_types::ErrorKind;
use switchboard_types::model::{Message, TaskState};

use super::idempotency::keyed;
use super::{asks, echo, line, line_with};

fn error_of(task: &switchboard_types::model::Task) -> String {
    task.status.message.as_ref().unwrap().text()
}

#[tokio::test(start_paused = true)]
async fn an_error_fails_the_task_with_its_text() {
    let broken = FnAgent::new(|_, _| async { Err(AgentError::new("no more tea")) });
    let task = line(broken).send(says("hello")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(error_of(&task), "no more tea");
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_the_task_and_nothing_else() {
    let broken = FnAgent::new(|turn, _| async move {
        assert_ne!(turn.message.text(), "boom", "secret inner detail");
        Ok(Outcome::Completed(Said::default()))
    });
    let line = line(broken);
    let task = line.send(says("boom")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(!error_of(&task).contains("secret"), "{}", error_of(&task));
    let next = line.send(says("fine")).await.unwrap();
    assert_eq!(next.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_too_long_fails() {
    let settings = Settings {
        task_timeout: Duration::from_secs(60),
        blocking_deadline: Duration::from_secs(600),
        ..Settings::default()
    };
    let slow = FnAgent::new(|_, _| std::future::pending());
    let task = line_with(slow, settings).send(says("hello")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(error_of(&task), "the task took longer than 60 s");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_can_still_tell_others_to_stop() {
    let told = Arc::new(AtomicBool::new(false));
    let settings = Settings {
        task_timeout: Duration::from_secs(60),
        ..Settings::default()
    };
    let told_again = Arc::clone(&told);
    let tells = FnAgent::new(move |turn, _| {
        let told = Arc::clone(&told_again);
        async move {
            turn.canceled.cancelled().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            told.store(true, Ordering::SeqCst);
            std::future::pending().await
        }
    });
    let line = line_with(tells, settings);
    let task = line.send_at_once(says("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(70)).await;
    let task = line.get(&task.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(error_of(&task), "the task took longer than 60 s");
    assert!(told.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_after_its_end_is_lost() {
    let (kept, mut progress) = tokio::sync::mpsc::channel(1);
    let leaks = FnAgent::new(move |_, progress| {
        let kept = kept.clone();
        async move {
            kept.send(progress).await.ok();
            Ok(Outcome::Completed(Said::default()))
        }
    });
    let line = line(leaks);
    let done = line.send(says("hello")).await.unwrap();
    let progress = progress.recv().await.unwrap();
    assert!(progress.working(Said::text("still here")).await.is_err());
    assert_eq!(line.get(&done.id).await.unwrap(), done);
}

/// A store whose disk can be full, and slow.
#[derive(Debug, Default)]
pub(super) struct Flaky {
    pub(super) full: Arc<AtomicBool>,
    /// It takes no more events, but all else.
    pub(super) takes_no_events: Arc<AtomicBool>,
    /// How long after it was read an answer to a request comes, and before tasks are listed that are not over.
    answers_take: Duration,
}

impl Flaky {
    pub(super) fn slow(answers_take: Duration) -> Self {
        Self {
            answers_take,
            ..Self::default()
        }
    }
}

#[async_trait]
impl Trouble for Flaky {
    async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
        let changes = match request {
            Request::Commit(changes) => changes,
            Request::Live | Request::Answered => {
                tokio::time::sleep(self.answers_take).await;
                return Ok(());
            }
            Request::Turns(_)
            | Request::Steps(_)
            | Request::Task(_)
            | Request::List(_)
            | Request::ListById(_) => {
                return Ok(());
            }
        };
        if self.full.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("the disk is full".to_owned()));
        }
        let has_events = changes.iter().any(|it| matches!(it, Change::Append(_)));
        if has_events && self.takes_no_events.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("the disk is nearly full".to_owned()));
        }
        Ok(())
    }
}

fn flaky(agent: FnAgent) -> (Line, Arc<AtomicBool>) {
    let flaky = Flaky::default();
    let full = Arc::clone(&flaky.full);
    let log = Log::new(Arc::new(Troubled::by(flaky)));
    (Line::new(&log, Arc::new(agent), Settings::default()), full)
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_new_tasks_and_still_serves_reads() {
    let (line, full) = flaky(echo());
    let before = line.send(says("before")).await.unwrap();
    full.store(true, Ordering::SeqCst);
    let error = line.send(says("during")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("the disk is full"), "{error}");
    assert_eq!(line.get(&before.id).await.unwrap(), before);
    full.store(false, Ordering::SeqCst);
    let after = line.send(says("after")).await.unwrap();
    assert_eq!(after.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_is_seen_to_recover_without_any_call() {
    let flaky = Flaky::default();
    let full = Arc::clone(&flaky.full);
    let log = Log::new(Arc::new(Troubled::by(flaky)));
    let line = Line::new(&log, Arc::new(echo()), Settings::default());
    line.send(says("before")).await.unwrap();
    assert!(!log.store_status().is_refusing());
    full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        line.send(says("during")).await.unwrap_err();
        assert!(log.store_status().is_refusing());
    }
    let error = log.store_status().error().unwrap();
    assert!(error.contains("the disk is full"), "{error}");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(log.store_status().is_refusing());
    full.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(!log.store_status().is_refusing());
    assert_eq!(log.store_status().error(), None);
}

#[tokio::test(start_paused = true)]
async fn a_running_task_survives_a_full_disk_and_nothing_is_told_early() {
    let agent = FnAgent::new(|_turn, progress| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        progress.artifact(super::artifact("x")).await?;
        Ok(Outcome::Completed(Said::default()))
    });
    let (line, full) = flaky(agent);
    let task = line.send_at_once(says("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    full.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let meanwhile = line.get(&task.id).await.unwrap();
    assert_eq!(meanwhile.status.state, TaskState::Working);
    assert!(meanwhile.artifacts.is_empty());
    full.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let later = line.get(&task.id).await.unwrap();
    assert_eq!(later.status.state, TaskState::Completed);
    assert_eq!(later.artifacts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_could_not_be_stored_is_refused() {
    let (line, full) = flaky(asks());
    let waiting = line.send(says("a shirt")).await.unwrap();
    full.store(true, Ordering::SeqCst);
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("red")
    };
    let error = line.send(answer).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let still = line.get(&waiting.id).await.unwrap();
    assert_eq!(still.status.state, TaskState::InputRequired);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_could_not_be_stored_at_once_is_not_taken_twice() {
    let (line, full) = flaky(asks());
    let waiting = line.send(says("a shirt")).await.unwrap();
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("red")
    };
    full.store(true, Ordering::SeqCst);
    keyed(&line, answer.clone(), "k").await.unwrap_err();
    full.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(10)).await;
    keyed(&line, answer, "k").await.unwrap();
    let done = line.get(&waiting.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    let red = done.history.iter().filter(|m| m.text() == "red");
    assert_eq!(red.count(), 1);
}

/// What is noted follows from what was said, and must not last longer.
#[tokio::test(start_paused = true)]
async fn a_note_is_not_kept_before_what_was_said_before_it() {
    let flaky = Flaky::default();
    let takes_no_events = Arc::clone(&flaky.takes_no_events);
    let store: Arc<dyn Store> = Arc::new(Troubled::by(flaky));
    let noted = Arc::new(AtomicBool::new(false));
    let agent = {
        let noted = Arc::clone(&noted);
        FnAgent::new(move |turn, progress| {
            let (noted, takes_no_events) = (Arc::clone(&noted), Arc::clone(&takes_no_events));
            async move {
                progress.record("first", json!(1)).await?;
                takes_no_events.store(true, Ordering::SeqCst);
                progress.artifact(super::artifact("x")).await?;
                // Time to try to store it, and to fail.
                tokio::time::sleep(Duration::from_secs(1)).await;
                noted.store(
                    progress.record("second", json!(2)).await.is_ok(),
                    Ordering::SeqCst,
                );
                turn.canceled.cancelled().await;
                Ok(Outcome::Completed(Said::default()))
            }
        })
    };
    let line = Line::new(
        &Log::new(Arc::clone(&store)),
        Arc::new(agent),
        Settings::default(),
    );
    let task = line.send_at_once(says("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(!noted.load(Ordering::SeqCst), "it was not told that it is");
    let steps = store.steps(&task.id, 0, 9).await.unwrap();
    let names: Vec<&str> = steps.iter().map(|stored| &*stored.step.name).collect();
    assert_eq!(names, ["first"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_could_not_be_read_again_is_refused() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let agent = FnAgent::new(move |turn, progress| async move {
        progress.record("shallow", nested(100)).await?;
        let error = progress.record("deep", nested(200)).await.unwrap_err();
        assert!(turn.last_step("shallow").await?.is_some());
        assert!(turn.last_step("deep").await?.is_none());
        Ok(Outcome::Completed(Said::text(error.to_string())))
    });
    let done = line(agent).send(says("hello")).await.unwrap();
    assert_eq!(
        error_of(&done),
        "what the agent recorded is nested too deep to be read again"
    );
}

/// Begins before its task is durable, and speaks while the first commit is under way.
#[derive(Debug)]
struct SpeaksLater;

#[async_trait]
impl Agent for SpeaksLater {
    async fn run(&self, _: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        tokio::time::sleep(Duration::from_millis(500)).await;
        progress.working(Said::text("later")).await?;
        Ok(Outcome::Completed(Said::default()))
    }

    fn has_effects(&self) -> bool {
        false
    }
}

/// Refuses the first commit, after a second, and counts the appends of later ones.
#[derive(Debug, Clone, Default)]
struct RefusesFirst {
    has_refused: Arc<AtomicBool>,
    appends: Arc<AtomicUsize>,
}

#[async_trait]
impl Trouble for RefusesFirst {
    async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
        let Request::Commit(changes) = request else {
            return Ok(());
        };
        if !self.has_refused.swap(true, Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_secs(1)).await;
            return Err(Error::Unavailable("the disk is full".to_owned()));
        }
        let appends = changes.iter().filter(|c| matches!(c, Change::Append(_)));
        self.appends.fetch_add(appends.count(), Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_given_up_is_not_committed_by_what_its_agent_said_meanwhile() {
    let trouble = RefusesFirst::default();
    let log = Log::new(Arc::new(Troubled::by(trouble.clone())));
    let line = Line::new(&log, Arc::new(SpeaksLater), Settings::default());
    let refused = line.send(says("hello")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(trouble.appends.load(Ordering::SeqCst), 0);
    line.send(says("again")).await.unwrap();
    assert_ne!(trouble.appends.load(Ordering::SeqCst), 0);
}
