//! Which interface is spoken to, and where: cards that name other hosts, agents that are away, redirects.

use serde_json::json as value;
use switchboard_client::{Address, Client, Kind, Preference, Retry, answer_text, text};
use switchboard_types::ProtocolVersion;

use crate::support::{Asked, House, Odd, json, nowhere, quick, status};

#[tokio::test]
async fn a_card_that_names_another_host_is_helped_by_the_given_address() {
    let elsewhere = nowhere().await;
    let odd = Odd::serve(move |asked: Asked| {
        let url = format!("{elsewhere}/rpc");
        async move {
            if asked.method == "POST" {
                return asked.result(
                    &value!({"kind": "message", "role": "agent", "messageId": "m",
                    "parts": [{"kind": "text", "text": "here"}]}),
                );
            }
            json(
                200,
                &value!({"name": "lost", "url": url, "protocolVersion": "0.3.0"}).to_string(),
            )
        }
    })
    .await;
    let given = odd.base.replace("127.0.0.1", "localhost");
    let builder = Client::builder().retry(Retry::never());
    let agent = builder.connect(given.as_str()).await.unwrap();
    let error = agent.send(text("x")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(
        error.hint().unwrap().contains("address that you gave"),
        "{error:?}"
    );
    let builder = Client::builder().address(Address::Given);
    let agent = builder.connect(given.as_str()).await.unwrap();
    assert_eq!(answer_text(&agent.send(text("x")).await.unwrap()), "here");
}

#[tokio::test]
async fn an_interface_that_cannot_be_reached_gives_way_to_the_next() {
    let (house, dead) = (House::open().await, nowhere().await);
    let mut card = (*Client::connect(house.base.as_str()).await.unwrap().card()).clone();
    card.interfaces[0].url = dead;
    let agent = Client::connect(card.clone()).await.unwrap();
    assert_eq!(answer_text(&agent.send(text("x")).await.unwrap()), "x");
    assert_eq!(*agent.interface().interface.url, card.interfaces[1].url);
    house.close().await;
}

#[tokio::test]
async fn an_agent_that_is_away_for_a_moment_is_spoken_to_as_before() {
    let (house, dead) = (House::open().await, nowhere().await);
    let mut card = (*Client::connect(house.base.as_str()).await.unwrap().card()).clone();
    for interface in &mut card.interfaces {
        interface.url = dead.clone();
    }
    let builder = Client::builder().retry(quick());
    let agent = builder.connect(card.clone()).await.unwrap();
    let error = agent.send(text("x")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert_eq!(agent.interface().interface, card.interfaces[0]);
    house.close().await;
}

#[tokio::test]
async fn an_agent_that_does_not_speak_what_must_be_spoken_is_not_connected_to() {
    let odd = Odd::serve(async |asked: Asked| asked.card("1.0")).await;
    let only = |version: &str| Preference {
        bindings: Vec::new(),
        versions: vec![ProtocolVersion::requested(version).unwrap()],
    };
    let preferring = Client::builder().preference(only("0.3"));
    assert!(preferring.connect(odd.base.as_str()).await.is_ok());
    let right = Client::builder().only(only("1.0"));
    assert!(right.connect(odd.base.as_str()).await.is_ok());
    let wrong = Client::builder().only(only("0.3"));
    let error = wrong.connect(odd.base.as_str()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::NotOffered);
    assert!(error.to_string().contains("JSONRPC 1.0"), "{error}");
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_only() {
    let other = Odd::serve(async |asked: Asked| asked.card("1.0")).await;
    let away = other.base.clone();
    let odd = Odd::serve(move |asked: Asked| {
        let away = away.clone();
        async move {
            let to = match asked.path.as_str() {
                "/moved/card.json" => "/card.json".to_owned(),
                "/away/card.json" => format!("{away}/card.json"),
                "/round/card.json" => "/round/card.json".to_owned(),
                "/rpc" => "/real".to_owned(),
                "/real" => {
                    assert_eq!(asked.method, "POST");
                    return asked
                        .result(&value!({"message": {"messageId": "m", "role": "ROLE_AGENT",
                        "parts": [{"text": "moved"}]}}));
                }
                _ => return asked.card("1.0"),
            };
            let mut response = status(308);
            response
                .headers_mut()
                .insert("location", to.parse().unwrap());
            response
        }
    })
    .await;
    let agent = Client::connect(format!("{}/moved/card.json", odd.base))
        .await
        .unwrap();
    assert_eq!(answer_text(&agent.send(text("x")).await.unwrap()), "moved");
    for path in ["away", "round"] {
        let error = Client::connect(format!("{}/{path}/card.json", odd.base))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::CardNotFound, "{path}");
        assert!(error.to_string().contains("redirect"), "{error}");
    }
}
