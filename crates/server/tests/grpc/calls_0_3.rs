//! The ten operations of package `a2a.v1`.

use switchboard_proto::{v0_3 as wire, v1_0};
use switchboard_server::http::Limits;
use switchboard_types::FileBytes;
use tonic::Code;
use wire::file_part::File;
use wire::part::Part;
use wire::send_message_response::Payload;
use wire::stream_response::Payload as Item;

use crate::peer::{ANN, Caller, NEW, OLD, all, reason, serve, serve_as};

fn rpc(name: &str) -> String {
    format!("{OLD}/{name}")
}

fn says(text: &str) -> wire::SendMessageRequest {
    wire::SendMessageRequest {
        request: Some(wire::Message {
            message_id: format!("m-{text}"),
            role: wire::Role::User.into(),
            content: vec![wire::Part {
                part: Some(Part::Text(text.to_owned())),
                metadata: None,
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

async fn sent(caller: &Caller, send: &wire::SendMessageRequest) -> wire::Task {
    let answer: wire::SendMessageResponse = caller.call(rpc("SendMessage"), send).await.unwrap();
    match answer.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("no task: {other:?}"),
    }
}

/// A task that runs: 0.3 waits for a send, so it is begun by a stream that is left.
async fn running(caller: &Caller) -> String {
    let mut stream = caller
        .stream(rpc("SendStreamingMessage"), &says("wait"))
        .await
        .unwrap();
    let first = stream.message().await.unwrap().unwrap();
    let first = <wire::StreamResponse as prost::Message>::decode(first).unwrap();
    match first.payload {
        Some(Item::Task(task)) => task.id,
        other => panic!("no task: {other:?}"),
    }
}

#[tokio::test]
async fn a_message_makes_a_task_that_can_be_read() {
    let server = serve().await;
    let caller = server.caller();
    let task = sent(&caller, &says("hello")).await;
    let status = task.status.as_ref().unwrap();
    assert_eq!(status.state(), wire::TaskState::Completed);
    assert!(status.update.is_some());
    let parts = &task.artifacts[0].parts;
    assert_eq!(parts[0].part, Some(Part::Text("hello".to_owned())));
    assert!(matches!(&parts[1].part, Some(Part::Data(data)) if data.data.is_some()));
    let get = wire::GetTaskRequest {
        name: format!("tasks/{}", task.id),
        history_length: 0,
    };
    let got: wire::Task = caller.call(rpc("GetTask"), &get).await.unwrap();
    assert_eq!(got, task);
    assert_eq!(got.history.len(), 1);
    let no_list = caller.respond(rpc("ListTasks"), &get).await.unwrap_err();
    assert_eq!(no_list.code(), Code::Unimplemented);
    server.drain().await;
}

#[tokio::test]
async fn a_message_may_be_answered_by_a_message() {
    let server = serve().await;
    let answer: wire::SendMessageResponse = server
        .caller()
        .call(rpc("SendMessage"), &says("msg hi"))
        .await
        .unwrap();
    assert!(matches!(answer.payload, Some(Payload::Msg(_))));
    server.drain().await;
}

const PYTHON: &str = "grpc-python/1.85.1 grpc-c/45.0.0 (linux; chttp2)";
const JAVASCRIPT: &str = "grpc-node-js/1.14.7";

/// `deadbeef` is a file that is base64 text by chance.
const FILE: &[u8] = b"deadbeef";
const FILE_IN_BASE64: &[u8] = b"ZGVhZGJlZWY=";

fn with_file(field: &'static [u8]) -> wire::SendMessageRequest {
    let mut send = says("hello");
    let file = wire::FilePart {
        file: Some(File::FileWithBytes(field.into())),
        mime_type: "text/plain".to_owned(),
        name: "hi.txt".to_owned(),
    };
    send.request.as_mut().unwrap().content.push(wire::Part {
        part: Some(Part::File(file)),
        metadata: None,
    });
    send
}

fn fields(parts: &[wire::Part]) -> Vec<&[u8]> {
    let fields = parts.iter().filter_map(|part| match &part.part {
        Some(Part::File(file)) => match &file.file {
            Some(File::FileWithBytes(field)) => Some(&field[..]),
            other => panic!("no bytes: {other:?}"),
        },
        _ => None,
    });
    fields.collect()
}

/// What a caller sends and gets in 0.3, against what is stored: A2A 1.0 has one form only.
async fn files_are(caller: &Caller, field: &'static [u8], own: &[u8]) {
    let task = sent(caller, &with_file(field)).await;
    assert_eq!(fields(&task.artifacts[0].parts), [field, own]);
    let mut stream = caller
        .stream(rpc("SendStreamingMessage"), &with_file(field))
        .await
        .unwrap();
    let mut streamed = Vec::new();
    while let Some(item) = stream.message().await.unwrap() {
        let item = <wire::StreamResponse as prost::Message>::decode(item).unwrap();
        if let Some(Item::ArtifactUpdate(update)) = item.payload {
            let parts = update.artifact.unwrap().parts;
            streamed.extend(fields(&parts).into_iter().map(<[u8]>::to_vec));
        }
    }
    assert_eq!(streamed, [field, own]);
    let get = v1_0::GetTaskRequest {
        id: task.id,
        ..Default::default()
    };
    let stored: v1_0::Task = caller.call(format!("{NEW}/GetTask"), &get).await.unwrap();
    let part = stored.history[0].parts.last().unwrap();
    let file = v1_0::part::Content::Raw(FILE.into());
    assert_eq!(part.content, Some(file));
    assert_eq!(part.filename, "hi.txt");
}

#[tokio::test]
async fn files_are_base64_text_but_for_callers_from_javascript() {
    let server = serve().await;
    let python = server.caller().with("user-agent", PYTHON);
    for caller in [server.caller(), python] {
        files_are(&caller, FILE_IN_BASE64, b"AHJhdw==").await;
    }
    let javascript = server.caller().with("user-agent", JAVASCRIPT);
    files_are(&javascript, FILE, b"\x00raw").await;
    server.drain().await;
}

#[tokio::test]
async fn an_agent_has_one_form_of_files_for_all_callers_if_it_is_configured() {
    for (form, field, own) in [
        (FileBytes::Base64, FILE_IN_BASE64, &b"AHJhdw=="[..]),
        (FileBytes::Raw, FILE, b"\x00raw"),
    ] {
        let server = serve_as(Limits::default(), Some(form)).await;
        for name in [PYTHON, JAVASCRIPT] {
            let caller = server.caller().with("user-agent", name);
            files_are(&caller, field, own).await;
        }
        server.drain().await;
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_base64_text_is_refused_with_the_setting_that_helps() {
    let server = serve().await;
    let refused = server
        .caller()
        .respond(rpc("SendMessage"), &with_file(b"\x00\x01\xfe\xff"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("`file_bytes: raw`"), "{refused}");
    server.drain().await;
}

#[tokio::test]
async fn a_stream_ends_with_a_final_status() {
    let server = serve().await;
    let stream = server
        .caller()
        .stream(rpc("SendStreamingMessage"), &says("burst 3 1"))
        .await
        .unwrap();
    let seen: Vec<wire::StreamResponse> = all(stream).await;
    assert!(matches!(&seen[0].payload, Some(Item::Task(_))));
    let finals: Vec<bool> = seen
        .iter()
        .filter_map(|item| match &item.payload {
            Some(Item::StatusUpdate(update)) => Some(update.r#final),
            _ => None,
        })
        .collect();
    assert_eq!(finals, [false, true]);
    let question = server
        .caller()
        .stream(rpc("SendStreamingMessage"), &says("ask"))
        .await
        .unwrap();
    let seen: Vec<wire::StreamResponse> = all(question).await;
    let Some(Item::StatusUpdate(last)) = &seen[seen.len() - 1].payload else {
        panic!("no status last");
    };
    assert!(last.r#final);
    server.drain().await;
}

#[tokio::test]
async fn a_running_task_is_watched_and_canceled() {
    let server = serve().await;
    let caller = server.caller();
    let name = format!("tasks/{}", running(&caller).await);
    let subscribe = wire::TaskSubscriptionRequest { name: name.clone() };
    let watching = caller
        .stream(rpc("TaskSubscription"), &subscribe)
        .await
        .unwrap();
    let cancel = wire::CancelTaskRequest { name };
    let canceled: wire::Task = caller.call(rpc("CancelTask"), &cancel).await.unwrap();
    let state = canceled.status.unwrap().state();
    assert_eq!(state, wire::TaskState::Cancelled);
    let seen: Vec<wire::StreamResponse> = all(watching).await;
    let Some(Item::StatusUpdate(last)) = &seen[seen.len() - 1].payload else {
        panic!("no status last");
    };
    assert!(last.r#final);
    let again = caller
        .respond(rpc("CancelTask"), &cancel)
        .await
        .unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert!(
        again
            .message()
            .starts_with("TaskNotCancelableError: Task cannot be canceled"),
        "{again}"
    );
    server.drain().await;
}

#[tokio::test]
async fn webhooks_are_made_read_listed_and_deleted() {
    let server = serve().await;
    let caller = server.caller();
    let task = running(&caller).await;
    let create = wire::CreateTaskPushNotificationConfigRequest {
        parent: format!("tasks/{task}"),
        config_id: "c1".to_owned(),
        config: Some(wire::TaskPushNotificationConfig {
            name: String::new(),
            push_notification_config: Some(wire::PushNotificationConfig {
                url: "https://93.184.216.34/hook".to_owned(),
                ..Default::default()
            }),
        }),
    };
    let made: wire::TaskPushNotificationConfig = caller
        .call(rpc("CreateTaskPushNotificationConfig"), &create)
        .await
        .unwrap();
    let name = format!("tasks/{task}/pushNotificationConfigs/c1");
    assert_eq!(made.name, name);
    let get = wire::GetTaskPushNotificationConfigRequest { name: name.clone() };
    let path = rpc("GetTaskPushNotificationConfig");
    let got: wire::TaskPushNotificationConfig = caller.call(&path, &get).await.unwrap();
    assert_eq!(got, made);
    let list = wire::ListTaskPushNotificationConfigRequest {
        parent: format!("tasks/{task}"),
        ..Default::default()
    };
    let page: wire::ListTaskPushNotificationConfigResponse = caller
        .call(rpc("ListTaskPushNotificationConfig"), &list)
        .await
        .unwrap();
    assert_eq!(page.configs, [made]);
    let delete = wire::DeleteTaskPushNotificationConfigRequest { name };
    let deleted = caller
        .respond(rpc("DeleteTaskPushNotificationConfig"), &delete)
        .await
        .unwrap();
    assert!(deleted.into_inner().is_empty());
    let missing = caller.respond(&path, &get).await.unwrap_err();
    assert_eq!(
        (missing.code(), reason(&missing).as_str()),
        (Code::NotFound, "TASK_NOT_FOUND")
    );
    server.drain().await;
}

#[tokio::test]
async fn the_extended_card_is_not_for_strangers() {
    let server = serve().await;
    let refused = server
        .caller()
        .respond(rpc("GetAgentCard"), &wire::GetAgentCardRequest {})
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let ann = server.caller().with("authorization", ANN);
    let shown = ann
        .respond(rpc("GetAgentCard"), &wire::GetAgentCardRequest {})
        .await;
    assert!(shown.is_ok(), "{shown:?}");
    server.drain().await;
}
