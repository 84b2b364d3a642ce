//! Answers, read leniently: what agents leave out, wrap, or say in the words of another version.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_types::model::{Content, PushConfig, Task, TaskState};
use switchboard_types::operation::{Method, PushConfigPage, Response, TaskPage, TaskView};
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes, wire};

use crate::sample;

fn read(dialect: Dialect, method: Method, body: &Value) -> Result<Response, Error> {
    wire::decode_response(dialect, method, &body.to_string())
}

fn task(response: Response) -> Arc<Task> {
    match response {
        Response::SentTask(view) | Response::Task(view) => view.task,
        other => panic!("no task: {other:?}"),
    }
}

/// The text of the message that was sent back.
fn said(dialect: Dialect, body: &Value) -> String {
    match read(dialect, Method::Send, body).unwrap() {
        Response::SentMessage(message) => message.text(),
        other => panic!("no message: {other:?}"),
    }
}

#[test]
fn s0_034_parts_that_are_no_objects_are_passed_over() {
    let odd = json!([null, 1, 1.5, "x", true, ["y"], {"kind": "text", "text": "kept"}]);
    for (dialect, body) in [
        (
            Dialect::V0Json,
            json!({"message": {"role": "assistant", "parts": odd}}),
        ),
        (
            Dialect::V0Proto(FileBytes::Base64),
            json!({"message": {"role": "ROLE_AGENT", "content": odd}}),
        ),
        (
            Dialect::V1,
            json!({"message": {"role": "ROLE_AGENT", "parts": odd}}),
        ),
    ] {
        assert_eq!(said(dialect, &body), "kept", "{dialect:?}");
    }
    let made = json!({"id": "t", "status": {"state": "completed"}, "artifacts": [{"artifactId": "a", "parts": odd}]});
    for dialect in Dialect::ALL {
        let task = task(read(dialect, Method::Get, &made).unwrap());
        assert_eq!(task.artifacts[0].parts.len(), 1);
    }
}

#[test]
fn s0_035_a_text_part_without_text_is_empty() {
    let parts = json!([{"kind": "text"}, {"kind": "text", "text": "b"}]);
    for dialect in Dialect::ALL {
        let body = json!({"message": {"role": "agent", "parts": parts}});
        assert_eq!(said(dialect, &body), "\nb", "{dialect:?}");
    }
}

#[test]
fn requests_are_read_as_strictly_as_before() {
    for (dialect, parts, field) in [
        (Dialect::V0Json, json!(["x"]), "message.parts[0]"),
        (
            Dialect::V1,
            json!([{"text": "x"}, null]),
            "message.parts[1]",
        ),
        (
            Dialect::V0Json,
            json!([{"kind": "text"}]),
            "message.parts[0].text",
        ),
        (Dialect::V1, json!([{"kind": "text"}]), "message.parts[0]"),
        (
            Dialect::V1,
            json!([{"kind": "file", "file": {"uri": "http://x.example/"}}]),
            "message.parts[0]",
        ),
    ] {
        let params =
            json!({"message": {"messageId": "m", "role": "user", "parts": parts}}).to_string();
        let params = serde_json::from_str(&params).unwrap();
        let error = wire::decode_params(dialect, Method::Send, Some(params)).unwrap_err();
        assert_eq!(error.violations()[0].field, field, "{parts}");
    }
}

#[test]
fn a_task_without_status_is_in_an_unknown_state() {
    for dialect in Dialect::ALL {
        for body in [
            json!({"id": "t"}),
            json!({"id": "t", "status": {}}),
            json!({"id": "t", "status": {"state": "dreaming"}}),
        ] {
            let task = task(read(dialect, Method::Get, &body).unwrap());
            assert_eq!(task.status.state, TaskState::Unknown, "{body}");
        }
        let sent = json!({"id": "t", "artifacts": []});
        let task = task(read(dialect, Method::Send, &sent).unwrap());
        assert_eq!(
            (task.id.as_str(), task.status.state),
            ("t", TaskState::Unknown)
        );
    }
}

