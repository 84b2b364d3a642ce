//! The access log: one line per request.

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, begin, say};

use crate::{lines, log_a_later_line, some_lines};

const AGENTS: &str = "
auth: { methods: { keys: { api_key: {} } } }
agents:
  echo: { auth: none, script: [{ complete: 'a long answer' }] }
  locked: { script: [{ complete: 'x' }] }
  slow: { auth: none, script: [{ say: 'one' }, { wait: 60s }] }
";

fn of(all: &[Value], path: &str) -> Value {
    let found: Vec<_> = all.iter().filter(|line| line["path"] == path).collect();
    assert_eq!(found.len(), 1, "{path}: {all:?}");
    found[0].clone()
}

#[tokio::test]
async fn each_request_is_one_line() {
    let server = Server::serve(&format!("log: {{ access: true }}\n{AGENTS}")).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("a secret")});
    let request = server
        .http
        .post(server.url("/a2a/echo?key=s3cr3t"))
        .json(&call);
    let sent = answer(request.header("traceparent", parent)).await;
    server.get("/livez").await;
    server.get("/a2a/echo/.well-known/agent-card.json").await;
    server.get("/no/such/path").await;
    server.rpc("locked", "message/send", say("go")).await;
    let all = some_lines(&server, "request", 5).await;
    let line = of(&all, "/a2a/echo");
    for (name, value) in [
        ("method", json!("POST")),
        ("agent", json!("echo")),
        ("operation", json!("SendMessage")),
        ("status", json!(200)),
        ("caller", json!("anonymous")),
        ("trace_id", json!("4bf92f3577b34da6a3ce929d0e0e4736")),
        ("remote", json!("127.0.0.1")),
        ("target", json!("switchboard::access")),
    ] {
        assert_eq!(line[name], value, "{line}");
    }
    assert!(line["duration_ms"].is_u64(), "{line}");
    let length: u64 = sent.headers["content-length"]
        .to_str()
        .expect("text")
        .parse()
        .expect("a number");
    assert_eq!(line["bytes"], length, "{line}");
    assert_eq!(of(&all, "/livez")["status"], 200);
    assert_eq!(
        of(&all, "/a2a/echo/.well-known/agent-card.json")["agent"],
        "echo"
    );
    assert_eq!(of(&all, "/no/such/path")["status"], 404);
    let refused = of(&all, "/a2a/locked");
    assert_eq!(
        (&refused["status"], &refused["agent"]),
        (&json!(401), &json!("locked"))
    );
    assert_eq!(refused["error"], "REFUSED");
    assert!(refused.get("caller").is_none(), "{refused}");
    let logged = server.logged();
    assert!(
        !logged.contains("secret") && !logged.contains("s3cr3t"),
        "{logged}"
    );
}

#[tokio::test]
async fn an_error_in_a_json_rpc_answer_is_named_and_a_stream_ends_when_its_reader_leaves() {
    let server = Server::start(&["serve", "-c", "switchboard.yaml", "--access-log"], AGENTS).await;
    server
        .error("echo", "tasks/get", json!({"id": "no-such-task"}))
        .await;
    let line = &some_lines(&server, "request", 1).await[0];
    assert_eq!(
        (&line["status"], &line["error"]),
        (&json!(200), &json!("TASK_NOT_FOUND")),
        "{line}"
    );
    let mut stream = server.stream("slow", "message/stream", say("go")).await;
    stream.next().await.expect("an event");
    assert_eq!(lines(&server, "request").len(), 1, "it goes on");
    drop(stream);
    let line = &some_lines(&server, "request", 2).await[1];
    assert_eq!(
        (&line["operation"], &line["status"]),
        (&json!("SendStreamingMessage"), &json!(200))
    );
    assert!(
        line["bytes"].as_u64().is_some_and(|bytes| bytes > 100),
        "{line}"
    );
}

#[tokio::test]
async fn it_is_off_unless_asked_for_and_on_at_debug() {
    let server = Server::serve(AGENTS).await;
    server.result("echo", "message/send", begin("go")).await;
    some_lines(&server, "task completed", 1).await;
    log_a_later_line(&server).await;
    assert!(lines(&server, "request").is_empty());
    let server = Server::serve(&format!("log: {{ level: debug }}\n{AGENTS}")).await;
    server.result("echo", "message/send", say("a secret")).await;
    some_lines(&server, "request", 1).await;
    assert!(!server.logged().contains("secret"));
}
