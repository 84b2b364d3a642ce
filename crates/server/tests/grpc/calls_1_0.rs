//! The eleven operations of package `lf.a2a.v1`.

use switchboard_proto::v1_0::{self as wire, part::Content};
use tonic::Code;
use wire::send_message_response::Payload;
use wire::stream_response::Payload as Item;

use crate::peer::{ANN, Caller, EXTENSION, NEW, all, reason, says, serve};

fn rpc(name: &str) -> String {
    format!("{NEW}/{name}")
}

async fn sent(caller: &Caller, send: &wire::SendMessageRequest) -> wire::Task {
    let answer: wire::SendMessageResponse = caller.call(rpc("SendMessage"), send).await.unwrap();
    match answer.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("no task: {other:?}"),
    }
}

fn at_once(text: &str) -> wire::SendMessageRequest {
    wire::SendMessageRequest {
        configuration: Some(wire::SendMessageConfiguration {
            return_immediately: true,
            ..Default::default()
        }),
        ..says(text)
    }
}

fn state(task: &wire::Task) -> wire::TaskState {
    task.status.as_ref().unwrap().state()
}

#[tokio::test]
async fn a_message_makes_a_task_that_can_be_read_and_listed() {
    let server = serve().await;
    let caller = server.caller();
    let task = sent(&caller, &says("hello")).await;
    assert_eq!(state(&task), wire::TaskState::Completed);
    let parts = &task.artifacts[0].parts;
    assert_eq!(parts[0].content, Some(Content::Text("hello".into())));
    let Some(Content::Data(data)) = &parts[1].content else {
        panic!("no data");
    };
    assert!(matches!(
        &data.kind,
        Some(prost_types::value::Kind::StructValue(fields)) if fields.fields.contains_key("n")
    ));
    assert_eq!(
        parts[2].content,
        Some(Content::Raw(b"\x00raw".to_vec().into()))
    );

    let get = wire::GetTaskRequest {
        id: task.id.clone(),
        history_length: Some(0),
        ..Default::default()
    };
    let got: wire::Task = caller.call(rpc("GetTask"), &get).await.unwrap();
    assert!(got.history.is_empty());
    assert_eq!(got.artifacts, task.artifacts);

    let second = sent(&caller, &says("again")).await;
    let list = |size, token: &str| wire::ListTasksRequest {
        page_size: Some(size),
        page_token: token.to_owned(),
        ..Default::default()
    };
    let page: wire::ListTasksResponse = caller.call(rpc("ListTasks"), &list(1, "")).await.unwrap();
    assert_eq!((page.page_size, page.total_size), (1, 2));
    assert_eq!(page.tasks[0].id, second.id);
    assert!(page.tasks[0].artifacts.is_empty());
    let rest = list(1, &page.next_page_token);
    let page: wire::ListTasksResponse = caller.call(rpc("ListTasks"), &rest).await.unwrap();
    assert_eq!(page.tasks[0].id, task.id);
    assert_eq!(page.next_page_token, "");
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
    let Some(Payload::Message(said)) = answer.payload else {
        panic!("no message");
    };
    assert_eq!(said.role(), wire::Role::Agent);
    assert_eq!(said.parts[0].content, Some(Content::Text("msg hi".into())));
    server.drain().await;
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let server = serve().await;
    let caller = server.caller();
    let task = sent(&caller, &says("ask")).await;
    assert_eq!(state(&task), wire::TaskState::InputRequired);
    let mut next = says("the blue one");
    let message = next.message.as_mut().unwrap();
    message.task_id.clone_from(&task.id);
    message.context_id.clone_from(&task.context_id);
    let done = sent(&caller, &next).await;
    assert_eq!(done.id, task.id);
    assert_eq!(state(&done), wire::TaskState::Completed);
    server.drain().await;
}

