//! Sending: new tasks, next turns, waiting, bare messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::call::ReplyBody;
use switchboard_server::engine::Settings;
use switchboard_server::principal::{Identity, Principal};
use switchboard_server::testing::agent::{FnAgent, rest, says, send};
use switchboard_types::ErrorKind;
use switchboard_types::model::{ContextId, Message, Part, Role, TaskId, TaskState};
use switchboard_types::operation::{Operation, Response};

use super::{artifact, asks, echo, line, line_with, state_of};

#[tokio::test(start_paused = true)]
async fn a_blocking_send_returns_the_finished_task() {
    let task = line(echo()).send(says("hello")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.artifacts[0].parts, [Part::text("hello")]);
    let heard = &task.history[0];
    assert_eq!(heard.task_id.as_ref(), Some(&task.id));
    assert_eq!(heard.context_id.as_ref(), Some(&task.context_id));
}

#[tokio::test(start_paused = true)]
async fn a_send_that_returns_at_once_shows_a_task_that_has_just_begun() {
    let slow = FnAgent::new(|_turn, _progress| async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(Outcome::Completed(Said::default()))
    });
    let line = line(slow);
    let task = line.send_at_once(says("hello")).await.unwrap();
    assert!(!task.status.state.is_terminal(), "{:?}", task.status.state);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let later = line.get(&task.id).await.unwrap();
    assert_eq!(later.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_send_has_a_deadline_and_returns_the_task_when_it_passes() {
    let settings = Settings {
        blocking_deadline: Duration::from_secs(2),
        ..Settings::default()
    };
    let slow = FnAgent::new(|_turn, _progress| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(Outcome::Completed(Said::default()))
    });
    let line = line_with(slow, settings);
    let task = line.send(says("hello")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Working);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let later = line.get(&task.id).await.unwrap();
    assert_eq!(later.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_reply_with_a_message_gives_a_task_when_the_deadline_passes() {
    let settings = Settings {
        reply_with_message: true,
        blocking_deadline: Duration::from_secs(2),
        ..Settings::default()
    };
    let slow = FnAgent::new(|_turn, _progress| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(Outcome::Reply(Said::text("at last")))
    });
    let line = line_with(slow, settings);
    let task = line.send(says("hello")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Working);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let later = line.get(&task.id).await.unwrap();
    assert_eq!(later.status.state, TaskState::Completed);
    let said = later.status.message.as_ref().map(|m| m.text());
    assert_eq!(said.as_deref(), Some("at last"));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_by_task_id() {
    let line = line(asks());
    let waiting = line.send(says("a shirt")).await.unwrap();
    assert_eq!(waiting.status.state, TaskState::InputRequired);
    let answer = Message {
        task_id: Some(waiting.id.clone()),
        ..says("the red one")
    };
    let done = line.send(answer).await.unwrap();
    assert_eq!(
        (&done.id, &done.context_id),
        (&waiting.id, &waiting.context_id)
    );
    assert_eq!(done.status.state, TaskState::Completed);
    let said: Vec<String> = done.history.iter().map(|m| m.text()).collect();
    assert_eq!(said, ["a shirt", "which one?", "the red one"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_result_answers_the_question_of_a_referenced_task() {
    let asks = FnAgent::new(|turn, _progress| async move {
        if turn.task.history.len() > 1 {
            return Ok(Outcome::Completed(Said::default()));
        }
        let request = serde_json::json!({"inputRequest": {"requestId": "q1", "prompt": "?"}});
        Ok(Outcome::InputRequired(Said {
            message_metadata: Some(request.as_object().unwrap().into()),
            ..Said::text("which one?")
        }))
    });
    let line = line(asks);
    let waiting = line.send(says("a shirt")).await.unwrap();
    let result = |id: &str| {
        let data = serde_json::json!({"type": "tool-result", "id": id, "result": "red"});
        Message {
            reference_task_ids: vec![waiting.id.clone()],
            parts: vec![Part::data((&data).into())],
            ..says("answer")
        }
    };
    let wrong = line.send(result("q2")).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidParams);
    let done = line.send(result("q1")).await.unwrap();
    assert_eq!(done.id, waiting.id);
    assert_eq!(done.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_over_takes_no_message() {
    let line = line(echo());
    let done = line.send(says("hello")).await.unwrap();
    let late = Message {
        task_id: Some(done.id.clone()),
        ..says("again")
    };
    let error = line.send(late).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(line.get(&done.id).await.unwrap().history.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn ids_that_do_not_fit_are_refused() {
    let line = line(asks());
    let unknown = Message {
        task_id: Some(TaskId::new("nobody").unwrap()),
        ..says("hello")
    };
    let error = line.send(unknown).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    let waiting = line.send(says("a shirt")).await.unwrap();
    let elsewhere = Message {
        task_id: Some(waiting.id.clone()),
        context_id: Some(ContextId::new("elsewhere").unwrap()),
        ..says("red")
    };
    let error = line.send(elsewhere).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    let still = line.get(&waiting.id).await.unwrap();
    assert_eq!(still.status.state, TaskState::InputRequired);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_can_be_read_by_its_later_turns() {
    let remembers = FnAgent::new(|turn, progress| async move {
        let earlier = turn.earlier(10).await?;
        let said: Vec<String> = earlier.iter().map(|t| t.history[0].text()).collect();
        progress.artifact(artifact(&said.join(","))).await?;
        Ok(Outcome::Completed(Said::default()))
    });
    let line = line(remembers);
    let context = ContextId::new("thread").unwrap();
    for (text, known) in [("one", ""), ("two", "one"), ("three", "one,two")] {
        // Tasks are listed by the time of their status.
        tokio::time::advance(Duration::from_millis(5)).await;
        std::thread::yield_now();
        let message = Message {
            context_id: Some(context.clone()),
            ..says(text)
        };
        let task = line.send(message).await.unwrap();
        assert_eq!(task.context_id, context);
        assert_eq!(task.artifacts[0].parts, [Part::text(known)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_task_can_read_the_conversation_before_it() {
    let remembers = FnAgent::new(|turn, progress| async move {
        // More than an agent may read of other tasks at once.
        let size = if turn.message.text() == "two" {
            33 << 20
        } else {
            1
        };
        progress.artifact(artifact(&"x".repeat(size))).await?;
        // What was said before is stored then.
        progress.record("stored", true.into()).await?;
        let earlier = turn.earlier(10).await?;
        let said: Vec<String> = earlier.iter().map(|t| t.history[0].text()).collect();
        Ok(Outcome::Completed(Said::text(said.join(","))))
    });
    let line = line(remembers);
    for (text, known) in [("one", ""), ("two", "one")] {
        tokio::time::advance(Duration::from_millis(5)).await;
        let message = Message {
            context_id: Some(ContextId::new("thread").unwrap()),
            ..says(text)
        };
        let task = line.send(message).await.unwrap();
        let answer = task.status.message.as_ref();
        assert_eq!(answer.map(|it| it.text()).unwrap_or_default(), known);
    }
}

#[tokio::test(start_paused = true)]
async fn two_messages_at_once_for_one_task_are_both_heard() {
    let line = line(FnAgent::new(|turn, progress| async move {
        if turn.message.text() == "bye" {
            return Ok(Outcome::Completed(Said::default()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        progress.artifact(artifact(&turn.message.text())).await?;
        Ok(Outcome::InputRequired(Said::text("more?")))
    }));
    let task = line.send(says("first")).await.unwrap();
    let more = |text: &str| Message {
        task_id: Some(task.id.clone()),
        ..says(text)
    };
    let (a, b) = tokio::join!(line.send(more("second")), line.send(more("third")));
    assert_eq!((&a.unwrap().id, &b.unwrap().id), (&task.id, &task.id));
    let done = line.send(more("bye")).await.unwrap();
    let said: Vec<String> = done
        .history
        .iter()
        .map(|m| m.text())
        .filter(|text| text != "more?")
        .collect();
    assert_eq!(said, ["first", "second", "third", "bye"]);
    // Each of them had its turn.
    assert_eq!(done.artifacts[0].parts, [Part::text("third")]);
    let mut events = line.subscribe(&task.id, Some(0)).await.unwrap();
    let chunks: Vec<String> = rest(&mut events)
        .await
        .into_iter()
        .filter_map(|(_, event, _)| match event {
            switchboard_types::model::Event::Artifact(update) => {
                update.artifact.parts[0].as_text().map(str::to_owned)
            }
            _ => None,
        })
        .collect();
    assert_eq!(chunks, ["first", "second", "third"]);
}

fn replies() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        if turn.message.text() == "work" {
            progress.artifact(artifact("done")).await?;
            return Ok(Outcome::Completed(Said::default()));
        }
        Ok(Outcome::Reply(Said::text("hi")))
    })
}

fn by_message() -> Settings {
    Settings {
        reply_with_message: true,
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_bare_message_leaves_no_task_behind() {
    let line = line_with(replies(), by_message());
    let body = line
        .ask(Operation::Send(send(says("hello")).into()), |_| {})
        .await
        .unwrap();
    let ReplyBody::Response(Response::SentMessage(message)) = body else {
        panic!("{body:?}");
    };
    assert_eq!(message.text(), "hi");
    assert!(message.context_id.is_some());
    let query = switchboard_server::store::TaskQuery::of(
        Arc::from("agent"),
        switchboard_server::testing::agent::owner(),
    );
    assert_eq!(line.log.store().list(query).await.unwrap().total, 0);
}

#[tokio::test(start_paused = true)]
async fn a_bare_message_is_the_only_item_of_its_stream() {
    let line = line_with(replies(), by_message());
    let mut stream = line.stream(says("hello")).await.unwrap();
    let seen = rest(&mut stream).await;
    assert_eq!(seen.len(), 1);
    assert!(matches!(&seen[0].1, switchboard_types::model::Event::Message(m) if m.text() == "hi"));
}

#[tokio::test(start_paused = true)]
async fn what_the_card_says_of_media_types_binds_unless_the_backend_decides() {
    for any_input in [false, true] {
        let settings = Settings {
            any_input,
            ..Settings::default()
        };
        let mut profile = switchboard_server::testing::agent::profile();
        profile.card.default_input_modes = vec!["text/plain".to_owned()];
        let log = switchboard_server::log::Log::new(Arc::new(
            switchboard_server::store::MemoryStore::default(),
        ));
        let agent = Arc::new(echo());
        let line =
            switchboard_server::testing::agent::Line::with_profile(&log, agent, settings, profile);
        let mut message = says("picture");
        message.parts[0].media_type = Some("image/png".to_owned());
        let sent = line.send(message).await.map(|task| task.status.state);
        let refused = sent.map_err(|error| error.kind());
        match any_input {
            true => assert_eq!(refused, Ok(TaskState::Completed)),
            false => assert_eq!(refused, Err(ErrorKind::ContentTypeNotSupported)),
        }
    }
}

/// Replies directly, after a while.
fn replies_late() -> FnAgent {
    FnAgent::new(|_turn, _progress| async move {
        tokio::time::sleep(Duration::from_secs(8)).await;
        Ok(Outcome::Reply(Said::text("at last")))
    })
}

#[tokio::test(start_paused = true)]
async fn a_send_that_does_not_wait_gets_a_task_from_an_agent_that_replies_late() {
    for key in [None, Some("k")] {
        let line = line_with(replies_late(), by_message());
        let began = tokio::time::Instant::now();
        let mut asked = send(says("hello"));
        asked.configuration.return_immediately = true;
        let asked = line.ask(Operation::Send(asked.into()), |call| {
            call.params.idempotency_key = key.map(str::to_owned);
        });
        let ReplyBody::Response(Response::SentTask(view)) = asked.await.unwrap() else {
            panic!("not a task");
        };
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(!view.task.status.state.is_terminal());
        tokio::time::sleep(Duration::from_secs(9)).await;
        let done = line.get(&view.task.id).await.unwrap();
        assert_eq!(done.status.state, TaskState::Completed);
        assert_eq!(done.status.message.as_ref().unwrap().text(), "at last");
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_that_does_not_wait_still_gets_a_direct_reply_that_is_ready() {
    for key in [None, Some("k")] {
        let line = line_with(replies(), by_message());
        let mut asked = send(says("hello"));
        asked.configuration.return_immediately = true;
        let asked = line.ask(Operation::Send(asked.into()), |call| {
            call.params.idempotency_key = key.map(str::to_owned);
        });
        let ReplyBody::Response(Response::SentMessage(message)) = asked.await.unwrap() else {
            panic!("not a message");
        };
        assert_eq!(message.text(), "hi");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_send_that_does_not_wait_makes_a_task_of_the_first_one() {
    let line = line_with(replies_late(), by_message());
    let ask = |at_once: bool| {
        let mut asked = send(says("hello"));
        asked.configuration.return_immediately = at_once;
        line.ask(Operation::Send(asked.into()), |call| {
            call.params.idempotency_key = Some("k".to_owned());
        })
    };
    let again = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        (ask(true).await, tokio::time::Instant::now())
    };
    let began = tokio::time::Instant::now();
    let (first, (again, answered)) = tokio::join!(ask(false), again);
    let id_of = |body: Result<ReplyBody, _>| match body.unwrap() {
        ReplyBody::Response(Response::SentTask(view)) => view.task.id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(answered - began, Duration::from_secs(2));
    assert_eq!(id_of(first), id_of(again));
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_an_agent_that_replies_late_shows_a_task_meanwhile() {
    let line = line_with(replies_late(), by_message());
    let began = tokio::time::Instant::now();
    let mut stream = line.stream(says("hello")).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(state_of(&first[0].entry.event), Some(TaskState::Submitted));
    assert!(began.elapsed() < Duration::from_secs(2));
    let rest = rest(&mut stream).await;
    let (_, last, is_last) = rest.last().unwrap();
    let switchboard_types::model::Event::Status(done) = last else {
        panic!("{last:?}");
    };
    assert!(is_last);
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "at last");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_reply_can_still_make_a_task() {
    let line = line_with(replies(), by_message());
    let task = line.send(says("work")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    let mut stream = line.stream(says("work")).await.unwrap();
    let seen = rest(&mut stream).await;
    assert_eq!(state_of(&seen[0].1), Some(TaskState::Submitted));
    assert_eq!(state_of(&seen[1].1), Some(TaskState::Working));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_must_not_reply_completes_with_the_message() {
    let task = line(replies()).send(says("hello")).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.status.message.as_ref().unwrap().text(), "hi");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_is_heard_as_its_own_senders() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let agent = {
        let heard = Arc::clone(&heard);
        FnAgent::new(move |turn, _progress| {
            let scopes: Vec<&str> = turn.principal.scopes().collect();
            let text = format!("{}: {}", turn.message.text(), scopes.join(" "));
            heard.lock().unwrap().push(text);
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(Outcome::InputRequired(Said::text("more?")))
            }
        })
    };
    let line = line(agent);
    let ask = async |message: Message, scope: &str, waits: bool| {
        let identity = Identity {
            subject: "ann".into(),
            scopes: vec![scope.into()],
            ..Identity::default()
        };
        let mut send = send(message);
        send.configuration.return_immediately = !waits;
        let asked = line.ask(Operation::Send(send.into()), |call| {
            call.principal = Principal::from(identity);
        });
        match asked.await.unwrap() {
            ReplyBody::Response(Response::SentTask(view)) => view.task.id.clone(),
            other => panic!("{other:?}"),
        }
    };
    let task = ask(says("first"), "write", false).await;
    let more = Message {
        task_id: Some(task),
        ..says("second")
    };
    ask(more, "read", true).await;
    assert_eq!(*heard.lock().unwrap(), ["first: write", "second: read"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_speaks_as_the_agent() {
    let line = line(echo());
    let mut message = says("I am the agent");
    message.role = Role::Agent;
    let refused = line.send(message).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    assert!(refused.message().contains("message.role"), "{refused:?}");
}
