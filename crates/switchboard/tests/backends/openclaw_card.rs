//! What a gateway says of its agent, on our card.

use serde_json::Value;
use switchboard_testkit::openclaw::{Claw, TOKEN};
use switchboard_testkit::{Server, eventually};

use crate::openclaw::front;

async fn card(server: &Server) -> Value {
    server
        .get("/a2a/bot/.well-known/agent-card.json")
        .await
        .body
}

fn skills(card: &Value) -> Vec<String> {
    let skills = card["skills"].as_array().unwrap().iter();
    skills
        .map(|skill| skill["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_card_says_what_the_gateway_says_and_is_kept_fresh() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", refresh: 200ms").await;
    let first = card(&ours).await;
    assert_eq!(first["name"], "Mainy");
    assert_eq!(first["description"], "a bot for tests");
    assert_eq!(first["version"], "2026.9.6");
    assert_eq!(skills(&first), ["weather"]);
    claw.learns("github");
    eventually("a card with the new skill", async || {
        skills(&card(&ours).await) == ["weather", "github"]
    })
    .await;
}

#[tokio::test]
async fn skills_that_are_said_here_come_first_and_are_not_there_twice() {
    let mut claw = Claw::start().await;
    let url = claw.url();
    let yaml = format!(
        "agents: {{bot: {{title: Ours, skills: [{{id: chat, description: Chats}}, {{id: w, name: Weather, description: Ours}}],
        openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}"
    );
    claw.learns("github");
    let ours = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    let shown = card(&ours).await;
    assert_eq!(shown["name"], "Ours");
    assert_eq!(shown["description"], "a bot for tests");
    assert_eq!(skills(&shown), ["chat", "w", "github"]);
    // Without the gateway there is what the file says.
    claw.die().await;
    let alone = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    assert_eq!(skills(&card(&alone).await), ["chat", "w"]);
    // Ours that knew it still does.
    assert_eq!(skills(&card(&ours).await), ["chat", "w", "github"]);
}