#[test]
fn artifacts_without_ids_are_told_apart_by_their_place() {
    let parts = json!([{"text": "x"}]);
    let artifacts = json!([{"parts": parts}, {"artifactId": "", "parts": parts}, {"artifactId": "a", "parts": parts}]);
    for dialect in Dialect::ALL {
        let body = json!({"id": "t", "status": {"state": "working"}, "artifacts": artifacts});
        let task = task(read(dialect, Method::Get, &body).unwrap());
        let ids: Vec<&str> = task.artifacts.iter().map(|a| a.id.as_str()).collect();
        assert_eq!(ids, ["artifact-0", "artifact-1", "a"]);
    }
}

/// Clawster has the methods of 1.0 and answers with the tasks of 0.x.
#[test]
fn answers_to_1_0_may_have_the_shapes_of_0_x() {
    let bare = json!({
        "id": "t", "contextId": "c", "status": {"state": "completed", "timestamp": "2026-02-08T10:00:00Z"},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}, {"kind": "file", "file": {"uri": "http://x.example/"}}]}],
    });
    for method in [Method::Send, Method::Get, Method::Cancel] {
        let task = task(read(Dialect::V1, method, &bare).unwrap());
        assert_eq!(task.status.state, TaskState::Completed, "{method:?}");
        let parts = &task.artifacts[0].parts;
        assert_eq!(parts[0].as_text(), Some("done"));
        assert_eq!(parts[1].content, Content::Url("http://x.example/".into()));
    }
    let page = json!({"tasks": [bare]});
    let Response::Tasks(page) = read(Dialect::V1, Method::List, &page).unwrap() else {
        panic!("a page");
    };
    assert_eq!(
        (page.tasks.len(), page.page_size, page.total_size),
        (1, 1, 1)
    );
    let bare = json!({"role": "agent", "parts": [{"kind": "text", "text": "hi"}]});
    assert_eq!(said(Dialect::V1, &bare), "hi");
    let update = json!({"taskId": "t", "status": {"state": "working"}, "final": false});
    let event = wire::decode_event(Dialect::V1, &update.to_string()).unwrap();
    assert!(
        matches!(event, switchboard_types::model::Event::Status(_)),
        "{event:?}"
    );
}

#[test]
fn in_1_0_an_object_that_says_nothing_is_no_answer() {
    for body in [
        json!({}),
        json!({"foo": 1}),
        json!({"message": {}, "task": {"id": "t"}}),
    ] {
        let error = read(Dialect::V1, Method::Send, &body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{body}");
    }
}

#[test]
fn a_task_may_stand_in_a_wrapper() {
    let bare = json!({"id": "t", "contextId": "c", "status": {"state": "working"}});
    for dialect in Dialect::ALL {
        for body in [&bare, &json!({"task": bare})] {
            for method in [Method::Send, Method::Get, Method::Cancel] {
                let task = task(read(dialect, method, body).unwrap());
                assert_eq!(
                    task.status.state,
                    TaskState::Working,
                    "{dialect:?} {method:?}"
                );
            }
        }
    }
}

#[test]
fn a_send_is_answered_by_a_task_or_a_message_and_nothing_else() {
    let update = json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "working"}});
    for dialect in Dialect::ALL {
        for body in [&update, &json!(null), &json!([]), &json!("x")] {
            assert!(read(dialect, Method::Send, body).is_err(), "{body}");
        }
    }
}

#[test]
fn a_page_of_tasks_may_be_an_array() {
    let one = json!({"id": "t", "contextId": "c", "status": {"state": "completed"}});
    for dialect in Dialect::ALL {
        let Response::Tasks(page) = read(dialect, Method::List, &json!([one, one])).unwrap() else {
            panic!("a page");
        };
        assert_eq!(
            (page.tasks.len(), page.page_size, page.total_size),
            (2, 2, 2)
        );
        assert_eq!(page.next_page_token, "");
        let Response::Tasks(page) = read(
            dialect,
            Method::List,
            &json!({"tasks": [one], "pageSize": 50, "totalSize": "5000000000", "nextPageToken": "n"}),
        )
        .unwrap() else {
            panic!("a page");
        };
        assert_eq!((page.page_size, page.total_size), (50, 5_000_000_000));
        assert_eq!(page.next_page_token, "n");
    }
    let error = read(Dialect::V0Json, Method::List, &json!([one, {"id": 5}])).unwrap_err();
    assert_eq!(error.violations()[0].field, "[1].id");
}

