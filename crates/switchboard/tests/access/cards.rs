//! What cards say of those who may call.

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, say};

use crate::credentials::{AUDIENCE, Quality, SCOPE, Sort, bearer};
use crate::world::World;

async fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> switchboard_testkit::Answer {
    let mut request = server.http.get(server.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answer(request).await
}

const CARD: &str = "/a2a/closed/.well-known/agent-card.json";

#[tokio::test]
async fn s1_058_every_method_stands_on_the_card_in_the_form_of_each_version() {
    let world = World::open().await;
    let new = get(&world.server, CARD, &[("A2A-Version", "1.0")])
        .await
        .body;
    let bearer = json!({"scheme": "bearer", "bearerFormat": "JWT"});
    let schemes = json!({
        "corp": {"httpAuthSecurityScheme": bearer},
        "keys": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        "ops": {"httpAuthSecurityScheme": {"scheme": "basic"}},
    });
    assert_eq!(new["securitySchemes"], schemes);
    let one = |name: &str| json!({"schemes": {name: {}}});
    let all = json!([one("corp"), one("keys"), one("ops")]);
    assert_eq!(new["securityRequirements"], all);
    assert_eq!(new.get("security"), None);

    let old = get(&world.server, CARD, &[("A2A-Version", "0.3")])
        .await
        .body;
    let has = |name: &str, field: &str| old["securitySchemes"][name][field].clone();
    assert_eq!(
        (has("corp", "type"), has("corp", "scheme")),
        (json!("http"), json!("bearer"))
    );
    assert_eq!(
        (has("keys", "type"), has("keys", "in")),
        (json!("apiKey"), json!("header"))
    );
    assert_eq!(
        (has("ops", "type"), has("ops", "scheme")),
        (json!("http"), json!("basic"))
    );
    assert_eq!(
        old["security"],
        json!([{"corp": []}, {"keys": []}, {"ops": []}])
    );

    let open = get(&world.server, "/a2a/open/.well-known/agent-card.json", &[])
        .await
        .body;
    for field in ["securitySchemes", "security", "securityRequirements"] {
        let none = open
            .get(field)
            .is_none_or(|said| *said == json!({}) || *said == json!([]));
        assert!(none, "{open}");
    }
}

#[tokio::test]
async fn s2_095_a_method_named_bearer_is_declared_as_the_framework_wants_it() {
    let server = Server::serve_with(
        "auth: { methods: { bearer: { jwt: { secret: '${SECRET}', audience: [here] } } } }\n\
         agents: { echo: { script: [{ complete: hello }] } }\n",
        &[],
        &[("SECRET", "0123456789abcdef0123456789abcdef")],
    )
    .await;
    let card = get(&server, "/a2a/echo/agent-card", &[("A2A-Version", "0.3")])
        .await
        .body;
    let bearer = &card["securitySchemes"]["bearer"];
    let said = [&bearer["type"], &bearer["scheme"], &bearer["bearerFormat"]];
    assert_eq!(said, ["http", "bearer", "JWT"], "{card}");
    assert_eq!(card["security"], json!([{"bearer": []}]), "{card}");
}

#[tokio::test]
async fn s1_049_no_secret_stands_on_a_card() {
    let world = World::open().await;
    let token = world.tokens.token("alice", AUDIENCE, SCOPE, 600);
    let known = format!("Bearer {token}");
    let secrets = [
        &*token,
        "open-sesame",
        "PASSWORD",
        "keys.json",
        &world.keys.right,
    ];
    for path in [
        CARD,
        "/a2a/closed/agent-card",
        "/a2a/closed/extendedAgentCard",
    ] {
        for version in ["1.0", "0.3"] {
            let headers = [("A2A-Version", version), ("Authorization", &*known)];
            let card = get(&world.server, path, &headers).await;
            let text = card.body.to_string();
            assert!(
                !secrets.iter().any(|secret| text.contains(secret)),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn s1_181_example_9_1_a_client_finds_out_how_and_gets_the_full_card() {
    let world = World::open().await;
    let public = get(&world.server, CARD, &[]).await.body;
    assert_eq!(
        public["supportsAuthenticatedExtendedCard"], true,
        "{public}"
    );
    let url = public["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&world.server.base).unwrap();
    let extended = format!("{path}/agent/authenticatedExtendedCard");
    let refused = get(&world.server, &extended, &[]).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let challenge = refused.headers.get_all("www-authenticate").iter();
    let challenge: Vec<&str> = challenge.map(|line| line.to_str().unwrap()).collect();
    assert!(challenge[0].starts_with("Bearer "), "{challenge:?}");
    let shown = bearer(&world.tokens.token("alice", AUDIENCE, SCOPE, 600));
    let full = get(&world.server, &extended, &[("Authorization", &*shown[0].1)]).await;
    assert_eq!(full.status, 200, "{full:?}");
    assert_eq!(full.body["name"], public["name"]);
    assert_eq!(
        full.headers["cache-control"]
            .to_str()
            .unwrap()
            .split(',')
            .next(),
        Some("private")
    );
}

/// A card is public: what is shown for it may be wrong, and changes nothing.
#[tokio::test]
async fn a_card_is_for_everyone() {
    let world = World::open().await;
    let public = get(&world.server, CARD, &[]).await;
    assert_eq!(public.status, 200);
    for quality in [Quality::Wrong, Quality::Expired, Quality::Foreign] {
        let shown = world.show(Sort::Token, quality).unwrap();
        let card = get(&world.server, CARD, &[("Authorization", &*shown[0].1)]).await;
        assert_eq!(card.status, 200, "{quality:?}");
        assert_eq!(
            card.body.get("skills"),
            public.body.get("skills"),
            "{quality:?}"
        );
        assert_ne!(card.body["skills"], Value::Null);
    }
}

#[tokio::test]
async fn a_hidden_agent_is_not_named_by_one_that_calls_it() {
    let server = Server::serve(
        "
auth: { methods: { keys: { api_key: {} } } }
agents:
  desk: { auth: none, script: [{ call: { agent: backroom } }, { complete: '{{call.backroom.text}}' }] }
  asks: { auth: none, script: [{ call: { agent: counter } }] }
  backroom: { visible: false, script: [{ say: on it }, { complete: done }] }
  counter: { visible: false, script: [{ ask: And? }] }
",
    )
    .await;
    for (agent, hidden) in [("desk", "backroom"), ("asks", "counter")] {
        let events = server.stream(agent, "message/stream", say("hi")).await;
        let told = json!(events.results().await).to_string();
        assert!(told.contains("passed to #1"), "{told}");
        assert!(!told.contains(hidden), "{told}");
    }
}
