//! Every operation, over every binding and version, against the real engine.

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_client::{Client, Credential, Credentials, Kind, Sent, Wait, answer_text, text};
use switchboard_types::ErrorKind;
use switchboard_types::model::{Event, Part, PushConfig, PushConfigId, Secret, TaskId, TaskState};
use switchboard_types::operation::{ListTasks, SendMessage};

use crate::support::{House, connect, ways};

fn task_of(sent: &Sent) -> &TaskId {
    match sent {
        Sent::Task(task) => &task.id,
        Sent::Message(message) => panic!("{message:?}"),
    }
}

fn at_once(text_: &str) -> SendMessage {
    let mut send = text(text_);
    send.configuration.return_immediately = true;
    send
}

#[tokio::test]
async fn a_message_is_answered_over_every_binding_and_version() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.base, &way).await;
        let sent = agent.send(text("hello there")).await.unwrap();
        let heard = answer_text(&sent).replace('\n', " ");
        assert_eq!(
            heard.split_whitespace().collect::<Vec<_>>(),
            ["hello", "there"],
            "{way:?}"
        );
        let read = agent.get(task_of(&sent), None).await.unwrap();
        assert_eq!(read.status.state, TaskState::Completed);
        assert_eq!(Sent::Task(read), sent, "{way:?}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_stream_tells_everything_once_and_in_order() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.base, &way).await;
        let mut events = agent.stream(text("one two three four")).await.unwrap();
        let mut words = Vec::new();
        let mut states = Vec::new();
        while let Some(item) = events.next().await {
            match item.unwrap().event {
                Event::Artifact(update) => words.push(update.artifact.parts[0].clone()),
                Event::Status(update) => states.push(update.status.state),
                Event::Task(task) => states.push(task.status.state),
                Event::Message(message) => panic!("{message:?}"),
            }
        }
        let heard: String = words.iter().filter_map(Part::as_text).collect();
        assert_eq!(
            heard.split_whitespace().collect::<Vec<_>>(),
            ["one", "two", "three", "four"]
        );
        let expected = [
            TaskState::Submitted,
            TaskState::Working,
            TaskState::Completed,
        ];
        assert_eq!(states, expected, "{way:?}");
        assert_eq!(
            answer_text(&events.finish().await.unwrap()),
            heard,
            "{way:?}"
        );
    }
    house.close().await;
}

#[tokio::test]
async fn a_task_is_watched_and_canceled() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.agent("research"), &way).await;
        let sent = agent
            .send(at_once("rivers in 900 chunks every 10ms"))
            .await
            .unwrap();
        let id = task_of(&sent).clone();
        let mut events = agent.subscribe(&id).await.unwrap();
        let first = events.next().await.unwrap().unwrap();
        assert!(matches!(first.event, Event::Task(_)), "{first:?}");
        let canceled = agent.cancel(&id).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        let last = events.finish().await.unwrap();
        assert!(matches!(last, Sent::Task(task) if task.status.state == TaskState::Canceled));
        // Once more is as good as once.
        let again = agent.cancel(&id).await.unwrap();
        assert_eq!(again.status.state, TaskState::Canceled);
    }
    house.close().await;
}

#[tokio::test]
async fn a_task_that_was_sent_off_is_waited_for() {
    let house = House::open().await;
    let waited = ways().into_iter().map(async |way| {
        let agent = connect(&house.agent("research"), &way).await;
        let sent = agent
            .send(at_once("rivers in 5 chunks every 10ms"))
            .await
            .unwrap();
        let wait = Wait {
            interval: Duration::from_millis(10),
            timeout: Some(Duration::from_secs(20)),
        };
        let done = agent.wait(task_of(&sent), &wait).await.unwrap();
        assert_eq!(done.status.state, TaskState::Completed);
        assert!(answer_text(&*done).contains("Finding 5 of 5"));
        let endless = agent
            .send(at_once("rivers in 900 chunks every 50ms"))
            .await
            .unwrap();
        let short = Wait {
            interval: Duration::from_millis(10),
            timeout: Some(Duration::from_millis(100)),
        };
        let error = agent.wait(task_of(&endless), &short).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Timeout);
        agent.cancel(task_of(&endless)).await.unwrap();
    });
    futures_util::future::join_all(waited).await;
    house.close().await;
}

#[tokio::test]
async fn lists_are_read_to_their_end_where_they_are_offered() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.agent("echo"), &way).await;
        let mut sent = BTreeSet::new();
        let mut context = None;
        for n in 0..5 {
            let mut send = text(format!("{n}"));
            send.message.context_id = context.clone();
            let Sent::Task(task) = agent.send(send).await.unwrap() else {
                panic!("no task");
            };
            context = Some(task.context_id.clone());
            sent.insert(task.id.clone());
        }
        let query = ListTasks {
            context_id: context,
            page_size: Some(2),
            ..ListTasks::default()
        };
        let mut pages = agent.tasks(query);
        let mut read = BTreeSet::new();
        let mut count = 0;
        while let Some(task) = pages.next().await {
            match task {
                Ok(task) => read.insert(task.id.clone()),
                Err(error) => {
                    assert_eq!(error.kind(), Kind::NotOffered, "{way:?}");
                    read.clone_from(&sent);
                    break;
                }
            };
            count += 1;
        }
        assert_eq!(read, sent, "{way:?}");
        assert!(count == 5 || count == 0, "{count}");
    }
    house.close().await;
}

