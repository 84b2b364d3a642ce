//! Our cards, read by other projects: in every shape, with everything that can be on them.

use std::time::Duration;

use switchboard_testkit::Server;

use crate::environment::{Environment, printed};

const AGENTS: &str = r#"
public_url: https://agents.example
interfaces: [jsonrpc, http_json, grpc]
signing: { keys: [{ file: signing.pem, create: true }] }
auth:
  methods:
    bearer: { jwt: { issuer: tests, jwks_url: "http://127.0.0.1:9/keys", audience: [a] } }
    keys: { api_key: {} }
  require: [bearer, [keys, bearer], none]
agents:
  full:
    provider: { organization: Example Ltd, url: https://example.com }
    documentation_url: https://example.com/docs
    icon_url: https://example.com/icon.png
    extended_card: {}
    extensions: [{ uri: "https://e.example", description: "Known", params: { a: {} } }]
    skills: [{ id: write, description: Writes, tags: [text], examples: [a poem], output_modes: [text/markdown] }]
    script: [complete: done]
  least: { script: [complete: done], auth: none, streaming: false, push_notifications: false }
"#;

const PATIENCE: Duration = Duration::from_secs(60);

/// Each shape is read by whom it is for: the union by everyone who ignores unknown members, the others by the letter.
async fn read(environment: Environment, own: &str, other: Option<&str>) {
    let server = Server::serve(AGENTS).await;
    let cards = |query: &str| {
        let card = |agent| server.url(&format!("/a2a/{agent}{query}"));
        ["full", "least"].map(card)
    };
    let mut command = environment.command("cards");
    command.arg("--strict").args(cards(own));
    command.arg("--lenient").args(cards("")).args(cards(own));
    let mut expected = 6;
    if let Some(other) = other {
        command.args(cards(other));
        expected += 2;
    }
    let said = printed(command, PATIENCE).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines, vec!["good"; expected]);
}

#[tokio::test]
async fn python_0_3_26_reads_our_cards() {
    read(Environment::Python03, "?A2A-Version=0.3", None).await;
}

#[tokio::test]
async fn python_1_3_0_reads_our_cards() {
    let (new, old) = ("?A2A-Version=1.0", "?A2A-Version=0.3");
    read(Environment::Python10, new, Some(old)).await;
}
