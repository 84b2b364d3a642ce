//! Every card is signed, once, with keys that can change.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use switchboard_client::{
    Address, Client, Credential, Credentials, Keys, Preference, SignatureState, Signatures,
};
use switchboard_keys::{Algorithm, PublicKeys, SigningKey, decoded, encoded, jwks, read_detached};
use switchboard_testkit::{Server, answer};
use switchboard_types::ProtocolVersion;
use switchboard_types::model::{Binding, Secret};
use switchboard_types::wire::card::canonical_received;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::{PASSWORD, PUBLIC, config, published, signing, signing_for};

const MADE: &str = "{ file: made.pem, create: true }";

fn alice() -> Credentials {
    Credentials::any(Credential::Basic {
        user: "alice".to_owned(),
        password: Secret::new(PASSWORD),
    })
}

async fn connect(
    server: &Server,
    agent: &str,
    asked: Signatures,
    speaks: Preference,
    grpc_at: &str,
) -> Result<Client, switchboard_client::Error> {
    let builder = Client::builder().signatures(asked).only(speaks);
    let builder = builder.address(Address::Given).credentials(alice());
    let builder = builder.credentials_to(grpc_at.parse()?);
    let url = server.url(&format!("/a2a/{agent}"));
    builder.connect(url.as_str()).await
}

/// Hands every connection on to another address.
async fn forward(front: TcpListener, to: String) {
    let mut open = JoinSet::new();
    while let Ok((mut from, _)) = front.accept().await {
        let to = to.clone();
        open.spawn(async move {
            if let Ok(mut behind) = TcpStream::connect(to).await {
                drop(tokio::io::copy_bidirectional(&mut from, &mut behind).await);
            }
        });
    }
}

#[tokio::test]
async fn every_card_that_goes_out_is_good_for_a_client_that_asks_for_signatures() {
    // The address on the cards must be known before the server has one, and gRPC goes to its port.
    let front = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = front.local_addr().expect("an address").port();
    let public = format!("http://agents.example:{port}");
    let grpc_at = format!("http://127.0.0.1:{port}");
    let (server, _files) = signing_for(&public, MADE).await;
    let mut owner = JoinSet::new();
    owner.spawn(forward(front, server.base.replace("http://", "")));
    let keys = published(&server).await;
    let bindings = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
    for (agent, versions) in [
        ("both", &ProtocolVersion::ALL[..]),
        ("new", &ProtocolVersion::ALL),
        ("old", &ProtocolVersion::ALL[1..]),
    ] {
        for version in versions {
            for binding in &bindings {
                // Only the default agent can be named in gRPC 0.3.
                if agent != "both" && *binding == Binding::Grpc {
                    continue;
                }
                let at = format!("{agent} {version:?} {binding:?}");
                let speaks = Preference {
                    bindings: vec![binding.clone()],
                    versions: vec![*version],
                };
                let asked = Signatures::Required(keys.clone());
                let client = connect(&server, agent, asked, speaks, &grpc_at).await;
                let client = client.unwrap_or_else(|error| panic!("{at}: {error}"));
                assert_eq!(client.signature(), SignatureState::Good, "{at}");
                let extended = client.extended_card().await;
                let extended = extended.unwrap_or_else(|error| panic!("{at}: {error}"));
                assert_eq!(client.signature(), SignatureState::Good, "{at}");
                if agent == "both" {
                    assert_eq!(extended.description, "For friends: \u{fc}", "{at}");
                }
            }
        }
    }
}

/// Who signed a card, of those whose signature over what was sent is good.
fn signers(card: &Value, keys: &Value) -> Vec<String> {
    let payload = canonical_received(card.to_string().as_bytes()).expect("a card");
    let payload = encoded(&payload);
    let keys = PublicKeys::from_jwks(keys.to_string().as_bytes()).expect("keys");
    let signatures = card["signatures"].as_array().expect("signatures");
    let good = signatures.iter().filter_map(|signature| {
        let part = |name: &str| signature[name].as_str().expect("text");
        let jws = read_detached(part("protected"), &payload, part("signature")).ok()?;
        let good = keys.verify(&jws, &[Algorithm::Es256, Algorithm::EdDsa]);
        good.then_some(jws.header.kid?)
    });
    good.collect()
}

#[tokio::test]
async fn the_card_of_0_2_and_the_one_that_names_its_version_are_signed_as_they_are_sent() {
    let (server, _files) = signing("{ file: made.pem, create: true, kid: first }").await;
    let keys = server.get("/.well-known/jwks.json").await.body;
    let get = |path: &str, version: &str| {
        let request = server.http.get(server.url(path));
        let request = request.basic_auth("alice", Some(PASSWORD));
        answer(request.header("A2A-Version", version))
    };
    for (path, version) in [
        ("/a2a/both/agent/authenticatedExtendedCard", "0.2"),
        ("/a2a/both/.well-known/agent-card.json", "1.0"),
        ("/a2a/both/.well-known/agent.json", "0.3"),
        ("/a2a/old/.well-known/agent.json", ""),
        ("/a2a/both/extendedAgentCard", "1.0"),
        ("/a2a/both/v1/card", "0.3"),
    ] {
        let card = get(path, version).await.body;
        assert_eq!(signers(&card, &keys), ["first"], "{path}: {card}");
        let protected = card["signatures"][0]["protected"].as_str().expect("text");
        let header: Value =
            serde_json::from_slice(&decoded(protected).expect("base64")).expect("JSON");
        assert_eq!(
            header,
            json!({
                "alg": "ES256", "kid": "first", "typ": "JOSE",
                "jku": format!("{PUBLIC}/.well-known/jwks.json"),
            })
        );
        let mut altered = card;
        altered["name"] = json!("someone else");
        assert!(signers(&altered, &keys).is_empty(), "{path}");
    }
}

