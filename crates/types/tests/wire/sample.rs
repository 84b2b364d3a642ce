//! Arbitrary values of the model.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use switchboard_types::model::{
    Artifact, ArtifactUpdate, Authentication, Content, Event, Id, Json, Message, Object, Part,
    PushConfig, Role, Secret, StatusUpdate, Task, TaskState, TaskStatus, Timestamp,
};
use switchboard_types::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Operation,
    SendConfiguration, SendMessage, Subscribe,
};

/// Free JSON as peers write it: spaces, escapes, big numbers, any order of keys.
const JSON: [&str; 10] = [
    "null",
    "true",
    "-0.0",
    "18446744073709551615",
    "1e300",
    r#""\u00e9\ud83d\ude00\n""#,
    "[]",
    r#"[1, {"a":[null]}, "x"]"#,
    "{}",
    r#"{ "z" : 1 , "a": {"é": "ü"}, "z2":9007199254740993 }"#,
];

pub(crate) fn id<K: 'static>() -> impl Strategy<Value = Id<K>> {
    "[a-zA-Z0-9:._é /-]{1,24}".prop_map(|text| Id::new(text).unwrap())
}

fn json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        prop::sample::select(&JSON[..]).prop_map(str::to_owned),
    ];
    scalar.prop_map(|text| Json::parse(text).unwrap())
}

pub(crate) fn object() -> impl Strategy<Value = Object> {
    btree_map(any::<String>(), json(), 0..3).prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .map(|(key, value)| {
                format!("{}:{}", serde_json::to_string(key).unwrap(), value.as_str())
            })
            .collect();
        Object::try_from(Json::parse(format!("{{{}}}", members.join(","))).unwrap()).unwrap()
    })
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        any::<String>().prop_map(|text| Content::Text(text.into())),
        vec(any::<u8>(), 0..40).prop_map(|bytes| Content::Raw(bytes.into())),
        "https://[a-z]{1,9}\\.example/[a-z?&=]{0,9}".prop_map(Content::Url),
        json().prop_map(Content::Data),
        object().prop_map(|object| Content::Data(object.into())),
    ]
}

pub(crate) fn part() -> impl Strategy<Value = Part> {
    (
        content(),
        option::of("[a-z]{1,8}/[a-z]{1,8}"),
        option::of("[^\\x00]{1,12}"),
        option::of(object()),
    )
        .prop_map(|(content, media_type, filename, metadata)| Part {
            content,
            media_type,
            filename,
            metadata,
        })
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    (
        id(),
        prop_oneof![Just(Role::User), Just(Role::Agent)],
        vec(part(), 1..4),
        option::of(id()),
        option::of(id()),
        vec(id(), 0..3),
        vec("https://[a-z]{1,9}\\.example/v1", 0..3),
        option::of(object()),
    )
        .prop_map(
            |(id, role, parts, context_id, task_id, reference_task_ids, extensions, metadata)| {
                Message {
                    id,
                    role,
                    parts,
                    context_id,
                    task_id,
                    reference_task_ids,
                    extensions,
                    metadata,
                }
            },
        )
}

fn artifact() -> impl Strategy<Value = Artifact> {
    (
        id(),
        option::of(".{1,12}"),
        option::of(".{1,12}"),
        vec(part(), 1..4),
        vec("https://[a-z]{1,9}\\.example/v1", 0..2),
        option::of(object()),
    )
        .prop_map(
            |(id, name, description, parts, extensions, metadata)| Artifact {
                id,
                name,
                description,
                parts,
                extensions,
                metadata,
            },
        )
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_000_000_i64).prop_map(Timestamp::from_micros)
}

fn status() -> impl Strategy<Value = TaskStatus> {
    (
        prop::sample::select(&TaskState::ALL[..]),
        option::of(message().prop_map(Arc::new)),
        option::of(time()),
    )
        .prop_map(|(state, message, timestamp)| TaskStatus {
            state,
            message,
            timestamp,
        })
}

