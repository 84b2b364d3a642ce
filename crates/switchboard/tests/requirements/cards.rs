//! Cards and discovery (S1 §5, §7.10).

use serde_json::{Value, json};
use switchboard_testkit::{KIT_TOKEN, Server, answer};

use crate::server;

#[tokio::test]
async fn s1_047_the_card_is_at_every_known_place() {
    let server = server().await;
    let card = server
        .get("/a2a/quick/.well-known/agent-card.json")
        .await
        .body;
    for path in [
        "/.well-known/agent.json",
        "/.well-known/agent-card.json",
        "/a2a/quick/.well-known/agent.json",
        "/a2a/quick/agent-card",
        "/agent-card",
    ] {
        let found = server.get(path).await;
        assert_eq!((found.status, &found.body), (200, &card), "{path}");
    }
    let moved = server.get("/a2a/quick/.well-known/agent").await;
    assert!(moved.status / 100 == 3, "{}", moved.status);
    let target = moved.headers["location"]
        .to_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        target.ends_with("/agent-card") || target.ends_with("/agent-card.json"),
        "{target}"
    );
    assert_eq!(
        server
            .get("/a2a/nobody/.well-known/agent-card.json")
            .await
            .status,
        404
    );
}

const FULL: &str = r#"
public_url: https://agents.example.com
agents:
  full:
    title: Full
    description: Says *everything*
    version: 2.1.0
    provider: { organization: Example Ltd, url: https://example.com }
    documentation_url: https://example.com/doc
    icon_url: https://example.com/icon.png
    input_modes: [text/plain, image/png]
    output_modes: [application/json]
    extensions:
      - { uri: "https://example.com/x", description: An extension, required: false, params: { a: 1 } }
    skills:
      - { id: one, name: One, description: The first, tags: [a, b], examples: [do it], input_modes: [text/csv],
          output_modes: [text/plain] }
    script: [{ complete: done }]
"#;

#[tokio::test]
async fn s1_050_a_card_has_every_field_of_the_specification() {
    let server = Server::serve(FULL).await;
    let card = server.get("/.well-known/agent-card.json").await.body;
    for (field, value) in [
        ("name", json!("Full")),
        ("description", json!("Says *everything*")),
        ("url", json!("https://agents.example.com/a2a/full")),
        ("iconUrl", json!("https://example.com/icon.png")),
        ("documentationUrl", json!("https://example.com/doc")),
        ("version", json!("2.1.0")),
        (
            "provider",
            json!({"organization": "Example Ltd", "url": "https://example.com"}),
        ),
        ("defaultInputModes", json!(["text/plain", "image/png"])),
        ("defaultOutputModes", json!(["application/json"])),
        ("supportsAuthenticatedExtendedCard", json!(false)),
        ("protocolVersion", json!("0.3.0")),
        ("preferredTransport", json!("JSONRPC")),
    ] {
        assert_eq!(card[field], value, "{field}");
    }
    let capabilities = &card["capabilities"];
    assert_eq!(capabilities["streaming"], true);
    assert_eq!(capabilities["pushNotifications"], true);
    let extension = json!({"uri": "https://example.com/x", "description": "An extension",
        "required": false, "params": {"a": 1}});
    assert_eq!(
        without_false(&capabilities["extensions"][0]),
        without_false(&extension)
    );
    let skill = json!({"id": "one", "name": "One", "description": "The first", "tags": ["a", "b"],
        "examples": ["do it"], "inputModes": ["text/csv"], "outputModes": ["text/plain"]});
    assert_eq!(card["skills"], json!([skill]));
}

/// `false` may be left out.
fn without_false(value: &Value) -> Value {
    let members = value.as_object().cloned().unwrap_or_default();
    members.into_iter().filter(|(_, v)| *v != false).collect()
}

#[tokio::test]
async fn s1_007_the_service_answers_at_the_url_of_its_card() {
    let server = server().await;
    let card = server
        .get("/a2a/quick/.well-known/agent-card.json")
        .await
        .body;
    let url = card["url"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send",
        "params": switchboard_testkit::say("hi")});
    let reply = answer(server.http.post(url).json(&body)).await;
    assert_eq!(reply.body["result"]["kind"], "task");
}

#[tokio::test]
async fn s1_161_the_extended_card_of_0_x_is_for_those_who_authenticate() {
    let server = server().await;
    let card = server
        .get("/a2a/secretive/.well-known/agent-card.json")
        .await;
    assert_eq!(card.body["supportsAuthenticatedExtendedCard"], true);
    for (path, version) in [
        ("/a2a/secretive/agent/authenticatedExtendedCard", "0.2"),
        ("/a2a/secretive/v1/card", "0.3"),
        ("/a2a/secretive/extendedAgentCard", "1.0"),
    ] {
        let ask = || {
            let request = server.http.get(server.url(path));
            request.header("A2A-Version", version)
        };
        let refused = answer(ask()).await;
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.headers.contains_key("www-authenticate"), "{path}");
        let wrong = answer(ask().bearer_auth("x.y.z")).await;
        assert_eq!(wrong.status, 401, "{path}");
        let shown = answer(ask().bearer_auth(KIT_TOKEN)).await;
        assert_eq!(shown.body["skills"][1]["id"], "hidden", "{path}");
    }
    let method = "agent/getAuthenticatedExtendedCard";
    let by_method = server.error("secretive", method, Value::Null).await;
    assert_eq!(by_method["data"]["reason"], "UNAUTHENTICATED");
    let none = "/a2a/quick/agent/authenticatedExtendedCard";
    assert_eq!(server.get(none).await.status, 404);
}

#[tokio::test]
async fn s1_164_the_extended_card_has_more() {
    let server = server().await;
    let get = async |path: &str| {
        let request = server.http.get(server.url(path)).bearer_auth(KIT_TOKEN);
        answer(request.header("A2A-Version", "1.0")).await.body
    };
    let card = get("/a2a/secretive/.well-known/agent-card.json").await;
    let extended = get("/a2a/secretive/extendedAgentCard").await;
    assert_eq!(extended["description"], "More than meets the eye");
    assert_eq!(extended["skills"][0], card["skills"][0]);
    assert_eq!(extended["skills"][1]["id"], "hidden");
    assert_eq!(extended["supportedInterfaces"], card["supportedInterfaces"]);
}
