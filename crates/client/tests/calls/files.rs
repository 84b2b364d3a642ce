//! Files in both forms of 0.3, against a reader of 1.0, which has one: what two sides get wrong in the same way shows.

use bytes::Bytes;
use http::header::{HeaderValue, USER_AGENT};
use switchboard_client::{Client, Error, Kind, Preference, Sent, text};
use switchboard_types::model::{Binding, Content, Event, Part, Task, TaskId};
use switchboard_types::{FileBytes, ProtocolVersion};

use crate::support::{House, connect, everything, quick};

/// Every byte, text that is base64 by chance, and text that is not.
fn contents() -> Vec<Bytes> {
    let all: Vec<u8> = (0..=255).collect();
    let texts = ["", "deadbeef", "SGVsbG8=", "hello", "A"];
    let texts = texts.map(|text| Bytes::from_static(text.as_bytes()));
    texts.into_iter().chain([Bytes::from(all)]).collect()
}

fn with_files() -> switchboard_types::operation::SendMessage {
    let mut send = text("hi");
    let files = contents().into_iter().map(Content::Raw).map(Part::new);
    send.message.parts.extend(files);
    send
}

fn files<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Vec<Bytes> {
    let files = parts.into_iter().filter_map(|part| match &part.content {
        Content::Raw(bytes) => Some(bytes.clone()),
        _ => None,
    });
    files.collect()
}

fn made(task: &Task) -> Vec<Bytes> {
    files(task.artifacts.iter().flat_map(|artifact| &artifact.parts))
}

fn task(sent: Sent) -> TaskId {
    match sent {
        Sent::Task(task) => task.id.clone(),
        Sent::Message(message) => panic!("no task: {message:?}"),
    }
}

/// A client in 0.3 with this form, which our server takes for one in JavaScript if it is `Raw`.
async fn older(house: &House, binding: &Binding, files: FileBytes, name: &'static str) -> Client {
    Client::builder()
        .preference(Preference {
            bindings: vec![binding.clone()],
            versions: vec![ProtocolVersion::V0_3],
        })
        .retry(quick())
        .file_bytes(files)
        .header(USER_AGENT, HeaderValue::from_static(name))
        .connect(house.base.as_str())
        .await
        .unwrap()
}

#[tokio::test]
async fn files_in_every_form_are_the_same_to_a_reader_of_1_0() {
    let house = House::open().await;
    let reader = connect(&house.base, &everything()[0]).await;
    for binding in [Binding::HttpJson, Binding::Grpc, Binding::JsonRpc] {
        for (form, name) in [
            (FileBytes::Base64, "python-httpx/0.28.1"),
            (FileBytes::Raw, "node"),
            (FileBytes::Raw, "our-app/1 grpc-node-js/1.14.7"),
        ] {
            let agent = older(&house, &binding, form, name).await;
            let what = format!("{binding:?} {form:?}");
            let up = task(agent.send(with_files()).await.unwrap());
            let stored = reader.get(&up, None).await.unwrap();
            let said = stored.history.iter().flat_map(|message| &message.parts);
            assert_eq!(files(said), contents(), "{what}: sent");
            let down = task(reader.send(with_files()).await.unwrap());
            let got = agent.get(&down, None).await.unwrap();
            assert_eq!(made(&got), contents(), "{what}: read");
            let mut events = agent.stream(with_files()).await.unwrap();
            let mut streamed = Vec::new();
            while let Some(item) = events.next().await {
                if let Event::Artifact(update) = item.unwrap().event {
                    streamed.extend(files(&update.artifact.parts));
                }
            }
            assert_eq!(streamed, contents(), "{what}: streamed");
        }
    }
    house.close().await;
}

/// Whether the error says what to do.
fn names_the_setting(error: &Error) -> bool {
    error.to_string().contains("`file_bytes: raw`")
}

#[tokio::test]
async fn a_form_that_does_not_fit_is_an_error_that_names_the_setting() {
    let house = House::open().await;
    let reader = connect(&house.base, &everything()[0]).await;
    let down = task(reader.send(with_files()).await.unwrap());
    for binding in [Binding::HttpJson, Binding::Grpc] {
        let strict = older(&house, &binding, FileBytes::Raw, "python-httpx/0.28.1").await;
        let refused = strict.send(with_files()).await.unwrap_err();
        assert!(names_the_setting(&refused), "{binding:?}: {refused}");
        let text = older(&house, &binding, FileBytes::Base64, "node").await;
        let unread = text.get(&down, None).await.unwrap_err();
        assert!(names_the_setting(&unread), "{binding:?}: {unread}");
        assert_eq!(unread.kind(), Kind::Unintelligible);
    }
    house.close().await;
}
