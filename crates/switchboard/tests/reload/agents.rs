//! Agents that come and go, and what is said of them.

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say};

use crate::world::{asked, begin, one, record, said, save, until_logged, until_says};

async fn names(server: &Server) -> Vec<String> {
    let told = server.get("/agents").await;
    let agents = told.body["agents"].as_array().cloned().unwrap_or_default();
    let name = |agent: &Value| agent["name"].as_str().unwrap_or_default().to_owned();
    agents.iter().map(name).collect()
}

#[tokio::test]
async fn agents_come_and_go_with_their_cards() {
    let server = Server::serve(&one("a", "first")).await;
    let card = async |agent: &str| {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        server.get(&path).await.status
    };
    assert_eq!((card("a").await, card("b").await), (200, 404));
    let both = "
default_agent: b
agents:
  a: { script: [{ complete: first }] }
  b: { script: [{ complete: second }] }
";
    save(&server, both);
    until_says(&server, "b", "second").await;
    assert_eq!((card("a").await, card("b").await), (200, 200));
    assert_eq!(names(&server).await, ["a", "b"]);
    let told = record(&server, "config reloaded");
    // The first one is not the default any more: its card says so.
    assert_eq!(
        (&told["added"], &told["changed"]),
        (&json!("b"), &json!("a"))
    );
    let root = server.get("/.well-known/agent-card.json").await;
    assert!(root.body.to_string().contains("/a2a/b"), "{}", root.body);

    let task = begin(&server, "a").await;
    save(&server, &one("b", "second"));
    eventually("a is gone", async || card("a").await == 404).await;
    assert_eq!(names(&server).await, ["b"]);
    let error = server.error("a", "message/send", say("hello")).await;
    let never = server.error("never", "message/send", say("hello")).await;
    assert_eq!(error["code"], never["code"]);
    let error = server.error("a", "tasks/get", json!({"id": task})).await;
    let never = server
        .error("never", "tasks/get", json!({"id": task}))
        .await;
    assert_eq!(error["code"], never["code"]);
    assert_eq!(asked(&server, "b").await, "second");

    save(&server, both);
    eventually("a is back", async || card("a").await == 200).await;
    let task = server.result("a", "tasks/get", json!({"id": task})).await;
    assert_eq!(task["status"]["state"], "completed");
}

#[tokio::test]
async fn what_an_agent_that_goes_works_on_comes_to_its_end() {
    let server = Server::serve(
        "agents: { a: { script: [{ say: begun }, { wait: 3s }, { complete: done }] }, b: { script: [{ complete: b }] } }",
    )
    .await;
    let stream = server.stream("a", "message/stream", say("go")).await;
    save(&server, &one("b", "b"));
    until_logged(&server, "config reloaded", 1).await;
    assert_eq!(names(&server).await, ["b"]);
    let events = stream.results().await;
    let last = events.last().unwrap();
    assert_eq!(last["status"]["state"], "completed", "{last}");
}

#[tokio::test]
async fn a_card_says_what_the_file_says_now() {
    let agent = |version: &str, skill: &str| {
        format!(
            "agents: {{ a: {{ version: '{version}', skills: [{{ id: {skill}, description: d }}], script: [{{ complete: x }}] }}, b: {{ script: [{{ complete: x }}] }} }}"
        )
    };
    let server = Server::serve(&agent("1.0.0", "paint")).await;
    let card = async |agent: &str| {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        server.get(&path).await
    };
    let (first, other) = (card("a").await, card("b").await);
    save(&server, &agent("2.0.0", "draw"));
    eventually("the new version", async || {
        card("a").await.body["version"] == "2.0.0"
    })
    .await;
    let second = card("a").await;
    assert_eq!(second.body["skills"][0]["id"], "draw");
    assert_ne!(first.headers["etag"], second.headers["etag"]);
    // Who has the old one is not told that it is good.
    let path = server.url("/a2a/a/.well-known/agent-card.json");
    let known = server
        .http
        .get(path)
        .header("If-None-Match", &first.headers["etag"]);
    assert_eq!(known.send().await.unwrap().status(), 200);
    assert_eq!(
        card("b").await.headers["last-modified"],
        other.headers["last-modified"]
    );
}

#[tokio::test]
async fn another_agent_elsewhere_brings_its_own_card() {
    let upstream = Server::serve(
        "
agents:
  one: { skills: [{ id: first, description: d }], script: [{ complete: one }] }
  two: { skills: [{ id: second, description: d }], script: [{ complete: two }] }
  slow: { script: [{ say: begun }, { wait: 3s }, { complete: 'slow, but done' }] }
",
    )
    .await;
    let front = |name: &str| {
        format!(
            "agents: {{ a: {{ a2a: {{ url: '{}/a2a/{name}' }} }} }}",
            upstream.base
        )
    };
    let server = Server::serve(&front("one")).await;
    assert_eq!(asked(&server, "a").await, "one");
    save(&server, &front("slow"));
    until_logged(&server, "config reloaded", 1).await;
    let slow = begin(&server, "a").await;
    server.until("a", &slow, &["working"]).await;
    save(&server, &front("two"));
    until_logged(&server, "config reloaded", 2).await;
    assert_eq!(asked(&server, "a").await, "two");
    // What was begun with the other one is ended with it.
    let slow = server.until("a", &slow, &["completed"]).await;
    assert_eq!(said(&slow), "slow, but done");
    let card = server.get("/a2a/a/.well-known/agent-card.json").await;
    assert_eq!(card.body["skills"][0]["id"], "second", "{}", card.body);
    // Also of one that cannot be reached.
    save(
        &server,
        "agents: { a: { title: Away, a2a: { url: 'http://127.0.0.1:9/a2a/x' } } }",
    );
    eventually("the name", async || {
        let card = server.get("/a2a/a/.well-known/agent-card.json").await;
        card.body["name"] == "Away"
    })
    .await;
}
