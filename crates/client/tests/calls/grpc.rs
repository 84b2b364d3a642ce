//! gRPC, and that it says what the other bindings say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_client::{CallOptions, Client, Kind, Preference, Recorder, Sent, text};
use switchboard_types::model::{Binding, Content, Event, Json, Part, TaskId, TaskState};
use switchboard_types::operation::{GetTask, Operation, SendMessage};
use switchboard_types::{ErrorKind, ProtocolVersion};

use crate::support::{House, Odd, connect, everything, quick};

fn old() -> Preference {
    Preference {
        bindings: vec![Binding::Grpc],
        versions: vec![ProtocolVersion::V0_3],
    }
}

/// A message of everything that every version can say.
fn rich() -> SendMessage {
    let mut send = text("one two");
    let mut file = Part::new(Content::Raw(bytes::Bytes::from_static(b"\x00\xffraw")));
    file.media_type = Some("application/octet-stream".to_owned());
    send.message.parts.push(file);
    let data = Json::parse(r#"{"a":[1,2.5,null,"x"],"b":{"c":true}}"#).unwrap();
    send.message.parts.push(Part::data(data));
    send
}

/// What a stream tells, ids and times apart.
async fn told(agent: &Client) -> Vec<String> {
    let mut events = agent.stream(rich()).await.unwrap();
    let mut told = Vec::new();
    while let Some(item) = events.next().await {
        told.push(match item.unwrap().event {
            Event::Task(task) => format!("task {:?} {:?}", task.status.state, parts_of(&task)),
            Event::Status(update) => format!("status {:?}", update.status.state),
            Event::Artifact(update) => format!(
                "{:?} {:?} {} {}",
                update.artifact.name, update.artifact.parts, update.append, update.last_chunk
            ),
            Event::Message(message) => panic!("{message:?}"),
        });
    }
    told
}

fn parts_of(task: &switchboard_types::model::Task) -> Vec<Vec<Part>> {
    let history = task.history.iter().map(|message| message.parts.clone());
    let artifacts = task.artifacts.iter().map(|artifact| artifact.parts.clone());
    history.chain(artifacts).collect()
}

#[tokio::test]
async fn every_binding_and_version_gives_the_same() {
    let house = House::open().await;
    let mut streams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut tasks: BTreeMap<String, Vec<Vec<Part>>> = BTreeMap::new();
    for way in everything() {
        let agent = connect(&house.base, &way).await;
        streams.insert(format!("{way:?}"), told(&agent).await);
        let Sent::Task(task) = agent.send(rich()).await.unwrap() else {
            panic!("no task");
        };
        tasks.insert(format!("{way:?}"), parts_of(&task));
        let read = agent.get(&task.id, None).await.unwrap();
        assert_eq!(read, task, "{way:?}");
    }
    let (first, wanted) = streams.pop_first().unwrap();
    for (way, told) in streams {
        assert_eq!(told, wanted, "{way} against {first}");
    }
    let (first, wanted) = tasks.pop_first().unwrap();
    for (way, parts) in tasks {
        assert_eq!(parts, wanted, "{way} against {first}");
    }
    house.close().await;
}

#[tokio::test]
async fn errors_have_their_kind_in_0_3() {
    let house = House::open().await;
    let agent = connect(&house.base, &old()).await;
    let missing = agent.get(&TaskId::new("nobody").unwrap(), None).await;
    assert!(missing.unwrap_err().is(ErrorKind::TaskNotFound));
    let Sent::Task(task) = agent.send(text("hi")).await.unwrap() else {
        panic!("no task");
    };
    assert_eq!(task.status.state, TaskState::Completed);
    let over = agent.subscribe(&task.id).await;
    let over = match over {
        Ok(mut events) => events.next().await.unwrap().unwrap_err(),
        Err(error) => error,
    };
    assert!(over.is(ErrorKind::UnsupportedOperation), "{over}");
    let list = agent.list(switchboard_types::operation::ListTasks::default());
    assert_eq!(list.await.unwrap_err().kind(), Kind::NotOffered);
    house.close().await;
}

#[tokio::test]
async fn a_caller_that_does_not_wait_long_gives_up() {
    let house = House::open().await;
    let new = Preference {
        bindings: vec![Binding::Grpc],
        versions: vec![ProtocolVersion::V1_0],
    };
    let agent = connect(&house.agent("research"), &new).await;
    let send = text("rivers in 900 chunks every 50ms");
    let hasty = CallOptions::new().timeout(Duration::from_millis(200));
    let late = agent
        .call_with(Operation::Send(Box::new(send)), &hasty)
        .await;
    assert_eq!(late.unwrap_err().kind(), Kind::Timeout);
    house.close().await;
}

#[tokio::test]
async fn a_stream_that_is_silent_is_connected_again() {
    let house = House::open().await;
    let watched = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&watched);
    let agent = Client::builder()
        .preference(Preference {
            bindings: vec![Binding::Grpc],
            versions: vec![ProtocolVersion::V1_0],
        })
        .retry(quick())
        .silence(Duration::from_millis(200))
        .recorder(Recorder::new(move |exchange| {
            let again = exchange.request.ends_with("/SubscribeToTask");
            count.fetch_add(again.into(), Ordering::SeqCst);
        }))
        .connect(house.agent("research"))
        .await
        .unwrap();
    let events = agent.stream(text("rivers in 2 chunks every 600ms")).await;
    let sent = events.unwrap().finish().await.unwrap();
    assert!(matches!(sent, Sent::Task(task) if task.status.state == TaskState::Completed));
    assert!(watched.load(Ordering::SeqCst) > 0);
    house.close().await;
}

/// A card that offers gRPC where something else answers.
#[tokio::test]
async fn what_is_no_grpc_is_told_as_such() {
    let odd = Odd::serve(async |asked| asked.card("1.0")).await;
    let card = format!(
        r#"{{"name":"odd","supportedInterfaces":[{{"url":"{}","protocolBinding":"GRPC","protocolVersion":"1.0"}}]}}"#,
        odd.base.trim_start_matches("http://")
    );
    let card = switchboard_types::wire::card::decode_card(card.as_bytes()).unwrap();
    let agent = Client::builder()
        .retry(switchboard_client::Retry::never())
        .connect(switchboard_client::Reference::Card(Box::new(card)))
        .await
        .unwrap();
    let get = Operation::Get(GetTask {
        id: TaskId::new("t").unwrap(),
        history_length: None,
    });
    let error = agent.call(get).await.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            Kind::Unintelligible | Kind::Unreachable | Kind::Interrupted
        ),
        "{error:?}"
    );
}
