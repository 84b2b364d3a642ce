//! What is rendered piece by piece is what is encoded at once, whatever is large in it, and no piece is.

use std::sync::Arc;

use proptest::prelude::*;
use switchboard_types::Dialect;
use switchboard_types::model::{
    Artifact, ArtifactUpdate, Content, Event, Json, Message, Object, Part, StatusUpdate, Task,
};
use switchboard_types::operation::{Response, TaskPage, TaskView};
use switchboard_types::wire::{self, Rendering, jsonrpc, sse};

use crate::sample;

const DIALECTS: [Dialect; 4] = Dialect::ALL;

/// A control character takes six bytes on the wire, and a piece ends after the slice that fills it.
const MAX_PIECE: usize = 6 * (64 << 10);

/// Makes strings, files and free JSON as long as `bytes` at least.
fn grow_part(part: &mut Part, bytes: usize) {
    match &mut part.content {
        Content::Text(text) => {
            text.push_str("é\u{1}\"x");
            *text = text.repeat(bytes / text.len() + 1).into();
        }
        Content::Raw(raw) => *raw = [raw, &b"abc"[..]].concat().repeat(bytes / 3).into(),
        Content::Url(url) => url.push_str(&"x".repeat(bytes)),
        Content::Data(json) => {
            let grown = format!("[{},\"{}\"]", json.as_str(), "y".repeat(bytes));
            *json = Json::parse(grown).unwrap();
        }
    }
    if let Some(name) = &mut part.filename {
        name.push_str(&"n".repeat(bytes));
    }
    grow_object(part.metadata.as_mut(), bytes);
}

fn grow_object(object: Option<&mut Object>, bytes: usize) {
    if let Some(object) = object {
        let json = format!("{{\"grown\":\"{}\"}}", "z".repeat(bytes));
        *object = Object::try_from(Json::parse(json).unwrap()).unwrap();
    }
}

fn repeat<T: Clone>(elements: &mut Vec<T>, times: usize) {
    let count = elements.len() * times;
    *elements = elements.iter().cloned().cycle().take(count).collect();
}

fn grow_message(message: &mut Message, bytes: usize) {
    for part in &mut message.parts {
        grow_part(part, bytes);
    }
    repeat(&mut message.extensions, bytes / 64 + 1);
    repeat(&mut message.reference_task_ids, bytes / 64 + 1);
    grow_object(message.metadata.as_mut(), bytes);
}

fn grow_artifact(artifact: &mut Artifact, bytes: usize) {
    for part in &mut artifact.parts {
        grow_part(part, bytes);
    }
    if let Some(text) = &mut artifact.description {
        text.push_str(&"d\n".repeat(bytes));
    }
    grow_object(artifact.metadata.as_mut(), bytes);
}

fn grow_task(task: &mut Task, bytes: usize, times: usize) {
    for message in task.history.iter_mut().chain(&mut task.status.message) {
        grow_message(Arc::make_mut(message), bytes);
    }
    for artifact in &mut task.artifacts {
        grow_artifact(Arc::make_mut(artifact), bytes);
    }
    repeat(&mut task.history, times);
    repeat(&mut task.artifacts, times);
    grow_object(task.metadata.as_mut(), bytes);
}

fn grow_event(event: &mut Event, bytes: usize, times: usize) {
    match event {
        Event::Task(task) => grow_task(Arc::make_mut(task), bytes, times),
        Event::Message(message) => grow_message(Arc::make_mut(message), bytes),
        Event::Status(StatusUpdate {
            status, metadata, ..
        }) => {
            if let Some(message) = &mut status.message {
                grow_message(Arc::make_mut(message), bytes);
            }
            grow_object(metadata.as_mut(), bytes);
        }
        Event::Artifact(ArtifactUpdate { artifact, .. }) => {
            grow_artifact(Arc::make_mut(artifact), bytes);
        }
    }
}

/// All pieces together.
fn whole(rendering: Rendering) -> String {
    let mut all = Vec::new();
    for piece in rendering {
        assert!(!piece.is_empty());
        assert!(piece.len() <= MAX_PIECE, "a piece of {} bytes", piece.len());
        all.extend(piece);
    }
    String::from_utf8(all).unwrap()
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    encode(&mut out);
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn events_are_rendered_as_they_are_encoded(
        mut event in sample::event(),
        bytes in prop_oneof![Just(0_usize), 1..20_000_usize],
        times in 1..4_usize,
        last in any::<bool>(),
    ) {
        grow_event(&mut event, bytes, times);
        for dialect in DIALECTS {
            let whole = whole(Rendering::event(dialect, event.clone(), last));
            let encoded = encoded(|out| wire::encode_event(dialect, &event, last, out));
            prop_assert!(whole == encoded, "{dialect:?}");
        }
    }

    #[test]
    fn answers_are_rendered_as_they_are_encoded(
        mut task in sample::task(),
        other in sample::task(),
        bytes in prop_oneof![Just(0_usize), 1..20_000_usize],
        times in 1..4_usize,
        history_length in proptest::option::of(0..5_u32),
        artifacts in any::<bool>(),
    ) {
        grow_task(&mut task, bytes, times);
        let task = Arc::new(task);
        let view = |task: &Arc<Task>| TaskView {
            task: Arc::clone(task),
            history_length,
            artifacts,
        };
        let page = TaskPage {
            tasks: vec![view(&task), view(&Arc::new(other)), view(&task)],
            next_page_token: "next".to_owned(),
            page_size: 3,
            total_size: 17,
        };
        let answers = [
            Response::Task(view(&task)),
            Response::SentTask(view(&task)),
            Response::Tasks(page),
            Response::Deleted,
        ];
        let messages = task.history.iter().cloned().map(Response::SentMessage);
        for response in answers.into_iter().chain(messages) {
            for dialect in DIALECTS {
                let whole = whole(Rendering::response(dialect, response.clone()));
                let encoded = encoded(|out| wire::encode_response(dialect, &response, out));
                prop_assert!(whole == encoded, "{dialect:?}");
            }
        }
        for dialect in DIALECTS {
            let whole = whole(Rendering::task(dialect, Arc::clone(&task)));
            let encoded = encoded(|out| wire::encode_task(dialect, &task, out));
            prop_assert!(whole == encoded, "{dialect:?}");
        }
    }
}

#[test]
fn envelopes_are_written_around_a_rendering() {
    let message = Message::new(
        switchboard_types::model::Id::new("m").unwrap(),
        switchboard_types::model::Role::Agent,
        vec![Part::text("x".repeat(100_000))],
    );
    let event = Event::Message(Arc::new(message));
    let id = jsonrpc::Id::text("7");
    let rendering = Rendering::event(Dialect::V1, event.clone(), true)
        .within(jsonrpc::around_result(&id))
        .within(sse::around_data(Some(9)));
    let json = encoded(|out| wire::encode_event(Dialect::V1, &event, true, out));
    let data = encoded(|out| jsonrpc::write_event(out, &id, json.as_bytes()));
    let frame = encoded(|out| sse::write_frame(out, Some(9), data.as_bytes()));
    assert_eq!(whole(rendering), frame);
}
