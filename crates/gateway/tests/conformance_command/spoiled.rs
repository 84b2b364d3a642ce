//! One thing is spoiled at a time, and the check that is for it must fail.

use serde_json::{Value, json};

use crate::conformance;
use crate::proxy::{Ask, Proxy, Reply, Spoil};
use crate::support::Server;

const AGENT: &str = r#"
push:
  allow: [127.0.0.1]
agents:
  all:
    description: Does what the checklist asks for
    reply: message
    extensions:
      - uri: urn:example:known
    script:
      - choose:
          - when: { text: '^brief' }
            do:
              - reply: Just this
          - when: { turn: 1, text: '^long' }
            do:
              - repeat:
                  times: 5
                  do:
                    - wait: 200ms
                    - say: "{{n}} of 5"
          - when: { turn: 1, text: '^ask' }
            do:
              - ask: What else?
      - chunk: { name: answer, text: "You said " }
      - chunk: { name: answer, text: "{{text}}", last: true }
      - complete: Done
"#;

/// What is spoiled, and the rule that is broken by it.
struct Case {
    id: &'static str,
    /// A part of what must be said.
    why: &'static str,
    spoil: Spoil,
}

/// An answer is spoiled.
fn answer(id: &'static str, why: &'static str, spoil: fn(&Ask, &mut Reply)) -> Case {
    let spoil = Spoil::Reply(spoil);
    Case { id, why, spoil }
}

/// A request is spoiled, so that the server seems to have misheard it.
fn asked(id: &'static str, why: &'static str, spoil: fn(&mut Ask)) -> Case {
    let spoil = Spoil::Ask(spoil);
    Case { id, why, spoil }
}

