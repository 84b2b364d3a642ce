//! What `/metrics` says beyond requests and tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use switchboard_testkit::{Server, admin, answer, eventually, say};

use crate::upstream;

/// All samples, by name and labels.
async fn samples(server: &Server) -> BTreeMap<String, f64> {
    let text = exposition(server).await;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    samples.collect()
}

pub(crate) async fn exposition(server: &Server) -> String {
    let answer = answer(server.http.get(format!("{}/metrics", admin(server)))).await;
    assert_eq!(answer.status, 200);
    answer.body.as_str().expect("text").to_owned()
}

/// Waits until a sample has that value.
async fn until_is(server: &Server, name: &str, value: f64) {
    eventually(&format!("{name} is {value}"), async || {
        let last = samples(server).await.get(name).copied();
        (last == Some(value))
            .then_some(())
            .ok_or(format!("{last:?}"))
    })
    .await;
}

#[tokio::test]
async fn refused_callers_connections_commits_and_disk_are_measured() {
    let server = Server::serve(
        "
auth: { methods: { keys: { api_key: {} } } }
agents:
  echo: { auth: none, limits: { rate: { requests: 2, per: 60s } }, script: [{ complete: 'x' }] }
  locked: { script: [{ complete: 'x' }] }
",
    )
    .await;
    for _ in 0..4 {
        server.rpc("echo", "message/send", say("go")).await;
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("go")});
    for _ in 0..3 {
        let request = server.http.post(server.url("/a2a/locked")).json(&call);
        let refused = answer(request.bearer_auth("sbk_wrong_key")).await;
        assert_eq!(refused.status, 401);
    }
    let found = samples(&server).await;
    assert_eq!(
        found[r#"switchboard_rate_limited_total{agent="echo"}"#],
        2.0
    );
    assert_eq!(found["switchboard_authentication_failures_total"], 3.0);
    assert!(found["switchboard_open_connections"] >= 1.0);
    assert!(found["switchboard_commit_duration_seconds_count"] >= 2.0);
    assert_eq!(found["switchboard_store_writable"], 1.0);
    let (free, all) = (
        "switchboard_data_dir_free_bytes",
        "switchboard_data_dir_capacity_bytes",
    );
    assert!(found[free] > 0.0 && found[free] <= found[all]);
    for database in ["tasks", "journal", "access"] {
        let name = format!("switchboard_database_size_bytes{{database=\"{database}\"}}");
        assert!(found[&name] > 0.0, "{name}");
    }
}

#[tokio::test]
async fn hot_reloads_are_counted_by_result() {
    let good = "agents:
  a: { script: [{ complete: 'x' }] }
  model: { openai: { url: 'http://127.0.0.1:9/v1', model: m, key_file: key.txt } }";
    // The first look at the file, and that at a file it names, is no reload.
    let server = Server::serve_with(good, &[("key.txt", b"k".to_vec())], &[]).await;
    let accepted = r#"switchboard_config_reloads_total{result="accepted"}"#;
    // Longer than a server takes to look at all of them; there is no sign of that.
    for _ in 0..15 {
        assert_eq!(samples(&server).await[accepted], 0.0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let found = samples(&server).await;
    assert_eq!(found["switchboard_config_last_reload_successful"], 1.0);
    let began = found["switchboard_config_last_reload_success_timestamp_seconds"];
    assert!(began > 1.7e9, "{began}");
    std::fs::write(
        server.configuration(),
        "agents: { a: { script: nonsense } }",
    )
    .expect("a file");
    until_is(&server, "switchboard_config_last_reload_successful", 0.0).await;
    let found = samples(&server).await;
    assert_eq!(
        found[r#"switchboard_config_reloads_total{result="rejected"}"#],
        1.0
    );
    let other = format!("{good}\n").replace("'x'", "'y'");
    std::fs::write(server.configuration(), other).expect("a file");
    until_is(&server, "switchboard_config_last_reload_successful", 1.0).await;
    let found = samples(&server).await;
    assert_eq!(found[accepted], 1.0);
    assert!(found["switchboard_config_last_reload_success_timestamp_seconds"] >= began);
}

#[tokio::test]
async fn the_state_of_upstreams_is_told_and_a_scrape_logs_nothing() {
    let model = upstream("200 OK", r#"{"data":[]}"#).await;
    // Nobody listens at a port that was given back.
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let server = Server::serve(&format!(
        "
agents:
  up: {{ openai: {{ url: '{model}/v1', model: m, key: '${{KIT_SECRET}}' }} }}
  down: {{ openai: {{ url: 'http://{gone}/v1', model: m, key: '${{KIT_SECRET}}' }} }}
  script: {{ script: [{{ complete: 'x' }}] }}
"
    ))
    .await;
    let before = server.logged();
    let found = samples(&server).await;
    assert_eq!(
        found[r#"switchboard_upstream_up{agent="up"}"#], 1.0,
        "{found:?}"
    );
    assert_eq!(found[r#"switchboard_upstream_up{agent="down"}"#], 0.0);
    assert!(!found.contains_key(r#"switchboard_upstream_up{agent="script"}"#));
    assert_eq!(server.logged(), before);
}
