//! Traces within the engine: what a turn is part of, what its events tell, and what only operators hear.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::agent::{Ask, Outcome, Said};
use switchboard_server::log::INTERNAL;
use switchboard_server::metrics::Lines;
use switchboard_server::testing::agent::{FnAgent, Line, rest, says, send};
use switchboard_server::trace::Trace;
use switchboard_types::model::{Event, Message, Task, TaskId};
use switchboard_types::operation::{Method, Operation, Response};

use super::{artifact, asks, line};
use switchboard_server::call::ReplyBody;

/// Sends a message as part of a trace.
async fn send_in(line: &Line, message: Message, trace: Option<&Trace>) -> Arc<Task> {
    let operation = Operation::Send(Box::new(send(message)));
    let trace = trace.cloned().map(Arc::new);
    let asked = line.ask(operation, |call| call.params.trace = trace);
    match asked.await.unwrap() {
        ReplyBody::Response(Response::SentTask(view)) => view.task,
        other => panic!("{other:?}"),
    }
}

/// The traces that the events of a task tell, those without left out.
async fn told(line: &Line, task: &TaskId) -> Vec<(String, String)> {
    let entries = line.log.store().events(task, 0, 100).await.unwrap();
    let metadata = entries.iter().filter_map(|entry| match &entry.event {
        Event::Status(update) => update.metadata.clone(),
        Event::Artifact(update) => update.metadata.clone(),
        Event::Task(_) | Event::Message(_) => None,
    });
    let told = metadata.filter_map(|all| Some((all.get("traceId")?, all.get("spanId")?)));
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn a_turn_has_a_place_of_its_own_below_its_call() {
    let agent = FnAgent::new(|turn, progress| async move {
        let (own, parent) = turn.trace().map(|t| (t.traceparent(), t.parent())).unwrap();
        let parent = parent.unwrap();
        progress
            .artifact(artifact(&format!("{own} {parent}")))
            .await?;
        Ok(Outcome::Completed(Said::default()))
    });
    let (line, call) = (line(agent), Trace::begin());
    let task = send_in(&line, says("hello"), Some(&call)).await;
    let text = task.artifacts[0].parts[0].as_text().unwrap().to_owned();
    let (own, parent) = text.split_once(' ').unwrap();
    assert_eq!(parent, call.span().to_string());
    let own = Trace::parse(own).unwrap();
    assert_eq!(own.id(), call.id());
    assert_ne!(own.span(), call.span());
}

#[tokio::test(start_paused = true)]
async fn events_of_a_turn_tell_the_trace_of_the_message_that_began_it() {
    let line = line(asks());
    let (one, two) = (Trace::begin(), Trace::begin());
    let task = send_in(&line, says("a shirt"), Some(&one)).await;
    let ours = |trace: &Trace| (trace.id().to_string(), trace.span().to_string());
    let first = told(&line, &task.id).await;
    assert!(first.len() >= 2 && first.iter().all(|told| *told == ours(&one)));
    let answer = Message {
        task_id: Some(task.id.clone()),
        ..says("red")
    };
    send_in(&line, answer, Some(&two)).await;
    let all = told(&line, &task.id).await;
    let second = &all[first.len()..];
    assert!(second.len() >= 2 && second.iter().all(|told| *told == ours(&two)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_a_trace_tells_none_after_one_that_had_one() {
    let line = line(asks());
    let task = send_in(&line, says("a shirt"), Some(&Trace::begin())).await;
    let before = told(&line, &task.id).await.len();
    let answer = Message {
        task_id: Some(task.id.clone()),
        ..says("red")
    };
    send_in(&line, answer, None).await;
    assert_eq!(told(&line, &task.id).await.len(), before);
    assert_eq!(line.log.trace_of(&task.id).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn what_only_operators_hear_is_kept_in_order_and_within_bounds() {
    let agent = FnAgent::new(|_, progress| async move {
        progress.operator_note("llm-call", json!({ "model": "m", "durationMs": 12 }));
        progress.operator_note("prompt", "x".repeat(10_000).into());
        for number in 0..300 {
            progress.operator_note("step", number.into());
        }
        progress.working(Said::text("working")).await?;
        Ok(Outcome::Completed(Said::default()))
    });
    let line = line(agent);
    let mut cursor = line.stream(says("hello")).await.unwrap();
    let events = rest(&mut cursor).await;
    let kept = internal(&line, cursor.task_id()).await;
    assert_eq!(kept.len(), 302);
    assert_eq!(kept[0]["name"], "internal:llm-call");
    assert_eq!(kept[0]["value"], json!({ "model": "m", "durationMs": 12 }));
    assert_eq!(kept[1]["value"]["left_out"], "10002 bytes: more than 4096");
    assert_eq!(kept[301]["value"], 299);
    let task = line.get(cursor.task_id()).await.unwrap();
    for told in [format!("{events:?}"), format!("{task:?}")] {
        assert!(
            !told.contains("llm-call") && !told.contains("step"),
            "{told}"
        );
    }
}

/// What operators are told of a task.
async fn internal(line: &Line, task: &TaskId) -> Vec<Value> {
    let steps = line.log.store().steps(task, 0, 999).await.unwrap();
    let internal = steps.iter().map(|stored| &stored.step);
    let internal = internal.filter(|step| step.name.starts_with(INTERNAL));
    internal
        .map(|step| json!({ "name": step.name, "value": step.value }))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_asks_for_is_a_part_of_its_turn_and_told_when_it_is_over() {
    let agent = FnAgent::new(|turn, progress| async move {
        let (model, attempt) = ("m", 1);
        let failed = progress.asks(&turn, Ask::Model { model, attempt });
        tokio::time::sleep(Duration::from_millis(20)).await;
        failed.failed("429", "too many");
        drop(failed);
        let attempt = 2;
        let asked = progress.asks(&turn, Ask::Model { model, attempt });
        assert_eq!(
            asked.trace().unwrap().parent(),
            turn.trace().map(Trace::span)
        );
        let parent = asked.headers().next().unwrap().1;
        assert_eq!(parent, asked.trace().unwrap().traceparent().as_str());
        tokio::time::sleep(Duration::from_millis(30)).await;
        let told = json!({ "model": "m-2026", "usage": { "inputTokens": 7, "outputTokens": 3 } });
        let done = Ok(Outcome::Completed(Said {
            metadata: Some(told.as_object().unwrap().into()),
            ..Said::default()
        }));
        asked.ended(&done);
        drop(asked);
        // Given up without a word.
        let attempt = 3;
        drop(progress.asks(&turn, Ask::Model { model, attempt }));
        let far = progress.asks(&turn, Ask::A2a(Method::Stream));
        far.is_worked_on("far", "http://h/", "t-1");
        far.is_worked_on("far", "http://h/", "t-1");
        far.ended(&done);
        done
    });
    let line = line(agent);
    let task = send_in(&line, says("hello"), Some(&Trace::begin())).await;
    assert_eq!(
        internal(&line, &task.id).await,
        [
            json!({ "name": "internal:llm-call", "value": { "model": "m", "attempt": 1, "durationMs": 20, "error": "too many" } }),
            json!({ "name": "internal:llm-call", "value": {
                "model": "m", "attempt": 2, "durationMs": 30, "usage": { "inputTokens": 7, "outputTokens": 3 },
            } }),
            json!({ "name": "internal:llm-call", "value": { "model": "m", "attempt": 3, "durationMs": 0, "error": "it was given up" } }),
            json!({ "name": "internal:delegation", "value": { "agent": "far", "taskId": "t-1", "url": "http://h/", "elsewhere": true } }),
        ]
    );
    let mut lines = Lines::default();
    line.log.metrics().write(&mut lines);
    let text = lines.into_text();
    let agent = line.engine.name();
    for told in [
        format!(
            r#"gen_ai_client_operation_duration_seconds_count{{agent="{agent}",operation="chat",model="m"}} 3"#
        ),
        format!(
            r#"gen_ai_client_token_usage_sum{{agent="{agent}",operation="chat",model="m",token_type="input"}} 7"#
        ),
        format!(
            r#"a2a_client_operation_duration_seconds_count{{agent="{agent}",operation="SendStreamingMessage"}} 1"#
        ),
    ] {
        assert!(text.lines().any(|line| line == told), "{told}\n{text}");
    }
}