#[tokio::test]
async fn webhooks_are_registered_read_and_removed() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.agent("research"), &way).await;
        let sent = agent
            .send(at_once("rivers in 900 chunks every 50ms"))
            .await
            .unwrap();
        let task = task_of(&sent);
        let config = PushConfig {
            id: Some(PushConfigId::new("mine").unwrap()),
            task_id: Some(task.clone()),
            url: "http://127.0.0.1:9/hook".to_owned(),
            token: None,
            authentication: None,
        };
        let made = agent.create_push_config(config.clone()).await.unwrap();
        assert_eq!(made.url, config.url, "{way:?}");
        let id = made.id.clone().unwrap();
        assert_eq!(agent.push_config(task, &id).await.unwrap().url, config.url);
        assert_eq!(agent.push_configs(task).await.unwrap().len(), 1);
        agent.delete_push_config(task, &id).await.unwrap();
        assert_eq!(agent.push_configs(task).await.unwrap().len(), 0, "{way:?}");
        agent.cancel(task).await.unwrap();
    }
    house.close().await;
}

#[tokio::test]
async fn the_extended_card_replaces_the_public_one() {
    let house = House::open().await;
    let stranger = connect(&house.base, &ways().remove(0)).await;
    let refused = stranger.extended_card().await.unwrap_err();
    let kind = refused.protocol().map(switchboard_types::Error::kind);
    assert_eq!(kind, Some(ErrorKind::Unauthenticated), "{refused:?}");
    let ann = Credential::Basic {
        user: "ann".to_owned(),
        password: Secret::new("open sesame"),
    };
    let builder = Client::builder().credentials(Credentials::any(ann));
    let agent = builder.connect(house.base.as_str()).await.unwrap();
    assert_eq!(agent.card().description, "for tests");
    let card = agent.extended_card().await.unwrap();
    assert_eq!(card.description, "for those who know");
    assert_eq!(agent.card(), card);
    house.close().await;
}

#[tokio::test]
async fn an_agent_that_asks_is_answered_until_it_is_done() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.agent("approver"), &way).await;
        let mut prompts = Vec::new();
        let sent = agent
            .converse(text("delete the disk"), async |question| {
                prompts.push(question.prompt.clone());
                let answer = if prompts.len() == 1 { "perhaps" } else { "yes" };
                Some(question.answer(answer))
            })
            .await
            .unwrap();
        assert!(
            prompts[0].contains("delete the disk"),
            "{way:?}: {prompts:?}"
        );
        let Sent::Task(task) = sent else {
            panic!("no task")
        };
        assert_eq!(
            task.status.state,
            TaskState::Completed,
            "{way:?}: {prompts:?}"
        );
        let left = agent
            .converse(text("delete it"), async |_| None)
            .await
            .unwrap();
        assert!(matches!(left, Sent::Task(task) if task.status.state == TaskState::InputRequired));
    }
    house.close().await;
}

#[tokio::test]
async fn errors_have_their_kind_over_every_binding_and_version() {
    let house = House::open().await;
    for way in ways() {
        let agent = connect(&house.base, &way).await;
        let error = agent
            .get(&TaskId::new("no-such-task").unwrap(), None)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Protocol);
        assert!(error.is(ErrorKind::TaskNotFound), "{way:?}: {error:?}");
        let done = agent.send(text("x")).await.unwrap();
        let error = agent.cancel(task_of(&done)).await.unwrap_err();
        assert!(error.is(ErrorKind::TaskNotCancelable), "{way:?}: {error:?}");
        let error = agent.subscribe(task_of(&done)).await.map(drop);
        if let Err(error) = error {
            assert!(
                error.is(ErrorKind::UnsupportedOperation),
                "{way:?}: {error:?}"
            );
        }
    }
    house.close().await;
}

#[tokio::test]
async fn a_required_extension_is_asked_for_or_said_to_be_missing() {
    let uri = "urn:test:needed";
    let house = House::with(|card| {
        card.capabilities.extensions = vec![crate::support::required(uri)];
    })
    .await;
    let agent = Client::connect(house.base.as_str()).await.unwrap();
    let error = agent.send(text("x")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::ExtensionRequired);
    assert!(error.to_string().contains(uri), "{error}");
    let agent = Client::builder()
        .extension(uri)
        .connect(house.base.as_str())
        .await
        .unwrap();
    assert_eq!(answer_text(&agent.send(text("x")).await.unwrap()), "x");
    house.close().await;
}