/// Runs each case against one server. The interface is one of the four.
async fn must_fail(interface: &str, cases: &[Case]) {
    let server = Server::serve(AGENT).await;
    let mut wrong = Vec::new();
    for case in cases {
        let proxy = Proxy::start(&server.base, interface, case.spoil).await;
        let args = [
            "-a",
            &proxy.base,
            "-o",
            "json",
            "--only",
            case.id,
            "--timeout",
            "4s",
            "--long-message",
            "long",
            "--ask-message",
            "ask",
        ];
        let ran = conformance(&args).await;
        let failed = ran.with("fail");
        let found = failed
            .iter()
            .find(|(id, place, _)| id == case.id && place == interface);
        match found {
            Some((_, _, why)) if why.contains(case.why) => {}
            Some((_, _, why)) => wrong.push(format!("{}: {why}", case.id)),
            None => {
                let others = ["pass", "not seen", "not offered"].map(|verdict| ran.with(verdict));
                wrong.push(format!("{} does not fail: {others:?} {}", case.id, ran.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes the task in a result, however wrapped.
fn task(reply: &mut Reply, change: impl Fn(&mut Value)) {
    for place in ["/result/task", "/result", "/task", ""] {
        if let Some(task) = reply
            .json
            .pointer_mut(place)
            .filter(|task| task.get("status").is_some())
        {
            return change(task);
        }
    }
}

/// Changes the error in an answer.
fn error(reply: &mut Reply, change: impl Fn(&mut Value)) {
    if let Some(error) = reply.json.get_mut("error") {
        change(error);
    }
}

fn remove(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
}

/// Another number for an error.
fn renumber(reply: &mut Reply, from: i64, to: i64) {
    if reply.json["error"]["code"] == from {
        reply.json["error"]["code"] = json!(to);
    }
}

/// Refuses what was taken.
fn refuse(reply: &mut Reply) {
    remove(&mut reply.json, "result");
    reply.json["error"] = json!({"code": -32602, "message": "no"});
}

/// Changes every task of a list.
fn listed(reply: &mut Reply, change: impl Fn(&mut Value)) {
    for place in ["/result/tasks", "/tasks"] {
        let list = reply.json.pointer_mut(place).and_then(Value::as_array_mut);
        list.into_iter().flatten().for_each(&change);
    }
}

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
        asked("S-027", "negative", |ask| {
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
        asked("S-060", "without A2A-Version", version),
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

#[tokio::test]
async fn spoiled_streams_are_found() {
    /// Changes the events of a stream; the proxy sends them all at once anyway.
    fn events(reply: &mut Reply, change: impl Fn(&mut Vec<String>)) {
        if reply.text.contains("data: ") {
            let mut events: Vec<String> = reply
                .text
                .split_inclusive("\n\n")
                .map(str::to_owned)
                .collect();
            events.retain(|event| event.contains("data: "));
            change(&mut events);
            reply.text = events.concat();
        }
    }
    let cases = [
        answer("S-002", "begins with a Task", |_, r| {
            events(r, |all| drop(all.remove(0)))
        }),
        answer("S-004", "is a Task", |_, r| {
            events(r, |all| all.insert(1, all[0].clone()))
        }),
        answer("S-005", "follow the terminal state", |_, r| {
            events(r, |all| all.push(all[1].clone()))
        }),
        answer("S-006", "came together", |_, _| {}),
        answer("S-016", "came first", |ask, r| {
            if ask.what == "SubscribeToTask" {
                events(r, |all| drop(all.remove(0)));
            }
        }),
        answer("S-026", "without returnImmediately", |ask, r| {
            if ask.params["configuration"]["returnImmediately"] == true {
                events(r, |all| all.truncate(1));
            }
        }),
        answer("S-055", "was streamed as", |_, r| {
            events(r, |all| {
                let chunks = all
                    .iter()
                    .position(|event| event.contains("artifactUpdate"))
                    .expect("a chunk");
                all.swap(chunks, chunks + 1);
            });
        }),
    ];
    must_fail("JSONRPC 1.0", &cases).await;
}

#[tokio::test]
async fn spoiled_rest_is_found() {
    let cases = [
        answer("S-038", "no ErrorInfo", |_, r| {
            error(r, |error| remove(error, "details"))
        }),
        answer("S-074", "the answer is", |_, r| {
            r.headers.insert(
                "content-type",
                "application/json".parse().expect("a header"),
            );
        }),
        asked("S-075", "is not there", |ask| {
            ask.path = ask.path.replace("/pushNotificationConfigs", "/hooks")
        }),
        asked("S-076", "was not heard", |ask| {
            ask.path = ask.path.replace("pageSize=1", "")
        }),
        answer("S-078", "an event is", |_, r| {
            r.text = r.text.replace("data: {", "data: {\"jsonrpc\":\"2.0\",");
        }),
    ];
    must_fail("HTTP+JSON 1.0", &cases).await;
}

#[tokio::test]
async fn bindings_that_differ_are_found() {
    let server = Server::serve(AGENT).await;
    let spoil = Spoil::Reply(|ask, r| {
        if ask.what.starts_with("/a2a/all/tasks/") {
            task(r, |task| {
                task["status"]["state"] = json!("TASK_STATE_FAILED")
            });
        }
    });
    let proxy = Proxy::start(&server.base, "card", spoil).await;
    let ran = conformance(&["-a", &proxy.base, "-o", "json", "--only", "S-068"]).await;
    let failed = ran.with("fail");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(
        failed[0].2.contains("read over HTTP+JSON is not the same"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_message_that_is_not_alone_is_found() {
    let server = Server::serve(AGENT).await;
    let spoil = Spoil::Reply(|_, r| r.text = r.text.repeat(2));
    let proxy = Proxy::start(&server.base, "JSONRPC 1.0", spoil).await;
    let args = [
        "-a",
        &proxy.base,
        "-o",
        "json",
        "--only",
        "S-003",
        "--message",
        "brief",
    ];
    let ran = conformance(&args).await;
    let failed = ran.with("fail");
    assert!(
        failed.iter().any(|(_, _, why)| why.contains("2 items")),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn a_server_that_asks_for_credentials_gets_them() {
    let server = Server::serve(AGENT).await;
    let guard = Spoil::Reply(|ask, r| {
        if r.json.get("supportedInterfaces").is_some() {
            r.json["securitySchemes"] =
                json!({"token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
            r.json["securityRequirements"] = json!([{"schemes": {"token": {"list": []}}}]);
        } else if ask
            .headers
            .get("authorization")
            .is_none_or(|value| value != "Bearer right")
        {
            r.status = hyper::StatusCode::UNAUTHORIZED;
            r.headers
                .insert("www-authenticate", "Bearer".parse().expect("a header"));
            r.json = json!({});
        }
    });
    let proxy = Proxy::start(&server.base, "JSONRPC 1.0", guard).await;
    let mut args = vec![
        "-a",
        &proxy.base,
        "-o",
        "json",
        "--only",
        "S-001,S-030,S-052,S-096",
    ];
    let ran = conformance(&args).await;
    assert_eq!(ran.ids("fail"), ["S-001"], "{}", ran.out);
    args.extend_from_slice(&["--bearer", "right"]);
    let ran = conformance(&args).await;
    assert_eq!(
        ran.ids("pass"),
        ["S-001", "S-030", "S-052", "S-096"],
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn spoiled_webhooks_are_found() {
    let cases = [
        asked("S-018", "was not called", |ask| {
            if ask.what.starts_with("Create") {
                ask.params["url"] = json!("http://127.0.0.1:9/nobody");
            }
        }),
        answer("S-020", "not the webhook", |ask, r| {
            if ask.what.starts_with("Get") && r.json["result"].get("url").is_some() {
                r.json["result"]["url"] = json!("http://elsewhere");
            }
        }),
        answer("S-021", "not listed", |ask, r| {
            if ask.what.starts_with("List") {
                r.json["result"]["configs"] = json!([]);
            }
        }),
        asked("S-022", "taken", |ask| {
            if ask.what.starts_with("Delete") {
                ask.params["id"] = json!("nobody");
            }
        }),
        asked("S-080", "no Authorization", |ask| {
            remove(
                &mut ask.params["configuration"]["taskPushNotificationConfig"],
                "authentication",
            );
        }),
        asked("S-081", "nothing was delivered", |ask| {
            remove(&mut ask.params, "configuration")
        }),
        asked("S-113", "nothing was delivered", |ask| {
            remove(&mut ask.params, "configuration")
        }),
    ];
    must_fail("JSONRPC 1.0", &cases).await;
}

#[tokio::test]
async fn a_spoiled_card_is_found() {
    let cases = [
        answer("S-085", "skills is missing", |_, r| {
            remove(&mut r.json, "skills")
        }),
        answer("S-086", "protocolVersion is missing", |_, r| {
            if r.json.get("supportedInterfaces").is_some() {
                remove(&mut r.json["supportedInterfaces"][0], "protocolVersion");
            }
        }),
        answer("S-088", "no alg", |_, r| {
            if r.json.get("supportedInterfaces").is_some() {
                r.json["signatures"] = json!([{"protected": "e30", "signature": "x"}]);
            }
        }),
        answer("S-089", "no Cache-Control", |_, r| {
            r.headers.remove("cache-control");
        }),
        answer("V03-001", "url is missing", |_, r| {
            remove(&mut r.json, "supportedInterfaces");
            remove(&mut r.json, "url");
        }),
    ];
    must_fail("card", &cases).await;
}

#[tokio::test]
async fn what_is_spoiled_in_0_3_is_found() {
    let cases = [
        answer("V03-002", "neither", |_, r| {
            remove(&mut r.json["result"], "kind")
        }),
        answer("V03-003", "contextId is missing", |_, r| {
            remove(&mut r.json["result"], "contextId")
        }),
        answer("V03-004", "no state", |_, r| {
            task(r, |task| {
                task["status"]["state"] = json!("TASK_STATE_COMPLETED")
            });
        }),
        answer("V03-006", "not final", |_, r| {
            r.text = r.text.replace("\"final\":true", "\"final\":false")
        }),
        answer("V03-008", "expected -32601", |_, r| {
            renumber(r, -32601, -32600)
        }),
        answer("V03-009", "came back as 1", |_, r| r.json["id"] = json!(1)),
        answer("V03-014", "expected -32001", |_, r| {
            renumber(r, -32001, -32602)
        }),
        answer("V03-015", "expected -32002", |_, r| {
            renumber(r, -32002, -32602)
        }),
        asked("V03-017", "taken", |ask| {
            remove(&mut ask.params["message"], "taskId")
        }),
        asked("V03-024", "the token was not sent", |ask| {
            remove(
                &mut ask.params["configuration"]["pushNotificationConfig"],
                "token",
            );
        }),
    ];
    must_fail("JSONRPC 0.3", &cases).await;
}
