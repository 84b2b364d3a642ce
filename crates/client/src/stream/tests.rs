//! Folding and telling apart: whatever was missed is told once, and adds up.

use std::sync::Arc;

use proptest::prelude::*;
use switchboard_types::model::{
    Artifact, ArtifactId, ArtifactUpdate, ContextId, Event, Message, MessageId, Part, Role,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus,
};

use super::super::fold::fold;
use super::difference;

fn status(state: TaskState, said: Option<&str>) -> Event {
    let message = said.map(|text| {
        let id = MessageId::new(format!("m-{text}")).unwrap();
        Arc::new(Message::new(id, Role::Agent, vec![Part::text(text)]))
    });
    Event::Status(StatusUpdate {
        task_id: TaskId::new("t").unwrap(),
        context_id: ContextId::new("c").unwrap(),
        status: TaskStatus {
            state,
            message,
            timestamp: None,
        },
        metadata: None,
    })
}

fn piece(id: &str, parts: Vec<Part>, append: bool) -> Event {
    Event::Artifact(ArtifactUpdate {
        task_id: TaskId::new("t").unwrap(),
        context_id: ContextId::new("c").unwrap(),
        artifact: Arc::new(Artifact::new(ArtifactId::new(id).unwrap(), parts)),
        append,
        last_chunk: false,
        metadata: None,
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let part = prop_oneof![
        3 => "[a-c]{0,3}".prop_map(Part::text),
        1 => Just(Part::data(switchboard_types::model::Json::parse("{\"a\":1}").unwrap())),
    ];
    prop_oneof![
        (0..3_u8, prop::collection::vec(part, 1..3), any::<bool>())
            .prop_map(|(id, parts, append)| piece(&id.to_string(), parts, append)),
        ("[a-b]{1}", 0..3_usize).prop_map(|(said, state)| status(
            [
                TaskState::Working,
                TaskState::InputRequired,
                TaskState::Completed
            ][state],
            Some(&said)
        )),
    ]
}

/// As the agent keeps it: pieces stay apart.
fn kept(events: &[Event]) -> Option<Arc<Task>> {
    let mut task: Option<Arc<Task>> = None;
    for event in events {
        match (&mut task, event) {
            (Some(task), Event::Artifact(update)) if update.append => {
                let known = Arc::make_mut(task);
                let id = &update.artifact.id;
                match known.artifacts.iter_mut().find(|a| a.id == *id) {
                    Some(artifact) => Arc::make_mut(artifact)
                        .parts
                        .extend(update.artifact.parts.iter().cloned()),
                    None => known.artifacts.push(Arc::clone(&update.artifact)),
                }
            }
            (task, event) => fold(task, event),
        }
    }
    task
}

proptest! {
    #[test]
    fn what_was_missed_is_told_once_and_adds_up(
        events in prop::collection::vec(any_event(), 2..30),
        cut in 1..29_usize,
    ) {
        let cut = cut.min(events.len() - 1);
        let mut seen = None;
        for event in &events[..cut] {
            fold(&mut seen, event);
        }
        let (before, now) = (seen.clone().unwrap(), kept(&events).unwrap());
        for event in difference(&before, &now) {
            fold(&mut seen, &event);
        }
        let after = seen.unwrap();
        prop_assert_eq!(&after.status, &now.status);
        for artifact in &now.artifacts {
            let known = after.artifacts.iter().find(|a| a.id == artifact.id).unwrap();
            prop_assert_eq!(known.joined(), artifact.joined());
        }
        prop_assert!(difference(&after, &now).is_empty());
    }
}

#[test]
fn only_what_is_new_is_told() {
    let text = |text: &str| vec![Part::text(text)];
    let seen = kept(&[
        status(TaskState::Working, None),
        piece("a", text("Hel"), false),
    ])
    .unwrap();
    let now = kept(&[
        status(TaskState::Working, None),
        piece("a", text("Hel"), false),
        piece("a", text("lo"), true),
        piece("b", text("new"), false),
        status(TaskState::Completed, None),
    ])
    .unwrap();
    let told = difference(&seen, &now);
    let mut expected = vec![
        piece("a", text("lo"), true),
        piece("b", text("new"), false),
        status(TaskState::Completed, None),
    ];
    for event in &mut expected {
        if let Event::Artifact(update) = event {
            update.last_chunk = true;
        }
    }
    assert_eq!(told, expected);
}

#[test]
fn what_an_agent_said_last_is_kept_when_it_falls_silent() {
    let mut task = None;
    for event in [
        status(TaskState::Working, Some("the answer")),
        status(TaskState::Completed, None),
    ] {
        fold(&mut task, &event);
    }
    let task = task.unwrap();
    assert_eq!(task.history[0].text(), "the answer");
    assert_eq!(task.status.message, None);
}

#[test]
fn words_that_grow_are_not_kept_at_every_length() {
    let mut task = None;
    for said in ["the", "the whole", "the whole answer"] {
        fold(&mut task, &status(TaskState::Working, Some(said)));
    }
    fold(&mut task, &status(TaskState::Completed, None));
    let task = task.unwrap();
    let history: Vec<String> = task.history.iter().map(|said| said.text()).collect();
    assert_eq!(history, ["the whole answer"]);
}

#[test]
fn an_artifact_that_a_snapshot_lacks_is_not_taken_back() {
    let mut seen = None;
    fold(&mut seen, &piece("a", vec![Part::text("x")], false));
    let seen = seen.unwrap();
    let mut now = (*seen).clone();
    now.artifacts.clear();
    assert!(difference(&seen, &now).is_empty());
}