#[test]
fn webhooks_come_in_every_shape() {
    let flat = json!({"id": "c", "taskId": "t", "url": "https://h.example/"});
    let inner = json!({"id": "c", "url": "https://h.example/"});
    let wrapped = json!({"taskId": "t", "pushNotificationConfig": inner});
    let named = json!({"name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": {"url": "https://h.example/"}});
    for dialect in Dialect::ALL {
        for one in [&flat, &wrapped, &named] {
            for method in [Method::CreatePushConfig, Method::GetPushConfig] {
                let Response::PushConfig(config) = read(dialect, method, one).unwrap() else {
                    panic!("a webhook");
                };
                assert_eq!(config.id.unwrap().as_str(), "c");
                assert_eq!(config.task_id.unwrap().as_str(), "t");
            }
            for all in [json!([one]), json!({"configs": [one], "nextPageToken": ""})] {
                let Response::PushConfigs(page) =
                    read(dialect, Method::ListPushConfigs, &all).unwrap()
                else {
                    panic!("webhooks");
                };
                assert_eq!(page.configs.len(), 1);
                // Asked for without an id, the first of them is meant.
                let Response::PushConfig(config) =
                    read(dialect, Method::GetPushConfig, &all).unwrap()
                else {
                    panic!("a webhook");
                };
                assert_eq!(config, page.configs[0]);
            }
        }
        assert!(read(dialect, Method::GetPushConfig, &json!([])).is_err());
        assert!(read(dialect, Method::GetPushConfig, &json!({})).is_err());
    }
}

#[test]
fn any_answer_to_a_delete_says_that_it_is_done() {
    for dialect in Dialect::ALL {
        for body in ["", "null", "{}", "{\"success\":true}"] {
            let response = wire::decode_response(dialect, Method::DeletePushConfig, body);
            assert_eq!(response, Ok(Response::Deleted));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_are_read_as_they_were_written(
        task in sample::task(),
        configs in prop::collection::vec(sample::push_config(), 0..3),
        next in "[a-z]{0,5}",
    ) {
        let view = TaskView { task: Arc::new(task), history_length: None, artifacts: true };
        let tasks = TaskPage {
            tasks: vec![view.clone(), view],
            next_page_token: next.clone(),
            page_size: 7,
            total_size: u64::from(u32::MAX) + 1,
        };
        // What 0.x cannot say of a task is tested elsewhere.
        let mut out = Vec::new();
        wire::encode_response(Dialect::V1, &Response::Tasks(tasks.clone()), &mut out);
        let text = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(wire::decode_response(Dialect::V1, Method::List, text), Ok(Response::Tasks(tasks)));
        let page = PushConfigPage { configs, next_page_token: next };
        for dialect in Dialect::ALL {
            let mut out = Vec::new();
            wire::encode_response(dialect, &Response::PushConfigs(page.clone()), &mut out);
            let text = std::str::from_utf8(&out).unwrap();
            let Ok(Response::PushConfigs(read)) = wire::decode_response(dialect, Method::ListPushConfigs, text) else {
                panic!("webhooks: {text}");
            };
            prop_assert_eq!(&read.configs, &page.configs);
            if dialect != Dialect::V0Json {
                prop_assert_eq!(&read.next_page_token, &page.next_page_token);
            }
            for config in &page.configs {
                let mut out = Vec::new();
                wire::encode_response(dialect, &Response::PushConfig(config.clone()), &mut out);
                let text = std::str::from_utf8(&out).unwrap();
                let expected: PushConfig = config.clone();
                prop_assert_eq!(
                    wire::decode_response(dialect, Method::GetPushConfig, text),
                    Ok(Response::PushConfig(expected))
                );
            }
        }
    }
}
