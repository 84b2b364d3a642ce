//! gRPC: model to bytes to model, in both packages; nothing is lost but what the lists of losses say.

mod content;
mod requests;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use switchboard_types::model::{
    Artifact, Content, Event, Json, Message, MessageId, Object, Part, PushConfigId, Role, Task,
};
use switchboard_types::operation::{
    Method, Operation, PushConfigPage, Response, TaskPage, TaskView,
};
use switchboard_types::wire::grpc::{self, LOSSES, Spoken};
use switchboard_types::{Dialect, FileBytes, ProtocolVersion};

use crate::{roundtrip, sample};

const NEW: Spoken = Spoken {
    version: ProtocolVersion::V1_0,
    files: FileBytes::Raw,
};
const OLD: Spoken = Spoken {
    version: ProtocolVersion::V0_3,
    files: FileBytes::Base64,
};
const STRICT: Spoken = Spoken {
    version: ProtocolVersion::V0_3,
    files: FileBytes::Raw,
};

/// Free JSON in the one spelling that gRPC has.
fn plain(json: &Json) -> Json {
    let value: Value = serde_json::from_str(json.as_str()).unwrap();
    Json::parse(spelled(&value)).unwrap()
}

fn spelled(value: &Value) -> String {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
                format!("{number:.0}")
            } else {
                serde_json::to_string(&number).unwrap()
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spelled).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<_, _> = members.iter().collect();
            let members: Vec<String> = sorted
                .into_iter()
                .map(|(key, value)| {
                    format!("{}:{}", serde_json::to_string(key).unwrap(), spelled(value))
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

fn plain_object(object: &mut Option<Object>) {
    if let Some(inner) = object {
        *inner = Object::try_from(plain(inner.as_json())).unwrap();
    }
}

fn plain_parts(parts: &mut [Part]) {
    for part in parts {
        plain_object(&mut part.metadata);
        if let Content::Data(data) = &mut part.content {
            *data = plain(data);
        }
    }
}

fn plain_message(message: &mut Message) {
    plain_object(&mut message.metadata);
    plain_parts(&mut message.parts);
}

fn plain_artifact(artifact: &mut Arc<Artifact>) {
    let artifact = Arc::make_mut(artifact);
    plain_object(&mut artifact.metadata);
    plain_parts(&mut artifact.parts);
}

fn plain_task(task: &mut Task) {
    plain_object(&mut task.metadata);
    task.artifacts.iter_mut().for_each(plain_artifact);
    let said = task.history.iter_mut().chain(&mut task.status.message);
    said.for_each(|message| plain_message(Arc::make_mut(message)));
}

/// What is left of an event after gRPC.
fn after(spoken: Spoken, event: Event) -> Event {
    // As in JSON: references to tasks, which ProtoJSON of 0.3 has to leave out, are a number that readers skip here.
    let dialect = match spoken.version {
        ProtocolVersion::V1_0 => Dialect::V1,
        ProtocolVersion::V0_3 => Dialect::V0Json,
    };
    let mut event = roundtrip::lose(dialect, event);
    match &mut event {
        Event::Task(task) => plain_task(Arc::make_mut(task)),
        Event::Message(message) => plain_message(Arc::make_mut(message)),
        Event::Status(update) => {
            plain_object(&mut update.metadata);
            let said = update.status.message.iter_mut();
            said.for_each(|message| plain_message(Arc::make_mut(message)));
        }
        Event::Artifact(update) => {
            plain_object(&mut update.metadata);
            plain_artifact(&mut update.artifact);
        }
    }
    event
}

/// What is left of a request after gRPC.
fn after_request(spoken: Spoken, mut operation: Operation) -> Operation {
    let old = spoken.version == ProtocolVersion::V0_3;
    let unnamed = || Some(PushConfigId::new("default").unwrap());
    match &mut operation {
        Operation::Send(send) | Operation::Stream(send) => {
            plain_object(&mut send.metadata);
            plain_message(&mut send.message);
            if old {
                send.message
                    .parts
                    .iter_mut()
                    .for_each(|part| roundtrip::lose_in_part(Dialect::V0Json, part));
                let wanted = &mut send.configuration;
                wanted.history_length = wanted.history_length.filter(|length| *length > 0);
                if let Some(push) = &mut wanted.push {
                    push.task_id = None;
                    push.id = push.id.take().or_else(unnamed);
                }
            }
        }
        Operation::Get(get) if old => {
            get.history_length = get.history_length.filter(|length| *length > 0);
        }
        Operation::Cancel(cancel) => {
            plain_object(&mut cancel.metadata);
            if old {
                cancel.metadata = None;
            }
        }
        Operation::CreatePushConfig(config) if old => {
            config.id = config.id.take().or_else(unnamed);
        }
        Operation::ListPushConfigs(list) => {
            list.page_size = list.page_size.filter(|size| *size > 0);
        }
        _ => {}
    }
    operation
}

fn whole(task: Task) -> TaskView {
    TaskView {
        task: Arc::new(task),
        history_length: None,
        artifacts: true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn events_survive(event in sample::event(), last: bool) {
        for spoken in [NEW, OLD, STRICT] {
            let bytes = grpc::encode_event(spoken, &event, last);
            let back = grpc::decode_event(spoken, &bytes).unwrap();
            prop_assert_eq!(back, after(spoken, event.clone()), "{:?}", spoken);
        }
    }

    #[test]
    fn requests_survive(operation in sample::operation(), tenant in prop::option::of("[a-z]{1,9}")) {
        for spoken in [NEW, OLD, STRICT] {
            let Ok(bytes) = grpc::encode_request(spoken, &operation, tenant.as_deref()) else {
                prop_assert_eq!((spoken.version, operation.method()), (ProtocolVersion::V0_3, Method::List));
                continue;
            };
            let back = grpc::decode_request(spoken, operation.method(), &bytes).unwrap();
            prop_assert_eq!(back.operation, after_request(spoken, operation.clone()));
            let kept = tenant.clone().filter(|_| spoken == NEW);
            prop_assert_eq!(back.tenant, kept);
        }
    }

    #[test]
    fn answers_survive(
        task in sample::task(),
        message in sample::message(),
        config in sample::push_config(),
        id in sample::id(),
        owner in sample::id(),
    ) {
        let mut config = config;
        config.id = Some(id);
        config.task_id = Some(owner);
        let page = PushConfigPage { configs: vec![config.clone()], next_page_token: "next".into() };
        let tasks = TaskPage {
            tasks: vec![whole(task.clone())],
            next_page_token: "next".into(),
            page_size: 50,
            total_size: 1,
        };
        for (method, response) in [
            (Method::Send, Response::SentTask(whole(task.clone()))),
            (Method::Send, Response::SentMessage(Arc::new(message))),
            (Method::Get, Response::Task(whole(task.clone()))),
            (Method::Cancel, Response::Task(whole(task))),
            (Method::List, Response::Tasks(tasks)),
            (Method::CreatePushConfig, Response::PushConfig(config)),
            (Method::ListPushConfigs, Response::PushConfigs(page)),
            (Method::DeletePushConfig, Response::Deleted),
        ] {
            for spoken in [NEW, OLD, STRICT] {
                if method == Method::List && spoken != NEW {
                    continue;
                }
                let bytes = grpc::encode_response(spoken, &response);
                let back = grpc::decode_response(spoken, method, &bytes).unwrap();
                prop_assert_eq!(back, after_response(spoken, response.clone()));
            }
        }
    }

    #[test]
    fn damaged_messages_never_panic(event in sample::event(), at: prop::sample::Index, byte: u8) {
        for spoken in [NEW, OLD, STRICT] {
            let mut bytes = grpc::encode_event(spoken, &event, false);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            drop(grpc::decode_event(spoken, &bytes));
            for method in Method::ALL {
                drop(grpc::decode_request(spoken, method, &bytes));
                drop(grpc::decode_response(spoken, method, &bytes));
            }
        }
    }
}

fn after_response(spoken: Spoken, response: Response) -> Response {
    let shown = |view: TaskView| match after(spoken, Event::Task(view.task)) {
        Event::Task(task) => TaskView {
            task,
            ..whole_view()
        },
        other => panic!("no task: {other:?}"),
    };
    match response {
        Response::SentTask(view) => Response::SentTask(shown(view)),
        Response::Task(view) => Response::Task(shown(view)),
        Response::SentMessage(message) => match after(spoken, Event::Message(message)) {
            Event::Message(message) => Response::SentMessage(message),
            other => panic!("no message: {other:?}"),
        },
        Response::Tasks(mut page) => {
            page.tasks = page.tasks.into_iter().map(shown).collect();
            Response::Tasks(page)
        }
        other => other,
    }
}

fn whole_view() -> TaskView {
    let id = switchboard_types::model::TaskId::new("t").unwrap();
    let context = switchboard_types::model::ContextId::new("c").unwrap();
    whole(Task {
        id,
        context_id: context,
        status: switchboard_types::model::TaskStatus {
            state: switchboard_types::model::TaskState::Working,
            message: None,
            timestamp: None,
        },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    })
}

#[test]
fn every_loss_is_tested() {
    // Rows 1 to 4: `plain` above, and the tests beside the code. Row 9: `card::grpc`.
    assert_eq!(LOSSES.len(), 9);
}

fn said(part: Part) -> Message {
    Message::new(MessageId::new("m").unwrap(), Role::User, vec![part])
}
