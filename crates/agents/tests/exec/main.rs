//! Commands as agents: real processes behind a real engine, and nothing left of them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod endings;
mod json;
mod slow;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use switchboard_agents::exec::{ExecAgent, Invalid, Protocol, Settings};
use switchboard_server::call::EventStream;
use switchboard_server::engine;
use switchboard_server::log::Log;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{Line, rest, says};
use switchboard_types::model::{
    ArtifactUpdate, Content, Event, Message, MessageId, Part, Secret, Task, TaskState,
};

/// A command of the shell.
fn shell(script: &str) -> Settings {
    Settings::new(["sh", "-c", script])
}

fn line(settings: Settings) -> Line {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    on(&Log::new(store), settings, engine::Settings::default())
}

fn on(log: &Log, settings: Settings, engine: engine::Settings) -> Line {
    Line::new(log, Arc::new(ExecAgent::new(settings).unwrap()), engine)
}

/// What becomes of a message to a command of the shell.
async fn run(script: &str, text: &str) -> Arc<Task> {
    line(shell(script)).send(says(text)).await.unwrap()
}

fn state(task: &Task) -> TaskState {
    task.status.state
}

/// What the task says of itself.
fn said(task: &Task) -> String {
    let message = task.status.message.as_ref();
    message.map(|message| message.text()).unwrap_or_default()
}

/// The text of an artifact.
fn text(task: &Task, name: &str) -> String {
    let found = task.artifacts.iter().find(|a| a.id.as_str() == name);
    let parts = found.map(|artifact| artifact.parts.iter());
    let texts = parts.into_iter().flatten().filter_map(Part::as_text);
    texts.collect()
}

/// The next piece of an artifact.
async fn piece(cursor: &mut EventStream) -> ArtifactUpdate {
    loop {
        let items = cursor.next().await.unwrap().unwrap();
        let mut events = items.into_iter().map(|item| item.entry.event.clone());
        if let Some(Event::Artifact(update)) = events.find(|e| matches!(e, Event::Artifact(_))) {
            return update;
        }
    }
}