pub(crate) fn task() -> impl Strategy<Value = Task> {
    (
        id(),
        id(),
        status(),
        vec(artifact().prop_map(Arc::new), 0..3),
        vec(message().prop_map(Arc::new), 0..3),
        option::of(object()),
    )
        .prop_map(
            |(id, context_id, status, artifacts, history, metadata)| Task {
                id,
                context_id,
                status,
                artifacts,
                history,
                metadata,
            },
        )
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let status = (id(), id(), status(), option::of(object())).prop_map(
        |(task_id, context_id, status, metadata)| {
            Event::Status(StatusUpdate {
                task_id,
                context_id,
                status,
                metadata,
            })
        },
    );
    let artifact = (
        id(),
        id(),
        artifact().prop_map(Arc::new),
        any::<bool>(),
        any::<bool>(),
        option::of(object()),
    )
        .prop_map(
            |(task_id, context_id, artifact, append, last_chunk, metadata)| {
                Event::Artifact(ArtifactUpdate {
                    task_id,
                    context_id,
                    artifact,
                    append,
                    last_chunk,
                    metadata,
                })
            },
        );
    prop_oneof![
        task().prop_map(|task| Event::Task(Arc::new(task))),
        message().prop_map(|message| Event::Message(Arc::new(message))),
        status,
        artifact,
    ]
}

pub(crate) fn push_config() -> impl Strategy<Value = PushConfig> {
    let secret = || option::of(".{1,12}").prop_map(|text| text.map(Secret::new));
    let authentication =
        ("[A-Z][a-z]{1,8}", secret()).prop_map(|(scheme, credentials)| Authentication {
            scheme,
            credentials,
        });
    (
        option::of(id()),
        option::of(id()),
        "https://[a-z]{1,9}\\.example/",
        secret(),
        option::of(authentication),
    )
        .prop_map(|(id, task_id, url, token, authentication)| PushConfig {
            id,
            task_id,
            url,
            token,
            authentication,
        })
}

/// A number as the protocol can say it.
fn count() -> impl Strategy<Value = Option<u32>> {
    option::of(0..=i32::MAX.unsigned_abs())
}

fn send() -> impl Strategy<Value = Box<SendMessage>> {
    let configuration = (
        vec("[a-z]{1,8}/[a-z]{1,8}", 0..3),
        option::of(push_config()),
        count(),
        any::<bool>(),
    )
        .prop_map(
            |(accepted_output_modes, push, history_length, return_immediately)| SendConfiguration {
                accepted_output_modes,
                push,
                history_length,
                return_immediately,
            },
        );
    let configuration = prop_oneof![Just(SendConfiguration::default()), configuration];
    (message(), configuration, option::of(object())).prop_map(
        |(message, configuration, metadata)| {
            Box::new(SendMessage {
                message,
                configuration,
                metadata,
            })
        },
    )
}

fn list() -> impl Strategy<Value = ListTasks> {
    (
        option::of(id()),
        option::of(prop::sample::select(&TaskState::ALL[..8])),
        option::of(1..=100_u32),
        option::of("[a-zA-Z0-9+/=&%]{1,12}"),
        count(),
        option::of(time()),
        any::<bool>(),
    )
        .prop_map(
            |(
                context_id,
                status,
                page_size,
                page_token,
                history_length,
                status_timestamp_after,
                include_artifacts,
            )| ListTasks {
                context_id,
                status,
                page_size,
                page_token,
                history_length,
                status_timestamp_after,
                include_artifacts,
            },
        )
}

/// Any of the eleven, as a caller may mean it.
pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let get = (id(), count()).prop_map(|(id, history_length)| GetTask { id, history_length });
    let cancel =
        (id(), option::of(object())).prop_map(|(id, metadata)| CancelTask { id, metadata });
    let create = (push_config(), id()).prop_map(|(config, task)| PushConfig {
        task_id: Some(task),
        ..config
    });
    let get_config = (id(), id()).prop_map(|(task_id, id)| GetPushConfig {
        task_id,
        id: Some(id),
    });
    let list_configs = (
        id(),
        option::of(1..=i32::MAX.unsigned_abs()),
        option::of("[a-z+ &]{1,9}"),
    )
        .prop_map(|(task_id, page_size, page_token)| ListPushConfigs {
            task_id,
            page_size,
            page_token,
        });
    let delete = (id(), id()).prop_map(|(task_id, id)| DeletePushConfig { task_id, id });
    prop_oneof![
        send().prop_map(Operation::Send),
        send().prop_map(Operation::Stream),
        get.prop_map(Operation::Get),
        list().prop_map(Operation::List),
        cancel.prop_map(Operation::Cancel),
        id().prop_map(|id| Operation::Subscribe(Subscribe { id })),
        create.prop_map(Operation::CreatePushConfig),
        get_config.prop_map(Operation::GetPushConfig),
        list_configs.prop_map(Operation::ListPushConfigs),
        delete.prop_map(Operation::DeletePushConfig),
        Just(Operation::ExtendedCard),
    ]
}
