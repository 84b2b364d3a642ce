//! Our signatures, checked by other projects.

use switchboard_testkit::Server;

use crate::environment::Environment;

/// With what the readings of a card differ in: members of 0.x, what is empty, what is not ASCII.
const AGENTS: &str = r#"
public_url: https://agents.example
signing: { keys: [{ file: signing.pem, create: true }, { file: next.pem, create: true, use: publish }] }
auth:
  methods:
    bearer: { jwt: { issuer: tests, jwks_url: "http://127.0.0.1:9/keys", audience: [a] } }
    keys: { api_key: {} }
  require: [bearer, [keys, bearer], none]
agents:
  union: { script: [complete: done], description: "Gr\u00fc\u00dft", extensions: [{ uri: "https://e.example", params: { a: {} } }] }
  new: { script: [complete: done], description: "Greets", card: 1.0 }
  open: { script: [complete: done], description: "Greets", auth: none }
"#;

#[tokio::test]
async fn js_1_3_0_finds_our_cards_good() {
    let server = Server::serve(AGENTS).await;
    let card = |agent: &str| server.url(&format!("/a2a/{agent}/.well-known/agent-card.json"));
    let cards = ["union", "new", "open"].map(card);
    let mut command = Environment::Js.command("signatures");
    command
        .arg(server.url("/.well-known/jwks.json"))
        .args(&cards);
    let done = command.output().await.expect("it starts");
    let said = String::from_utf8_lossy(&done.stdout);
    let complaints = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines, ["good"; 3], "{complaints}");
}
