//! Streams, HTTP+JSON, gRPC, webhooks, cards, 0.3, and what takes more than one answer to see.

use serde_json::json;
use switchboard_testkit::Server;

use super::{AGENT, answer, asked, error, must_fail, remove, renumber, task};
use crate::conformance;
use crate::proxy::{Proxy, Reply, Spoil};

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
        answer("S-002", "begins with Task", |_, r| {
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
async fn spoiled_grpc_is_found() {
    let cases = [
        answer("S-005", "the stream broke", |_, r| {
            r.headers.remove("grpc-status");
        }),
        answer("S-037", "TASK_NOT_FOUND has 9, expected 5", |_, r| {
            if r.headers.get("grpc-status").is_some_and(|code| code == "5") {
                r.headers
                    .insert("grpc-status", "9".parse().expect("a code"));
            }
        }),
        answer("S-039", "no ErrorInfo", |_, r| {
            r.headers.remove("grpc-status-details-bin");
        }),
        asked("S-072", "ListTasks is not implemented", |ask| {
            ask.path = ask.path.replace("ListTasks", "NoSuchTasks");
        }),
        asked("S-073", "taken instead of refused", |ask| {
            ask.headers.remove("a2a-version");
        }),
    ];
    must_fail("GRPC 1.0", &cases).await;
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
    let places: Vec<&str> = failed.iter().map(|(_, place, _)| &**place).collect();
    assert_eq!(places, ["JSONRPC 1.0", "GRPC 1.0"], "{failed:?}");
    assert!(
        failed
            .iter()
            .all(|(_, _, why)| why.contains("read over HTTP+JSON is not the same")),
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