#[tokio::test]
async fn text_goes_in_and_lines_come_out() {
    let mut message = says("one\ntwo");
    let data = switchboard_types::model::Json::parse(r#"{"a":1}"#).unwrap();
    message.parts.push(Part::data(data));
    let line = line(shell(
        r#"while read -r l || [ "$l" ]; do echo "got $l"; done"#,
    ));
    let task = line.send(message).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    let expected = "got one\ngot two\ngot {\"a\":1}\n";
    assert_eq!(text(&task, "output"), expected);
}

#[tokio::test]
async fn a_line_is_seen_while_the_command_runs() {
    let place = tempfile::tempdir().unwrap();
    let gate = place.path().join("gate");
    let script = format!("mkfifo {0}; echo one; cat {0}; echo two", gate.display());
    let line = line(shell(&script));
    let mut cursor = line.stream(says("go")).await.unwrap();
    let first = piece(&mut cursor).await;
    assert_eq!(first.artifact.parts, [Part::text("one\n")]);
    assert!(!first.append && !first.last_chunk);
    tokio::fs::write(&gate, "").await.unwrap();
    let events = rest(&mut cursor).await;
    let mut pieces = events.iter().filter_map(|(_, event, _)| match event {
        Event::Artifact(update) => Some(update),
        _ => None,
    });
    let last = pieces.next_back().unwrap();
    assert!(last.append && last.last_chunk);
    let task = line.get(cursor.task_id()).await.unwrap();
    assert_eq!(text(&task, "output"), "one\ntwo\n");
}

#[tokio::test]
async fn lines_that_come_at_once_are_few_events() {
    let settings = Settings {
        coalesce: Duration::from_secs(3600),
        ..shell("seq 2000")
    };
    let line = line(settings);
    let mut cursor = line.stream(says("go")).await.unwrap();
    let events = rest(&mut cursor).await;
    let is_piece = |(_, event, _): &&(u64, Event, bool)| matches!(event, Event::Artifact(_));
    let pieces = events.iter().filter(is_piece).count();
    assert!(pieces <= 3, "{pieces} events");
    let task = line.get(cursor.task_id()).await.unwrap();
    assert_eq!(text(&task, "output").lines().count(), 2000);
}

#[tokio::test]
async fn only_what_is_allowed_is_in_the_environment() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let settings = Settings {
        inherit: vec!["CARGO_PKG_NAME".to_owned(), "NO_SUCH_THING".to_owned()],
        environment: vec![("GREETING".to_owned(), Secret::new("hello"))],
        ..Settings::new(["env"])
    };
    let task = line(settings).send(says("hi")).await.unwrap();
    let output = text(&task, "output");
    let mut names: Vec<&str> = output.lines().filter_map(|l| l.split('=').next()).collect();
    names.sort_unstable();
    let expected = [
        "CARGO_PKG_NAME",
        "GREETING",
        "PATH",
        "PYTHONUNBUFFERED",
        "SWITCHBOARD_AGENT",
        "SWITCHBOARD_CONTEXT_ID",
        "SWITCHBOARD_MESSAGE",
        "SWITCHBOARD_SESSION_ID",
        "SWITCHBOARD_TASK_ID",
    ];
    assert_eq!(names, expected);
    let value = |name: &str| {
        let mut lines = output.lines().filter_map(|line| line.split_once('='));
        lines.find(|(n, _)| *n == name).unwrap().1.to_owned()
    };
    assert_eq!(value("SWITCHBOARD_TASK_ID"), task.id.as_str());
    assert_eq!(value("SWITCHBOARD_CONTEXT_ID"), task.context_id.as_str());
    // Callers name their contexts as they like: the session is unique for each caller.
    assert_ne!(value("SWITCHBOARD_SESSION_ID"), task.context_id.as_str());
    assert_eq!(value("GREETING"), "hello");
    let message: Value = serde_json::from_str(&value("SWITCHBOARD_MESSAGE")).unwrap();
    assert_eq!(message["parts"][0]["text"], "hi");
}

#[tokio::test]
async fn a_command_runs_where_it_is_said() {
    let place = tempfile::tempdir().unwrap();
    let settings = Settings {
        directory: Some(place.path().to_owned()),
        ..Settings::new(["pwd"])
    };
    let task = line(settings).send(says("hi")).await.unwrap();
    let there = text(&task, "output");
    let there = Path::new(there.trim()).canonicalize().unwrap();
    assert_eq!(there, place.path().canonicalize().unwrap());
}

#[tokio::test]
async fn a_command_that_does_not_read_or_say_anything_is_fine() {
    let long = "x".repeat(1 << 20);
    let mut message = says("hi");
    message.parts.push(Part::text(long));
    let task = line(Settings::new(["true"])).send(message).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert!(task.artifacts.is_empty());
}

#[tokio::test]
async fn files_are_rejected_where_only_text_goes_in() {
    let mut message = says("look");
    let file = Part::new(Content::Raw(Bytes::from_static(b"x")));
    message.parts.push(file);
    let task = line(Settings::new(["cat"])).send(message).await.unwrap();
    assert_eq!(state(&task), TaskState::Rejected);
    assert_eq!(said(&task), "the agent accepts only text and data parts");
}

#[test]
fn what_could_never_be_run_is_refused() {
    let refused = |settings| ExecAgent::new(settings).unwrap_err();
    assert_eq!(refused(Settings::new([""; 0])), Invalid::Empty);
    assert_eq!(refused(Settings::new([""])), Invalid::Empty);
    assert_eq!(refused(Settings::new(["a", "\0"])), Invalid::Nul);
    let odd = Settings {
        inherit: vec!["A=B".to_owned()],
        ..Settings::new(["a"])
    };
    assert_eq!(refused(odd), Invalid::Variable("A=B".to_owned()));
}
