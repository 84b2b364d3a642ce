//! What is signed and what is sealed on its way to a receiver.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_keys::{Algorithm, PublicKeys, decoded, jwks, read, sha256_hex};
use switchboard_server::egress::{Guard, SealingKey};
use switchboard_server::push::Settings;
use switchboard_server::sign::{Signer, SigningKey, Use};
use switchboard_server::task::Webhook;
use switchboard_types::Dialect;
use switchboard_types::model::{Authentication, Secret};

use crate::receiver::{Answer, Got, Receiver};
use crate::scene::{Scene, loopback, quick, webhook};

const TOKEN: &str = "the token of the client";
const CREDENTIALS: &str = "what the receiver asks for";

fn signing(key: &Arc<SigningKey>) -> Settings {
    let keys = [(Arc::clone(key), Use::Sign)];
    let signer = Signer::new("https://agents.example".into(), &keys).unwrap();
    Settings {
        signer: Some(Arc::new(signer)),
        ..quick()
    }
}

fn key() -> Arc<SigningKey> {
    Arc::new(SigningKey::generate(Algorithm::Es256).unwrap())
}

/// The header and the claims of a notification, if the key has signed it.
fn proof(got: &Got, key: &SigningKey) -> (Value, Value) {
    let token = got.header("x-a2a-signature").unwrap();
    let jws = read(token).unwrap();
    let keys = PublicKeys::from_jwks(&jwks(&[key])).unwrap();
    assert!(keys.verify(&jws, &[Algorithm::Es256]));
    let part = |text: &str| serde_json::from_slice(&decoded(text).unwrap()).unwrap();
    (part(token.split('.').next().unwrap()), part(jws.payload))
}

#[tokio::test]
async fn s1_036_what_is_sent_is_signed_with_its_time_its_number_and_its_body() {
    let receiver = Receiver::start().await;
    let key = key();
    let scene = Scene::start(signing(&key));
    scene.task("t", &[("w", &receiver.url("/hook"), Dialect::V1)]);
    let got = receiver.after(1).await.remove(0);
    let (header, claims) = proof(&got, &key);
    assert_eq!(
        header,
        json!({
            "alg": "ES256", "kid": key.kid(), "typ": "a2a-notification+jwt",
            "jku": "https://agents.example/.well-known/jwks.json",
        })
    );
    let now = switchboard_server::clock::now().as_micros() / 1_000_000;
    let made = claims["iat"].as_i64().unwrap();
    assert!((now - 20..=now).contains(&made), "{made} {now}");
    assert_eq!(claims["exp"], made + 300);
    assert_eq!(claims["iss"], "https://agents.example");
    assert_eq!(claims["aud"], receiver.url(""));
    assert_eq!(claims["jti"], "t:1");
    assert_eq!(got.header("x-a2a-event-id"), Some("t:1"));
    assert_eq!(claims["taskId"], "t");
    assert_eq!(claims["request_body_sha256"], sha256_hex(&got.body));
    let bearer = format!("Bearer {}", got.header("x-a2a-signature").unwrap());
    assert_eq!(got.header("authorization"), Some(bearer.as_str()));
}

#[tokio::test]
async fn each_attempt_is_signed_anew() {
    let receiver = Receiver::start().await;
    receiver.then(Answer::new(500));
    let key = key();
    let scene = Scene::start(signing(&key));
    scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    let got = receiver.after(2).await;
    let signatures: Vec<_> = got.iter().map(|g| g.header("x-a2a-signature")).collect();
    assert_ne!(signatures[0], signatures[1]);
    assert_eq!(proof(&got[0], &key).1["jti"], proof(&got[1], &key).1["jti"]);
}

#[tokio::test]
async fn a_receiver_that_asked_for_credentials_gets_those_and_a_signature_beside_them() {
    let receiver = Receiver::start().await;
    let key = key();
    let scene = Scene::start(signing(&key));
    let with = |id: &str, scheme: &str, credentials: Option<&str>| {
        let mut webhook = webhook("t", id, &receiver.url(&format!("/{id}")), Dialect::V1);
        webhook.config.authentication = Some(Authentication {
            scheme: scheme.to_owned(),
            credentials: credentials.map(Secret::new),
        });
        webhook
    };
    scene.task_with(
        "t",
        vec![
            with("given", "Bearer", Some("s3cret")),
            with("ours", "Bearer", None),
            with("none", "Basic", None),
        ],
    );
    for got in receiver.after(3).await {
        let signature = got.header("x-a2a-signature").unwrap();
        let said = got.header("authorization");
        match got.path.as_str() {
            "/given" => assert_eq!(said, Some("Bearer s3cret")),
            "/ours" => assert_eq!(said, Some(format!("Bearer {signature}").as_str())),
            _ => assert_eq!(said, None),
        }
    }
}

#[tokio::test]
async fn without_a_signer_nothing_is_signed() {
    let receiver = Receiver::start().await;
    let scene = Scene::start(quick());
    scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    let got = receiver.after(1).await.remove(0);
    assert_eq!(got.header("x-a2a-signature"), None);
    assert_eq!(got.header("authorization"), None);
}

/// Loopback is allowed, and secrets are sealed with this key.
fn sealing(byte: u8) -> Guard {
    loopback().sealing(Arc::new(SealingKey::from_bytes([byte; 32])))
}

/// A webhook as the store has it.
fn stored(url: &str, secret: impl Fn(&str) -> String) -> Webhook {
    let mut webhook = webhook("t", "w", url, Dialect::V1);
    webhook.config.token = Some(Secret::new(secret(TOKEN)));
    webhook.config.authentication = Some(Authentication {
        scheme: "Bearer".to_owned(),
        credentials: Some(Secret::new(secret(CREDENTIALS))),
    });
    webhook
}

#[tokio::test]
async fn sealed_secrets_are_opened_to_be_sent_and_old_ones_are_sent_as_they_are() {
    let key = SealingKey::from_bytes([1; 32]);
    let seal = |text: &str| key.seal(text);
    let plain = |text: &str| text.to_owned();
    for secret in [&seal as &dyn Fn(&str) -> String, &plain] {
        let receiver = Receiver::start().await;
        let scene = Scene::with(sealing(1), quick());
        scene.task_with("t", vec![stored(&receiver.url("/"), secret)]);
        let got = receiver.after(1).await.remove(0);
        assert_eq!(got.header("x-a2a-notification-token"), Some(TOKEN));
        let bearer = format!("Bearer {CREDENTIALS}");
        assert_eq!(got.header("authorization"), Some(bearer.as_str()));
    }
}

#[tokio::test]
async fn what_another_key_has_sealed_becomes_a_dead_letter_that_says_so() {
    let receiver = Receiver::start().await;
    let settings = Settings {
        give_up_after: Duration::ZERO,
        ..quick()
    };
    let scene = Scene::with(sealing(2), settings);
    let key = SealingKey::from_bytes([1; 32]);
    let webhook = stored(&receiver.url("/"), |text| key.seal(text));
    scene.task_with("t", vec![webhook]);
    scene.until("t", "w", |d| d.delivered == 1).await;
    let letters = scene.dead_letters().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(
        letters[0].error,
        "the secret of this webhook cannot be opened: it was sealed with another key"
    );
    assert!(receiver.got().is_empty());
}
