//! gRPC: model to bytes to model, in both packages; nothing is lost but what the lists of losses say.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use prost::Message as _;
use serde_json::Value;
use switchboard_proto::{v0_3, v1_0};
use switchboard_types::model::{
    Artifact, Content, Event, Json, Message, MessageId, Object, Part, PushConfigId, Role, Task,
};
use switchboard_types::operation::{
    Method, Operation, PushConfigPage, Response, SendMessage, TaskPage, TaskView,
};
use switchboard_types::wire::grpc::{self, FileBytes, LOSSES, Spoken};
use switchboard_types::{Dialect, ErrorKind, ProtocolVersion};

use crate::{roundtrip, sample};

const NEW: Spoken = Spoken {
    version: ProtocolVersion::V1_0,
    files: FileBytes::Raw,
};
const OLD: Spoken = Spoken {
    version: ProtocolVersion::V0_3,
    files: FileBytes::Raw,
};
const PYTHON: Spoken = Spoken {
    version: ProtocolVersion::V0_3,
    files: FileBytes::Text,
};

/// Free JSON in the one spelling that gRPC has.
fn plain(json: &Json) -> Json {
    // The one number of the samples that no double holds.
    let text = if json.as_str().contains('"') {
        json.as_str().replace(":1e400", ":\"1e400\"")
    } else {
        json.as_str().replace("1e400", "\"1e400\"")
    };
    let value: Value = serde_json::from_str(&text).unwrap();
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
                    .for_each(roundtrip::lose_in_part);
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
        for spoken in [NEW, OLD, PYTHON] {
            let bytes = grpc::encode_event(spoken, &event, last);
            let back = grpc::decode_event(spoken, &bytes).unwrap();
            prop_assert_eq!(back, after(spoken, event.clone()), "{:?}", spoken);
        }
    }

    #[test]
    fn requests_survive(operation in sample::operation(), tenant in prop::option::of("[a-z]{1,9}")) {
        for spoken in [NEW, OLD, PYTHON] {
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
            for spoken in [NEW, OLD, PYTHON] {
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
        for spoken in [NEW, OLD, PYTHON] {
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

fn said(part: Part) -> Message {
    Message::new(MessageId::new("m").unwrap(), Role::User, vec![part])
}

fn there_and_back(spoken: Spoken, part: Part) -> Part {
    let bytes = grpc::encode_event(spoken, &Event::Message(Arc::new(said(part))), false);
    match grpc::decode_event(spoken, &bytes).unwrap() {
        Event::Message(message) => message.parts[0].clone(),
        other => panic!("no message: {other:?}"),
    }
}

#[test]
fn every_loss_is_tested() {
    // Rows 1 to 4: `plain` above, and the tests beside the code. Row 9: `card::grpc`.
    assert_eq!(LOSSES.len(), 9);
}

#[test]
fn deep_json_comes_through_every_message() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(29), "1") + &"}".repeat(29);
    for spoken in [NEW, OLD] {
        let back = there_and_back(spoken, Part::data(Json::parse(deep.clone()).unwrap()));
        assert_eq!(
            back.content,
            Content::Data(Json::parse(deep.clone()).unwrap())
        );
        let deeper = format!("[{deep}]");
        let task = Task {
            artifacts: vec![Arc::new(Artifact::new(
                switchboard_types::model::ArtifactId::new("a").unwrap(),
                vec![Part::data(Json::parse(deeper).unwrap())],
            ))],
            ..(*whole_view().task).clone()
        };
        let bytes = grpc::encode_event(spoken, &Event::Task(Arc::new(task)), false);
        grpc::decode_event(spoken, &bytes).expect("as deep as readers go");
    }
}

#[test]
fn moments_are_cut_to_microseconds() {
    let update = v1_0::TaskStatusUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        status: Some(v1_0::TaskStatus {
            state: 2,
            message: None,
            timestamp: Some(prost_types::Timestamp {
                seconds: 1,
                nanos: 123_456_789,
            }),
        }),
        metadata: None,
    };
    let item = v1_0::StreamResponse {
        payload: Some(v1_0::stream_response::Payload::StatusUpdate(update)),
    };
    match grpc::decode_event(NEW, &item.encode_to_vec()).unwrap() {
        Event::Status(update) => {
            assert_eq!(update.status.timestamp.unwrap().as_micros(), 1_123_456);
        }
        other => panic!("no status: {other:?}"),
    }
}

#[test]
fn a_caller_of_0_3_waits_if_it_says_so_or_says_nothing() {
    let says = |blocking| v0_3::SendMessageConfiguration {
        blocking,
        ..Default::default()
    };
    for (configuration, waits) in [
        (None, true),
        (Some(says(true)), true),
        (Some(says(false)), false),
    ] {
        let send = v0_3::SendMessageRequest {
            request: Some(v0_3::Message {
                message_id: "m".into(),
                role: 1,
                content: vec![v0_3::Part {
                    part: Some(v0_3::part::Part::Text("hi".into())),
                    metadata: None,
                }],
                ..Default::default()
            }),
            configuration,
            metadata: None,
        };
        let request = grpc::decode_request(OLD, Method::Send, &send.encode_to_vec()).unwrap();
        let Operation::Send(send) = request.operation else {
            panic!("no send");
        };
        assert_eq!(send.configuration.return_immediately, !waits);
        assert_eq!(send.configuration.history_length, None);
    }
}

#[test]
fn files_of_the_python_sdk_are_base64_text() {
    let file = Part::new(Content::Raw("Hi\u{e9}".as_bytes().to_vec().into()));
    let bytes = grpc::encode_event(PYTHON, &Event::Message(Arc::new(said(file.clone()))), false);
    assert!(bytes.windows(8).any(|w| w == b"SGnDqQ=="), "{bytes:?}");
    assert_eq!(there_and_back(PYTHON, file.clone()), file);
    // Read raw it stays as it came; what is no base64 was meant as it stands.
    let Event::Message(raw) = grpc::decode_event(OLD, &bytes).unwrap() else {
        panic!("no message");
    };
    assert_eq!(raw.parts[0].content, Content::Raw("SGnDqQ==".into()));
    let bytes = grpc::encode_event(OLD, &Event::Message(Arc::new(said(file.clone()))), false);
    let Event::Message(odd) = grpc::decode_event(PYTHON, &bytes).unwrap() else {
        panic!("no message");
    };
    assert_eq!(odd.parts[0], file);
}

#[test]
fn only_the_last_status_of_0_3_is_final() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let event = loop {
        let event = sample::event().new_tree(&mut runner).unwrap().current();
        if matches!(event, Event::Status(_)) {
            break event;
        }
    };
    for last in [true, false] {
        let bytes = grpc::encode_event(OLD, &event, last);
        let item = v0_3::StreamResponse::decode(&*bytes).unwrap();
        match item.payload {
            Some(v0_3::stream_response::Payload::StatusUpdate(update)) => {
                assert_eq!(update.r#final, last);
            }
            other => panic!("no status: {other:?}"),
        }
    }
}

/// Bad requests name the field.
#[test]
fn bad_requests_name_the_field() {
    let good = v1_0::SendMessageRequest {
        message: Some(v1_0::Message {
            message_id: "m".into(),
            role: 1,
            parts: vec![v1_0::Part {
                content: Some(v1_0::part::Content::Text("hi".into())),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    };
    type Spoil = fn(&mut v1_0::SendMessageRequest);
    let spoils: [(Spoil, &str); 7] = [
        (|r| r.message = None, "message"),
        (
            |r| r.message.as_mut().unwrap().message_id.clear(),
            "message.messageId",
        ),
        (|r| r.message.as_mut().unwrap().role = 0, "message.role"),
        (|r| r.message.as_mut().unwrap().role = 7, "message.role"),
        (
            |r| r.message.as_mut().unwrap().parts.clear(),
            "message.parts",
        ),
        (
            |r| r.message.as_mut().unwrap().parts[0].content = None,
            "message.parts[0]",
        ),
        (
            |r| {
                r.configuration = Some(v1_0::SendMessageConfiguration {
                    history_length: Some(-1),
                    ..Default::default()
                });
            },
            "configuration.historyLength",
        ),
    ];
    for (spoil, field) in spoils {
        let mut bad = good.clone();
        spoil(&mut bad);
        let error = grpc::decode_request(NEW, Method::Send, &bad.encode_to_vec()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{field}");
        assert_eq!(error.violations()[0].field, field);
    }
    let fine = grpc::decode_request(NEW, Method::Send, &good.encode_to_vec()).unwrap();
    let Operation::Send(send) = fine.operation else {
        panic!("no send");
    };
    assert_eq!(
        *send,
        SendMessage {
            message: said(Part::text("hi")),
            configuration: switchboard_types::operation::SendConfiguration::default(),
            metadata: None,
        }
    );
    let list = |size, status| v1_0::ListTasksRequest {
        page_size: Some(size),
        status,
        ..Default::default()
    };
    for (size, status, field) in [
        (0, 0, "pageSize"),
        (101, 0, "pageSize"),
        (-1, 0, "pageSize"),
        (5, 99, "status"),
    ] {
        let bytes = list(size, status).encode_to_vec();
        let error = grpc::decode_request(NEW, Method::List, &bytes).unwrap_err();
        assert_eq!(error.violations()[0].field, field);
    }
    let error = grpc::decode_request(NEW, Method::Get, b"\xff").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parse);
}

#[test]
fn names_of_0_3_must_be_names() {
    for name in ["", "t1", "tasks/", "task/t1"] {
        let get = v0_3::GetTaskRequest {
            name: name.into(),
            history_length: 0,
        };
        let error = grpc::decode_request(OLD, Method::Get, &get.encode_to_vec()).unwrap_err();
        assert_eq!(error.violations()[0].field, "name", "{name}");
    }
    let get = v0_3::GetTaskPushNotificationConfigRequest {
        name: "tasks/a/b/pushNotificationConfigs/c".into(),
    };
    let request = grpc::decode_request(OLD, Method::GetPushConfig, &get.encode_to_vec()).unwrap();
    let Operation::GetPushConfig(get) = request.operation else {
        panic!("no get");
    };
    assert_eq!(get.task_id.as_str(), "a/b");
    assert_eq!(get.id.unwrap().as_str(), "c");
    assert_eq!(OLD.dialect(), Dialect::V0Proto);
}
