//! What goes out in our name is signed, what we keep for others is sealed: the real binary, its files, our own client
//! and our own receiver.
//!
//! | file | what is shown |
//! |---|---|
//! | `cards` | every card is signed, once, with keys that can change |
//! | `webhooks` | what a receiver is sent proves where it comes from |
//! | `secrets` | no secret of a webhook stands in a file |
//! | `issuers` | callers are told who issues tokens |

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod cards;
mod issuers;
mod secrets;
mod webhooks;

use std::path::Path;

use switchboard_client::Keys;
use switchboard_testkit::Server;

/// Where the cards say that the agents are.
const PUBLIC: &str = "https://agents.example";
const PASSWORD: &str = "open sesame, please";

/// Agents with cards of every shape; keys are those of the configuration.
fn config(public: &str, keys: &str, password: &Path) -> String {
    let password = password.display();
    format!(
        r#"
public_url: {public}
interfaces: [jsonrpc, http_json, grpc]
signing: {{ keys: [{keys}] }}
push: {{ allow: ["127.0.0.1"] }}
auth:
  methods:
    ops: {{ basic: {{ users: {{ alice: {{ password_file: "{password}" }} }} }} }}
  require: [ops, none]
agents:
  both: {{ script: [complete: done], extended_card: {{ description: "For friends: \u00fc" }} }}
  new: {{ script: [complete: done], card: 1.0, extended_card: {{}} }}
  old: {{ script: [complete: done], card: 0.3, extended_card: {{}} }}
"#
    )
}

/// A server that signs with these keys.
async fn signing(keys: &str) -> (Server, tempfile::TempDir) {
    signing_for(PUBLIC, keys).await
}

/// The same, at another address.
async fn signing_for(public: &str, keys: &str) -> (Server, tempfile::TempDir) {
    let files = tempfile::tempdir().expect("a directory");
    let password = files.path().join("password");
    std::fs::write(&password, PASSWORD).expect("a file");
    let server = Server::serve(&config(public, keys, &password)).await;
    (server, files)
}

/// The keys that a server publishes.
async fn published(server: &Server) -> Keys {
    let answer = server.get("/.well-known/jwks.json").await;
    assert_eq!(answer.status, 200);
    Keys::from_jwks(answer.body.to_string().as_bytes()).expect("keys")
}
