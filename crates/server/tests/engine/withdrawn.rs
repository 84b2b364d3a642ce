//! Questions that nobody answers any more: the agent that asked is told, once, wherever the cancel came in between.

use std::slice;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Said, Turn};
use switchboard_server::engine::Settings;
use switchboard_server::limit::{Gate, Turns};
use switchboard_server::log::{Log, NewTask};
use switchboard_server::store::MemoryStore;
use switchboard_server::task::{Change, Origin};
use switchboard_server::testing::agent::{Line, owner, says};
use switchboard_server::testing::store_suite::{Story, at};
use switchboard_types::model::{Event, StatusUpdate, TaskId, TaskState, TaskStatus};

/// Asks at once; or when it is told to stop; or works until it is told to. It remembers what it released, and what was
/// open then.
#[derive(Debug, Default)]
struct Asker {
    released: Mutex<Vec<(TaskId, TaskState, String)>>,
}

#[async_trait]
impl Agent for Asker {
    async fn run(&self, turn: Turn, _: Progress) -> Result<Outcome, AgentError> {
        let text = turn.message.text();
        if text != "ask" {
            turn.canceled.cancelled().await;
        }
        match text.as_str() {
            "ask" | "ask late" => Ok(Outcome::InputRequired(Said::text("which one?"))),
            "show" => Ok(Outcome::AuthRequired(Said::text("who are you?"))),
            _ => Err(AgentError::over()),
        }
    }

    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        let status = &turn.task.status;
        let said = status.message.as_ref().map(|message| message.text());
        let open = (turn.task.id.clone(), status.state, said.unwrap_or_default());
        self.released.lock().unwrap().push(open);
        Ok(())
    }
}

fn asker(settings: Settings) -> (Line, Arc<Asker>) {
    let agent = Arc::new(Asker::default());
    let log = Log::new(Arc::new(MemoryStore::default()));
    let line = Line::new(&log, Arc::clone(&agent) as _, settings);
    (line, agent)
}

/// What it released, some time later.
async fn released(agent: &Asker) -> Vec<(TaskId, TaskState, String)> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    agent.released.lock().unwrap().clone()
}

async fn ids(agent: &Asker) -> Vec<TaskId> {
    let all = released(agent).await;
    all.into_iter().map(|(id, ..)| id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_question_is_withdrawn_with_its_task() {
    let (line, agent) = asker(Settings::default());
    let asked = line.send(says("ask")).await.unwrap();
    line.cancel(&asked.id).await.unwrap();
    line.cancel(&asked.id).await.unwrap_err();
    assert_eq!(ids(&agent).await, slice::from_ref(&asked.id));
    // Nobody waits for an answer where work is stopped: it is told by the signal.
    let works = line.send_at_once(says("work")).await.unwrap();
    line.cancel(&works.id).await.unwrap();
    assert_eq!(ids(&agent).await, slice::from_ref(&asked.id));
}

#[tokio::test(start_paused = true)]
async fn a_question_whose_answer_stands_in_line_is_withdrawn() {
    let (line, agent) = asker(Settings {
        turns: Turns {
            here: Some(Gate::new(1, 9)),
            ..Turns::default()
        },
        ..Settings::default()
    });
    let asked = line.send(says("ask")).await.unwrap();
    line.send_at_once(says("work")).await.unwrap();
    let mut answer = says("blue");
    answer.task_id = Some(asked.id.clone());
    line.send_at_once(answer).await.unwrap();
    let canceled = line.cancel(&asked.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert_eq!(ids(&agent).await, slice::from_ref(&asked.id));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_comes_when_the_task_is_over_is_withdrawn_and_told_to_nobody() {
    let (line, agent) = asker(Settings {
        task_timeout: Duration::from_secs(9),
        ..Settings::default()
    });
    let late = line.send_at_once(says("ask late")).await.unwrap();
    let canceled = line.cancel(&late.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert_eq!(canceled.status.message, None);
    let open = (
        late.id.clone(),
        TaskState::InputRequired,
        "which one?".to_owned(),
    );
    assert_eq!(released(&agent).await, slice::from_ref(&open));
    // The same if it has taken too long.
    let slow = line.send(says("show")).await.unwrap();
    assert_eq!(slow.status.state, TaskState::Failed);
    let shows = (
        slow.id.clone(),
        TaskState::AuthRequired,
        "who are you?".to_owned(),
    );
    assert_eq!(released(&agent).await, [open, shows]);
}

/// However closely they come one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_that_comes_with_the_question_cancels() {
    let (line, agent) = asker(Settings::default());
    for round in 0..500 {
        let asked = line.send_at_once(says("ask")).await.unwrap();
        let canceled = tokio::time::timeout(Duration::from_secs(20), line.cancel(&asked.id));
        let canceled = canceled.await.expect("it is never answered").unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        let told = || agent.released.lock().unwrap().len() > round;
        while !told() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_question_does_not_end_the_turn_of_a_task_that_was_canceled() {
    let log = Log::new(Arc::new(MemoryStore::default()));
    let mut story = Story::new(1);
    story.step(TaskState::Submitted, at(1));
    let task = log.create(Origin {
        id: story.id().clone(),
        agent: Arc::from("agent"),
        owner: owner(),
        context: story.task().context_id,
    });
    task.begin(NewTask {
        task: Arc::new(story.task()),
        changes: Vec::new(),
        decision: None,
        trace: None,
        draft: false,
    });
    task.uncork();
    let stands = |state| {
        Event::Status(StatusUpdate {
            task_id: task.id().clone(),
            context_id: task.origin().context.clone(),
            status: TaskStatus {
                state,
                message: None,
                timestamp: None,
            },
            metadata: None,
        })
    };
    task.append(stands(TaskState::Working)).unwrap();
    let note = Change::Remove(task.id().clone());
    assert!(task.cancel(stands(TaskState::Canceled), note).unwrap());
    for asks in [TaskState::InputRequired, TaskState::AuthRequired] {
        let refused = task.end_turn(stands(asks), None);
        assert_eq!(*refused.unwrap_err(), stands(asks));
    }
    task.end_turn(stands(TaskState::Canceled), None).unwrap();
    assert_eq!(task.last().1, TaskState::Canceled);
}
