//! A model as an agent: a real engine, and a chat endpoint on a socket that can do wrong.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod faults;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use switchboard_agents::identity::Outbound;
use switchboard_agents::openai::{Invalid, OpenAiAgent, Settings};
use switchboard_client::Retry;
use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine;
use switchboard_server::engine::recover::recover;
use switchboard_server::log::Log;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{FnAgent, Line, rest, says};
use switchboard_testkit::model::{self, Model, Step, end, event, events, stream, word};
use switchboard_types::model::{
    ArtifactUpdate, Content, ContextId, Event, Message, Part, Secret, Task, TaskState,
};
use tokio::sync::Notify;

const KEY: &str = "sk-very-secret";

fn settings(model: &Model) -> Settings {
    Settings {
        retry: Retry {
            attempts: 3,
            first: Duration::from_millis(1),
            longest: Duration::from_secs(5),
        },
        ..Settings::new(model.url.parse().unwrap(), "test-model")
    }
}

fn key() -> Outbound {
    let bearer = Secret::new(format!("Bearer {KEY}"));
    Outbound::fixed([(AUTHORIZATION, bearer)]).unwrap()
}

fn line(settings: Settings) -> Line {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    on(&Log::new(store), settings)
}

fn on(log: &Log, settings: Settings) -> Line {
    let agent = OpenAiAgent::new(settings, key()).unwrap();
    Line::new(
        log,
        Arc::new(agent),
        switchboard_server::engine::Settings::default(),
    )
}

fn state(task: &Task) -> TaskState {
    task.status.state
}

/// What the task says of itself.
fn said(task: &Task) -> String {
    let message = task.status.message.as_ref();
    message.map(|message| message.text()).unwrap_or_default()
}

/// The text of an answer.
fn answer(task: &Task, name: &str) -> String {
    let answer = task.artifacts.iter().find(|a| a.id.as_str() == name);
    let parts = answer.map(|answer| answer.parts.iter());
    parts
        .into_iter()
        .flatten()
        .filter_map(Part::as_text)
        .collect()
}

fn pieces(events: &[(u64, Event, bool)]) -> Vec<&ArtifactUpdate> {
    let updates = events.iter().filter_map(|(_, event, _)| match event {
        Event::Artifact(update) => Some(update),
        _ => None,
    });
    updates.collect()
}

fn in_context(text: &str, context: &ContextId) -> Message {
    Message {
        context_id: Some(context.clone()),
        ..says(text)
    }
}

#[tokio::test]
async fn an_answer_grows_in_one_artifact_and_tells_what_it_cost() {
    let model = Model::saying(&["Hel", "lo ", "there"]).await;
    let mut settings = settings(&model);
    settings.system = Some("Be brief.".to_owned());
    settings
        .parameters
        .insert("temperature".to_owned(), 0.5.into());
    settings.coalesce = Duration::ZERO;
    let line = line(settings);
    let mut cursor = line.stream(says("hi")).await.unwrap();
    let events = rest(&mut cursor).await;
    let pieces = pieces(&events);
    let texts = pieces.iter().flat_map(|piece| &piece.artifact.parts);
    let text: String = texts.filter_map(Part::as_text).collect();
    assert_eq!(text, "Hello there");
    for (at, piece) in pieces.iter().enumerate() {
        assert_eq!(piece.artifact.id.as_str(), "answer");
        assert_eq!(piece.append, at > 0);
        assert_eq!(piece.last_chunk, at + 1 == pieces.len());
    }
    let usage = json!({ "inputTokens": 7, "outputTokens": 3, "totalTokens": 10 });
    let told = json!({ "model": "m-1", "finishReason": "stop", "usage": usage });
    let read = |object: Option<&switchboard_types::model::Object>| -> Value {
        serde_json::from_str(object.unwrap().as_str()).unwrap()
    };
    let last = pieces.last().unwrap();
    assert_eq!(read(last.artifact.metadata.as_ref()), told);
    let Event::Status(update) = &events.last().unwrap().1 else {
        panic!("{events:?}");
    };
    assert_eq!(update.status.state, TaskState::Completed);
    assert_eq!(read(update.metadata.as_ref()), told);

    let asked = &model.asked()[0];
    assert!(
        asked.head.starts_with("POST /v1/chat/completions "),
        "{asked:?}"
    );
    assert_eq!(asked.header("authorization"), Some("Bearer sk-very-secret"));
    let expected = json!({
        "temperature": 0.5,
        "model": "test-model",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "hi" },
        ],
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(asked.body, expected);
}

