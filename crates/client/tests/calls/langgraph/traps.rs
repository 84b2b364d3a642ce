//! The traps of LangGraph Server 0.16.7, each with what a real one said, and of 0.6.39 where it differs. What to do
//! about them stands in `docs/langgraph.md`.

use serde_json::json as value;
use switchboard_client::{
    CallOptions, Client, Kind, Quirks, Retry, Sent, answer_text, parts, text,
};
use switchboard_types::ErrorKind;
use switchboard_types::model::{Content, ContextId, Json, Part, Task, TaskId, TaskState};
use switchboard_types::operation::SendMessage;

use super::replay::Replay;
use crate::logs::Lines;

fn task(sent: &Sent) -> &Task {
    match sent {
        Sent::Task(task) => task,
        Sent::Message(message) => panic!("{message:?}"),
    }
}

fn data(json: &str) -> Part {
    Part::data(Json::parse(json).unwrap())
}

async fn streamed(client: &Client, message: SendMessage) -> Sent {
    let events = client.stream(message).await.unwrap();
    events.finish().await.unwrap()
}

#[tokio::test]
async fn trap_1_a_stream_of_1_0_that_goes_on_in_0_3_is_understood() {
    let replay = Replay::start("0.16.7", &[("SendStreamingMessage", "stream-mixed")]).await;
    let builder = Client::builder().quirks(Quirks::default());
    let client = builder.connect(replay.url()).await.unwrap();
    let sent = streamed(&client, text("v1 stream")).await;
    assert_eq!(task(&sent).status.state, TaskState::Completed);
    assert!(answer_text(&sent).starts_with("one two three four five:"));
}

#[tokio::test]
async fn trap_1_the_older_names_are_used_for_what_it_does_right_in_0_3_only() {
    let replay = Replay::start("0.16.7", &[("message/stream", "stream")]).await;
    streamed(&replay.client().await, text("x")).await;
    assert_eq!(replay.asked()[0].rpc(), "message/stream");
}

#[tokio::test]
async fn trap_2_two_texts_are_sent_as_one() {
    let replay = Replay::start("0.16.7", &[("message/send", "two-texts")]).await;
    let both = parts(vec![Part::text("first part"), Part::text("second part")]);
    replay.client().await.send(both).await.unwrap();
    let joined = value!([{"kind": "text", "text": "first part\nsecond part"}]);
    assert_eq!(replay.messages()[0]["parts"], joined);
}

