//! Faults of objects: members, spellings, moments and files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Finding, RPC, RPC_0_3, event, must_be_found, remove, reply, task};

/// A status whose timestamp is changed.
fn at(task: &mut Value, change: fn(&str) -> Value) {
    if let Some(time) = task["status"]["timestamp"].as_str() {
        task["status"]["timestamp"] = change(time);
    }
}

#[tokio::test]
async fn wrong_timestamps_are_found() {
    const EXAMPLE: &str = "2026-01-31T12:00:00.000Z";
    const NOT_ISO: &[Finding] = &[
        (RPC, "S-065", "timestamp is", EXAMPLE),
        (RPC_0_3, "V03-048", "timestamp is", EXAMPLE),
    ];
    must_be_found(vec![
        reply(
            |_, r| task(r, |task| at(task, |time| json!(time.trim_end_matches('Z')))),
            &[
                (RPC, "S-065", "timestamp is", EXAMPLE),
                (RPC_0_3, "V03-048", "has no zone", EXAMPLE),
            ],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    at(task, |time| json!(time.replace('Z', "+02:00")))
                })
            },
            &[
                (RPC, "S-065", "+02:00", EXAMPLE),
                // A zone may be named in 0.3, but it is the wrong time now.
                (RPC_0_3, "V03-048", "a status of just now", "in UTC"),
            ],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    at(task, |time| {
                        json!(format!("{}00{}", "2020-01-01T", &time[13..]))
                    })
                })
            },
            &[
                (RPC, "S-065", "a status of just now", "in UTC"),
                (RPC_0_3, "V03-048", "a status of just now", "in UTC"),
            ],
        ),
        reply(
            |_, r| task(r, |task| at(task, |_| json!(1_790_000_000))),
            NOT_ISO,
        ),
        reply(
            |_, r| task(r, |task| at(task, |_| json!("1790000000"))),
            NOT_ISO,
        ),
        reply(
            |_, r| task(r, |task| at(task, |time| json!(time.replace('T', " ")))),
            NOT_ISO,
        ),
    ])
    .await;
}

