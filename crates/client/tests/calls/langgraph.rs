//! What LangGraph Server needs, told by its card (its traps are listed in `connect/quirks.rs`).

use std::sync::{Arc, Mutex};

use serde_json::json as value;
use switchboard_client::{Client, Kind, Sent, answer_text, parts, text};
use switchboard_types::model::{Part, TaskId, TaskState};

use crate::support::{Asked, Odd, Then, json, sse};

async fn langgraph() -> (Odd, Client, Arc<Mutex<Vec<Asked>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sent);
    let odd = Odd::serve(move |asked: Asked| {
        let seen = Arc::clone(&seen);
        async move {
            if asked.method == "GET" && asked.path == "/a2a/id" {
                let card = value!({
                    "name": "graph", "capabilities": {"streaming": true, "extensions": [
                        {"uri": "https://langchain.com/a2a/extensions/history-scope/v1"}]},
                    "supportedInterfaces": [{"url": format!("{}/a2a/id", asked.base),
                        "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
                });
                return json(200, &card.to_string());
            }
            if asked.method == "GET" {
                return json(404, "{}");
            }
            seen.lock().unwrap().push(asked.clone());
            let state = match asked.rpc().as_str() {
                "message/stream" => {
                    let id = &asked.json()["id"];
                    let done = value!({"kind": "status-update", "taskId": "th:run", "contextId": "th",
                        "status": {"state": "completed"}, "final": true});
                    let frame = value!({"jsonrpc": "2.0", "id": id, "result": done});
                    return sse(vec![format!("event: message\r\ndata: {frame}\r\n\r\n")], Then::Close);
                }
                "message/send" => "completed",
                "tasks/get" if seen.lock().unwrap()[0].json().to_string().contains("lost") => {
                    return json(404, "{}");
                }
                "tasks/get" => "canceled",
                "ListTasks" => {
                    return asked.result(&value!({"tasks": [], "nextPageToken": ""}));
                }
                _ => return json(404, "{}"),
            };
            asked.result(&value!({"kind": "task", "id": "th:run", "contextId": "th",
                "status": {"state": state},
                "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": ""}]}]}))
        }
    })
    .await;
    let client = Client::connect(format!("{}/a2a/id", odd.base))
        .await
        .unwrap();
    (odd, client, sent)
}

#[tokio::test]
async fn older_names_one_text_and_a_second_look_at_an_empty_answer() {
    let (_odd, client, sent) = langgraph().await;
    let message = parts(vec![Part::text("one"), Part::text("two")]);
    let answer = client.send(message).await.unwrap();
    assert_eq!(answer_text(&answer), "");
    let Sent::Task(task) = answer else {
        panic!("no task")
    };
    assert_eq!(
        task.status.state,
        TaskState::Canceled,
        "it looked completed"
    );
    let sent = sent.lock().unwrap();
    assert_eq!(sent[0].rpc(), "message/send");
    let said = &sent[0].json()["params"]["message"]["parts"];
    assert_eq!(*said, value!([{"kind": "text", "text": "one\ntwo"}]));
    assert_eq!(sent[1].rpc(), "tasks/get");
}

#[tokio::test]
async fn the_first_answer_stands_if_the_task_cannot_be_looked_at_again() {
    let (_odd, client, _) = langgraph().await;
    let sent = client.send(text("lost")).await.unwrap();
    assert!(matches!(sent, Sent::Task(task) if task.status.state == TaskState::Completed));
    let (_odd, client, _) = langgraph().await;
    let events = client.stream(text("lost")).await.unwrap();
    let sent = events.finish().await.unwrap();
    assert!(matches!(sent, Sent::Task(task) if task.status.state == TaskState::Completed));
}

#[tokio::test]
async fn a_stream_that_ends_empty_is_looked_at_again() {
    let (_odd, client, sent) = langgraph().await;
    let answer = client
        .stream(text("x"))
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    let Sent::Task(task) = answer else {
        panic!("no task")
    };
    assert_eq!(
        task.status.state,
        TaskState::Canceled,
        "it looked completed"
    );
    let sent = sent.lock().unwrap();
    assert_eq!(
        [sent[0].rpc(), sent[1].rpc()],
        ["message/stream", "tasks/get"]
    );
}

#[tokio::test]
async fn lists_keep_their_newer_name_and_watching_is_not_tried() {
    let (_odd, client, sent) = langgraph().await;
    assert!(
        client
            .list(Default::default())
            .await
            .unwrap()
            .tasks
            .is_empty()
    );
    assert_eq!(sent.lock().unwrap()[0].rpc(), "ListTasks");
    let error = client
        .subscribe(&TaskId::new("t").unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::NotOffered);
    assert_eq!(sent.lock().unwrap().len(), 1);
    assert!(client.send(text("x")).await.is_ok());
}
