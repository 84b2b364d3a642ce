//! What the router of seed 000 sends to the assistants below it, and what it reads back: as it is written there, where
//! the server takes that, and as the server takes it, where not (`docs/langgraph.md`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use serde_json::json;
use switchboard_testkit::{Server, eventually, look, say, text_of};
use tokio::task::JoinSet;

use crate::langgraph::{pair, pair_with, within};
use crate::langgraph_server::LangGraph;
use crate::stranger::Stranger;

#[tokio::test]
async fn s0_001_a_call_is_json_rpc_to_the_assistants_address() {
    let (graph, ours) = pair_with(false, "streaming: false").await;
    let done = ours
        .result("poet", "message/send", say("Your message here"))
        .await;
    let (path, headers, call) = graph.asked().remove(0);
    assert_eq!(
        path,
        format!("/a2a/{}", crate::langgraph_server::id_of("poet")),
        "S0-002"
    );
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["accept"], "application/json, text/event-stream");
    assert_eq!(call["jsonrpc"], "2.0", "S0-004");
    assert_eq!(call["id"], done["id"], "S0-005: the id is that of our task");
    assert_eq!(call["method"], "message/send", "S0-006");
    let message = &call["params"]["message"];
    assert_eq!(message["role"], "user", "S0-008");
    assert_eq!(
        message["parts"],
        json!([{"kind": "text", "text": "Your message here"}]),
        "S0-009, S0-010"
    );
    // S0-011: beside the message the server does not see it, so it stands within.
    let id = done["id"].as_str().unwrap();
    assert_eq!(message["messageId"], format!("{id}-1"));
    for old in ["input", "config", "stream_mode"] {
        assert!(call.get(old).is_none(), "S0-020");
    }
    assert_eq!(text_of(&done["artifacts"][0]), "echo: Your message here");
}

#[tokio::test]
async fn s0_018_tasks_share_no_thread_unless_they_share_a_conversation() {
    let (graph, ours) = pair(false).await;
    for (context, text) in [("a", "one"), ("b", "two"), ("a", "three")] {
        let send = within(&json!(context), text);
        ours.result("poet", "message/send", send).await;
    }
    let threads = graph.asked().into_iter();
    // S0-013: a thread must be a UUID there.
    let threads: Vec<String> = threads
        .map(|asked| {
            asked.2["params"]["message"]["contextId"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert!(
        threads
            .iter()
            .all(|thread| uuid::Uuid::parse_str(thread).is_ok())
    );
    assert_ne!(threads[0], threads[1]);
    assert_eq!(threads[0], threads[2], "S0-015");
}

#[tokio::test]
async fn s0_031_a_failure_is_told_in_the_servers_words() {
    let (graph, ours) = pair(false).await;
    ours.result("poet", "message/send", say("hello")).await;
    graph.removes("poet");
    let failed = ours.result("poet", "message/send", say("hello")).await;
    let text = text_of(&failed["status"]["message"]);
    let id = crate::langgraph_server::id_of("poet");
    assert_eq!(
        text,
        format!("A2A agent returned error: Assistant '{id}' not found")
    );
    assert!(
        ours.logged().contains("A2A error -32602: Assistant"),
        "S0-043"
    );
}

/// A page is there, and no agent.
async fn page() -> (String, Arc<AtomicU32>, JoinSet<()>) {
    let messages = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&messages);
    let app = Router::new().fallback(async move |request: axum::extract::Request| {
        if request.method() == axum::http::Method::POST {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        "<html>welcome</html>"
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
    (base, messages, serving)
}

#[tokio::test]
async fn s0_055_whether_an_agent_has_a_card_and_speaks_a2a_is_known_before_it_is_used() {
    let stranger = Stranger::start().await;
    let (base, messages, _serving) = page().await;
    let yaml = format!(
        "agents:\n  far: {{a2a: {{url: '{}'}}}}\n  page: {{a2a: {{url: '{base}'}}}}\n",
        stranger.base
    );
    let ours = Server::serve(&yaml).await;
    let health = look(&ours, "/admin/health").await.body;
    let (far, page) = (&health["agents"][0], &health["agents"][1]);
    // S0-056: its card is at /.well-known/agent-card.json, the only place where it has one.
    assert_eq!(far["state"], "up", "{far}");
    assert_eq!(far["detail"], "Stranger shows its card");
    assert_eq!(page["state"], "down", "{page}");
    eventually("a cancel", async || {
        ours.logged()
            .contains("could not read the remote agent card, will retry")
    })
    .await;
    let failed = ours.result("page", "message/send", say("hello")).await;
    assert_eq!(failed["status"]["state"], "failed", "{failed}");
    assert!(!text_of(&failed["status"]["message"]).is_empty());
    assert_eq!(messages.load(Ordering::Relaxed), 0, "nothing was sent");
    assert!(stranger.asked().is_empty());
}

#[tokio::test]
async fn s0_057_a_graph_without_messages_is_told_of_where_the_server_says_so() {
    let graph = LangGraph::start().await;
    graph.adds("silent", "silent");
    let base = &graph.base;
    let yaml = format!("agents: {{quiet: {{langgraph: {{url: '{base}', assistant: silent}}}}}}");
    let ours = Server::serve(&yaml).await;
    eventually("a cancel", async || {
        ours.logged()
            .contains("graph has no `messages` in its state")
    })
    .await;
    // Where it does not say so, it cannot be seen from here; so it is written down.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/langgraph.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("The graph must have `messages` in its state to be talked to."));
}