#[tokio::test]
async fn a_stream_tells_every_event_in_order() {
    let server = serve().await;
    let stream = server
        .caller()
        .stream(rpc("SendStreamingMessage"), &says("burst 3 1"))
        .await
        .unwrap();
    let seen: Vec<wire::StreamResponse> = all(stream).await;
    let Some(Item::Task(task)) = &seen[0].payload else {
        panic!("no task first");
    };
    let mut chunks = Vec::new();
    for item in &seen[1..] {
        match item.payload.as_ref().unwrap() {
            Item::ArtifactUpdate(update) => {
                assert_eq!(update.task_id, task.id);
                chunks.push((update.append, update.last_chunk));
            }
            Item::StatusUpdate(update) => assert_eq!(update.task_id, task.id),
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(chunks, [(false, false), (true, false), (true, true)]);
    let Some(Item::StatusUpdate(last)) = &seen[seen.len() - 1].payload else {
        panic!("no status last");
    };
    assert_eq!(
        last.status.as_ref().unwrap().state(),
        wire::TaskState::Completed
    );
    server.drain().await;
}

#[tokio::test]
async fn a_running_task_is_watched_and_canceled() {
    let server = serve().await;
    let caller = server.caller();
    let task = sent(&caller, &at_once("wait")).await;
    let subscribe = wire::SubscribeToTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let watching = caller
        .stream(rpc("SubscribeToTask"), &subscribe)
        .await
        .unwrap();
    let cancel = wire::CancelTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let canceled: wire::Task = caller.call(rpc("CancelTask"), &cancel).await.unwrap();
    assert_eq!(state(&canceled), wire::TaskState::Canceled);
    let seen: Vec<wire::StreamResponse> = all(watching).await;
    assert!(matches!(&seen[0].payload, Some(Item::Task(one)) if one.id == task.id));
    let Some(Item::StatusUpdate(last)) = &seen[seen.len() - 1].payload else {
        panic!("no status last");
    };
    assert_eq!(
        last.status.as_ref().unwrap().state(),
        wire::TaskState::Canceled
    );

    let again = caller
        .respond(rpc("CancelTask"), &cancel)
        .await
        .unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert_eq!(reason(&again), "TASK_NOT_CANCELABLE");
    let gone = caller.stream(rpc("SubscribeToTask"), &subscribe).await;
    let gone = gone.unwrap_err();
    assert_eq!(gone.code(), Code::FailedPrecondition);
    assert_eq!(reason(&gone), "UNSUPPORTED_OPERATION");
    server.drain().await;
}

#[tokio::test]
async fn webhooks_are_made_read_listed_and_deleted() {
    let server = serve().await;
    let caller = server.caller();
    let task = sent(&caller, &at_once("wait")).await;
    let config = wire::TaskPushNotificationConfig {
        task_id: task.id.clone(),
        id: "c1".to_owned(),
        url: "https://93.184.216.34/hook".to_owned(),
        token: "t".to_owned(),
        authentication: Some(wire::AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: "secret".to_owned(),
        }),
        ..Default::default()
    };
    let made: wire::TaskPushNotificationConfig = caller
        .call(rpc("CreateTaskPushNotificationConfig"), &config)
        .await
        .unwrap();
    assert_eq!(
        (made.id.as_str(), made.url.as_str()),
        ("c1", config.url.as_str())
    );
    let get = wire::GetTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: "c1".to_owned(),
        ..Default::default()
    };
    let path = rpc("GetTaskPushNotificationConfig");
    let got: wire::TaskPushNotificationConfig = caller.call(&path, &get).await.unwrap();
    assert_eq!(got.task_id, task.id);
    let list = wire::ListTaskPushNotificationConfigsRequest {
        task_id: task.id.clone(),
        ..Default::default()
    };
    let page: wire::ListTaskPushNotificationConfigsResponse = caller
        .call(rpc("ListTaskPushNotificationConfigs"), &list)
        .await
        .unwrap();
    assert_eq!(page.configs.len(), 1);
    let delete = wire::DeleteTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: "c1".to_owned(),
        ..Default::default()
    };
    let deleted = caller
        .respond(rpc("DeleteTaskPushNotificationConfig"), &delete)
        .await
        .unwrap();
    assert!(deleted.into_inner().is_empty());
    let missing = caller.respond(&path, &get).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    server.drain().await;
}

