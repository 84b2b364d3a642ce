//! What agents still send after the end of a task, or after the first piece of a message.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json as value};
use switchboard_client::{Client, Kind, Limits, Sent, answer_parts, answer_text, text};
use switchboard_types::model::{Event, TaskState};

use crate::support::{Asked, Odd, Then, sse};

/// What came of a stream of these events: the texts of all items, and the result. `stored` is what a task is when it
/// is read; how often it was is the last number.
async fn follow(events: Vec<Value>, then: Then, stored: Value) -> (Vec<String>, Sent, usize) {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let odd = Odd::serve(move |asked: Asked| {
        let (events, stored, reads) = (events.clone(), stored.clone(), Arc::clone(&counted));
        async move {
            match asked.rpc().as_str() {
                "" => asked.card("0.3"),
                "tasks/get" => {
                    reads.fetch_add(1, Ordering::Relaxed);
                    asked.result(&stored)
                }
                _ => {
                    let id = asked.json()["id"].clone();
                    let frame = |event: &Value| {
                        let answer = value!({"jsonrpc": "2.0", "id": id, "result": event});
                        format!("data: {answer}\n\n")
                    };
                    sse(events.iter().map(frame).collect(), then)
                }
            }
        }
    })
    .await;
    let agent = Client::connect(odd.base.as_str()).await.unwrap();
    let mut stream = agent.stream(text("hi")).await.unwrap();
    let mut told = Vec::new();
    while let Some(item) = stream.next().await {
        told.push(match item.unwrap().event {
            Event::Task(task) => format!("task {}", task.status.state.name()),
            Event::Message(message) => format!("message {}", message.text()),
            Event::Status(update) => format!("status {}", update.status.state.name()),
            Event::Artifact(update) => {
                let texts = update
                    .artifact
                    .parts
                    .iter()
                    .filter_map(|part| part.as_text());
                format!("artifact {}", texts.collect::<String>())
            }
        });
    }
    let sent = stream.finish().await.unwrap();
    (told, sent, reads.load(Ordering::Relaxed))
}

fn message(role: &str, id: &str, text: &str) -> Value {
    value!({"kind": "message", "role": role, "messageId": id, "parts": [{"kind": "text", "text": text}]})
}

fn task(state: &str, more: &Value) -> Value {
    let mut task =
        value!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}});
    for (name, member) in more.as_object().into_iter().flatten() {
        task[name] = member.clone();
    }
    task
}

fn status(state: &str) -> Value {
    let last = state == "completed";
    value!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": last, "status": {"state": state}})
}

