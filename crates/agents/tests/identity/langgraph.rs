//! Whether a LangGraph server can work, and who asks it.

use http::HeaderName;
use http::header::AUTHORIZATION;
use switchboard_agents::identity::Outbound;
use switchboard_agents::langgraph::{LangGraphAgent, Settings};
use switchboard_server::agent::Agent;
use switchboard_server::backend::{Health, HealthState};
use switchboard_types::model::Secret;

use crate::site::Site;

async fn health(of: &str, identity: Outbound) -> Health {
    let settings = Settings::new(of.parse().unwrap(), "poet");
    let agent = LangGraphAgent::new(settings, identity).unwrap();
    agent.health().await
}

fn key(value: &str) -> Outbound {
    let key = (HeaderName::from_static("x-api-key"), Secret::new(value));
    Outbound::fixed([key]).unwrap()
}

#[tokio::test]
async fn a_server_is_up_if_it_takes_who_we_are() {
    let site = Site::open(|asked, _| {
        let shown = asked.headers.get("x-api-key");
        Some(match shown.is_some_and(|key| key == "right") {
            true => (200, r#"{"ok":true}"#.to_owned()),
            false => (403, String::new()),
        })
    })
    .await;
    let forwarded = Outbound::forwarded(vec![AUTHORIZATION]).unwrap();
    for (identity, state) in [
        (key("right"), HealthState::Up),
        (key("wrong"), HealthState::Down),
        (Outbound::none(), HealthState::Down),
        // What callers show it is not ours to show.
        (forwarded, HealthState::Up),
    ] {
        let health = health(&site.url, identity).await;
        assert_eq!(health.state, state, "{health:?}");
        assert!(!health.detail.contains("right"), "{health:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_or_silent_is_down() {
    let silent = Site::open(|_, _| None).await;
    let health_of_silent = health(&silent.url, Outbound::none()).await;
    assert_eq!(health_of_silent.state, HealthState::Down);
    assert_eq!(health_of_silent.detail, "does not answer in time");
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let health_of_gone = health(&at, Outbound::none()).await;
    assert_eq!(health_of_gone.state, HealthState::Down);
    let why = "it cannot be reached: Connection refused";
    assert!(health_of_gone.detail.starts_with(why), "{health_of_gone:?}");
}
