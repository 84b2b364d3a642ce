//! What those who are let in may do.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_server::call::{Call, Handler, Origin, ServiceParams, Target};
use switchboard_server::principal::Principal;
use switchboard_server::task::Owner;
use switchboard_types::ErrorKind;
use switchboard_types::operation::{ListTasks, Operation};

use crate::house::open;
use crate::wire::{WAYS, bearer};

#[tokio::test]
async fn what_the_policy_denies_is_forbidden_by_every_binding() {
    let house = open(&["vault"]).await;
    let task = house.task("vault", "ann").await;
    for way in WAYS {
        // The same for a task that is there and one that is not.
        for id in [&*task, "nobody"] {
            let answer = house.read(way, "vault", "ann", id).await;
            way.expect(&answer, 403, 7, true);
            let error = answer.error();
            assert!(error.contains("not for you"), "{way:?}: {error}");
            assert!(error.contains("PERMISSION_DENIED"), "{way:?}: {error}");
            assert!(!error.contains("no-reading"), "{way:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_forbidden_stream_is_a_status_and_no_event() {
    let house = open(&["vault"]).await;
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "message/stream", "params": {
        "message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]},
    }});
    let headers = bearer("ann");
    let answer = house
        .ask("POST", "/a2a/vault", &headers, call.to_string())
        .await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["error"]["code"], -32603);
}

#[tokio::test]
async fn a_policy_that_looks_at_tasks_sees_ones_own_only() {
    let house = open(&["archive"]).await;
    let task = house.task("archive", "ann").await;
    for way in WAYS {
        let own = house.read(way, "archive", "ann", &task).await;
        way.expect(&own, 403, 7, true);
        assert!(own.error().contains("it is over"), "{way:?}: {own:?}");
        let foreign = house.read(way, "archive", "bob", &task).await;
        way.expect(&foreign, 404, 5, false);
    }
}

#[tokio::test]
async fn an_agent_that_calls_for_its_caller_is_asked_about_too() {
    let house = open(&["vault"]).await;
    let call = |origin| Call {
        operation: Operation::List(ListTasks::default()),
        target: Target::default(),
        principal: Principal::from(Owner::new("ann")),
        params: ServiceParams::internal(),
        origin,
    };
    let direct = house.table.handle(call(Origin::Network)).await;
    assert!(direct.is_ok(), "{direct:?}");
    let errand = call(Origin::Agent(Arc::from("poet")));
    let denied = house.table.handle(errand).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    assert_eq!(denied.message(), "poet may not ask for others");
}

#[tokio::test]
async fn a_task_that_may_not_be_read_is_not_listed() {
    let house = open(&["archive", "desk"]).await;
    let listed = async |agent: &str| {
        house.task(agent, "ann").await;
        let path = format!("/a2a/{agent}");
        let answer = house.rpc(&path, "ann", "ListTasks", json!({})).await;
        let tasks = answer.json()["result"]["tasks"].as_array().map(Vec::len);
        tasks.unwrap_or_else(|| panic!("{answer:?}"))
    };
    assert_eq!(listed("desk").await, 1);
    assert_eq!(listed("archive").await, 0, "it is over");
}

#[tokio::test]
async fn a_task_that_may_not_be_read_is_not_told_by_saying_the_same_again() {
    let house = open(&["archive", "desk"]).await;
    for (agent, again) in [("desk", 200), ("archive", 403)] {
        let say = async |streams: bool| {
            let method = if streams {
                "message:stream"
            } else {
                "message:send"
            };
            let mut headers = bearer("ann");
            headers.push(("a2a-version", "1.0".to_owned()));
            headers.push(("idempotency-key", "k".to_owned()));
            let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
            let body = json!({"message": message}).to_string();
            let path = format!("/a2a/{agent}/{method}");
            house.ask("POST", &path, &headers, body).await.status
        };
        assert_eq!(say(false).await, 200, "{agent}");
        assert_eq!(say(false).await, again, "{agent}");
        assert_eq!(say(true).await, again, "{agent}");
    }
}

/// However the message names the task that it goes on with.
#[tokio::test]
async fn a_task_that_may_not_be_read_is_not_told_by_answering_its_question_again() {
    let house = open(&["clerk"]).await;
    let say = async |key: &str, message: &Value| {
        let mut headers = bearer("ann");
        headers.push(("a2a-version", "1.0".to_owned()));
        headers.push(("idempotency-key", key.to_owned()));
        let body = json!({ "message": message }).to_string();
        let path = "/a2a/clerk/message:send";
        house.ask("POST", path, &headers, body).await
    };
    let says = |more: Value| {
        let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
        let fields = more.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(fields);
        message
    };
    for way in ["by its id", "by a tool result"] {
        let asked = say(way, &says(json!({}))).await;
        let task = &asked.json()["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let answer = match way {
            "by its id" => says(json!({"messageId": "n", "taskId": task["id"]})),
            _ => says(json!({
                "messageId": "o",
                "parts": [{"data": {"type": "tool-result", "id": "q"}}],
                "referenceTaskIds": [task["id"]],
            })),
        };
        let key = format!("answered {way}");
        let done = say(&key, &answer).await;
        assert_eq!(done.status, 200, "{way}: {done:?}");
        assert_eq!(
            done.json()["task"]["status"]["state"],
            "TASK_STATE_COMPLETED",
            "{way}"
        );
        let again = say(&key, &answer).await;
        assert_eq!(again.status, 403, "{way}: {again:?}");
        assert!(again.error().contains("it is over"), "{way}: {again:?}");
    }
}