/// There is a signature for those who leave out what is empty. It must not be good for more than that.
#[tokio::test]
async fn a_card_from_which_something_was_removed_is_not_good() {
    let (server, files) = signing(MADE).await;
    let write = |name: &str, value: &Value| {
        std::fs::write(files.path().join(name), value.to_string()).expect("a file");
    };
    write(
        "keys.json",
        &server.get("/.well-known/jwks.json").await.body,
    );
    let card = server
        .get("/a2a/new/.well-known/agent-card.json")
        .await
        .body;
    assert!(card["securityRequirements"].is_array());
    let mut less = card.clone();
    less.as_object_mut()
        .expect("a card")
        .remove("securityRequirements");
    for (card, code) in [(card, 0), (less, 1)] {
        write("card.json", &card);
        let args = [
            "card",
            "get",
            "-a",
            "./card.json",
            "--card-keys",
            "keys.json",
        ];
        let ran = Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(args)
            .arg("--require-signature")
            .current_dir(files.path())
            .output()
            .expect("the binary");
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
    }
}

#[tokio::test]
async fn a_card_is_signed_once_and_keeps_its_tag() {
    let (server, _files) = signing(MADE).await;
    let path = "/a2a/both/.well-known/agent-card.json";
    let first = server.get(path).await;
    let tag = first.headers["etag"].clone();
    for _ in 0..3 {
        let again = server.get(path).await;
        // No two signatures of this kind are alike.
        assert_eq!(again.body, first.body);
        assert_eq!(again.headers["etag"], tag);
    }
    let known = server.http.get(server.url(path));
    let known = answer(known.header("if-none-match", tag)).await;
    assert_eq!(known.status, 304);
    let extended = async || {
        let request = server.http.get(server.url("/a2a/both/extendedAgentCard"));
        let request = request.basic_auth("alice", Some(PASSWORD));
        answer(request.header("A2A-Version", "1.0")).await.body
    };
    let first = extended().await;
    assert!(first["signatures"].is_array());
    assert_eq!(extended().await, first);
}

#[tokio::test]
async fn a_key_that_is_made_is_for_its_owner_only_and_stays() {
    let (mut server, _files) = signing(MADE).await;
    let file = server.data().with_file_name("made.pem");
    let mode = std::fs::metadata(&file).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let before = server.get("/.well-known/jwks.json").await;
    assert_eq!(before.headers["content-type"], "application/json");
    assert_eq!(before.headers["cache-control"], "public, max-age=300");
    assert_eq!(before.body["keys"][0]["alg"], "ES256");
    assert_eq!(before.body["keys"][0].get("d"), None);
    server.kill().await;
    server.restart().await;
    let after = server.get("/.well-known/jwks.json").await;
    assert_eq!(after.body, before.body);
}

#[tokio::test]
async fn keys_change_without_a_moment_at_which_a_card_is_not_good() {
    let files = tempfile::tempdir().expect("a directory");
    let write = |name: &str, algorithm| {
        let key = SigningKey::generate(algorithm).expect("a key");
        let path = files.path().join(name);
        std::fs::write(&path, key.to_pem()).expect("a file");
        (path.display().to_string(), key)
    };
    let (old, old_key) = write("old.pem", Algorithm::Es256);
    let (new, new_key) = write("new.pem", Algorithm::EdDsa);
    let password = files.path().join("password");
    std::fs::write(&password, PASSWORD).expect("a file");
    let pinned = |key: &SigningKey| Keys::from_jwks(&jwks(&[key])).expect("keys");
    let mut known = None;
    for (keys, signed_by) in [
        // The new key is published before it signs, and the old one as long as cards of it are about.
        (
            format!("{{ file: {old} }}, {{ file: {new}, use: publish }}"),
            vec![&old_key],
        ),
        (
            format!("{{ file: {old} }}, {{ file: {new} }}"),
            vec![&old_key, &new_key],
        ),
        (
            format!("{{ file: {old}, use: publish }}, {{ file: {new} }}"),
            vec![&new_key],
        ),
    ] {
        let server = Server::serve(&config(PUBLIC, &keys, &password)).await;
        let listed = server.get("/.well-known/jwks.json").await.body;
        assert_eq!(listed["keys"].as_array().map(Vec::len), Some(2));
        let card = server.get("/a2a/both/.well-known/agent-card.json").await;
        let wanted: Vec<&str> = signed_by.iter().map(|key| key.kid()).collect();
        assert_eq!(signers(&card.body, &listed), wanted);
        // Who has read the list at the beginning believes all of it.
        let known = known.get_or_insert(published(&server).await);
        for (keys, good) in [
            (known.clone(), true),
            (pinned(&old_key), wanted.contains(&old_key.kid())),
            (pinned(&new_key), wanted.contains(&new_key.kid())),
        ] {
            let speaks = Preference::default();
            let client = connect(
                &server,
                "both",
                Signatures::Required(keys),
                speaks,
                &server.base,
            )
            .await;
            assert_eq!(client.is_ok(), good, "{wanted:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_signed_and_no_keys_are_there_if_nobody_asked_for_it() {
    let server = Server::up().await;
    assert_eq!(server.get("/.well-known/jwks.json").await.status, 404);
    let card = server.get("/.well-known/agent-card.json").await.body;
    assert_eq!(card.get("signatures"), None);
}