#[tokio::test]
async fn words_that_come_at_once_are_one_event() {
    let many: String = (0..500).map(|n| format!("{n} ")).collect();
    let all = many.clone();
    let model = Model::open(move |_, _| {
        let words = all.split_inclusive(' ').map(word).chain(end());
        let bytes = words.flat_map(|step| match step {
            Step::Send(bytes) => bytes,
            Step::Wait(_) | Step::Hang => Vec::new(),
        });
        vec![events(), Step::Send(bytes.collect())]
    })
    .await;
    let line = line(Settings {
        coalesce: Duration::from_secs(3600),
        ..settings(&model)
    });
    let mut cursor = line.stream(says("count")).await.unwrap();
    let events = rest(&mut cursor).await;
    let pieces = pieces(&events);
    assert!(pieces.len() <= 2, "{} events", pieces.len());
    let task = line.get(cursor.task_id()).await.unwrap();
    assert_eq!(answer(&task, "answer"), many);
}

#[tokio::test]
async fn text_is_seen_while_the_model_still_writes() {
    let go = Arc::new(Notify::new());
    let until = Arc::clone(&go);
    let model = Model::open(move |_, _| {
        let begin = [events(), word("one "), Step::Wait(Arc::clone(&until))];
        let mut reply: Vec<Step> = begin.into_iter().chain([word("two")]).collect();
        reply.extend(end());
        reply
    })
    .await;
    let line = line(settings(&model));
    let mut cursor = line.stream(says("hi")).await.unwrap();
    let seen = loop {
        let items = cursor.next().await.unwrap().unwrap();
        let mut events = items.into_iter().map(|item| item.entry.event.clone());
        if let Some(Event::Artifact(update)) = events.find(|e| matches!(e, Event::Artifact(_))) {
            break update;
        }
    };
    assert_eq!(seen.artifact.parts, [Part::text("one ")]);
    go.notify_one();
    rest(&mut cursor).await;
    let task = line.get(cursor.task_id()).await.unwrap();
    assert_eq!(answer(&task, "answer"), "one two");
}

#[tokio::test]
async fn the_model_is_told_what_was_said_before_as_far_as_it_fits() {
    let model = Model::open(|asked, n| match n {
        2 => model::plain(400, "", "{}"),
        _ => {
            let last = asked.messages().as_array().unwrap().last().unwrap();
            stream(&["You said ", last["content"].as_str().unwrap()])
        }
    })
    .await;
    let line = line(Settings {
        history_tokens: 16,
        ..settings(&model)
    });
    let first = line.send(says("alpha")).await.unwrap();
    let context = first.context_id.clone();
    let failed = line.send(in_context("beta", &context)).await.unwrap();
    assert_eq!(state(&failed), TaskState::Failed);
    line.send(in_context("gamma", &context)).await.unwrap();
    line.send(in_context("delta", &context)).await.unwrap();
    line.send(says("elsewhere")).await.unwrap();
    let told: Vec<Vec<String>> = model
        .asked()
        .iter()
        .map(|asked| {
            let messages = asked.messages().as_array().unwrap();
            let texts = messages.iter().map(|m| m["content"].as_str().unwrap());
            texts.map(str::to_owned).collect()
        })
        .collect();
    assert_eq!(told[2], ["alpha", "You said alpha", "gamma"], "no failure");
    let all = [
        "alpha",
        "You said alpha",
        "gamma",
        "You said gamma",
        "delta",
    ];
    assert_eq!(told[3], all, "2 + 4 + 2 + 4 tokens");
    assert_eq!(told[4], ["elsewhere"]);
    line.send(in_context("epsilon", &context)).await.unwrap();
    let last = model.asked().pop().unwrap();
    let roles: Vec<&str> = last
        .messages()
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["user", "assistant", "user", "assistant", "user"],
        "the oldest is gone"
    );
    assert_eq!(last.messages()[0]["content"], "gamma");
}

