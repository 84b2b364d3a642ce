//! Two servers on one store that both could open.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::Settings;
use switchboard_server::engine::recover::{Recovered, recover};
use switchboard_server::log::Log;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{FnAgent, Line, says};
use switchboard_types::ErrorKind;
use switchboard_types::model::TaskState;

use super::idempotency::{keyed, task_id};

/// Works for half a minute, counts its turns, and resumes them.
fn works(turns: &Arc<AtomicUsize>) -> FnAgent {
    let turns = Arc::clone(turns);
    let agent = FnAgent::new(move |_turn, _progress| {
        turns.fetch_add(1, Ordering::SeqCst);
        async {
            tokio::time::sleep(Duration::from_secs(30)).await;
            Ok(Outcome::Completed(Said::default()))
        }
    });
    agent.resumable()
}

/// Two servers, and how many turns have begun at both.
fn two() -> (Line, Line, Arc<AtomicUsize>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let turns = Arc::default();
    let line = || {
        let log = Log::new(Arc::clone(&store));
        Line::new(&log, Arc::new(works(&turns)), Settings::default())
    };
    (line(), line(), turns)
}

async fn recovered(line: &Line) -> Recovered {
    let engines = HashMap::from([(Arc::from("agent"), line.engine.clone())]);
    recover(&line.log, &engines).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_leaves_a_task_to_the_one_that_works_on_it() {
    let (one, two, turns) = two();
    let task = one.send_at_once(says("work")).await.unwrap();
    assert_eq!(recovered(&two).await, Recovered::default());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(turns.load(Ordering::SeqCst), 1);
    for line in [&one, &two] {
        let state = line.get(&task.id).await.unwrap().status.state;
        assert_eq!(state, TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_resumes_what_a_closed_one_has_left() {
    let (one, two, turns) = two();
    let task = one.send_at_once(says("work")).await.unwrap();
    one.log.close().await;
    assert_eq!(recovered(&two).await.resumed, 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(turns.load(Ordering::SeqCst), 2);
    let state = two.get(&task.id).await.unwrap().status.state;
    assert_eq!(state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn one_key_at_both_servers_makes_one_task() {
    let (one, two, _) = two();
    let (a, b) = tokio::join!(
        keyed(&one, says("work"), "k"),
        keyed(&two, says("work"), "k")
    );
    let (a, b) = (task_id(a.unwrap()), task_id(b.unwrap()));
    assert_eq!(a, b);
    let live = one.log.store().live(None, 9).await.unwrap();
    assert_eq!(live, [], "the other one was never made");

    let (a, b) = tokio::join!(
        keyed(&one, says("work"), "l"),
        keyed(&two, says("something else"), "l")
    );
    let (made, refused) = if a.is_ok() { (a, b) } else { (b, a) };
    made.unwrap();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidParams);
}
