//! What leaves, to the letter.

use std::sync::Arc;

use switchboard_types::model::{Event, Task};
use switchboard_types::operation::{PushConfigPage, Response, TaskPage, TaskView};
use switchboard_types::wire;
use switchboard_types::{Dialect, FileBytes};

const TASK: &str = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED",
    "message":{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"bye"}]},
    "timestamp":"2025-10-30T10:00:00Z"},
    "artifacts":[{"artifactId":"a","name":"n","parts":[{"raw":"AA==","filename":"f","mediaType":"a/b"},
    {"url":"https://f.example"},{"data":{"k":1},"metadata":{"x":1}}]}],
    "history":[{"messageId":"m1","contextId":"c","taskId":"t","role":"ROLE_USER",
    "parts":[{"text":"hi"}],"referenceTaskIds":["r"],"extensions":["urn:e"],"metadata":{}}],
    "metadata":{"k":"v"}}"#;

fn task() -> Task {
    wire::decode_task(Dialect::V1, TASK).unwrap()
}

fn view(history_length: Option<u32>, artifacts: bool) -> TaskView {
    TaskView {
        task: Arc::new(task()),
        history_length,
        artifacts,
    }
}

fn response(dialect: Dialect, response: &Response) -> String {
    let mut out = Vec::new();
    wire::encode_response(dialect, response, &mut out);
    String::from_utf8(out).unwrap()
}

