//! How many turns are at work, and how long a message and a task may be.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::call::{Origin, ReplyBody};
use switchboard_server::engine::{Settings, recover};
use switchboard_server::limit::{Gate, Turns};
use switchboard_server::log::Log;
use switchboard_server::metrics::Lines;
use switchboard_server::principal::Principal;
use switchboard_server::store::MemoryStore;
use switchboard_server::task::Owner;
use switchboard_server::testing::agent::{FnAgent, Line, says, send};
use switchboard_server::testing::troubled::Troubled;
use switchboard_types::model::{Part, Task, TaskState};
use switchboard_types::operation::{Operation, Response};
use switchboard_types::{Error, ErrorKind};
use tokio::sync::Semaphore;

use super::failure::Flaky;
use super::{asks, echo, line_with, works_until_canceled};

/// Room for so many of this agent, and a line.
pub(super) fn room(most: usize, length: usize) -> Settings {
    Settings {
        turns: Turns {
            here: Some(Gate::new(most, length)),
            everywhere: None,
        },
        ..Settings::default()
    }
}

/// Does its work when it is told to.
fn told_by(go: &Arc<Semaphore>) -> FnAgent {
    let go = Arc::clone(go);
    FnAgent::new(move |_turn, _progress| {
        let go = Arc::clone(&go);
        async move {
            go.acquire().await.unwrap().forget();
            Ok(Outcome::Completed(Said::default()))
        }
    })
}

async fn send_as(line: &Line, name: &str, origin: Origin) -> Result<Arc<Task>, Error> {
    let mut send = send(says("hello"));
    send.configuration.return_immediately = true;
    let body = line
        .ask(Operation::Send(Box::new(send)), |call| {
            call.principal = Principal::from(Owner::new(name));
            call.origin = origin;
        })
        .await?;
    match body {
        ReplyBody::Response(Response::SentTask(view)) => Ok(view.task),
        other => panic!("{other:?}"),
    }
}

