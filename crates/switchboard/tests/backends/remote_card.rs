//! The card is ours, with what the remote agent says of itself where the file says nothing.

use std::time::Duration;

use serde_json::Value;
use switchboard_testkit::{Server, eventually, say, text_of};
use tokio::time::Instant;

use crate::stranger::Stranger;

fn skills(card: &Value) -> Vec<&str> {
    let skills = card["skills"].as_array().unwrap();
    skills
        .iter()
        .map(|skill| skill["id"].as_str().unwrap())
        .collect()
}

async fn card(server: &Server, agent: &str) -> Value {
    let path = format!("/a2a/{agent}/.well-known/agent-card.json");
    server.get(&path).await.body
}

#[tokio::test]
async fn the_card_has_the_remote_skills_and_follows_them_and_what_changed_is_logged() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents:\n  plain: {{a2a: {{url: '{0}', refresh: 100ms}}}}\n  \
         named: {{title: Ours, skills: [{{id: own, description: Own}}], a2a: {{url: '{0}'}}}}\n",
        stranger.base
    );
    let ours = Server::serve(&yaml).await;
    let plain = card(&ours, "plain").await;
    assert_eq!(plain["name"], "Stranger");
    assert_eq!(plain["description"], "Somebody else's");
    assert_eq!(plain["version"], "7");
    assert_eq!(plain["defaultInputModes"][1], "image/png");
    assert_eq!(skills(&plain), ["fly"]);
    // Where to call it, what it can do with tasks and whom it asks is ours.
    assert!(
        plain["url"].as_str().unwrap().starts_with(&ours.base),
        "{plain}"
    );
    assert_eq!(plain["capabilities"]["streaming"], true);
    assert!(plain["securitySchemes"].is_null(), "{plain}");
    let named = card(&ours, "named").await;
    assert_eq!(named["name"], "Ours");
    assert_eq!(skills(&named), ["own"]);

    stranger.learns("swim");
    eventually("a card with the new skill", async || {
        skills(&card(&ours, "plain").await) == ["fly", "swim"]
    })
    .await;
    // A thread of its own writes the log.
    eventually("a log line about the new skill", async || {
        ours.logged().contains(r#"skill \"swim\" is new"#)
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_is_away_holds_up_nothing_and_its_tasks_say_so() {
    // Nobody listens there any more.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let yaml = format!(
        "agents: {{away: {{description: Here, timeouts: {{upstream: 0s}}, a2a: {{url: 'http://{address}'}}}}}}"
    );
    let begun = Instant::now();
    let ours = Server::serve(&yaml).await;
    assert!(begun.elapsed() < Duration::from_secs(15));
    let card = card(&ours, "away").await;
    assert_eq!(card["description"], "Here");
    assert_eq!(skills(&card), ["away"]);
    let failed = ours.result("away", "message/send", say("x")).await;
    assert_eq!(failed["status"]["state"], "failed");
    let text = text_of(&failed["status"]["message"]);
    let why = format!(
        "upstream http://{address}/ is unreachable: Connection refused (os error 111); gave up after 1 attempt"
    );
    assert!(text.starts_with(&why), "{text}");
}
