//! Changes while many call, and many changes at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use switchboard_testkit::{Server, say};
use tokio::task::JoinSet;

use crate::world::{logged, one, save, until_logged, until_says};

#[tokio::test]
async fn no_request_fails_while_agents_change_under_load() {
    let yaml = |n: usize| {
        format!(
            "agents:\n  a: {{ script: [{{ wait: 20ms }}, {{ complete: 'version {n}' }}] }}\n  b: {{ script: [{{ call: {{ agent: a }} }}, {{ complete: '{{{{call.a.text}}}}' }}] }}\n"
        )
    };
    let server = Arc::new(Server::serve(&yaml(0)).await);
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicUsize::new(0));
    let mut load = JoinSet::new();
    for caller in 0..100 {
        let (server, stop, asked) = (Arc::clone(&server), Arc::clone(&stop), Arc::clone(&asked));
        load.spawn(async move {
            let agent = ["a", "b"][caller % 2];
            while !stop.load(Ordering::Relaxed) {
                let sent = server.rpc(agent, "message/send", say("hello")).await;
                let task = &sent.body["result"];
                assert_eq!(task["status"]["state"], "completed", "{}", sent.body);
                let got = server
                    .rpc(agent, "tasks/get", json!({"id": task["id"]}))
                    .await;
                assert_eq!(got.body["result"]["status"]["state"], "completed");
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for n in 1..=4 {
        let before = asked.load(Ordering::Relaxed);
        save(&server, &yaml(n));
        until_says(&server, "a", &format!("version {n}")).await;
        until_says(&server, "b", &format!("version {n}")).await;
        assert!(asked.load(Ordering::Relaxed) > before, "nobody has called");
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(done) = load.join_next().await {
        done.unwrap();
    }
    assert!(asked.load(Ordering::Relaxed) > 200);
}

#[tokio::test]
async fn many_saves_are_few_changes_and_the_last_one_counts() {
    let server = Server::serve(&one("a", "begin")).await;
    until_says(&server, "a", "begin").await;
    for n in 0..200 {
        // In between there is half of a file, or none.
        std::fs::write(server.configuration(), "agents: { a: { scr").unwrap();
        if n % 3 == 0 {
            std::fs::remove_file(server.configuration()).unwrap();
        }
        save(&server, &one("a", &format!("save {n}")));
        tokio::task::yield_now().await;
    }
    until_says(&server, "a", "save 199").await;
    let reloads = logged(&server, "config reloaded");
    assert!(reloads <= 10, "{reloads} times");
    let refused = logged(&server, "config reload rejected, keeping previous");
    assert!(refused <= 3, "{refused} times");
}

#[tokio::test]
async fn a_hundred_agents_change_at_once() {
    let yaml = |says: &str, from: usize| {
        let agents =
            (from..from + 100).map(|n| format!("  a{n}: {{ script: [{{ complete: {says} }}] }}\n"));
        format!("agents:\n{}", agents.collect::<String>())
    };
    let server = Server::serve(&yaml("old", 0)).await;
    save(&server, &yaml("new", 50));
    until_logged(&server, "config reloaded", 1).await;
    let told = crate::world::record(&server, "config reloaded");
    for kind in ["added", "changed", "removed"] {
        assert_eq!(
            told[kind].as_str().unwrap().split(", ").count(),
            50,
            "{kind}"
        );
    }
    let agents: Value = server.get("/agents").await.body["agents"].clone();
    assert_eq!(agents.as_array().unwrap().len(), 100);
}