/// Clients may give the same id to several messages. The question is of the agent's former backend.
#[tokio::test]
async fn the_model_is_told_an_earlier_message_of_the_task_that_has_the_same_id() {
    let model = Model::saying(&["done"]).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let log = Log::new(store);
    let asks = FnAgent::new(|_, _| async { Ok(Outcome::InputRequired(Said::text("which one?"))) });
    let before = Line::new(&log, Arc::new(asks), engine::Settings::default());
    let task = before.send(says("one")).await.unwrap();
    let answer = Message {
        task_id: Some(task.id.clone()),
        parts: vec![Part::text("that one")],
        ..says("one")
    };
    let task = on(&log, settings(&model)).send(answer).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    let asked = model.asked().pop().unwrap();
    let expected = json!([
        { "role": "user", "content": "one" },
        { "role": "assistant", "content": "which one?" },
        { "role": "user", "content": "that one" },
    ]);
    assert_eq!(*asked.messages(), expected);
}

#[tokio::test]
async fn images_and_text_files_reach_the_model_and_others_are_rejected() {
    let model = Model::saying(&["seen"]).await;
    let line = line(settings(&model));
    let file = |bytes: &'static [u8], media: &str, name: &str| Part {
        media_type: Some(media.to_owned()),
        filename: Some(name.to_owned()),
        ..Part::new(Content::Raw(Bytes::from_static(bytes)))
    };
    let mut message = says("look");
    message.parts.push(file(b"\x89PNG", "image/png", "a.png"));
    message.parts.push(file(b"a,b", "text/csv", "b.csv"));
    let task = line.send(message).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    let expected = json!([
        { "type": "text", "text": "look" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw==" } },
        { "type": "text", "text": "File b.csv:\n\na,b" },
    ]);
    assert_eq!(model.asked()[0].messages()[0]["content"], expected);

    let mut message = says("and this");
    message
        .parts
        .push(file(b"%PDF", "application/pdf", "c.pdf"));
    let task = line.send(message).await.unwrap();
    assert_eq!(state(&task), TaskState::Rejected);
    assert!(said(&task).contains("c.pdf"), "{}", said(&task));
    assert_eq!(model.asked().len(), 1, "it was not asked");
}

#[tokio::test]
async fn a_server_that_knows_no_streams_is_understood() {
    let model = Model::open(|_, _| {
        let message = json!({ "role": "assistant", "content": "all at once" });
        let body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
        model::plain(200, "content-type: application/json\r\n", &body.to_string())
    })
    .await;
    let task = line(settings(&model)).send(says("hi")).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert_eq!(answer(&task, "answer"), "all at once");
}

#[tokio::test]
async fn after_a_restart_the_model_is_asked_again_and_its_answer_replaces_the_old() {
    let model = Model::open(|_, n| match n {
        1 => vec![events(), word("half of "), Step::Hang],
        _ => stream(&["a whole answer"]),
    })
    .await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let log = Log::new(Arc::clone(&store));
    let before = on(&log, settings(&model));
    let mut cursor = before.stream(says("hi")).await.unwrap();
    let id = cursor.task_id().clone();
    while let Ok(Some(items)) = cursor.next().await {
        let is_piece = |event: &Event| matches!(event, Event::Artifact(_));
        if items.iter().any(|item| is_piece(&item.entry.event)) {
            break;
        }
    }
    log.stopping().cancel();
    log.close().await;

    let log = Log::new(store);
    let after = on(&log, settings(&model));
    let engines = HashMap::from([(Arc::from("agent"), after.engine.clone())]);
    let recovered = recover(&log, &engines).await.unwrap();
    assert_eq!((recovered.resumed, recovered.failed), (1, 0));
    let mut cursor = after.subscribe(&id, Some(0)).await.unwrap();
    rest(&mut cursor).await;
    let task = after.get(&id).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert_eq!(answer(&task, "answer"), "a whole answer");
    assert_eq!(task.artifacts.len(), 1);
}

#[test]
fn what_could_never_be_asked_is_refused() {
    let at = |base: &str, model: &str| Settings::new(base.parse().unwrap(), model);
    let refused = |settings| OpenAiAgent::new(settings, key()).unwrap_err();
    assert_eq!(refused(at("ftp://h/", "m")), Invalid::Base);
    assert_eq!(refused(at("http://h/", "")), Invalid::Model);
    let mut odd = at("http://h/", "m");
    odd.parameters.insert("stream".to_owned(), false.into());
    assert_eq!(refused(odd), Invalid::Parameter("stream".to_owned()));
}

/// So that a test can be told from outside what an event is.
fn bare(data: &str) -> Vec<Step> {
    vec![events(), event(data)]
}