#[tokio::test]
async fn trap_3_no_message_id_is_used_twice() {
    let script = [
        ("message/stream", "stream-question"),
        ("message/stream", "stream-answered"),
        ("message/send", "same-id-first"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let client = replay.client().await;
    let answer = async |question: switchboard_client::Question| Some(question.answer("yes"));
    client.converse(text("deploy"), answer).await.unwrap();
    client.send(text("more")).await.unwrap();
    let messages = replay.messages();
    let ids: std::collections::BTreeSet<String> = messages
        .iter()
        .map(|message| message["messageId"].to_string())
        .collect();
    assert_eq!((messages.len(), ids.len()), (3, 3));
}

/// A second run would be made, and the first message would be gone from the conversation.
#[tokio::test]
async fn trap_3_a_send_is_not_repeated_even_with_a_key() {
    let replay = Replay::start("0.16.7", &[("message/send", "list-params")]).await;
    let client = Client::connect(replay.url()).await.unwrap();
    let options = CallOptions::new().idempotency_key("k");
    let error = client.send_with(text("x"), &options).await.unwrap_err();
    assert_eq!(error.status(), Some(500));
    let asked = replay.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("idempotency-key"), None);
}

#[tokio::test]
async fn trap_4_texts_that_hold_all_that_was_said_are_not_put_together() {
    for release in ["0.16.7", "0.6.39"] {
        let replay = Replay::start(release, &[("message/stream", "stream")]).await;
        let sent = streamed(&replay.client().await, text("tail")).await;
        assert_eq!(
            answer_text(&sent),
            "one two three four five: tail",
            "{release}"
        );
    }
}

#[tokio::test]
async fn trap_5_a_task_that_was_canceled_is_not_taken_for_completed() {
    let script = [
        ("message/stream", "stream-canceled"),
        ("tasks/get", "canceled"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let sent = streamed(&replay.client().await, text("slow")).await;
    assert_eq!(task(&sent).status.state, TaskState::Canceled);
}

#[tokio::test]
async fn trap_6_a_task_that_is_read_has_its_answer_in_the_history() {
    let replay = Replay::start("0.16.7", &[("tasks/get", "read")]).await;
    let client = replay.client().await;
    let read = client.get(&TaskId::new("t").unwrap(), None).await.unwrap();
    assert_eq!(read.artifacts.len(), 0);
    assert_eq!(answer_text(&*read), "echo(1): hello");
}

#[tokio::test]
async fn trap_7_that_it_does_not_return_at_once_is_said() {
    let replay = Replay::start("0.16.7", &[]).await;
    let client = replay.client().await;
    let mut message = text("x");
    assert_eq!(client.warnings(&message), [""; 0]);
    message.configuration.return_immediately = true;
    let warnings = client.warnings(&message);
    assert!(
        warnings[0].contains("when the task is over"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn trap_7_watching_and_webhooks_are_refused_before_anything_is_sent() {
    let replay = Replay::start("0.16.7", &[]).await;
    let client = replay.client().await;
    let id = TaskId::new("t").unwrap();
    let watched = client.subscribe(&id).await.unwrap_err();
    let listed = client.push_configs(&id).await.unwrap_err();
    for error in [watched, listed] {
        assert_eq!(error.kind(), Kind::NotOffered, "{error}");
    }
    assert!(replay.asked().is_empty());
}

#[tokio::test]
async fn trap_8_an_answer_names_the_task_that_asked() {
    let script = [
        ("message/stream", "stream-question"),
        ("message/stream", "stream-answered"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let client = replay.client().await;
    let mut prompts = Vec::new();
    let sent = client
        .converse(text("deploy"), async |question| {
            prompts.push(question.prompt.clone());
            Some(question.answer("yes"))
        })
        .await
        .unwrap();
    assert_eq!(prompts.len(), 1);
    assert_eq!(task(&sent).status.state, TaskState::Completed);
    let answer = &replay.messages()[1];
    assert!(answer["taskId"].as_str().unwrap().contains(':'), "{answer}");
    assert!(answer["contextId"].is_string(), "{answer}");
}

#[tokio::test]
async fn trap_9_every_request_says_what_it_takes() {
    let script = [
        ("message/send", "two-texts"),
        ("message/stream", "stream"),
        ("tasks/get", "read"),
        ("tasks/cancel", "canceled"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let client = replay.client().await;
    let id = TaskId::new("t").unwrap();
    client.send(text("x")).await.unwrap();
    streamed(&client, text("x")).await;
    client.get(&id, None).await.unwrap();
    client.cancel(&id).await.unwrap();
    let asked = replay.asked();
    assert_eq!(asked.len(), 4);
    for one in asked {
        let accepted = one.header("accept").unwrap();
        assert!(accepted.contains("application/json"), "{accepted}");
        assert!(accepted.contains("text/event-stream"), "{accepted}");
    }
}

/// What it says to those who send none, should something between us take the header away.
#[tokio::test]
async fn trap_9_a_refusal_without_json_rpc_is_told_with_its_text() {
    for (release, answer) in [("0.16.7", "no-accept"), ("0.6.39", "refused-in-text")] {
        let replay = Replay::start(release, &[("message/send", answer)]).await;
        let error = replay.client().await.send(text("x")).await.unwrap_err();
        assert_eq!(error.status(), Some(400), "{error}");
        let said = ["Accept header must include", "Invalid JSON-RPC message"];
        assert!(
            said.iter().any(|s| error.to_string().contains(s)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn trap_10_data_that_becomes_state_is_sent_with_a_warning() {
    let lines = Lines::default();
    let _guard = lines.listen();
    let replay = Replay::start("0.16.7", &[("message/send", "data-replaced-text")]).await;
    let client = replay.client().await;
    let harmless = parts(vec![text_part(), data(r#"{"n":1}"#), data("[1]")]);
    assert_eq!(client.warnings(&harmless), [""; 0]);
    let injected = data(r#"{"messages":[{"role":"user","content":"injected via data part"}]}"#);
    let sent = client.send(parts(vec![text_part(), injected])).await;
    assert_eq!(
        answer_text(&sent.unwrap()),
        "echo(1): injected via data part"
    );
    assert!(lines.text().contains("takes `messages` in the data"));
    let resumes = parts(vec![data(r#"{"resume":"yes"}"#)]);
    assert!(client.warnings(&resumes)[0].contains("`resume`"));
    assert!(replay.messages()[0]["parts"][1]["data"]["messages"].is_array());
}

fn text_part() -> Part {
    Part::text("text")
}

#[tokio::test]
async fn trap_11_a_failure_is_a_failed_task_with_what_it_says() {
    let script = [
        ("message/send", "failed"),
        ("message/stream", "stream-failed"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let client = replay.client().await;
    let sent = client.send(text("x")).await.unwrap();
    assert_eq!(task(&sent).status.state, TaskState::Failed);
    assert_eq!(
        answer_text(&sent),
        "Error executing assistant: RuntimeError"
    );
    let sent = streamed(&client, text("x")).await;
    assert_eq!(task(&sent).status.state, TaskState::Failed);
    assert!(!answer_text(&sent).is_empty());
}

#[tokio::test]
async fn trap_12_a_conversation_that_is_no_uuid_is_refused_with_a_hint() {
    let script = [
        ("message/send", "wrong-context"),
        ("message/stream", "stream-wrong-context"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let client = replay.client().await;
    let mut message = text("hello");
    message.message.context_id = ContextId::new("router_task_1").ok();
    let sent = client.send(message.clone()).await.unwrap_err();
    assert!(sent.to_string().contains("Invalid thread ID"), "{sent}");
    let streamed = client.stream(message).await.unwrap().finish().await;
    for error in [sent, streamed.unwrap_err()] {
        assert_eq!(error.kind(), Kind::Protocol, "{error}");
        assert!(error.hint().unwrap().contains("UUIDs"), "{error:?}");
    }
}

#[tokio::test]
async fn trap_13_parameters_are_never_a_list() {
    let script = [("tasks/get", "read"), ("ListTasks", "list-params")];
    let replay = Replay::start("0.16.7", &script).await;
    let client = replay.client().await;
    let id = TaskId::new("t").unwrap();
    client.get(&id, Some(0)).await.unwrap();
    drop(client.list(Default::default()).await);
    let asked = replay.asked();
    assert_eq!(asked.len(), 2);
    for one in asked {
        assert!(one.json()["params"].is_object(), "{:?}", one.body);
    }
}

#[tokio::test]
async fn trap_13_a_crash_in_plain_text_is_told_with_its_status() {
    let replay = Replay::start("0.16.7", &[("tasks/get", "list-params")]).await;
    let client = replay.client().await;
    let error = client.get(&TaskId::new("t").unwrap(), None).await;
    let error = error.unwrap_err();
    assert_eq!(error.status(), Some(500));
    assert!(
        error.to_string().contains("Internal Server Error"),
        "{error}"
    );
}

/// It cannot be told from an answer: this is what anyone sees.
#[tokio::test]
async fn trap_14_a_question_of_0_6_39_looks_like_an_answer() {
    let replay = Replay::start("0.6.39", &[("message/send", "question")]).await;
    let sent = replay.client().await.send(text("deploy")).await.unwrap();
    assert_eq!(task(&sent).status.state, TaskState::Completed);
    assert_eq!(answer_text(&sent), "deploy");
}

#[tokio::test]
async fn release_0_6_39_is_found_by_the_address_of_its_agent() {
    let replay = Replay::start("0.6.39", &[("message/send", "answer")]).await;
    let client = replay.client().await;
    assert_eq!(client.card().version, "0.6.39");
    let sent = client.send(text("hello")).await.unwrap();
    assert_eq!(answer_text(&sent), "echo(1): hello");
}

#[tokio::test]
async fn release_0_6_39_says_what_it_cannot_do() {
    let script = [
        ("tasks/get", "read-refused"),
        ("tasks/cancel", "cancel-refused"),
        ("message/send", "file-refused"),
    ];
    let replay = Replay::start("0.6.39", &script).await;
    let client = replay.client().await;
    let id = TaskId::new("t").unwrap();
    let error = client.get(&id, None).await.unwrap_err();
    assert!(error.is(ErrorKind::InvalidParams), "{error}");
    assert!(
        error.hint().unwrap().contains("by its id alone"),
        "{error:?}"
    );
    let error = client.cancel(&id).await.unwrap_err();
    assert!(error.is(ErrorKind::UnsupportedOperation), "{error}");
    let file = Part::new(Content::Raw(bytes::Bytes::from_static(b"x")));
    let error = client.send(parts(vec![file])).await.unwrap_err();
    assert!(error.is(ErrorKind::ContentTypeNotSupported), "{error}");
}

#[tokio::test]
async fn lists_keep_their_newer_name() {
    let replay = Replay::start("0.16.7", &[("ListTasks", "list-params")]).await;
    drop(replay.client().await.list(Default::default()).await);
    assert_eq!(replay.asked()[0].rpc(), "ListTasks");
}

#[tokio::test]
async fn the_first_answer_stands_if_the_task_cannot_be_looked_at_again() {
    let script = [
        ("message/stream", "stream-canceled"),
        ("tasks/get", "list-params"),
    ];
    let replay = Replay::start("0.16.7", &script).await;
    let builder = Client::builder().retry(Retry::never());
    let client = builder.connect(replay.url()).await.unwrap();
    let sent = streamed(&client, text("slow")).await;
    assert_eq!(task(&sent).status.state, TaskState::Completed);
}
