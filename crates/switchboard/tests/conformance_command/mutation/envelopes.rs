//! Faults of the envelope: ids, versions and media types of JSON-RPC, paths and verbs of HTTP+JSON.

use serde_json::{Value, json};

use super::serve::Reply;
use super::{
    Fault, Finding, REST, REST_0_3, RPC, RPC_0_3, event, fault, must_be_found, refuse, remove,
    reply,
};

fn is_rpc(reply: &Reply) -> bool {
    reply.json.get("jsonrpc").is_some()
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_json_rpc_are_found() {
    const THE_ID: &str = "the id of the request";
    must_be_found(vec![
        reply(
            |_, r| {
                if r.json.get("result").is_some() {
                    r.json["id"] = json!("another");
                }
            },
            &[
                (RPC, "S-116", "came back as \"another\"", THE_ID),
                (RPC_0_3, "V03-009", "came back as \"another\"", THE_ID),
            ],
        ),
        reply(
            |_, r| {
                if r.json["id"].is_number() {
                    r.json["id"] = json!(r.json["id"].to_string());
                }
            },
            &[
                (
                    RPC,
                    "S-115",
                    "id 42 came back as \"42\"",
                    "numbers as numbers",
                ),
                (
                    RPC_0_3,
                    "V03-009",
                    "id 42 came back as \"42\"",
                    "numbers as numbers",
                ),
            ],
        ),
        reply(
            |_, r| remove(&mut r.json, "id"),
            &[
                (RPC, "S-116", "came back as null", THE_ID),
                (RPC_0_3, "V03-009", "came back as null", "echo strings"),
            ],
        ),
        reply(
            |_, r| {
                if is_rpc(r) && r.json["id"].is_null() {
                    r.json["id"] = json!(1);
                }
            },
            &[(RPC, "S-115", "is not null", "\"id\": null")],
        ),
        reply(
            |_, r| remove(&mut r.json, "jsonrpc"),
            &[
                (RPC, "S-070", "jsonrpc is null", "\"2.0\""),
                (RPC_0_3, "V03-042", "jsonrpc is null", "\"2.0\""),
            ],
        ),
        reply(
            |_, r| {
                if r.json.get("error").is_some() {
                    r.json["jsonrpc"] = json!("1.0");
                }
            },
            &[
                (RPC, "S-070", "jsonrpc is \"1.0\"", "errors as well"),
                (RPC_0_3, "V03-042", "jsonrpc is \"1.0\"", "errors as well"),
            ],
        ),
        reply(
            |_, r| {
                if r.json.get("result").is_some() {
                    r.json["error"] = json!({"code": -32603, "message": "and yet"});
                }
            },
            &[
                (
                    RPC,
                    "S-116",
                    "both result and error",
                    "leave the other one out",
                ),
                (
                    RPC_0_3,
                    "V03-009",
                    "both result and error",
                    "leave the other one out",
                ),
            ],
        ),
        reply(
            |_, r| {
                if is_rpc(r) {
                    r.set("content-type", "text/plain");
                }
            },
            &[
                (
                    RPC,
                    "S-070",
                    "Content-Type of an answer",
                    "application/json",
                ),
                (
                    RPC_0_3,
                    "V03-042",
                    "Content-Type of an answer",
                    "application/json",
                ),
            ],
        ),
        reply(
            |_, r| {
                if r.json.get("result").is_some() {
                    r.status = 500;
                }
            },
            &[
                (RPC, "S-070", "a result came with HTTP 500", "HTTP 200"),
                (
                    RPC_0_3,
                    "V03-042",
                    "a result came with HTTP 500",
                    "HTTP 200",
                ),
            ],
        ),
    ])
    .await;
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_events_in_their_envelope_are_found() {
    const THE_ID: &str = "the id of the request";
    const PLAIN: &[Finding] = &[
        (
            RPC,
            "S-070",
            "a stream is \"text/plain\"",
            "text/event-stream",
        ),
        (
            REST,
            "S-078",
            "a stream is \"text/plain\"",
            "text/event-stream",
        ),
        (
            RPC_0_3,
            "V03-032",
            "a stream is \"text/plain\"",
            "text/event-stream",
        ),
        (
            REST_0_3,
            "V03-032",
            "a stream is \"text/plain\"",
            "text/event-stream",
        ),
    ];
    const JSON: &[Finding] = &[
        (
            RPC,
            "S-070",
            "a stream is \"application/json\"",
            "text/event-stream",
        ),
        (
            REST,
            "S-078",
            "a stream is \"application/json\"",
            "text/event-stream",
        ),
        (
            RPC_0_3,
            "V03-032",
            "a stream is \"application/json\"",
            "text/event-stream",
        ),
        (
            REST_0_3,
            "V03-032",
            "a stream is \"application/json\"",
            "text/event-stream",
        ),
    ];
    must_be_found(vec![
        fault(Fault::StreamIsPlainText, PLAIN),
        fault(Fault::StreamIsJson, JSON),
        event(
            |_, data| data["id"] = json!("another"),
            &[
                (RPC, "S-070", "an event has the id \"another\"", THE_ID),
                (
                    RPC_0_3,
                    "V03-005",
                    "an event has the id \"another\"",
                    THE_ID,
                ),
            ],
        ),
        event(
            |_, data| *data = data["result"].take(),
            &[
                (
                    RPC,
                    "S-070",
                    "an event is no JSON-RPC answer",
                    "jsonrpc, id and result",
                ),
                (
                    RPC_0_3,
                    "V03-005",
                    "an event is none of the four",
                    "every data is a response",
                ),
            ],
        ),
        event(
            |_, data| *data = json!({"jsonrpc": "2.0", "result": data}),
            &[
                (
                    REST,
                    "S-078",
                    "an event is {\"jsonrpc\"",
                    "the object itself",
                ),
                (
                    REST_0_3,
                    "V03-005",
                    "an event is none of the four",
                    "one of the four",
                ),
            ],
        ),
    ])
    .await;
}

/// Something before the agent that does not know a path.
fn missing(reply: &mut Reply, status: u16) {
    reply.status = status;
    reply.json = json!({"detail": "no such path"});
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn methods_and_paths_that_are_missing_are_found() {
    fn calls(what: &str, names: &[&str]) -> bool {
        names.contains(&what)
    }
    must_be_found(vec![
        reply(
            |_, r| {
                if is_rpc(r) {
                    refuse(r, -32601);
                }
            },
            &[
                (RPC, "S-001", "-32601", "the method SendMessage"),
                (RPC_0_3, "V03-002", "-32601", "the method message/send"),
            ],
        ),
        reply(
            |call, r| {
                if calls(&call.what, &["CancelTask", "tasks/cancel"]) {
                    refuse(r, -32601);
                }
            },
            &[
                (
                    RPC,
                    "S-125",
                    "CancelTask is not known",
                    "the method CancelTask",
                ),
                (
                    RPC_0_3,
                    "V03-043",
                    "tasks/cancel is not known",
                    "the method tasks/cancel",
                ),
            ],
        ),
        reply(
            |call, r| {
                if call.what.ends_with(":cancel") {
                    missing(r, 404);
                }
            },
            &[
                (
                    REST,
                    "S-075",
                    "CancelTask is not there",
                    "/tasks/{id}:cancel",
                ),
                (
                    REST_0_3,
                    "V03-045",
                    "tasks/cancel is not there",
                    "/v1/tasks/{id}:cancel",
                ),
            ],
        ),
        reply(
            |call, r| {
                if call.what.starts_with("GET") && call.what.contains("/tasks/task") {
                    missing(r, 405);
                }
            },
            &[
                (
                    REST,
                    "S-075",
                    "GetTask is not there: HTTP 405",
                    "/tasks/{id}",
                ),
                (
                    REST_0_3,
                    "V03-045",
                    "tasks/get is not there: HTTP 405",
                    "/v1/tasks/{id}",
                ),
            ],
        ),
        reply(
            |call, r| {
                if call.what.ends_with("message:send") {
                    missing(r, 404);
                }
            },
            &[
                (REST, "S-001", "HTTP 404", "serve POST /message:send"),
                (
                    REST_0_3,
                    "V03-002",
                    "HTTP 404",
                    "serve POST /v1/message:send",
                ),
            ],
        ),
        reply(
            |_, r: &mut Reply| r.set("content-type", "application/json"),
            &[(
                REST,
                "S-074",
                "the answer is \"application/json\"",
                "application/a2a+json",
            )],
        ),
        fault(
            Fault::IgnoresHistoryLength,
            &[(
                REST,
                "S-076",
                "historyLength=0 in the query",
                "from the query",
            )],
        ),
        reply(
            |_, r| {
                if let Some(Value::Object(error)) = r.json.get_mut("error") {
                    error.remove("details");
                }
            },
            &[(REST, "S-038", "no ErrorInfo", "google.rpc.ErrorInfo")],
        ),
    ])
    .await;
}
