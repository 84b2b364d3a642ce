//! Unmodified clients of other projects show who they are, each in its own way.

use std::time::Duration;

use serde_json::json;
use switchboard_keys::{Algorithm, SigningKey, jwks};
use switchboard_server::clock;
use switchboard_testkit::Server;

use crate::environment::{Environment, printed};

const CONFIGURATION: &str = "
interfaces: [jsonrpc, http_json, grpc]
grpc_address: host_port
auth:
  methods:
    bearer: { jwt: { jwks_file: keys.json, issuer: 'https://login.example', audience: [peers], declare: bearer } }
    keys: { api_key: {} }
agents:
  closed:
    script: [{ complete: hello }]
";

const PATIENCE: Duration = Duration::from_secs(60);

async fn client(environment: Environment, binding: &str, version: &str) {
    let signer = SigningKey::generate(Algorithm::Es256).expect("a key");
    let files = [("keys.json", jwks(&[&signer]))];
    let server = Server::serve_with(CONFIGURATION, &files, &[]).await;
    let key = std::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["key", "create", "--agent", "closed", "--config"])
        .arg(server.configuration())
        .arg("--data")
        .arg(server.data())
        .output()
        .expect("it starts");
    let key = String::from_utf8(key.stdout).expect("text");
    for (scheme, credential) in [("bearer", &*token(&signer)), ("keys", key.trim())] {
        let mut command = environment.command("auth");
        command
            .args(["--url", &server.url("/a2a/closed")])
            .args(["--binding", binding, "--version", version])
            .args(["--scheme", scheme])
            .env("CREDENTIAL", credential);
        assert_eq!(printed(command, PATIENCE).await, "ok\n", "{scheme}");
    }
}

fn token(signer: &SigningKey) -> String {
    let now = clock::now().as_micros() / 1_000_000;
    let claims = json!({
        "iss": "https://login.example", "aud": "peers", "sub": "peer", "iat": now, "exp": now + 600,
    });
    signer.sign_compact("JWT", claims.to_string().as_bytes())
}

/// Over JSON-RPC only: by its other transports this SDK shows nothing.
#[tokio::test]
async fn python_0_3_26_shows_a_token_and_a_key() {
    client(Environment::Python03, "JSONRPC", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_shows_a_token_and_a_key() {
    for binding in ["JSONRPC", "HTTP+JSON", "GRPC"] {
        client(Environment::Python10, binding, "1.0").await;
    }
}

#[tokio::test]
async fn js_1_3_0_shows_a_token_and_a_key() {
    for version in ["1.0", "0.3"] {
        for binding in ["JSONRPC", "HTTP+JSON"] {
            client(Environment::Js, binding, version).await;
        }
    }
}
