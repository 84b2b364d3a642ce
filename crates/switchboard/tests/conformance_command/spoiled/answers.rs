//! Answers, requests and lists.

use serde_json::{Value, json};

use super::{answer, asked, error, listed, must_fail, refuse, remove, renumber, task};
use crate::proxy::Ask;

#[tokio::test]
async fn spoiled_answers_are_found() {
    let cases = [
        answer("S-001", "neither task nor message", |ask, r| {
            if ask.what == "SendMessage" {
                r.json["result"] = json!({});
            }
        }),
        answer("S-015", "expected -32001", |_, r| {
            renumber(r, -32001, -32602)
        }),
        answer("S-017", "expected -32004", |_, r| {
            renumber(r, -32004, -32602)
        }),
        answer("S-023", "expected -32004", |_, r| {
            renumber(r, -32004, -32601)
        }),
        answer("S-028", "history member", |_, r| {
            task(r, |task| task["history"] = json!([]))
        }),
        answer("S-029", "no message", |_, r| {
            error(r, |error| error["message"] = json!(" "))
        }),
        answer("S-033", "expected -32602", |_, r| {
            renumber(r, -32602, -32600)
        }),
        answer("S-034", "expected -32001", |_, r| {
            renumber(r, -32001, -32004)
        }),
        answer("S-036", "no message", |_, r| {
            error(r, |error| remove(error, "message"))
        }),
        answer("S-037", "TASK_NOT_FOUND has -32050", |_, r| {
            renumber(r, -32001, -32050)
        }),
        answer("S-040", "no list", |_, r| {
            error(r, |error| error["data"] = json!({}))
        }),
        answer("S-044", "no contextId", |_, r| {
            task(r, |task| remove(task, "contextId"))
        }),
        answer("S-045", "became", |_, r| {
            task(r, |task| task["contextId"] = json!("c"))
        }),
        answer("S-047", "two tasks", |_, r| {
            task(r, |task| task["id"] = json!("one"))
        }),
        answer("S-053", "expected -32005", |_, r| {
            renumber(r, -32005, -32602)
        }),
    ];
    must_fail("JSONRPC 1.0", &cases).await;
}

#[tokio::test]
async fn spoiled_shapes_are_found() {
    let cases = [
        answer("S-058", "shape of 0.3", |ask, r| {
            if ask.what == "SendMessage" {
                r.json["result"]["kind"] = json!("task");
            }
        }),
        answer("S-061", "1.0.7 was refused", |ask, r| {
            if ask
                .headers
                .get("a2a-version")
                .is_some_and(|value| value == "1.0.7")
            {
                renumber(r, -32001, -32009);
            }
        }),
        answer("S-063", "context_id", |_, r| {
            task(r, |task| task["context_id"] = json!("c"))
        }),
        answer("S-064", "is \"completed\"", |ask, r| {
            if ask.what == "SendMessage" {
                task(r, |task| task["status"]["state"] = json!("completed"));
            }
        }),
        answer("S-065", "+00:00", |_, r| {
            task(r, |task| {
                task["status"]["timestamp"] = json!("2026-01-01T00:00:00+00:00")
            });
        }),
        answer("S-066", "parts is missing", |_, r| {
            task(r, |task| {
                task["status"]["message"] = json!({"messageId": "m", "role": "ROLE_AGENT"})
            });
        }),
        answer("S-067", "unknown members was refused", |ask, r| {
            if ask.params.get("notYetInvented").is_some() {
                refuse(r);
            }
        }),
        answer("S-070", "Content-Type", |_, r| {
            r.headers
                .insert("content-type", "text/plain".parse().expect("a header"));
        }),
        answer("S-092", "unheard-of extension was refused", |ask, r| {
            let asked = ask
                .headers
                .get("a2a-extensions")
                .map(|value| value.as_bytes());
            if asked.is_some_and(|value| value.starts_with(b"urn:switchboard")) {
                refuse(r);
            }
        }),
        answer("S-093", "A2A-Extensions", |_, r| {
            r.headers.remove("a2a-extensions");
        }),
        answer("S-106", "made the server fail", |_, r| {
            renumber(r, -32602, -32603);
            renumber(r, -32700, -32603);
        }),
        answer("S-115", "came back as 1", |_, r| {
            if r.json.get("jsonrpc").is_some() {
                r.json["id"] = json!(1);
            }
        }),
        answer("S-116", "both", |_, r| {
            if r.json.get("result").is_some() {
                r.json["error"] = json!({"code": -32603, "message": "x"});
            }
        }),
        answer("S-117", "expected -32601", |_, r| {
            renumber(r, -32601, -32602)
        }),
        answer("S-118", "the number -5", |_, r| renumber(r, -32001, -5)),
    ];
    must_fail("JSONRPC 1.0", &cases).await;
}

#[tokio::test]
async fn requests_that_are_misheard_are_found() {
    fn configured(ask: &mut Ask, name: &str, value: Value) {
        if ask.what == "SendMessage" {
            ask.params["configuration"][name] = value;
        }
    }
    let version = |ask: &mut Ask| {
        ask.headers
            .insert("a2a-version", "1.0".parse().expect("a header"));
    };
    let cases = [
        asked("S-024", "while the task was", |ask| {
            configured(ask, "returnImmediately", json!(true))
        }),
        asked("S-025", "when the task was completed", |ask| {
            configured(ask, "returnImmediately", json!(false))
        }),
        asked("S-027", "with historyLength 1", |ask| {
            remove(&mut ask.params, "historyLength")
        }),
        asked("S-048", "taken", |ask| {
            remove(&mut ask.params["message"], "taskId")
        }),
        asked("S-049", "became", |ask| {
            remove(&mut ask.params["message"], "taskId")
        }),
        asked("S-050", "taken", |ask| {
            remove(&mut ask.params["message"], "contextId")
        }),
        asked("S-052", "taken", |ask| {
            remove(&mut ask.params["message"], "taskId")
        }),
        asked("S-059", "expected -32009", version),
        answer("S-060", "got no answer", |ask, r| {
            if ask.what == "GetTask" {
                r.json = json!({});
            }
        }),
        asked("S-112", "instead of none", |ask| {
            configured(ask, "historyLength", json!(5))
        }),
    ];
    must_fail("JSONRPC 1.0", &cases).await;
}

#[tokio::test]
async fn spoiled_lists_are_found() {
    let cases = [
        answer("S-007", "has artifacts", |_, r| {
            listed(r, |task| task["artifacts"] = json!([]))
        }),
        answer("S-008", "no artifacts", |_, r| {
            listed(r, |task| remove(task, "artifacts"))
        }),
        answer("S-009", "no nextPageToken", |_, r| {
            remove(&mut r.json["result"], "nextPageToken")
        }),
        asked("S-011", "does not go on", |ask| {
            remove(&mut ask.params, "pageToken")
        }),
        answer("S-012", "newer than the one before", |_, r| {
            if let Some(list) = r.json["result"]["tasks"].as_array_mut() {
                list.reverse();
            }
        }),
        asked("S-013", "a page of 1 holds", |ask| {
            remove(&mut ask.params, "pageSize")
        }),
        asked("S-014", "older than", |ask| {
            remove(&mut ask.params, "statusTimestampAfter")
        }),
    ];
    must_fail("JSONRPC 1.0", &cases).await;
}
