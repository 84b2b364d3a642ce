//! An engine that takes the place of another while that one is at work.

use std::sync::Arc;
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::egress::Guard;
use switchboard_server::engine::{Engine, OnInputTimeout, Parts, Settings};
use switchboard_server::shutdown::Tasks;
use switchboard_server::testing::agent::{FnAgent, Line, says};
use switchboard_types::model::{Message, TaskState};
use tokio::sync::Semaphore;

use super::line_with;

/// Asks for more under its own name when it is told to.
fn named(name: &'static str, go: &Arc<Semaphore>) -> FnAgent {
    let go = Arc::clone(go);
    FnAgent::new(move |_turn, _progress| {
        let go = Arc::clone(&go);
        async move {
            go.acquire().await.unwrap().forget();
            Ok(Outcome::InputRequired(Said::text(name)))
        }
    })
}

/// The next engine of the same agent.
fn next(line: &Line, agent: FnAgent, settings: Settings) -> Line {
    let engine: Engine = line.engine.next(Parts {
        name: Arc::clone(line.engine.name()),
        agent: Arc::new(agent),
        router: None,
        profile: (*line.engine.profile()).clone(),
        settings,
        log: line.log.clone(),
        guard: Arc::new(Guard::new(Vec::new())),
        tasks: Tasks::default(),
    });
    Line {
        engine,
        log: line.log.clone(),
    }
}

/// Lets everything happen that can.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn patient() -> Settings {
    Settings {
        input_timeout: Duration::from_secs(60),
        on_input_timeout: OnInputTimeout::Continue,
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_where_it_began_and_the_next_begins_at_the_new_engine() {
    let go = Arc::new(Semaphore::new(0));
    let old = line_with(named("old", &go), patient());
    let task = old.send_at_once(says("one")).await.unwrap();
    settle().await;
    // It waits for the turn that runs.
    let more = Message {
        task_id: Some(task.id.clone()),
        ..says("two")
    };
    let reload = async {
        settle().await;
        let new = next(&old, named("new", &go), patient());
        let said = async || {
            let task = new.get(&task.id).await.unwrap();
            let message = task.status.message.as_ref().map(|message| message.text());
            (task.status.state, message.unwrap_or_default())
        };
        new.engine.take_over();
        assert_eq!(said().await.0, TaskState::Working);
        go.add_permits(1);
        settle().await;
        let task_now = new.get(&task.id).await.unwrap();
        let heard: Vec<String> = task_now.history.iter().map(|m| m.text()).collect();
        assert!(heard.contains(&"old".to_owned()), "{heard:?}");
        assert_eq!(said().await.0, TaskState::Working, "the second turn");
        go.add_permits(1);
        settle().await;
        assert_eq!(said().await, (TaskState::InputRequired, "new".to_owned()));
    };
    let (answer, ()) = tokio::join!(old.send(more), reload);
    let answer = answer.unwrap();
    assert_eq!(answer.status.message.as_ref().unwrap().text(), "new");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_old_engine_is_not_forgotten_and_the_new_one_goes_on() {
    let go = Arc::new(Semaphore::new(9));
    let old = line_with(named("old", &go), patient());
    let task = old.send(says("one")).await.unwrap();
    assert_eq!(task.status.state, TaskState::InputRequired);
    let done = FnAgent::new(|turn, _progress| async move {
        assert!(turn.input_timed_out);
        Ok(Outcome::Completed(Said::text("new")))
    });
    let new = next(&old, done, Settings::default());
    new.engine.take_over();
    drop(old);
    tokio::time::sleep(Duration::from_secs(61)).await;
    let task = new.get(&task.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_was_only_made_changes_nothing() {
    let go = Arc::new(Semaphore::new(9));
    let old = line_with(named("old", &go), patient());
    let task = old.send(says("one")).await.unwrap();
    let made = next(&old, named("new", &go), patient());
    tokio::time::sleep(Duration::from_secs(61)).await;
    let task = old.get(&task.id).await.unwrap();
    assert_eq!(task.status.message.as_ref().unwrap().text(), "old");
    // Nor does one that is gone by now.
    made.engine.take_over();
    drop(made);
    tokio::time::sleep(Duration::from_secs(61)).await;
    let task = old.get(&task.id).await.unwrap();
    assert_eq!(task.status.message.as_ref().unwrap().text(), "old");
}
