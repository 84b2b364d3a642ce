//! Model to wire to model: nothing is lost but what `LOSSES` lists.

use std::sync::Arc;

use proptest::prelude::*;
use switchboard_types::model::{Artifact, Content, Event, Json, Message, Part};
use switchboard_types::wire::{self, jsonrpc, rest};
use switchboard_types::{Dialect, FileBytes};

use crate::sample;

const DIALECTS: [Dialect; 4] = Dialect::ALL;

/// The text of what `encode` writes: JSON on one line.
fn line(encode: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    encode(&mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains(['\n', '\r']), "{text}");
    let _: &serde_json::value::RawValue = serde_json::from_str(&text).unwrap();
    text
}

/// What 0.x can carry of a part: the first five rows of `LOSSES`.
pub(crate) fn lose_in_part(dialect: Dialect, part: &mut Part) {
    if dialect.files().is_some() {
        part.filename = None;
        part.metadata = None;
        if let Content::Data(data) = &mut part.content
            && !data.is_object()
        {
            let wrapped = format!(r#"{{"value":{}}}"#, data.as_str());
            *data = Json::parse(wrapped).unwrap();
        }
    }
    if matches!(part.content, Content::Text(_) | Content::Data(_)) {
        part.media_type = None;
        part.filename = None;
    }
    if let Content::Data(data) = &part.content
        && !data.is_object()
        && part.metadata.as_ref().is_some_and(is_empty)
    {
        part.metadata = None;
    }
}

fn is_empty(object: &switchboard_types::model::Object) -> bool {
    object
        .as_json()
        .read::<serde_json::Map<String, serde_json::Value>>()
        .is_some_and(|members| members.is_empty())
}

/// What 0.x can carry of a message.
pub(crate) fn lose_in_message(dialect: Dialect, message: &mut Message) {
    let parts = message.parts.iter_mut();
    parts.for_each(|part| lose_in_part(dialect, part));
    if dialect.files().is_some() {
        message.reference_task_ids.clear();
    }
}

pub(crate) fn lose(dialect: Dialect, mut event: Event) -> Event {
    if dialect == Dialect::V1 {
        return event;
    }
    let said = |message: &mut Arc<Message>| lose_in_message(dialect, Arc::make_mut(message));
    let made = |artifact: &mut Arc<Artifact>| {
        let parts = &mut Arc::make_mut(artifact).parts;
        parts
            .iter_mut()
            .for_each(|part| lose_in_part(dialect, part));
    };
    match &mut event {
        Event::Task(task) => {
            let task = Arc::make_mut(task);
            task.artifacts.iter_mut().for_each(made);
            task.history.iter_mut().for_each(said);
            task.status.message.iter_mut().for_each(said);
        }
        Event::Message(message) => said(message),
        Event::Status(update) => update.status.message.iter_mut().for_each(said),
        Event::Artifact(update) => made(&mut update.artifact),
    }
    event
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn events_survive(event in sample::event(), last: bool) {
        for dialect in DIALECTS {
            let text = line(|out| wire::encode_event(dialect, &event, last, out));
            let back = wire::decode_event(dialect, &text).unwrap();
            prop_assert_eq!(back, lose(dialect, event.clone()), "{:?} {}", dialect, text);
        }
    }

    #[test]
    fn stored_events_survive_with_and_without_their_ids(
        event in sample::event(),
        task in sample::id(),
        context in sample::id(),
    ) {
        let (own_task, own_context) = match &event {
            Event::Status(update) => (update.task_id.clone(), update.context_id.clone()),
            Event::Artifact(update) => (update.task_id.clone(), update.context_id.clone()),
            Event::Task(_) | Event::Message(_) => (task.clone(), context.clone()),
        };
        for (task, context) in [(&own_task, &own_context), (&task, &context)] {
            let text = line(|out| wire::encode_stored(&event, task, context, out));
            let back = wire::decode_stored(&text, task, context).unwrap();
            prop_assert_eq!(&back, &event, "{}", text);
        }
        let own = line(|out| wire::encode_stored(&event, &own_task, &own_context, out));
        if matches!(event, Event::Status(_)) {
            prop_assert!(!own.starts_with(r#"{"statusUpdate":{"taskId""#), "{}", own);
        }
    }

    #[test]
    fn tasks_survive(task in sample::task()) {
        for dialect in DIALECTS {
            let text = line(|out| wire::encode_task(dialect, &task, out));
            let back = wire::decode_task(dialect, &text).unwrap();
            let lost = lose(dialect, Event::Task(Arc::new(task.clone())));
            prop_assert_eq!(Event::Task(Arc::new(back)), lost);
        }
    }

    #[test]
    fn messages_survive(message in sample::message()) {
        for dialect in DIALECTS {
            let text = line(|out| wire::encode_message(dialect, &message, out));
            let back = wire::decode_message(dialect, &text).unwrap();
            let lost = lose(dialect, Event::Message(Arc::new(message.clone())));
            prop_assert_eq!(Event::Message(Arc::new(back)), lost);
        }
    }

    #[test]
    fn webhooks_survive(config in sample::push_config()) {
        for dialect in DIALECTS {
            let text = line(|out| wire::encode_push_config(dialect, &config, out));
            prop_assert_eq!(&wire::decode_push_config(dialect, &text).unwrap(), &config);
        }
    }

    #[test]
    fn damaged_documents_never_panic(event in sample::event(), at: prop::sample::Index, byte: u8) {
        for dialect in DIALECTS {
            let mut bytes = line(|out| wire::encode_event(dialect, &event, false, out)).into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(text) = std::str::from_utf8(&bytes) {
                let _ = wire::decode_event(dialect, text);
            }
            let _ = jsonrpc::read(&bytes);
        }
    }

    #[test]
    fn no_path_or_query_panics(
        verb in "(GET|POST|DELETE|PUT)",
        path in "(/?(v1|tasks|t|message:send|%[0-9a-f]{1,2}|a:cancel|:subscribe|pushNotificationConfigs|.)){0,6}",
        query in "(pageSize|status|%|=|&|[0-9]|\\+|historyLength){0,8}",
    ) {
        if let Ok(route) = rest::route(&verb, &path) {
            let _ = rest::decode(&route, FileBytes::Base64, Some(&query), b"{}");
        }
    }
}
