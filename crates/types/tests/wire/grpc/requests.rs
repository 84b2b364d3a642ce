//! What callers ask, and what of it is refused.

use prost::Message as _;
use switchboard_proto::{v0_3, v1_0};
use switchboard_types::model::Part;
use switchboard_types::operation::{Method, Operation, SendMessage};
use switchboard_types::wire::grpc::{self};
use switchboard_types::{Dialect, ErrorKind, FileBytes};

use super::{NEW, OLD, STRICT, said};

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
    assert_eq!(OLD.dialect(), Dialect::V0Proto(FileBytes::Base64));
    assert_eq!(STRICT.dialect(), Dialect::V0Proto(FileBytes::Raw));
}
