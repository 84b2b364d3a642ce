//! Who may call, and how often, changes with the agents.

use serde_json::json;
use switchboard_testkit::{Server, answer, eventually, say};

use crate::world::{record, save, until_logged};

const METHODS: &str = "
auth:
  methods: { staff: { basic: { users: { ann: { password: '${PASSWORD}' } } } } }
  require: [none]
";

fn agent(more: &str) -> String {
    format!("{METHODS}agents: {{ a: {{ {more} script: [{{ complete: hello }}] }} }}\n")
}

/// The status of a call, without a name and with one.
async fn statuses(server: &Server) -> (u16, u16) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hello")});
    let call = || server.http.post(server.url("/a2a/a")).json(&body);
    let ann = call().basic_auth("ann", Some("secret"));
    (answer(call()).await.status, answer(ann).await.status)
}

async fn until_statuses(server: &Server, wanted: (u16, u16)) {
    let what = format!("{wanted:?}");
    eventually(&what, async || statuses(server).await == wanted).await;
}

#[tokio::test]
async fn who_may_call_changes_with_the_file() {
    let variables = [("PASSWORD", "secret")];
    let server = Server::serve_with(&agent(""), &[], &variables).await;
    assert_eq!(statuses(&server).await, (200, 200));
    save(&server, &agent("auth: [staff],"));
    until_statuses(&server, (401, 200)).await;
    let card = server.get("/a2a/a/.well-known/agent-card.json").await;
    assert!(
        card.body["securitySchemes"].get("staff").is_some(),
        "{}",
        card.body
    );
    save(
        &server,
        &agent("auth: [staff], access: { rules: [{ deny: 'true' }] },"),
    );
    eventually("denied", async || {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hello")});
        let call = server.http.post(server.url("/a2a/a")).json(&body);
        let told = answer(call.basic_auth("ann", Some("secret"))).await;
        told.body["error"]["message"]
            .to_string()
            .contains("not allowed")
    })
    .await;
    save(&server, &agent("visible: false, auth: [staff],"));
    eventually("hidden", async || {
        server
            .get("/a2a/a/.well-known/agent-card.json")
            .await
            .status
            == 404
    })
    .await;
    save(&server, &agent(""));
    until_statuses(&server, (200, 200)).await;
}

#[tokio::test]
async fn a_method_that_is_new_lets_nobody_in_before_a_restart() {
    let variables = [("PASSWORD", "secret")];
    let mut server = Server::serve_with(&agent("auth: [staff],"), &[], &variables).await;
    assert_eq!(statuses(&server).await, (401, 200));
    let other = METHODS.replace("staff:", "board:");
    let yaml =
        format!("{other}agents: {{ a: {{ auth: [board], script: [{{ complete: hello }}] }} }}\n");
    save(&server, &yaml);
    until_statuses(&server, (401, 401)).await;
    let told = record(
        &server,
        "authentication method takes effect after a restart",
    );
    assert_eq!(
        (&told["agent"], &told["method"]),
        (&json!("a"), &json!("board"))
    );
    until_logged(&server, "config changes need a restart", 1).await;
    let told = record(&server, "config changes need a restart");
    let keys = told["keys"].as_str().unwrap();
    assert!(keys.contains("auth.methods.board"), "{keys}");
    assert!(!server.logged().contains("secret"));
    server.kill().await;
    server.restart().await;
    assert_eq!(statuses(&server).await, (401, 200));
}

#[tokio::test]
async fn an_agent_that_is_open_now_is_kept_from_pages_of_elsewhere() {
    let variables = [("PASSWORD", "secret")];
    let server = Server::serve_with(&agent("auth: [staff],"), &[], &variables).await;
    // As a page does whose name leads to this machine.
    let by_another_name = async || {
        let card = server.url("/a2a/a/.well-known/agent-card.json");
        let request = server.http.get(card).header("Host", "evil.example");
        answer(request).await.status
    };
    assert_eq!(by_another_name().await, 200);
    save(&server, &agent(""));
    eventually("refused", async || by_another_name().await == 403).await;
    save(&server, &agent("auth: [staff],"));
    eventually("as before", async || by_another_name().await == 200).await;
}

#[tokio::test]
async fn a_rate_counts_from_when_it_is_written() {
    let server = Server::serve_with(&agent(""), &[], &[("PASSWORD", "secret")]).await;
    let rate = async || {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
        let told = server.post("/a2a/a", &body).await;
        let limit = told.headers.get("x-ratelimit-limit");
        (
            limit.map(|limit| limit.to_str().unwrap().to_owned()),
            told.status,
        )
    };
    assert_eq!(rate().await, (None, 200));
    save(
        &server,
        &agent("limits: { rate: { requests: 2, per: 1h } },"),
    );
    eventually("counted", async || rate().await.0.is_some()).await;
    eventually("too often", async || {
        rate().await == (Some("2".into()), 429)
    })
    .await;
    // Whoever has asked too often by the old one need not wait for an hour.
    save(
        &server,
        &agent("limits: { rate: { requests: 1000, per: 1s } },"),
    );
    eventually("more", async || rate().await == (Some("1000".into()), 200)).await;
    save(&server, &agent(""));
    eventually("not counted", async || rate().await == (None, 200)).await;
}