fn event(dialect: Dialect, event: &Event, last: bool) -> String {
    let mut out = Vec::new();
    wire::encode_event(dialect, event, last, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_task_in_0_x_json_has_kind_first_everywhere() {
    assert_eq!(
        response(Dialect::V0Json, &Response::SentTask(view(None, true))),
        concat!(
            r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"canceled","#,
            r#""message":{"kind":"message","role":"agent","parts":[{"kind":"text","text":"bye"}],"#,
            r#""messageId":"m2"},"timestamp":"2025-10-30T10:00:00.000Z"},"#,
            r#""artifacts":[{"artifactId":"a","name":"n","parts":["#,
            r#"{"kind":"file","file":{"name":"f","mimeType":"a/b","bytes":"AA=="}},"#,
            r#"{"kind":"file","file":{"uri":"https://f.example"}},"#,
            r#"{"kind":"data","data":{"k":1},"metadata":{"x":1}}]}],"#,
            r#""history":[{"kind":"message","role":"user","parts":[{"kind":"text","text":"hi"}],"#,
            r#""messageId":"m1","taskId":"t","contextId":"c","referenceTaskIds":["r"],"#,
            r#""extensions":["urn:e"],"metadata":{}}],"metadata":{"k":"v"}}"#,
        )
    );
}

#[test]
fn a_task_in_0_x_proto_json_has_content_and_no_kind() {
    assert_eq!(
        response(
            Dialect::V0Proto(FileBytes::Base64),
            &Response::SentTask(view(Some(1), true))
        ),
        concat!(
            r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED","#,
            r#""message":{"role":"ROLE_AGENT","content":[{"text":"bye"}],"messageId":"m2"},"#,
            r#""timestamp":"2025-10-30T10:00:00.000Z"},"#,
            r#""artifacts":[{"artifactId":"a","name":"n","parts":["#,
            r#"{"file":{"mimeType":"a/b","fileWithBytes":"QUE9PQ=="}},"#,
            r#"{"file":{"fileWithUri":"https://f.example"}},"#,
            r#"{"data":{"data":{"k":1}}}]}],"#,
            r#""history":[{"role":"ROLE_USER","content":[{"text":"hi"}],"messageId":"m1","#,
            r#""taskId":"t","contextId":"c","extensions":["urn:e"],"#,
            r#""metadata":{}}],"metadata":{"k":"v"}}}"#,
        )
    );
}

#[test]
fn a_view_shows_what_was_asked_for() {
    let text = response(Dialect::V1, &Response::Task(view(Some(0), false)));
    assert!(
        !text.contains("history") && !text.contains("artifacts"),
        "{text}"
    );
    let text = response(Dialect::V1, &Response::Task(view(None, true)));
    assert!(
        text.contains("history") && text.contains("artifacts"),
        "{text}"
    );
}

#[test]
fn a_page_shows_artifacts_always_or_never() {
    let mut empty = task();
    empty.artifacts.clear();
    let page = |artifacts| {
        let view = TaskView {
            task: Arc::new(empty.clone()),
            history_length: Some(0),
            artifacts,
        };
        Response::Tasks(TaskPage {
            tasks: vec![view],
            next_page_token: String::new(),
            page_size: 50,
            total_size: 1,
        })
    };
    let with = response(Dialect::V1, &page(true));
    assert!(with.contains(r#""artifacts":[]"#), "{with}");
    assert!(
        with.ends_with(r#"],"nextPageToken":"","pageSize":50,"totalSize":1}"#),
        "{with}"
    );
    assert!(!response(Dialect::V1, &page(false)).contains("artifacts"));
}

#[test]
fn an_empty_page_keeps_its_required_members() {
    let page = Response::Tasks(TaskPage {
        tasks: Vec::new(),
        next_page_token: String::new(),
        page_size: 50,
        total_size: 0,
    });
    assert_eq!(
        response(Dialect::V1, &page),
        r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#
    );
}

#[test]
fn final_is_told_only_in_0_x_and_there_always() {
    let status = r#"{"statusUpdate":{"taskId":"t","contextId":"c",
        "status":{"state":"TASK_STATE_WORKING"}}}"#;
    let status = wire::decode_event(Dialect::V1, status).unwrap();
    assert_eq!(
        event(Dialect::V1, &status, true),
        r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#
    );
    for last in [true, false] {
        assert_eq!(
            event(Dialect::V0Json, &status, last),
            format!(
                r#"{{"kind":"status-update","taskId":"t","contextId":"c","status":{{"state":"working"}},"final":{last}}}"#
            )
        );
        assert_eq!(
            event(Dialect::V0Proto(FileBytes::Base64), &status, last),
            format!(
                r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_WORKING"}},"final":{last}}}}}"#
            )
        );
    }
}

#[test]
fn webhooks_are_flat_nested_or_named() {
    let config = r#"{"id":"p","taskId":"t","url":"https://h.example/","token":"s",
        "authentication":{"scheme":"Bearer","credentials":"x"}}"#;
    let config = wire::decode_push_config(Dialect::V1, config).unwrap();
    let answer = Response::PushConfig(config.clone());
    let inner = r#"{"id":"p","url":"https://h.example/","token":"s","authentication":{"schemes":["Bearer"],"credentials":"x"}}"#;
    assert_eq!(
        response(Dialect::V1, &answer),
        r#"{"id":"p","taskId":"t","url":"https://h.example/","token":"s","authentication":{"scheme":"Bearer","credentials":"x"}}"#
    );
    let nested = format!(r#"{{"taskId":"t","pushNotificationConfig":{inner}}}"#);
    assert_eq!(response(Dialect::V0Json, &answer), nested);
    assert_eq!(
        response(Dialect::V0Proto(FileBytes::Base64), &answer),
        format!(
            r#"{{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{inner}}}"#
        )
    );
    let page = Response::PushConfigs(PushConfigPage {
        configs: vec![config],
        next_page_token: String::new(),
    });
    assert_eq!(response(Dialect::V0Json, &page), format!("[{nested}]"));
    assert!(response(Dialect::V1, &page).starts_with(r#"{"configs":[{"id":"p""#));
}

#[test]
fn names_of_webhooks_hold_any_ids() {
    for (task, id) in [
        ("https://t.example/1", "p"),
        ("t", "a/b"),
        ("t/pushNotificationConfigs", "p"),
        ("t/pushNotificationConfigs/u", "p/pushNotificationConfigs/q"),
    ] {
        let config = format!(r#"{{"id":"{id}","taskId":"{task}","url":"https://h.example/"}}"#);
        let config = wire::decode_push_config(Dialect::V1, &config).unwrap();
        let named = response(
            Dialect::V0Proto(FileBytes::Base64),
            &Response::PushConfig(config.clone()),
        );
        let again = wire::decode_push_config(Dialect::V0Proto(FileBytes::Base64), &named).unwrap();
        assert_eq!(again, config, "{named}");
    }
}

#[test]
fn a_deleted_webhook_is_null_in_0_x_json_and_empty_elsewhere() {
    assert_eq!(response(Dialect::V0Json, &Response::Deleted), "null");
    assert_eq!(
        response(Dialect::V0Proto(FileBytes::Base64), &Response::Deleted),
        "{}"
    );
    assert_eq!(response(Dialect::V1, &Response::Deleted), "{}");
}
