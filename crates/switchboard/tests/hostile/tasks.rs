//! Tasks that are not there, are over, or are asked for twice at once.

use serde_json::{Value, json};
use switchboard_testkit::{Server, message, say};
use tokio::io::AsyncWriteExt;

use crate::wire::{connect, healthy, until};

async fn task(server: &Server, agent: &str) -> Value {
    let mut params = say("hello");
    params["configuration"] = json!({"blocking": false});
    server.result(agent, "message/send", params).await["id"].clone()
}

#[tokio::test]
async fn tasks_of_nobody_or_of_another_agent_are_not_found() {
    let server = crate::server("").await;
    let asked = task(&server, "asker").await;
    server.until("asker", &asked, &["input-required"]).await;
    for id in [
        asked.clone(),
        json!("none"),
        json!("../none"),
        json!("%00"),
        json!("' OR 1=1 --"),
        json!("🙂"),
    ] {
        let mut followed = say("x");
        followed["message"]["taskId"] = id.clone();
        for (method, params) in [
            ("tasks/get", json!({"id": id})),
            ("tasks/cancel", json!({"id": id})),
            ("message/send", followed),
            ("tasks/pushNotificationConfig/list", json!({"id": id})),
            (
                "tasks/pushNotificationConfig/delete",
                json!({"id": id, "pushNotificationConfigId": "c"}),
            ),
        ] {
            let error = server.error("echo", method, params).await;
            assert_eq!(error["code"], -32001, "{method} {id}: {error}");
            assert_eq!(error["data"]["reason"], "TASK_NOT_FOUND", "{method} {id}");
        }
        let mut stream = server
            .stream("echo", "tasks/resubscribe", json!({"id": id}))
            .await;
        let event = stream.next().await.expect("one event");
        assert_eq!(event.data["error"]["code"], -32001, "{id}: {event:?}");
    }
    healthy(&server).await;
}

#[tokio::test]
async fn a_task_that_is_over_takes_nothing_more() {
    let server = crate::server("").await;
    let over = task(&server, "echo").await;
    server.until("echo", &over, &["completed"]).await;
    let mut followed = say("x");
    followed["message"]["taskId"] = over.clone();
    let error = server.error("echo", "message/send", followed).await;
    assert_eq!(error["code"], -32004, "{error}");
    let error = server
        .error("echo", "tasks/cancel", json!({"id": over}))
        .await;
    assert_eq!(error["code"], -32002, "{error}");
    let wrong_context = json!({"message": {"messageId": "m", "role": "user", "taskId": over, "contextId": "other",
        "parts": [{"kind": "text", "text": "x"}]}});
    let error = server.error("echo", "message/send", wrong_context).await;
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(
        error["data"]["violations"][0]["field"], "message.contextId",
        "{error}"
    );
}

#[tokio::test]
async fn of_two_cancels_at_once_both_are_answered_and_the_task_is_canceled_once() {
    let server = crate::server("").await;
    for _ in 0..5 {
        let id = task(&server, "sleeper").await;
        server.until("sleeper", &id, &["working"]).await;
        let cancel = || server.rpc("sleeper", "tasks/cancel", json!({"id": id}));
        let (one, two, three) = tokio::join!(cancel(), cancel(), cancel());
        for answer in [one, two, three] {
            let fine = answer.body["result"]["status"]["state"] == "canceled"
                || answer.body["error"]["code"] == -32002;
            assert!(fine, "{:?}", answer.body);
        }
        let stored = server.until("sleeper", &id, &["canceled"]).await;
        assert_eq!(stored["status"]["state"], "canceled");
    }
}

#[tokio::test]
async fn many_subscribers_come_and_go_and_the_task_stays() {
    let server = crate::server("").await;
    let id = task(&server, "sleeper").await;
    server.until("sleeper", &id, &["working"]).await;
    let id = id.as_str().expect("an id").to_owned();
    let call = crate::wire::request(
        "GET",
        &format!("/a2a/sleeper/tasks/{id}:subscribe"),
        "A2A-Version: 1.0\r\n",
        b"",
    );
    let mut readers = Vec::new();
    for _ in 0..50 {
        let mut socket = connect(&server).await;
        socket.write_all(&call).await.expect("bytes");
        readers.push(socket);
    }
    for (index, socket) in readers.iter_mut().enumerate() {
        if index % 2 == 0 {
            until(socket, "TASK_STATE_WORKING").await;
        }
    }
    // Half of them never read a byte; all of them leave without a word.
    drop(readers);
    let found = server
        .result("sleeper", "tasks/get", json!({"id": id}))
        .await;
    assert_eq!(found["status"]["state"], "working");
    healthy(&server).await;
}

#[tokio::test]
async fn the_same_message_many_times_at_once_breaks_nothing() {
    let server = crate::server("").await;
    let call = || server.rpc("echo", "message/send", json!({"message": message("again")}));
    let answers = futures(call, 40).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.body["result"]["status"]["state"] == "completed"),
        "{answers:?}"
    );
    healthy(&server).await;
}

/// Awaits many of the same at once.
async fn futures<T, F: Future<Output = T>>(make: impl Fn() -> F, count: usize) -> Vec<T> {
    let mut running: Vec<_> = (0..count).map(|_| Box::pin(make())).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|cx| {
        running.retain_mut(|future| match future.as_mut().poll(cx) {
            std::task::Poll::Ready(value) => {
                done.push(value);
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done
}