/// Lets everything happen that can.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_room_waits_and_its_task_is_kept() {
    let go = Arc::new(Semaphore::new(0));
    let line = line_with(told_by(&go), room(1, 10));
    let first = line.send_at_once(says("one")).await.unwrap();
    let second = line.send_at_once(says("two")).await.unwrap();
    settle().await;
    let state = async |task: &Task| line.get(&task.id).await.unwrap().status.state;
    assert_eq!(state(&first).await, TaskState::Working);
    assert_eq!(state(&second).await, TaskState::Submitted);
    let stored = line.log.store().events(&second.id, 0, 10).await.unwrap();
    assert_eq!(stored.len(), 1, "it is stored before it has a turn");
    go.add_permits(1);
    settle().await;
    assert_eq!(state(&first).await, TaskState::Completed);
    assert_eq!(state(&second).await, TaskState::Working);
    go.add_permits(1);
    settle().await;
    assert_eq!(state(&second).await, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_line_there_is_no_task() {
    let line = line_with(works_until_canceled(), room(1, 2));
    let first = line.send_at_once(says("one")).await.unwrap();
    line.send_at_once(says("two")).await.unwrap();
    let refused = line.send_at_once(says("three")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    assert_eq!(
        refused.message(),
        "the agent is at its limit of 1 concurrent task; retry after 1 s"
    );
    let live = line.log.store().live(None, 10).await.unwrap();
    assert_eq!(live.len(), 2, "what is refused leaves nothing");
    line.cancel(&first.id).await.unwrap();
    settle().await;
    line.send_at_once(says("three")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn callers_take_turns() {
    let go = Arc::new(Semaphore::new(0));
    let line = line_with(told_by(&go), room(1, 100));
    let mut tasks = Vec::new();
    for n in 0..30 {
        let task = send_as(&line, "greedy", Origin::Network).await.unwrap();
        tasks.push((format!("greedy {n}"), "greedy", task.id.clone()));
    }
    for name in ["a", "b", "c"] {
        let task = send_as(&line, name, Origin::Network).await.unwrap();
        tasks.push((name.to_owned(), name, task.id.clone()));
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        go.add_permits(1);
        settle().await;
        for (label, owner, id) in &tasks {
            let log = line.log.open(id).await.unwrap().unwrap();
            assert_eq!(log.origin().owner, Owner::new(*owner));
            if log.last().1 == TaskState::Completed && !order.contains(label) {
                order.push(label.clone());
            }
        }
    }
    assert_eq!(
        order,
        ["greedy 0", "greedy 1", "a", "b", "c", "greedy 2"],
        "thirty that came first do not go first"
    );
}

#[tokio::test(start_paused = true)]
async fn room_comes_back_whatever_ends_a_turn() {
    let agent = FnAgent::new(|turn, _progress| async move {
        match turn.message.text().as_str() {
            "panic" => panic!("it broke"),
            "fail" => Err(AgentError::new("no")),
            "ask" => Ok(Outcome::InputRequired(Said::text("which one?"))),
            "hang" => std::future::pending().await,
            _ => Ok(Outcome::Completed(Said::default())),
        }
    });
    let settings = Settings {
        input_timeout: Settings::default().task_timeout * 10,
        ..room(1, 0)
    };
    let line = line_with(agent, settings);
    for (text, state) in [
        ("panic", TaskState::Failed),
        ("fail", TaskState::Failed),
        ("ask", TaskState::InputRequired),
        ("hang", TaskState::Failed),
        ("done", TaskState::Completed),
    ] {
        let task = line.send_at_once(says(text)).await.unwrap();
        let Settings {
            task_timeout,
            cancel_grace,
            ..
        } = Settings::default();
        tokio::time::sleep(task_timeout + cancel_grace).await;
        settle().await;
        let task = line.get(&task.id).await.unwrap();
        assert_eq!(task.status.state, state, "{text}");
    }
    let hangs = line.send_at_once(says("hang")).await.unwrap();
    line.cancel(&hangs.id).await.unwrap();
    assert_eq!(
        line.send(says("done")).await.unwrap().status.state,
        TaskState::Completed
    );
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_can_be_canceled() {
    let go = Arc::new(Semaphore::new(0));
    let line = line_with(told_by(&go), room(1, 10));
    line.send_at_once(says("one")).await.unwrap();
    let waits = line.send_at_once(says("two")).await.unwrap();
    let third = line.send_at_once(says("three")).await.unwrap();
    let canceled = line.cancel(&waits.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    go.add_permits(2);
    settle().await;
    let state = line.get(&third.id).await.unwrap().status.state;
    assert_eq!(state, TaskState::Completed);
    let state = line.get(&waits.id).await.unwrap().status.state;
    assert_eq!(state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_finds_no_room_is_refused_and_the_question_stands() {
    let line = line_with(asks(), room(1, 0));
    let asked = line.send(says("a shirt")).await.unwrap();
    let gate = Gate::new(1, 0);
    let busy = Settings {
        turns: Turns {
            here: Some(gate),
            everywhere: None,
        },
        ..Settings::default()
    };
    // Another engine of the same name on the same log, all of whose room is taken.
    let other = Line::new(&line.log, Arc::new(hangs_for_ever()), busy);
    other.send_at_once(says("hang")).await.unwrap();
    let mut answer = says("blue");
    answer.task_id = Some(asked.id.clone());
    let refused = other.send_at_once(answer.clone()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    let task = line.get(&asked.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(
        line.send(answer).await.unwrap().status.state,
        TaskState::Completed
    );
}

fn hangs_for_ever() -> FnAgent {
    FnAgent::new(|_turn, _progress| std::future::pending())
}

#[tokio::test(start_paused = true)]
async fn agents_share_the_room_of_the_server_but_not_with_those_they_wait_for() {
    let everywhere = Gate::new(1, 0);
    let shared = || Settings {
        turns: Turns {
            everywhere: Some(everywhere.clone()),
            here: None,
        },
        ..Settings::default()
    };
    let boss = line_with(works_until_canceled(), shared());
    let worker = line_with(echo(), shared());
    let working = send_as(&boss, "ann", Origin::Network).await.unwrap();
    let refused = send_as(&worker, "ann", Origin::Network).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    let delegated = Origin::Agent("boss".into());
    send_as(&worker, "ann", delegated).await.unwrap();
    let stop = Operation::Cancel(switchboard_types::operation::CancelTask {
        id: working.id.clone(),
        metadata: None,
    });
    let as_ann = |call: &mut switchboard_server::call::Call| {
        call.principal = Principal::from(Owner::new("ann"));
    };
    boss.ask(stop, as_ann).await.unwrap();
    send_as(&worker, "ann", Origin::Network).await.unwrap();
}

fn gates(everywhere: &Gate, here: Option<usize>) -> Settings {
    Settings {
        turns: Turns {
            everywhere: Some(everywhere.clone()),
            here: here.map(|most| Gate::new(most, 9)),
        },
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn who_stands_in_line_at_an_agent_keeps_no_room_of_the_server() {
    let everywhere = Gate::new(2, 9);
    let go = Arc::new(Semaphore::new(0));
    let narrow = line_with(told_by(&go), gates(&everywhere, Some(1)));
    let other = line_with(works_until_canceled(), gates(&everywhere, None));
    let first = send_as(&narrow, "ann", Origin::Network).await.unwrap();
    let second = send_as(&narrow, "ann", Origin::Network).await.unwrap();
    let third = send_as(&other, "ann", Origin::Network).await.unwrap();
    settle().await;
    let state = async |line: &Line, task: &Arc<Task>| {
        let log = line.log.store().live(None, 10).await.unwrap();
        let head = log.into_iter().find(|head| head.id == task.id);
        head.map(|head| head.state)
    };
    assert_eq!(state(&other, &third).await, Some(TaskState::Working));
    assert_eq!(state(&narrow, &second).await, Some(TaskState::Submitted));
    go.add_permits(1);
    settle().await;
    assert_eq!(state(&narrow, &first).await, None);
    assert_eq!(state(&narrow, &second).await, Some(TaskState::Working));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_another_waits_for_waits_for_nobody() {
    let everywhere = Gate::new(1, 9);
    let boss = line_with(works_until_canceled(), gates(&everywhere, Some(1)));
    let worker = line_with(echo(), gates(&everywhere, Some(1)));
    send_as(&boss, "ann", Origin::Network).await.unwrap();
    // It has the room at the worker, and waits for that of the server, which the boss has.
    let waits = send_as(&worker, "bob", Origin::Network).await.unwrap();
    let delegated = Origin::Agent("boss".into());
    let done = send_as(&worker, "ann", delegated.clone()).await.unwrap();
    // The boss calls itself, too.
    let own = send_as(&boss, "ann", delegated).await.unwrap();
    settle().await;
    let live = worker.log.store().live(None, 10).await.unwrap();
    let live: Vec<_> = live.iter().map(|head| (&head.id, head.state)).collect();
    assert_eq!(live, [(&waits.id, TaskState::Submitted)], "{}", done.id);
    let live = boss.log.store().live(None, 10).await.unwrap();
    let own = live.iter().find(|head| head.id == own.id).unwrap();
    assert_eq!(own.state, TaskState::Working);
}

#[tokio::test(start_paused = true)]
async fn what_stood_in_line_begins_after_a_restart_whatever_it_does() {
    let store = Arc::new(MemoryStore::default());
    let before = Log::new(Arc::clone(&store) as _);
    let line = Line::new(&before, Arc::new(hangs_for_ever()), room(1, 9));
    let cut_off = line.send_at_once(says("one")).await.unwrap();
    let in_line = line.send_at_once(says("two")).await.unwrap();
    settle().await;
    before.stopping().cancel();
    before.close().await;
    let log = Log::new(store);
    let line = Line::new(&log, Arc::new(echo()), room(1, 9));
    let engines = HashMap::from([(Arc::clone(line.engine.name()), line.engine.clone())]);
    let recovered = recover::recover(&log, &engines).await.unwrap();
    assert_eq!((recovered.resumed, recovered.failed), (1, 1));
    settle().await;
    let state = async |id| line.get(id).await.unwrap().status.state;
    assert_eq!(state(&in_line.id).await, TaskState::Completed);
    assert_eq!(state(&cut_off.id).await, TaskState::Failed);
}

/// Asks once, and then does its work when it is told to.
fn asks_and_is_told_by(go: &Arc<Semaphore>) -> FnAgent {
    let go = Arc::clone(go);
    FnAgent::new(move |turn, _progress| {
        let go = Arc::clone(&go);
        async move {
            if turn.task.history.len() == 1 {
                return Ok(Outcome::InputRequired(Said::text("which one?")));
            }
            go.acquire().await.unwrap().forget();
            Ok(Outcome::Completed(Said::text(turn.message.text())))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stood_in_line_begins_after_a_restart_and_is_heard_once() {
    let store = Arc::new(MemoryStore::default());
    let open = |go: &Arc<Semaphore>| {
        let log = Log::new(Arc::clone(&store) as _);
        Line::new(&log, Arc::new(asks_and_is_told_by(go)), room(1, 9))
    };
    let restart = async |line: Line, go: &Arc<Semaphore>| {
        settle().await;
        line.log.stopping().cancel();
        line.log.close().await;
        let line = open(go);
        let engines = HashMap::from([(Arc::clone(line.engine.name()), line.engine.clone())]);
        let recovered = recover::recover(&line.log, &engines).await.unwrap();
        settle().await;
        (line, recovered)
    };
    let never = Arc::new(Semaphore::new(0));
    let line = open(&never);
    let mut tasks = Vec::new();
    for text in ["one", "two", "three"] {
        let asked = line.send(says("which?")).await.unwrap();
        assert_eq!(asked.status.state, TaskState::InputRequired);
        tasks.push((text, asked.id.clone()));
    }
    for (text, id) in &tasks {
        let mut answer = says(text);
        answer.task_id = Some(id.clone());
        let taken = line.send_at_once(answer).await.unwrap();
        assert_eq!(taken.status.state, TaskState::Working);
    }
    // The first one was at work, and this agent cannot go on with that. The others had not begun.
    let (line, recovered) = restart(line, &never).await;
    assert_eq!((recovered.resumed, recovered.failed), (2, 1));
    let go = Arc::new(Semaphore::new(0));
    // Now the second one is at work. What has begun is not begun again.
    let (line, recovered) = restart(line, &go).await;
    assert_eq!((recovered.resumed, recovered.failed), (1, 1));
    go.add_permits(1);
    settle().await;
    let mut ends = Vec::new();
    for (text, id) in &tasks {
        let task = line.get(id).await.unwrap();
        let said = task.status.message.as_ref().unwrap().text();
        ends.push((*text, task.status.state, said == *text));
    }
    assert_eq!(
        ends,
        [
            ("one", TaskState::Failed, false),
            ("two", TaskState::Failed, false),
            ("three", TaskState::Completed, true),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_after_a_restart_takes_the_room_that_there_is() {
    let store = Arc::new(MemoryStore::default());
    let before = Log::new(Arc::clone(&store) as _);
    let hangs = Line::new(&before, Arc::new(hangs_for_ever()), Settings::default());
    hangs.send_at_once(says("one")).await.unwrap();
    settle().await;
    before.stopping().cancel();
    before.close().await;
    let log = Log::new(store);
    let line = Line::new(&log, Arc::new(hangs_for_ever().resumable()), room(1, 1));
    let engines = HashMap::from([(Arc::clone(line.engine.name()), line.engine.clone())]);
    let recovered = recover::recover(&log, &engines).await.unwrap();
    assert_eq!(recovered.resumed, 1);
    let next = line.send_at_once(says("two")).await.unwrap();
    settle().await;
    let state = line.get(&next.id).await.unwrap().status.state;
    assert_eq!(state, TaskState::Submitted);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_everyone_goes_on_however_many_there_are() {
    let store = Arc::new(MemoryStore::default());
    let before = Log::new(Arc::clone(&store) as _);
    let hangs = Line::new(&before, Arc::new(hangs_for_ever()), Settings::default());
    for n in 0..5 {
        hangs.send_at_once(says(&n.to_string())).await.unwrap();
    }
    settle().await;
    before.stopping().cancel();
    before.close().await;
    let go = Arc::new(Semaphore::new(0));
    let log = Log::new(store);
    let line = Line::new(&log, Arc::new(told_by(&go).resumable()), room(1, 1));
    let engines = HashMap::from([(Arc::clone(line.engine.name()), line.engine.clone())]);
    let recovered = recover::recover(&log, &engines).await.unwrap();
    assert_eq!(recovered.resumed, 5);
    let live = async || log.store().live(None, 10).await.unwrap().len();
    for left in (0..5).rev() {
        go.add_permits(1);
        settle().await;
        assert_eq!(live().await, left, "one at a time");
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_that_go_on_after_a_restart_are_counted_once_with_those_they_make() {
    let store = Arc::new(Troubled::by(Flaky::slow(Duration::from_secs(1))));
    let before = Log::new(Arc::clone(&store) as _);
    let hangs = Line::new(&before, Arc::new(hangs_for_ever()), Settings::default());
    hangs.send_at_once(says("one")).await.unwrap();
    settle().await;
    before.stopping().cancel();
    before.close().await;
    let itself: Arc<OnceLock<Line>> = Arc::default();
    let others = Arc::clone(&itself);
    let makes_another = FnAgent::new(move |turn, _| {
        let others = Arc::clone(&others);
        async move {
            if turn.message.text() == "one" {
                let line = others.get().unwrap();
                line.send_at_once(says("two")).await.unwrap();
            }
            std::future::pending().await
        }
    });
    let log = Log::new(store);
    let line = Line::new(
        &log,
        Arc::new(makes_another.resumable()),
        Settings::default(),
    );
    itself.set(line.clone()).unwrap();
    let engines = HashMap::from([(Arc::clone(line.engine.name()), line.engine.clone())]);
    recover::recover(&log, &engines).await.unwrap();
    settle().await;
    assert_eq!(log.store().live(None, 10).await.unwrap().len(), 2);
    let mut lines = Lines::default();
    log.metrics().write(&mut lines);
    let text = lines.into_text();
    let name = line.engine.name();
    for (state, tasks) in [("working", 2), ("submitted", 0)] {
        let told = format!("switchboard_tasks{{agent=\"{name}\",state=\"{state}\"}} {tasks}\n");
        assert!(text.contains(&told), "{told}{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_has_so_many_parts_and_no_more() {
    let settings = Settings {
        most_parts: 3,
        ..Settings::default()
    };
    let line = line_with(echo(), settings);
    let message = |parts: usize| {
        let mut message = says("hello");
        message.parts = vec![Part::text("x"); parts];
        message
    };
    line.send(message(3)).await.unwrap();
    let refused = line.send(message(4)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    assert_eq!(
        refused.message(),
        "invalid params: message.parts must hold no more than 3 parts"
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_has_so_many_messages_and_takes_no_more() {
    let settings = Settings {
        longest_history: 4,
        ..Settings::default()
    };
    let always_asks = FnAgent::new(|_turn, _progress| async move {
        Ok(Outcome::InputRequired(Said::text("and then?")))
    });
    let line = line_with(always_asks, settings);
    let mut task = line.send(says("once")).await.unwrap();
    let mut told = 0;
    let refused = loop {
        let mut next = says(&format!("more {told}"));
        next.task_id = Some(task.id.clone());
        match line.send(next).await {
            Ok(after) => task = after,
            Err(refused) => break refused,
        }
        told += 1;
        assert!(told < 10);
    };
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    assert!(
        refused.message().contains("messages, the maximum"),
        "{refused}"
    );
    assert!(refused.facts().contains(&("limit".into(), "4".to_owned())));
    assert!(task.history.len() >= 4, "{}", task.history.len());
    assert_eq!(
        line.get(&task.id).await.unwrap().status.state,
        TaskState::InputRequired
    );
}

#[tokio::test(start_paused = true)]
async fn who_could_have_been_answered_with_a_message_is_kept_while_it_waits() {
    let go = Arc::new(Semaphore::new(0));
    let settings = Settings {
        reply_with_message: true,
        ..room(1, 10)
    };
    let line = line_with(told_by(&go), settings);
    let first = line.send(says("one"));
    let waiting = async {
        settle().await;
        let second = line.send_at_once(says("two")).await.unwrap();
        let stored = line.log.store().events(&second.id, 0, 10).await.unwrap();
        assert_eq!(stored.len(), 1, "it is stored before it has a turn");
        assert_eq!(second.status.state, TaskState::Submitted);
        go.add_permits(2);
    };
    let (first, ()) = tokio::join!(first, waiting);
    assert_eq!(first.unwrap().status.state, TaskState::Completed);
}
