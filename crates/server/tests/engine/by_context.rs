//! Answers that name no task, at agents that are set to `answers: context`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use switchboard_server::agent::{Outcome, Said};
use switchboard_server::auth::Access;
use switchboard_server::authorize::Authorized;
use switchboard_server::call::{Call, Handler, Origin, ReplyBody, ServiceParams, Target};
use switchboard_server::engine::Settings;
use switchboard_server::log::Log;
use switchboard_server::principal::Principal;
use switchboard_server::store::Error;
use switchboard_server::task::Owner;
use switchboard_server::testing::agent::{FnAgent, Line, owner, rest, says, send};
use switchboard_server::testing::troubled::{Request, Trouble, Troubled};
use switchboard_types::model::{ContextId, Event, Message, Task, TaskState};
use switchboard_types::operation::{Operation, Response};

use super::{line_with, state_of};

fn by_context() -> Settings {
    Settings {
        answers_by_context: true,
        ..Settings::default()
    }
}

/// Asks first, then works for a second, and completes with what it heard.
fn asks_then_works() -> FnAgent {
    FnAgent::new(|turn, _progress| async move {
        if turn.task.history.len() == 1 {
            return Ok(Outcome::InputRequired(Said::text("which one?")));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(Outcome::Completed(Said::text(turn.message.text())))
    })
}

fn in_context(text: &str) -> Message {
    Message {
        context_id: Some(ContextId::new("thread").unwrap()),
        ..says(text)
    }
}

async fn ask(line: &Line, operation: Operation, change: impl FnOnce(&mut Call)) -> ReplyBody {
    let mut call = Call {
        operation,
        target: Target::default(),
        principal: Principal::from(owner()),
        params: ServiceParams::internal(),
        origin: Origin::Network,
    };
    change(&mut call);
    let agent = Authorized::new(line.engine.clone(), Arc::new(Access::open()));
    agent.handle(call).await.unwrap().body
}

async fn say_with(line: &Line, message: Message, change: impl FnOnce(&mut Call)) -> Arc<Task> {
    match ask(line, Operation::Send(send(message).into()), change).await {
        ReplyBody::Response(Response::SentTask(view)) => view.task,
        other => panic!("{other:?}"),
    }
}

async fn say(line: &Line, text: &str) -> Arc<Task> {
    say_with(line, in_context(text), |_| {}).await
}

#[tokio::test(start_paused = true)]
async fn a_message_answers_the_only_task_that_waits_in_its_context() {
    let line = line_with(asks_then_works(), by_context());
    let asked = say(&line, "a shirt").await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let done = say(&line, "the red one").await;
    assert_eq!(done.id, asked.id);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "the red one");
    // Nothing waits any more: that is a new task.
    let next = say(&line, "trousers").await;
    assert_ne!(next.id, asked.id);
    assert_eq!(next.status.state, TaskState::InputRequired);
    // Streams answer, too.
    let stream = Operation::Stream(send(in_context("the blue ones")).into());
    let ReplyBody::Stream(mut events) = ask(&line, stream, |_| {}).await else {
        panic!("not a stream");
    };
    let events = rest(&mut events).await;
    assert!(matches!(&events[0].1, Event::Task(task) if task.id == next.id));
    let last = events.last().and_then(|(_, event, _)| state_of(event));
    assert_eq!(last, Some(TaskState::Completed));
}

/// Tasks are listed, but not their content.
#[derive(Debug)]
struct OnlyHeads;

#[async_trait]
impl Trouble for OnlyHeads {
    async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
        match request {
            Request::List(query)
                if query.artifacts || query.history != Some(0) || query.bytes > 64 << 10 =>
            {
                Err(Error::Unavailable("that is too much".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_found_by_its_context_without_reading_its_content() {
    let log = Log::new(Arc::new(Troubled::by(OnlyHeads)));
    let line = Line::new(&log, Arc::new(asks_then_works()), by_context());
    let asked = say(&line, &"x".repeat(100_000)).await;
    assert_eq!(say(&line, "the red one").await.id, asked.id);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_clearly_an_answer_begins_a_task() {
    // Other agents are not meant: they name the tasks they answer.
    let line = line_with(asks_then_works(), by_context());
    let first = say(&line, "a shirt").await;
    let by_agent = say_with(&line, in_context("a hat"), |call| {
        call.origin = Origin::Agent("other".into());
    });
    let second = by_agent.await;
    assert_ne!(second.id, first.id);
    // Two tasks wait now, so neither is meant.
    let third = say(&line, "the red one").await;
    assert!(third.id != first.id && third.id != second.id);
    // Nor is a task of someone else, or one in another context.
    let line = line_with(asks_then_works(), by_context());
    let first = say(&line, "a shirt").await;
    let stranger = |call: &mut Call| call.principal = Principal::from(Owner::new("stranger"));
    let theirs = say_with(&line, in_context("red"), stranger).await;
    let elsewhere = say_with(&line, says("red"), |_| {}).await;
    assert!(theirs.id != first.id && elsewhere.id != first.id);
    // Without the setting a task is named by its id.
    let line = line_with(asks_then_works(), Settings::default());
    let first = say(&line, "a shirt").await;
    assert_ne!(say(&line, "the red one").await.id, first.id);
}

#[tokio::test(start_paused = true)]
async fn of_two_answers_at_once_one_answers_and_the_other_begins_a_task() {
    let line = line_with(asks_then_works(), by_context());
    let asked = say(&line, "a shirt").await;
    let (one, other) = tokio::join!(say(&line, "red"), say(&line, "blue"));
    let answers = [&one, &other].map(|task| task.id == asked.id);
    assert_eq!(answers.iter().filter(|&&is_answer| is_answer).count(), 1);
    let done = line.get(&asked.id).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    // The question, and one answer.
    assert_eq!(done.history.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_repeated_under_its_key_is_given_once() {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let agent = FnAgent::new(move |turn, _progress| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            match turn.task.history.len() {
                1 => Ok(Outcome::InputRequired(Said::text("which one?"))),
                _ => Ok(Outcome::Completed(Said::text(turn.message.text()))),
            }
        }
    });
    let line = line_with(agent, by_context());
    let asked = say(&line, "a shirt").await;
    let keyed = || {
        say_with(&line, in_context("red"), |call| {
            call.params.idempotency_key = Some("k".to_owned());
        })
    };
    let (one, two) = tokio::join!(keyed(), keyed());
    assert_eq!((&one.id, &two.id), (&asked.id, &asked.id));
    // Also when its task is over, and when another one waits.
    assert_eq!(keyed().await.id, asked.id);
    let other = say(&line, "a hat").await;
    assert_ne!(other.id, asked.id);
    let again = keyed().await;
    assert_eq!(again.id, asked.id);
    assert_eq!(again.status.message.as_ref().unwrap().text(), "red");
    let still = line.get(&other.id).await.unwrap();
    assert_eq!(still.status.state, TaskState::InputRequired);
    assert_eq!(turns.load(Ordering::SeqCst), 3);
}
