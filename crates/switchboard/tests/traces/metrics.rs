//! The numbers at `/metrics`.

use std::collections::BTreeMap;

use serde_json::json;
use switchboard_testkit::webhook::Receiver;
use switchboard_testkit::{Server, answer, eventually, message, say};

use crate::{AGENTS, admin};

/// All numbers, by series and labels. Each line must be one, or a comment.
async fn numbers(server: &Server) -> BTreeMap<String, f64> {
    // Without a token: they are for everyone on this machine.
    let answer = answer(server.http.get(format!("{}/metrics", admin(server)))).await;
    assert_eq!(answer.status, 200);
    let media = &answer.headers["content-type"];
    assert_eq!(media, "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.body.as_str().expect("text").to_owned();
    let mut numbers = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a number");
        let value = value.parse().expect("a number");
        assert!(
            numbers.insert(name.to_owned(), value).is_none(),
            "twice: {name}"
        );
    }
    numbers
}

#[tokio::test]
async fn requests_tasks_streams_and_delegations_are_counted_without_ids() {
    let server = Server::serve(AGENTS).await;
    let task = server.result("desk", "message/send", say("go")).await;
    server
        .result("desk", "tasks/get", json!({"id": task["id"]}))
        .await;
    server
        .error("desk", "tasks/get", json!({"id": "no-such-task"}))
        .await;
    server.error("desk", "no/such/method", json!({})).await;
    let sent = server.stream("poet", "message/stream", say("go")).await;
    let events = sent.rest().await.len();
    let found = numbers(&server).await;
    let desk = |operation, status| {
        let labels = format!("agent=\"desk\",operation=\"{operation}\",status=\"{status}\"");
        found.get(&format!("switchboard_requests_total{{{labels}}}"))
    };
    assert_eq!(desk("SendMessage", "OK"), Some(&1.0), "{found:#?}");
    assert_eq!(desk("GetTask", "OK"), Some(&1.0));
    assert_eq!(desk("GetTask", "TASK_NOT_FOUND"), Some(&1.0));
    for (series, number) in [
        (
            r#"switchboard_requests_total{agent="",operation="unknown",status="REFUSED"}"#,
            1.0,
        ),
        (
            r#"a2a_server_operation_duration_seconds_count{agent="desk",operation="GetTask"}"#,
            2.0,
        ),
        (
            r#"switchboard_stream_events_total{agent="poet"}"#,
            events as f64,
        ),
        (r#"switchboard_open_streams{agent="poet"}"#, 0.0),
        (
            r#"switchboard_time_to_first_event_seconds_count{agent="poet"}"#,
            1.0,
        ),
        (
            r#"switchboard_task_transitions_total{agent="poet",state="completed"}"#,
            2.0,
        ),
        (r#"switchboard_tasks{agent="desk",state="working"}"#, 0.0),
        (
            r#"switchboard_delegation_depth_bucket{agent="poet",le="1"}"#,
            1.0,
        ),
        (
            r#"gen_ai_invoke_agent_duration_seconds_count{agent="desk"}"#,
            1.0,
        ),
        (
            r#"switchboard_delegations_refused_total{agent="desk",reason="loop"}"#,
            0.0,
        ),
    ] {
        assert_eq!(found.get(series), Some(&number), "{series} of {found:#?}");
    }
    assert!(found["process_resident_memory_bytes"] > 1e6);
    let id = task["id"].as_str().expect("an id");
    assert!(!found.keys().any(|name| name.contains(id)));
}

#[tokio::test]
async fn tasks_that_are_not_over_are_counted_also_after_a_restart() {
    let mut server = Server::serve("agents: { asks: { script: [{ ask: 'which one?' }] } }").await;
    let waiting = r#"switchboard_tasks{agent="asks",state="input-required"}"#;
    server.result("asks", "message/send", say("go")).await;
    assert_eq!(numbers(&server).await[waiting], 1.0);
    server.kill().await;
    server.restart().await;
    assert_eq!(numbers(&server).await[waiting], 1.0);
}

#[tokio::test]
async fn loops_that_were_refused_and_deliveries_are_counted() {
    let server = Server::serve(&format!(
        "{AGENTS}  round: {{ script: [{{ call: {{ agent: trip }} }}, {{ complete: 'x' }}] }}
  trip: {{ script: [{{ call: {{ agent: round }} }}, {{ complete: 'x' }}] }}\n"
    ))
    .await;
    server.result("round", "message/send", say("go")).await;
    let hook = Receiver::start().await;
    let params = json!({
        "message": message("go"),
        "configuration": {"pushNotificationConfig": {"url": format!("{}/hook", hook.origin)}},
    });
    server.result("poet", "message/send", params).await;
    hook.until("/hook", |got| !got.is_empty()).await;
    let delivered = r#"switchboard_webhook_deliveries_total{outcome="delivered"}"#;
    let found = eventually("a delivery that is over", async || {
        let found = numbers(&server).await;
        let over = found[delivered] > 0.0 && found["switchboard_webhooks_pending"] == 0.0;
        over.then_some(found)
    })
    .await;
    let refused = r#"switchboard_delegations_refused_total{agent="round",reason="loop"}"#;
    assert_eq!(found[refused], 1.0);
}

#[tokio::test]
async fn an_agent_that_is_gone_leaves_no_series_once_its_tasks_are_over() {
    let both =
        "agents: { stays: { script: [{ complete: x }] }, goes: { script: [{ complete: x }] } }";
    let server = Server::serve(both).await;
    for agent in ["stays", "goes"] {
        server.result(agent, "message/send", say("go")).await;
    }
    let told = async |agent: &str| {
        let label = format!("agent=\"{agent}\"");
        numbers(&server).await.keys().any(|n| n.contains(&label))
    };
    assert!(told("goes").await && told("stays").await);
    let one = "agents: { stays: { script: [{ complete: x }] } }";
    std::fs::write(server.configuration(), one).expect("a file");
    eventually("no numbers of the removed agent", async || {
        !told("goes").await
    })
    .await;
    assert!(told("stays").await);
    std::fs::write(server.configuration(), both).expect("a file");
    eventually("numbers of the agent that is back", async || {
        told("goes").await
    })
    .await;
}

#[tokio::test]
async fn agents_that_a_refused_configuration_would_have_brought_leave_no_series() {
    let stays = "stays: { script: [{ complete: x }] }";
    let server = Server::serve(&format!("agents: {{ {stays} }}")).await;
    // What is found has to be kept, and cannot be: its place is taken.
    std::fs::create_dir(server.data().join("found-pool.json")).expect("a directory");
    let pool = "pool: { langgraph: { url: 'http://127.0.0.1:1', discover: true } }";
    let never = "never: { script: [{ complete: x }] }";
    let all = format!("agents: {{ {stays}, {never}, {pool} }}");
    std::fs::write(server.configuration(), all).expect("a file");
    eventually("a refusal", async || {
        server
            .logged()
            .contains("config reload rejected, keeping previous")
    })
    .await;
    assert!(
        server.logged().contains("cannot be kept"),
        "{}",
        server.logged()
    );
    let found = numbers(&server).await;
    let told = |agent: &str| {
        let label = format!("agent=\"{agent}\"");
        found.keys().any(|name| name.contains(&label))
    };
    assert!(told("stays") && !told("never"), "{found:#?}");
}
