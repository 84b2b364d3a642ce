//! One log line when a task ends.

use serde_json::json;
use switchboard_testkit::{Server, answer, begin, message, say};

use crate::{lines, log_a_later_line, some_lines, upstream};

#[tokio::test]
async fn each_end_of_a_task_is_one_line_with_its_reason() {
    let model = upstream("401 Unauthorized", r#"{"error":{"message":"bad key"}}"#).await;
    let server = Server::serve(&format!(
        "agents:
  echo: {{ script: [{{ complete: 'the answer is secret' }}] }}
  inkless: {{ script: [{{ fail: 'no ink' }}] }}
  choosy: {{ script: [{{ reject: 'not today' }}] }}
  breaks: {{ exec: {{ command: [sh, -c, 'echo broken pipe >&2; exit 3'] }} }}
  late: {{ timeouts: {{ task: 200ms }}, script: [{{ wait: 60s }}] }}
  slow: {{ script: [{{ wait: 60s }}] }}
  model: {{ openai: {{ url: '{model}/v1', model: m, key: '${{KIT_SECRET}}' }} }}
"
    ))
    .await;
    for (agent, state, level, reason) in [
        ("echo", "completed", "INFO", None),
        ("inkless", "failed", "WARN", Some("no ink")),
        ("choosy", "rejected", "INFO", Some("not today")),
        ("breaks", "failed", "WARN", Some("broken pipe")),
        ("late", "failed", "WARN", Some("took longer than 0.2 s")),
        (
            "model",
            "failed",
            "WARN",
            Some("rejected the agent's API key"),
        ),
    ] {
        let task = server
            .result(agent, "message/send", say("a secret question"))
            .await;
        assert_eq!(task["status"]["state"], state, "{task}");
        let found = some_lines(&server, &format!("task {state}"), 1).await;
        let found: Vec<_> = found
            .into_iter()
            .filter(|line| line["agent"] == agent)
            .collect();
        let [line] = &found[..] else {
            panic!("{agent}: {found:?}");
        };
        assert_eq!(line["task"], task["id"]);
        assert_eq!(line["context"], task["contextId"]);
        assert_eq!(line["caller"], "anonymous");
        assert_eq!(line["state"], state);
        assert_eq!(line["level"], level);
        assert_eq!(line["target"], "switchboard::task");
        assert!(line["duration_ms"].is_u64(), "{line}");
        match reason {
            None => assert!(line.get("reason").is_none(), "{line}"),
            Some(part) => {
                let reason = line["reason"].as_str().expect("a reason");
                assert!(reason.contains(part), "{line}");
                let told = task["status"]["message"]["parts"][0]["text"].as_str();
                assert_eq!(Some(reason), told, "the caller is told the same");
            }
        }
    }
    let task = server.result("slow", "message/send", begin("go")).await;
    server
        .result("slow", "tasks/cancel", json!({"id": task["id"]}))
        .await;
    let canceled = some_lines(&server, "task canceled", 1).await;
    assert_eq!(canceled[0]["task"], task["id"]);
    let logged = server.logged();
    assert!(!logged.contains("secret"), "{logged}");
}

#[tokio::test]
async fn the_line_names_the_trace_and_how_long_the_task_took() {
    let server =
        Server::serve("agents: { a: { script: [{ wait: 300ms }, { fail: 'no' }] } }").await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("go")});
    let request = server.http.post(server.url("/a2a/a")).json(&call);
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    answer(request.header("traceparent", parent)).await;
    let line = &some_lines(&server, "task failed", 1).await[0];
    assert_eq!(line["trace_id"], trace);
    let took = line["duration_ms"].as_u64().expect("a number");
    assert!((250..20_000).contains(&took), "{line}");
}

#[tokio::test]
async fn a_task_that_a_restart_fails_has_its_line_too() {
    let yaml = "agents: { a: { exec: { command: [sleep, '60'] } } }";
    let mut server = Server::serve(yaml).await;
    let task = server.result("a", "message/send", begin("go")).await;
    server.until("a", &task["id"], &["working"]).await;
    server.kill().await;
    server.restart().await;
    let line = &some_lines(&server, "task failed", 1).await[0];
    assert_eq!(line["task"], task["id"]);
    assert!(
        line["reason"].as_str().is_some_and(|r| !r.is_empty()),
        "{line}"
    );
}

#[tokio::test]
async fn a_flood_of_completed_tasks_is_summed_up_unless_the_level_is_debug() {
    let yaml = "log: { level: LEVEL }\nagents: { echo: { script: [{ complete: 'x' }] } }";
    for (level, all) in [("info", false), ("'info,switchboard::task=debug'", true)] {
        let server = Server::serve(&yaml.replace("LEVEL", level)).await;
        let sends = (0..1500).map(|_| {
            let params = json!({"message": message("go")});
            let server = &server;
            async move { server.result("echo", "message/send", params).await }
        });
        futures_util::future::join_all(sends).await;
        if all {
            let written = some_lines(&server, "task completed", 1500).await;
            assert_eq!(written.len(), 1500);
            continue;
        }
        // What was left out is summed up with the next line that is written, in another second.
        let mut sent = 1500;
        let mut suppressed = 0;
        while suppressed == 0 || lines(&server, "task completed").len() + suppressed < sent {
            assert!(sent < 3000, "{suppressed} lines suppressed");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            let params = json!({"message": message("go")});
            server.result("echo", "message/send", params).await;
            sent += 1;
            let summed = lines(&server, "task log lines suppressed");
            let counts = summed.iter().map(|line| line["suppressed"].as_u64());
            let count: u64 = counts.map(|count| count.expect("a number")).sum();
            suppressed = usize::try_from(count).expect("a small number");
        }
        let written = lines(&server, "task completed").len();
        assert_eq!(written + suppressed, sent);
        assert!(suppressed > 500, "{suppressed} of {sent}");
    }
}

#[tokio::test]
async fn a_level_above_leaves_the_lines_out() {
    // The server says where it listens in a line of its own.
    let level = "'error,switchboard_gateway=info'";
    let yaml =
        format!("log: {{ level: {level} }}\nagents: {{ a: {{ script: [{{ fail: 'no' }}] }} }}");
    let server = Server::serve(&yaml).await;
    server.result("a", "message/send", say("go")).await;
    log_a_later_line(&server).await;
    assert!(lines(&server, "task failed").is_empty());
}
