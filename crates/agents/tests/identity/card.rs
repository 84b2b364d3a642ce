//! A remote agent's card: whom it is shown to, what has changed on it, and what it tells of the agent behind ours.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::AUTHORIZATION;
use serde_json::json;
use switchboard_agents::identity::Outbound;
use switchboard_agents::remote::{RemoteAgent, Settings};
use switchboard_server::agent::Agent;
use switchboard_server::backend::{HealthState, Subject};
use tokio::time::Instant;

use crate::site::Site;
use crate::world::{exchanged, own};

/// A card of this version, with these skills.
fn card(version: &str, skills: &[&str]) -> String {
    let skill = |id: &&str| json!({"id": id, "name": id, "description": "can", "tags": []});
    json!({
        "name": "Poet", "description": "Writes", "version": version,
        "supportedInterfaces": [{
            "url": "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
        }],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": skills.iter().map(skill).collect::<Vec<_>>(),
    })
    .to_string()
}

fn remote(at: &Site, identity: Outbound) -> RemoteAgent {
    RemoteAgent::new(Settings::new(at.url.parse().unwrap()), identity)
}

#[tokio::test]
async fn a_card_that_not_everyone_sees_is_read_with_the_agents_own_token() {
    let issuer = Site::issuer().await;
    let upstream = Site::open(|asked, _| match asked.authorization() {
        "Bearer token-2" => Some((200, card("1", &[]))),
        _ => Some((401, String::new())),
    })
    .await;
    let agent = remote(&upstream, own(&issuer));
    for _ in 0..2 {
        let health = agent.health().await;
        assert_eq!(health.state, HealthState::Up, "{health:?}");
        assert_eq!(health.detail, "Poet shows its card");
    }
    let asked = upstream.asked();
    let shown: Vec<&str> = asked.iter().map(|asked| asked.authorization()).collect();
    let (first, second) = ("Bearer token-1", "Bearer token-2");
    // Each time it is asked for, and one that was not taken is not shown again.
    assert_eq!(shown, ["", "", first, "", second, "", second]);
    assert_eq!(issuer.asked().len(), 2);
}

#[tokio::test]
async fn no_caller_is_shown_to_get_a_card_and_none_is_shown_without_need() {
    let issuer = Site::issuer().await;
    let closed = Site::open(|_, _| Some((401, String::new()))).await;
    let forwarded = Outbound::forwarded(vec![AUTHORIZATION]).unwrap();
    for identity in [Outbound::none(), forwarded, exchanged(&issuer)] {
        let health = remote(&closed, identity).health().await;
        // It answers, and its callers may well be let in.
        assert_eq!(health.state, HealthState::Up, "{health:?}");
        assert!(health.detail.contains("credentials"), "{health:?}");
    }
    let open = Site::open(|_, _| Some((200, card("1", &[])))).await;
    let agent = remote(&open, own(&issuer));
    assert_eq!(agent.health().await.state, HealthState::Up);
    let asked = [closed.asked(), open.asked()].concat();
    assert!(asked.iter().all(|asked| asked.authorization().is_empty()));
    assert!(issuer.asked().is_empty());
}

#[tokio::test]
async fn what_changed_on_a_card_is_kept_with_the_time_it_was_noticed() {
    let now = Arc::new(Mutex::new(card("1", &["fly", "sing"])));
    let told = Arc::clone(&now);
    let upstream = Site::open(move |_, _| Some((200, told.lock().unwrap().clone()))).await;
    let agent = remote(&upstream, Outbound::none());
    assert_eq!(agent.health().await.state, HealthState::Up);
    assert_eq!(agent.drift(), None);
    *now.lock().unwrap() = card("2", &["fly", "swim"]);
    let health = agent.health().await;
    let drift = agent.drift().unwrap();
    assert!(drift.noticed <= health.checked, "{drift:?} {health:?}");
    let what: Vec<&Subject> = drift.changes.iter().map(|change| &change.what).collect();
    let skill = |id: &str| Subject::Skill(id.to_owned());
    assert_eq!(what, [&Subject::Version, &skill("swim"), &skill("sing")]);
    let words = r#"version is "2", was "1"; skill "swim" is new; skill "sing" is gone"#;
    assert_eq!(drift.to_string(), words);
    // Nothing has changed since, and it stays.
    agent.health().await;
    assert_eq!(agent.drift(), Some(drift));
}

#[tokio::test]
async fn an_agent_that_is_gone_or_silent_is_down() {
    let silent = Site::open(|_, _| None).await;
    let agent = remote(&silent, Outbound::none());
    let begun = Instant::now();
    let health = agent.health().await;
    assert_eq!(health.state, HealthState::Down, "{health:?}");
    assert_eq!(health.detail, "it did not answer within 5 s");
    assert!(begun.elapsed() < Duration::from_secs(15));
    // Somebody is there, and is no agent.
    let other = Site::upstream().await;
    let health = remote(&other, Outbound::none()).health().await;
    assert_eq!(health.state, HealthState::Down, "{health:?}");
    // Nobody is there.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let settings = Settings::new(at.parse().unwrap());
    let health = RemoteAgent::new(settings, Outbound::none()).health().await;
    assert_eq!(health.state, HealthState::Down, "{health:?}");
}
