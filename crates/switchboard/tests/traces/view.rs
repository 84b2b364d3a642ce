//! What became of a task: the tree of tasks, from the log, without any collector (S3, 2a).

use std::process::Command;

use serde_json::{Value, json};
use switchboard_testkit::{Server, say};

use crate::{AGENTS, look};

pub(crate) fn trace(server: &Server, args: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .arg("trace")
        .args(args)
        .arg("--data")
        .arg(server.data())
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test]
async fn s3_115_123_a_delegation_is_a_trace_of_type_a2a_task_with_its_idempotency_key() {
    let server = Server::serve(AGENTS).await;
    let task = server.result("desk", "message/send", say("go")).await;
    let id = task["id"].as_str().expect("an id");
    let answer = look(&server, &format!("/admin/traces/{id}?content=true")).await;
    assert_eq!(answer.status, 200);
    let tree = answer.body;
    assert_eq!(tree["taskId"], id, "S3-071: the trace is the task's");
    assert_eq!(tree["type"], "A2A_TASK");
    assert_eq!(tree["status"], "SUCCESS");
    assert_eq!(tree["state"], "completed");
    assert_eq!(tree["input"]["parts"][0]["text"], "go", "S3-052");
    assert!(tree["durationMs"].is_u64(), "{tree}");
    assert_eq!(tree["bytesIn"], 2);
    let children = tree["children"].as_array().expect("children");
    assert_eq!(children.len(), 1, "S3-094: no task is shown twice: {tree}");
    let child = &children[0];
    assert_eq!(child["name"], "delegation:desk->poet");
    assert_eq!(child["parentTaskId"], id);
    assert_eq!(child["idempotencyKey"], format!("{id}-1-1"), "S3-097");
    assert_eq!(child["turns"].as_array().map(Vec::len), Some(1));
    // From the child the whole tree is seen, too.
    let child = child["taskId"].as_str().expect("an id");
    let from_below = look(&server, &format!("/admin/traces/{child}")).await.body;
    assert_eq!(from_below["taskId"], id);
    assert_eq!(from_below["children"][0]["asked"], true);
    assert_eq!(
        from_below.get("input"),
        None,
        "what was said is not told unasked"
    );
}

#[tokio::test]
async fn s3_057_what_failed_says_why_in_the_task_and_above() {
    let server = Server::serve(AGENTS).await;
    let task = server.result("broken", "message/send", say("go")).await;
    let id = task["id"].as_str().expect("an id");
    let tree = look(&server, &format!("/admin/traces/{id}")).await.body;
    assert_eq!(
        (&tree["status"], &tree["state"]),
        (&json!("ERROR"), &json!("failed"))
    );
    assert_eq!(tree["children"][0]["error"], "no ink");
    let (ok, text, _) = trace(&server, &[id]);
    assert!(ok);
    assert!(text.starts_with("broken  failed  "), "{text}");
    assert!(text.contains("├─ failing  failed  "), "{text}");
    assert!(text.contains("│  └─ error: no ink"), "{text}");
    assert!(text.contains("  <- this task"), "{text}");
}

#[tokio::test]
async fn s3_076_a_task_that_runs_is_pending_and_one_that_was_canceled_an_error() {
    let server = Server::serve(AGENTS).await;
    let params = json!({"message": say("go")["message"], "configuration": {"blocking": false}});
    let task = server.result("slow", "message/send", params).await;
    let id = task["id"].as_str().expect("an id");
    let tree = look(&server, &format!("/admin/traces/{id}")).await.body;
    assert_eq!(tree["status"], "PENDING", "S3-052: {tree}");
    server
        .result("slow", "tasks/cancel", json!({"id": id}))
        .await;
    server.until("slow", &task["id"], &["canceled"]).await;
    let tree = look(&server, &format!("/admin/traces/{id}")).await.body;
    assert_eq!(
        (&tree["status"], &tree["state"]),
        (&json!("ERROR"), &json!("canceled"))
    );
}

#[tokio::test]
async fn the_command_shows_what_the_admin_listener_tells_also_when_no_server_runs() {
    let mut server = Server::serve(AGENTS).await;
    let task = server.result("desk", "message/send", say("go")).await;
    let id = task["id"].as_str().expect("an id");
    let told = look(&server, &format!("/admin/traces/{id}")).await.body;
    for running in [true, false] {
        if !running {
            server.kill().await;
        }
        let (ok, text, wrong) = trace(&server, &[id, "--json"]);
        assert!(ok, "{wrong}");
        let shown: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(shown, told);
    }
    let (ok, _, wrong) = trace(&server, &["nothing-like-that"]);
    assert!(!ok);
    assert!(wrong.contains("no task \"nothing-like-that\""), "{wrong}");
}

#[tokio::test]
async fn what_agents_tell_operators_never_leaves_by_a2a() {
    let server = Server::serve(AGENTS).await;
    let sent = server.stream("desk", "message/stream", say("go")).await;
    let events = sent.results().await;
    let id = events[0]["id"].clone();
    let tree = look(
        &server,
        &format!("/admin/traces/{}", id.as_str().expect("an id")),
    )
    .await
    .body;
    assert_eq!(tree["internal"][0]["name"], "internal:delegation", "{tree}");
    let task = server.result("desk", "tasks/get", json!({"id": id})).await;
    let list = server
        .get("/a2a/desk/tasks?A2A-Version=1.0&includeArtifacts=true")
        .await
        .body;
    for told in [&Value::from(events), &task, &list] {
        assert!(!told.to_string().contains("internal:"), "{told}");
        assert!(
            !told.to_string().contains("-1-1\""),
            "the key is not told: {told}"
        );
    }
}