#[tokio::test]
async fn the_extended_card_offers_grpc_at_the_address_that_was_called() {
    let server = serve().await;
    let asked = wire::GetExtendedAgentCardRequest::default();
    let nobody = server.caller();
    let refused = nobody.respond(rpc("GetExtendedAgentCard"), &asked).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
    let ann = server.caller().with("authorization", ANN);
    let card: wire::AgentCard = ann.call(rpc("GetExtendedAgentCard"), &asked).await.unwrap();
    assert_eq!(card.skills[0].id, "secret");
    let offered: Vec<(&str, &str, &str)> = card
        .supported_interfaces
        .iter()
        .filter(|one| one.protocol_binding == "GRPC")
        .map(|one| {
            (
                one.url.as_str(),
                one.protocol_version.as_str(),
                one.tenant.as_str(),
            )
        })
        .collect();
    let address = format!("http://{}", server.address);
    assert_eq!(
        offered,
        [(address.as_str(), "1.0", ""), (address.as_str(), "0.3", "")]
    );
    server.drain().await;
}

#[tokio::test]
async fn metadata_means_what_headers_mean() {
    let server = serve().await;
    let caller = server
        .caller()
        .with("a2a-version", "1.0")
        .with("a2a-extensions", EXTENSION)
        .with("idempotency-key", "k1");
    let first = caller
        .respond(rpc("SendMessage"), &says("once"))
        .await
        .unwrap();
    let told = first.metadata().get("a2a-extensions").unwrap();
    assert_eq!(told, EXTENSION);
    let again = caller
        .respond(rpc("SendMessage"), &says("once"))
        .await
        .unwrap();
    assert_eq!(first.into_inner(), again.into_inner());

    // From an event on, as over SSE: the whole task is not told again.
    let task = sent(&server.caller(), &at_once("wait")).await;
    let subscribe = wire::SubscribeToTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let resumed = server.caller().with("last-event-id", "1");
    let mut resumed = resumed
        .stream(rpc("SubscribeToTask"), &subscribe)
        .await
        .unwrap();
    let item = resumed.message().await.unwrap().unwrap();
    let item = <wire::StreamResponse as prost::Message>::decode(item).unwrap();
    assert!(matches!(item.payload, Some(Item::StatusUpdate(_))));
    drop(resumed);

    for (key, value, code, why) in [
        (
            "a2a-version",
            "99.0",
            Code::FailedPrecondition,
            "VERSION_NOT_SUPPORTED",
        ),
        (
            "a2a-version",
            "0.3",
            Code::FailedPrecondition,
            "VERSION_NOT_SUPPORTED",
        ),
        (
            "last-event-id",
            "x",
            Code::InvalidArgument,
            "INVALID_PARAMS",
        ),
        ("x-agent", "nobody", Code::Unimplemented, "METHOD_NOT_FOUND"),
    ] {
        let refused = server.caller().with(key, value);
        let refused = refused.respond(rpc("SendMessage"), &says("x")).await;
        let refused = refused.unwrap_err();
        assert_eq!(
            (refused.code(), reason(&refused).as_str()),
            (code, why),
            "{key}"
        );
    }
    let named = server.caller().with("x-agent", "agent");
    assert!(named.respond(rpc("SendMessage"), &says("x")).await.is_ok());
    server.drain().await;
}

#[tokio::test]
async fn errors_say_what_is_wrong_in_their_details() {
    let server = serve().await;
    let caller = server.caller();
    let get = wire::GetTaskRequest {
        id: "nobody".to_owned(),
        ..Default::default()
    };
    let missing = caller.respond(rpc("GetTask"), &get).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    assert_eq!(reason(&missing), "TASK_NOT_FOUND");
    let empty = caller
        .respond(rpc("SendMessage"), &wire::SendMessageRequest::default())
        .await
        .unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
    assert_eq!(reason(&empty), "INVALID_PARAMS");
    assert!(empty.message().contains("message"), "{empty}");
    let unknown = caller.respond(rpc("Dance"), &get).await.unwrap_err();
    assert_eq!(unknown.code(), Code::Unimplemented);
    let service = caller.respond("/other.Service/Dance", &get).await;
    assert_eq!(service.unwrap_err().code(), Code::Unimplemented);
    server.drain().await;
}
