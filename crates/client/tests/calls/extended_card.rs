//! The extended card of agents that speak 0.2, and of those that do not say what they speak.

use std::sync::{Arc, Mutex};

use serde_json::json as value;
use switchboard_client::{Client, Credential, Credentials, Kind, Retry};
use switchboard_types::ErrorKind;
use switchboard_types::model::Secret;

use crate::support::{Asked, House, Odd, json};

const BESIDE: &str = "/a2a/agent/authenticatedExtendedCard";
const BELOW: &str = "/a2a/poet/agent/authenticatedExtendedCard";

/// An agent at `/a2a/poet` with a card of that version. `at` is where it has its extended card.
async fn poet(version: Option<&'static str>, at: &'static str) -> (Odd, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let odd = Odd::serve(move |asked: Asked| {
        let card = |description: &str| {
            let mut card = value!({
                "name": "poet", "description": description, "url": format!("{}/a2a/poet", asked.base),
                "version": "1", "capabilities": {}, "skills": [],
                "supportsAuthenticatedExtendedCard": true,
                "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}}, "security": [{"b": []}],
            });
            if let Some(version) = version {
                card["protocolVersion"] = version.into();
            }
            json(200, &card.to_string())
        };
        let answer = if asked.path.contains("/.well-known/") {
            card("for all")
        } else {
            let line = format!("{} {}", asked.method, asked.path);
            seen.lock().unwrap().push(line);
            match asked.header("authorization") {
                _ if asked.method == "POST" => json(
                    200,
                    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown"}}"#,
                ),
                _ if asked.path != at => json(404, "{}"),
                Some("Bearer key") => card("for those who know"),
                _ => json(401, "{}"),
            }
        };
        std::future::ready(answer)
    })
    .await;
    (odd, asked)
}

async fn client(odd: &Odd, key: &str) -> Client {
    let bearer = Credential::Bearer(Secret::new(key));
    let builder = Client::builder()
        .retry(Retry::never())
        .credentials(Credentials::any(bearer));
    let url = format!("{}/a2a/poet", odd.base);
    builder.connect(url).await.unwrap()
}

#[tokio::test]
async fn of_an_agent_of_0_2_it_is_got_beside_its_address_with_credentials() {
    let (odd, asked) = poet(Some("0.2.6"), BESIDE).await;
    let agent = client(&odd, "key").await;
    let card = agent.extended_card().await.unwrap();
    assert_eq!(card.description, "for those who know");
    assert_eq!(agent.card(), card);
    assert_eq!(*asked.lock().unwrap(), [format!("GET {BESIDE}")]);
}

#[tokio::test]
async fn it_may_be_below_the_address() {
    let (odd, asked) = poet(Some("0.2.6"), BELOW).await;
    let card = client(&odd, "key").await.extended_card().await.unwrap();
    assert_eq!(card.description, "for those who know");
    let expected = [format!("GET {BESIDE}"), format!("GET {BELOW}")];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn an_agent_that_does_not_say_its_version_is_called_first() {
    let (odd, asked) = poet(None, BESIDE).await;
    let card = client(&odd, "key").await.extended_card().await.unwrap();
    assert_eq!(card.description, "for those who know");
    let expected = ["POST /a2a/poet".to_owned(), format!("GET {BESIDE}")];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn what_is_wrong_is_told() {
    let (odd, _) = poet(Some("0.2.6"), "/nowhere").await;
    let agent = client(&odd, "key").await;
    let error = agent.extended_card().await.unwrap_err();
    assert!(error.is(ErrorKind::ExtendedAgentCardNotConfigured));
    assert_eq!(agent.card().description, "for all");

    let (odd, _) = poet(Some("0.2.6"), BESIDE).await;
    let error = client(&odd, "wrong").await.extended_card().await;
    let error = error.unwrap_err();
    assert_eq!(error.status(), Some(401), "{error}");
    assert_ne!(error.kind(), Kind::NotOffered);
}

/// Ours has it at the same place, for those who authenticate.
#[tokio::test]
async fn our_own_server_has_it_where_0_2_looks() {
    let house = House::open().await;
    let card = value!({
        "name": "old", "url": format!("{}/", house.base), "protocolVersion": "0.2.5",
        "supportsAuthenticatedExtendedCard": true,
    });
    let agent = Client::connect(card.to_string()).await.unwrap();
    let error = agent.extended_card().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Refused, "{error}");
    house.close().await;
}
