//! Faults of the card.

use serde_json::{Value, json};

use super::{Finding, RPC, RPC_0_3, in_card, must_be_found, remove, reply};
use crate::conformance;

/// Changes every address in a card.
fn urls(card: &mut Value, change: fn(&str) -> String) {
    let edit = |url: &mut Value| {
        if let Some(text) = url.as_str() {
            *url = json!(change(text));
        }
    };
    if card.get("url").is_some() {
        edit(&mut card["url"]);
    }
    for name in ["supportedInterfaces", "additionalInterfaces"] {
        let list = card.get_mut(name).and_then(Value::as_array_mut);
        list.into_iter()
            .flatten()
            .for_each(|one| edit(&mut one["url"]));
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_the_card_are_found() {
    const REQUIRED: &str = "every required member";
    const ABSOLUTE: &[Finding] = &[
        (RPC, "S-086", "no absolute URL", "with its scheme and host"),
        (
            RPC_0_3,
            "V03-001",
            "no absolute URL",
            "with its scheme and host",
        ),
    ];
    must_be_found(vec![
        in_card(
            |card| remove(card, "skills"),
            &[
                (RPC, "S-085", "skills is missing", REQUIRED),
                (RPC_0_3, "V03-001", "skills is missing", "skills"),
            ],
        ),
        in_card(
            |card| remove(card, "description"),
            &[
                (RPC, "S-085", "description is missing", REQUIRED),
                (RPC_0_3, "V03-001", "description is missing", "description"),
            ],
        ),
        in_card(
            |card| remove(card, "capabilities"),
            &[
                (RPC, "S-085", "capabilities is missing", REQUIRED),
                (
                    RPC_0_3,
                    "V03-001",
                    "capabilities is missing",
                    "capabilities",
                ),
            ],
        ),
        in_card(
            |card| remove(card, "defaultInputModes"),
            &[
                (RPC, "S-085", "defaultInputModes is missing", REQUIRED),
                (
                    RPC_0_3,
                    "V03-001",
                    "defaultInputModes is missing",
                    "both modes",
                ),
            ],
        ),
        in_card(
            |card| remove(&mut card["skills"][0], "tags"),
            &[
                (RPC, "S-085", "skills[0].tags is missing", REQUIRED),
                (RPC_0_3, "V03-001", "skills[0].tags is missing", "skills"),
            ],
        ),
        in_card(
            |card| {
                remove(card, "protocolVersion");
                if card.get("supportedInterfaces").is_some() {
                    remove(&mut card["supportedInterfaces"][0], "protocolVersion");
                }
            },
            &[
                (
                    RPC,
                    "S-086",
                    "[0].protocolVersion is missing",
                    "protocolVersion",
                ),
                (
                    RPC_0_3,
                    "V03-001",
                    "protocolVersion is missing",
                    "protocolVersion",
                ),
            ],
        ),
        in_card(|card| urls(card, |_| "/rpc".to_owned()), ABSOLUTE),
        in_card(
            |card| urls(card, |url| url.trim_start_matches("http://").to_owned()),
            ABSOLUTE,
        ),
        in_card(
            |card| urls(card, |url| url.replace("/rpc", "/elsewhere")),
            &[
                (RPC, "S-086", "HTTP 404", "the URL into the card"),
                (RPC_0_3, "V03-001", "HTTP 404", "the URL into the card"),
            ],
        ),
        in_card(
            |card| card["supportedInterfaces"][0]["protocolVersion"] = json!("1.0.1"),
            &[(RPC, "S-086", "has a patch number", "major and minor only")],
        ),
        reply(
            |call, r| {
                if call.what == "card" {
                    r.set("content-type", "text/html");
                }
            },
            &[
                (RPC, "S-085", "Content-Type of the card", "application/json"),
                (
                    RPC_0_3,
                    "V03-001",
                    "Content-Type of the card",
                    "application/json",
                ),
            ],
        ),
        reply(
            |_, r| r.unset("cache-control"),
            &[(RPC, "S-089", "no Cache-Control", "max-age")],
        ),
        reply(|_, r| r.unset("etag"), &[(RPC, "S-089", "no ETag", "ETag")]),
    ])
    .await;
}

#[tokio::test]
async fn addresses_of_grpc_are_looked_at_too() {
    fn grpc(card: &mut Value, url: &str) {
        let one = json!({"url": url, "protocolBinding": "GRPC", "protocolVersion": "1.0"});
        let older = json!({"url": url, "transport": "GRPC"});
        for (name, one) in [
            ("supportedInterfaces", one),
            ("additionalInterfaces", older),
        ] {
            if let Some(list) = card.get_mut(name).and_then(Value::as_array_mut) {
                list.push(one);
            }
        }
    }
    must_be_found(vec![
        in_card(
            |card| grpc(card, "127.0.0.1:1"),
            &[
                (RPC, "S-086", "but host:port", "https://host:port"),
                (RPC_0_3, "V03-001", "but host:port", "https://host:port"),
            ],
        ),
        in_card(
            |card| grpc(card, "somewhere"),
            &[
                (
                    RPC,
                    "S-086",
                    "\"somewhere\" is no absolute URL",
                    "scheme and host",
                ),
                (
                    RPC_0_3,
                    "V03-001",
                    "\"somewhere\" is no absolute URL",
                    "scheme and host",
                ),
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_card_that_cannot_be_read_is_refused_with_the_name_of_the_member() {
    for interface in [RPC, RPC_0_3] {
        let broken = super::Mutation::Card(|card| card["skills"] = json!("many"));
        let agent = super::serve(super::Traits::at(interface), broken).await;
        let ran = conformance(&["-a", &agent.base]).await;
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        assert!(ran.err.contains("skills"), "{}", ran.err);
    }
}