#[tokio::test]
async fn wrong_spellings_are_found() {
    must_be_found(vec![
        reply(
            |_, r| {
                task(r, |task| {
                    task["context_id"] = task["contextId"].clone();
                });
            },
            &[
                (RPC, "S-063", "context_id", "contextId, not context_id"),
                (
                    RPC_0_3,
                    "V03-049",
                    "context_id",
                    "contextId, not context_id",
                ),
            ],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    let state = task["status"]["state"].as_str().unwrap_or_default();
                    task["status"]["state"] = match state.strip_prefix("TASK_STATE_") {
                        Some(short) => json!(short.to_lowercase()),
                        None => json!(format!("TASK_STATE_{}", state.to_uppercase())),
                    };
                });
            },
            &[
                (
                    RPC,
                    "S-064",
                    "state is \"completed\"",
                    "TASK_STATE_COMPLETED",
                ),
                (
                    RPC_0_3,
                    "V03-047",
                    "state is \"TASK_STATE_COMPLETED\"",
                    "write completed",
                ),
            ],
        ),
        event(
            |_, data| {
                if let Some(state) = data.pointer_mut("/result/statusUpdate/status/state") {
                    *state = json!("working");
                }
                if let Some(state) = data.pointer_mut("/result/status/state") {
                    *state = json!("Working");
                }
            },
            &[
                (RPC, "S-064", "state is \"working\"", "TASK_STATE_COMPLETED"),
                (
                    RPC_0_3,
                    "V03-047",
                    "state is \"Working\"",
                    "write completed",
                ),
            ],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    if let Some(role) = task.pointer_mut("/history/0/role") {
                        *role = json!("assistant");
                    }
                });
            },
            &[
                (RPC, "S-064", "role is \"assistant\"", "ROLE_AGENT"),
                (
                    RPC_0_3,
                    "V03-047",
                    "role is \"assistant\"",
                    "user and agent",
                ),
            ],
        ),
    ])
    .await;
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn members_that_are_missing_or_of_something_else_are_found() {
    must_be_found(vec![
        reply(
            |_, r| task(r, |task| remove(task, "contextId")),
            &[
                (RPC, "S-044", "no contextId", "contextId into the Task"),
                (
                    RPC_0_3,
                    "V03-003",
                    "contextId is missing",
                    "required by the schema",
                ),
            ],
        ),
        reply(
            |_, r| task(r, |task| remove(task, "id")),
            &[
                (RPC, "S-066", "id is missing", "REQUIRED"),
                (
                    RPC_0_3,
                    "V03-003",
                    "id is missing",
                    "required by the schema",
                ),
            ],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    if let Some(artifact) = task.pointer_mut("/artifacts/0") {
                        remove(artifact, "artifactId");
                    }
                });
            },
            &[
                (RPC, "S-066", "artifactId is missing", "REQUIRED"),
                (
                    RPC_0_3,
                    "V03-046",
                    "artifactId is missing",
                    "the schema of 0.3 requires",
                ),
            ],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    if let Some(part) = task.pointer_mut("/artifacts/0/parts/0") {
                        remove(part, "text");
                    }
                });
            },
            &[
                (
                    RPC,
                    "S-066",
                    "a part has 0 of text, raw, url and data",
                    "REQUIRED",
                ),
                (
                    RPC_0_3,
                    "V03-046",
                    "lacks its content",
                    "the schema of 0.3 requires",
                ),
            ],
        ),
        // A task that is called a message.
        reply(
            |_, r| {
                let Some(result) = r.json.get_mut("result") else {
                    return;
                };
                if result.get("task").is_some() {
                    *result = json!({"message": result["task"]});
                } else if result["kind"] == "task" {
                    result["kind"] = json!("message");
                }
            },
            &[
                (RPC, "S-066", "messageId is missing", "REQUIRED"),
                (
                    RPC_0_3,
                    "V03-046",
                    "kind is \"message\", not \"task\"",
                    "kind among them",
                ),
            ],
        ),
        reply(
            |_, r| {
                if r.json["result"].get("task").is_some() {
                    r.json["result"]["message"] = json!({});
                }
            },
            &[(RPC, "S-001", "both task and message", "exactly one")],
        ),
        reply(
            |_, r| {
                if r.json["result"].get("task").is_some() {
                    r.json["result"] = r.json["result"]["task"].take();
                }
            },
            &[(RPC, "S-001", "neither task nor message", "{\"task\"")],
        ),
        reply(
            |_, r| {
                if r.json["result"]["kind"] == "task" {
                    remove(&mut r.json["result"], "kind");
                }
            },
            &[(
                RPC_0_3,
                "V03-002",
                "neither a task nor a message",
                "kind task or message",
            )],
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    if let Some(part) = task.pointer_mut("/artifacts/0/parts/0") {
                        remove(part, "kind");
                        part["type"] = json!("text");
                    }
                });
            },
            &[(RPC_0_3, "V03-046", "kind is missing", "kind among them")],
        ),
        event(
            |_, data| {
                if data["result"]["kind"] == "status-update" {
                    data["result"]["kind"] = json!("statusUpdate");
                }
            },
            &[(RPC_0_3, "V03-005", "none of the four", "one of the four")],
        ),
    ])
    .await;
}

/// Changes the bytes of a file in the history.
fn file(task: &mut Value, change: fn(&str) -> Value) {
    for place in ["/history/0/parts/1/raw", "/history/0/parts/1/file/bytes"] {
        if let Some(bytes) = task.pointer_mut(place) {
            *bytes = change(bytes.as_str().unwrap_or_default());
        }
    }
}

#[tokio::test]
async fn files_that_are_spoiled_are_found() {
    const KEPT: &[Finding] = &[
        (RPC, "S-124", "is kept as", "base64 once"),
        (RPC_0_3, "V03-031", "is kept as", "base64 once"),
    ];
    must_be_found(vec![
        reply(
            |_, r| task(r, |task| file(task, |bytes| json!(STANDARD.encode(bytes)))),
            KEPT,
        ),
        reply(
            |_, r| {
                task(r, |task| {
                    file(task, |bytes| {
                        json!(bytes.replace('+', "-").replace('/', "_"))
                    })
                })
            },
            KEPT,
        ),
        reply(
            |_, r| task(r, |task| file(task, |bytes| json!(bytes[..8]))),
            KEPT,
        ),
    ])
    .await;
}