fn artifacts() -> Value {
    value!({"artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "the answer"}]}]})
}

fn history() -> Value {
    let mut said = vec![message("user", "1", "hi")];
    said.push(message("agent", "2", "the answer"));
    value!({ "history": said })
}

#[tokio::test]
async fn a_whole_task_after_the_terminal_status_is_taken() {
    for then in [Then::Close, Then::Cut, Then::Hang] {
        let events = vec![
            task("submitted", &value!({})),
            status("completed"),
            task("completed", &artifacts()),
        ];
        let (told, sent, reads) = follow(events, then, Value::Null).await;
        assert_eq!(answer_text(&sent), "the answer", "{then:?}");
        assert_eq!(
            told,
            ["task submitted", "status completed", "artifact the answer"],
            "{then:?}"
        );
        assert_eq!(reads, 0, "{then:?}");
    }
}

#[tokio::test]
async fn an_answer_in_the_history_of_a_whole_task_at_the_end_is_taken() {
    let events = vec![
        task("submitted", &value!({})),
        status("completed"),
        task("completed", &history()),
    ];
    let (told, sent, _) = follow(events, Then::Close, Value::Null).await;
    assert_eq!(answer_text(&sent), "the answer");
    assert_eq!(
        told,
        ["task submitted", "status completed", "task completed"]
    );
}

#[tokio::test]
async fn an_answer_that_is_nowhere_but_in_the_stored_history_is_read_once() {
    let events = vec![task("submitted", &value!({})), status("completed")];
    let stored = task("completed", &history());
    let (_, sent, reads) = follow(events.clone(), Then::Close, stored).await;
    assert_eq!(answer_text(&sent), "the answer");
    assert_eq!(reads, 1);
    // An agent that has nothing to say is believed.
    let stored = task("completed", &value!({}));
    let (told, sent, reads) = follow(events, Then::Close, stored).await;
    assert_eq!(answer_text(&sent), "");
    assert_eq!(told, ["task submitted", "status completed"]);
    assert_eq!(reads, 1);
}

#[tokio::test]
async fn an_artifact_after_the_terminal_status_is_taken_and_another_state_is_not() {
    let artifact = value!({"kind": "artifact-update", "taskId": "t", "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "the answer"}]}});
    let events = vec![
        task("submitted", &value!({})),
        status("completed"),
        artifact,
        status("working"),
        task("failed", &value!({})),
    ];
    let (told, sent, _) = follow(events, Then::Close, Value::Null).await;
    assert_eq!(answer_text(&sent), "the answer");
    assert!(matches!(&sent, Sent::Task(task) if task.status.state == TaskState::Completed));
    assert_eq!(told.len(), 3, "{told:?}");
}

#[tokio::test]
async fn pieces_of_one_message_are_joined_by_its_id() {
    for then in [Then::Close, Then::Hang] {
        let pieces = ["one ", "and ", "the same"].map(|text| message("agent", "m", text));
        let (told, sent, _) = follow(pieces.to_vec(), then, Value::Null).await;
        assert!(matches!(&sent, Sent::Message(_)), "{sent:?}");
        assert_eq!(answer_text(&sent), "one and the same");
        assert_eq!(told, ["message one ", "message and ", "message the same"]);
    }
}

#[tokio::test]
async fn a_message_that_is_repeated_with_every_word_is_not_doubled() {
    let pieces = ["one", "one and", "one and the same"].map(|text| message("agent", "m", text));
    let (_, sent, _) = follow(pieces.to_vec(), Then::Close, Value::Null).await;
    assert_eq!(answer_text(&sent), "one and the same");
}

#[tokio::test]
async fn a_file_in_one_piece_of_a_message_stays_whatever_the_next_one_says() {
    let file = value!({"kind": "file", "file": {"bytes": "AAAA", "name": "f"}});
    let piece = |parts: Value| value!({"kind": "message", "role": "agent", "messageId": "m", "parts": parts});
    let say = |text: &str| value!({"kind": "text", "text": text});
    for (pieces, answer) in [
        (
            vec![piece(value!([file])), piece(value!([say("done")]))],
            "done",
        ),
        (
            vec![
                piece(value!([say("A"), file])),
                piece(value!([say("A and B")])),
            ],
            "A and B",
        ),
    ] {
        let (_, sent, _) = follow(pieces, Then::Close, Value::Null).await;
        assert_eq!(answer_text(&sent), answer);
        let parts = answer_parts(&sent);
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert!(
            parts.iter().any(|part| part.filename.is_some()),
            "{parts:?}"
        );
    }
}

#[tokio::test]
async fn another_message_after_the_first_is_not_its_piece() {
    let both = vec![
        message("agent", "m", "this"),
        message("agent", "n", "not this"),
    ];
    let (_, sent, _) = follow(both, Then::Close, Value::Null).await;
    assert_eq!(answer_text(&sent), "this");
}

#[tokio::test]
async fn the_pieces_of_a_message_are_together_no_larger_than_one_event_may_be() {
    let odd = Odd::serve(|asked: Asked| async move {
        if asked.rpc().is_empty() {
            return asked.card("0.3");
        }
        let id = asked.json()["id"].clone();
        let piece = value!({"jsonrpc": "2.0", "id": id, "result": message("agent", "m", &"x".repeat(1000))});
        sse(vec![format!("data: {piece}\n\n"); 1000], Then::Hang)
    })
    .await;
    let builder = Client::builder().limits(Limits {
        event: 100 << 10,
        ..Limits::default()
    });
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    let error = agent.stream(text("hi")).await.unwrap().finish().await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), Kind::TooLarge, "{error}");
}
