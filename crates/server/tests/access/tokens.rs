//! Tokens that someone has made up.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use switchboard_keys::{Algorithm, SharedSecret, SigningKey, encoded, jwks};
use switchboard_server::auth::method::{Claims, Declared, Jwt, JwtKeys};
use switchboard_server::auth::{Access, Alternative, Authenticator, Failures, Scheme};
use switchboard_server::shutdown::Tasks;
use switchboard_testkit::eventually;

use crate::house::{Books, House, serve};
use crate::issuer::{AUDIENCE, Issuer, desk, jwt, seconds};
use crate::wire::Way;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

fn lenient() -> Failures {
    Failures::new(1_000, Duration::from_secs(60))
}

fn by_secret(name: &str, issuer: Option<&str>) -> Arc<dyn Scheme> {
    let secret = SharedSecret::new(SECRET).unwrap();
    let keys = JwtKeys::Secret(Box::new(secret));
    Arc::new(jwt(name, keys, &[Algorithm::Hs256], issuer))
}

/// A token with this header and these claims, signed by HMAC with that secret.
fn hs256(secret: &[u8], header: &Value, claims: &Value) -> String {
    hs256_text(secret, &header.to_string(), &claims.to_string())
}

/// The same of any texts.
fn hs256_text(secret: &[u8], header: &str, claims: &str) -> String {
    let part = |text: &str| encoded(text.as_bytes());
    let signed = format!("{}.{}", part(header), part(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", encoded(signature.as_ref()))
}

fn header() -> Value {
    json!({"alg": "HS256", "typ": "JWT"})
}

fn claims(subject: &str) -> Value {
    json!({"aud": AUDIENCE, "sub": subject, "exp": seconds() + 300})
}

async fn status(house: &House, token: &str) -> u16 {
    let answer = house.read(Way::Rest10, "desk", token, "nothing").await;
    answer.status.as_u16()
}

#[tokio::test]
async fn a_token_signed_with_the_shared_secret_is_taken_and_no_other() {
    let house = desk(vec![by_secret("bearer", None)], lenient()).await;
    let good = hs256(SECRET, &header(), &claims("ann"));
    // Once checked, once remembered.
    assert_eq!(status(&house, &good).await, 404);
    assert_eq!(status(&house, &good).await, 404);
    let guessed = hs256(&[b'x'; 32], &header(), &claims("ann"));
    assert_eq!(status(&house, &guessed).await, 401);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let changed = good.replace(&encoded(claims("ann").to_string().as_bytes()), "e30");
    for bad in [
        signed,
        &format!("{signed}."),
        &format!("{good}A"),
        &changed,
        "a.b.c",
        "..",
        "x",
    ] {
        assert_eq!(status(&house, bad).await, 401, "{bad}");
    }
    let long = hs256(SECRET, &header(), &claims(&"a".repeat(9_000)));
    assert_eq!(status(&house, &long).await, 401);
}

#[tokio::test]
async fn a_token_that_gives_a_claim_or_a_member_of_its_header_twice_is_refused() {
    let house = desk(vec![by_secret("bearer", None)], lenient()).await;
    let (header, good) = (header().to_string(), claims("ann").to_string());
    let with = |text: &str, more: &str| text.replacen('{', &format!("{{{more},"), 1);
    let token = hs256_text(SECRET, &header, &with(&good, r#""dept":"x""#));
    assert_eq!(status(&house, &token).await, 404);
    for more in [
        r#""sub":"bob""#,
        r#""s\u0075b":"bob""#,
        r#""exp":1"#,
        r#""dept":"x","dept":"y""#,
        r#""address":{"city":"a","city":"b"}"#,
    ] {
        let token = hs256_text(SECRET, &header, &with(&good, more));
        assert_eq!(status(&house, &token).await, 401, "{more}");
    }
    for more in [r#""alg":"HS256""#, r#""x5u":"a","x5u":"b""#] {
        let token = hs256_text(SECRET, &with(&header, more), &good);
        assert_eq!(status(&house, &token).await, 401, "{more}");
    }
}

#[tokio::test]
async fn a_token_without_a_signature_is_none() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let issuer = Issuer::open(&key).await;
    let schemes = vec![by_secret("bearer", None), issuer.scheme("corp")];
    let house = desk(schemes, lenient()).await;
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let part = |value: Value| encoded(value.to_string().as_bytes());
        let signed = format!(
            "{}.{}",
            part(json!({"alg": alg})),
            part(issuer.claims("ann"))
        );
        for signature in ["", "AAAA"] {
            let token = format!("{signed}.{signature}");
            assert_eq!(status(&house, &token).await, 401, "{token}");
        }
    }
}

#[tokio::test]
async fn a_public_key_is_no_secret() {
    for algorithm in [Algorithm::Rs256, Algorithm::Es256] {
        let key = SigningKey::generate(algorithm).unwrap();
        let issuer = Issuer::open(&key).await;
        let house = desk(vec![issuer.scheme("corp")], lenient()).await;
        assert_eq!(status(&house, &issuer.token(&key, "ann")).await, 404);
        for secret in [jwks(&[&key]), key.jwk().to_string().into_bytes()] {
            for kid in [
                json!({"alg": "HS256"}),
                json!({"alg": "HS256", "kid": key.kid()}),
            ] {
                let token = hs256(&secret, &kid, &issuer.claims("ann"));
                assert_eq!(status(&house, &token).await, 401);
            }
        }
    }
}

#[tokio::test]
async fn a_token_cannot_choose_its_key() {
    let (good, own) = (
        SigningKey::generate(Algorithm::Es256).unwrap(),
        SigningKey::generate(Algorithm::Es256).unwrap(),
    );
    let issuer = Issuer::open(&good).await;
    let attacker = Issuer::open(&own).await;
    let house = desk(vec![issuer.scheme("corp")], lenient()).await;
    let keys = format!("{}/keys", attacker.url());
    let own = own.with_kid(good.kid().to_owned());
    assert_eq!(status(&house, &issuer.token(&own, "ann")).await, 401);
    let payload = issuer.claims("ann").to_string();
    for (name, value) in [
        ("jku", keys.as_str()),
        ("x5u", &keys),
        ("kid", "' OR 1=1 --"),
    ] {
        let (protected, signature) = own.sign_detached(&[(name, value)], payload.as_bytes());
        let token = format!("{protected}.{}.{signature}", encoded(payload.as_bytes()));
        assert_eq!(status(&house, &token).await, 401, "{name}");
    }
    assert_eq!(attacker.fetched(), 0);
}

#[tokio::test]
async fn a_token_for_something_else_opens_nothing() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let issuer = Issuer::open(&key).await;
    let house = desk(vec![issuer.scheme("corp")], lenient()).await;
    let payload = issuer.claims("ann").to_string();
    for (typ, expected) in [
        ("JWT", 404),
        ("jwt", 404),
        ("at+jwt", 404),
        ("a2a-notification+jwt", 401),
        ("JOSE", 401),
    ] {
        let token = key.sign_compact(typ, payload.as_bytes());
        assert_eq!(status(&house, &token).await, expected, "{typ}");
    }
    let mut other = issuer.claims("ann");
    other["aud"] = json!("another");
    let token = key.sign_compact("JWT", other.to_string().as_bytes());
    let answer = house.read(Way::Rest10, "desk", &token, "nothing").await;
    assert_eq!(
        answer.challenges(),
        [
            "Bearer realm=\"switchboard\", error=\"invalid_token\", error_description=\"the credentials are for another \
             service\", resource_metadata=\"http://here/.well-known/oauth-protected-resource/a2a/desk\""
        ]
    );
}

#[tokio::test]
async fn two_issuers_stand_side_by_side_and_share_nobody() {
    let (one, two) = (
        SigningKey::generate(Algorithm::Es256).unwrap(),
        SigningKey::generate(Algorithm::EdDsa).unwrap(),
    );
    let (north, south) = (Issuer::open(&one).await, Issuer::open(&two).await);
    let schemes = vec![
        by_secret("bearer", None),
        north.scheme("north"),
        south.scheme("south"),
    ];
    let house = desk(schemes, Failures::new(1, Duration::from_secs(60))).await;
    let task = house.task("desk", &north.token(&one, "ann")).await;
    for (token, expected) in [
        (north.token(&one, "ann"), 200),
        (south.token(&two, "ann"), 404),
        (hs256(SECRET, &header(), &claims("ann")), 404),
        // The right name with another's key.
        (north.token(&two, "ann"), 401),
    ] {
        let answer = house.read(Way::Rest10, "desk", &token, &task).await;
        assert_eq!(answer.status, expected);
    }
}

#[tokio::test]
async fn a_token_that_was_good_is_taken_until_it_expires() {
    let house = desk(vec![by_secret("bearer", None)], lenient()).await;
    let mut short = claims("ann");
    // With the leeway of a minute it has two seconds left at most.
    short["exp"] = json!(seconds() - 58);
    let token = hs256(SECRET, &header(), &short);
    assert_eq!(status(&house, &token).await, 404);
    eventually("its end", async || status(&house, &token).await != 404).await;
    let answer = house.read(Way::Rest10, "desk", &token, "nothing").await;
    assert!(answer.error().contains("have expired"), "{answer:?}");
}

/// A token that one method takes is no failure of the others.
#[tokio::test]
async fn methods_for_tokens_do_not_spoil_each_other() {
    let other = b"fedcba9876543210fedcba9876543210";
    let by = |name: &str, secret: &[u8], audience: &str| -> Arc<dyn Scheme> {
        let keys = JwtKeys::Secret(Box::new(SharedSecret::new(secret).unwrap()));
        let claims = Claims {
            issuer: None,
            audiences: vec![audience.to_owned()],
            skew: Duration::from_secs(60),
            subject_claim: "sub".to_owned(),
            tenant_claim: None,
            scope_claim: None,
        };
        let algorithms = vec![Algorithm::Hs256];
        Arc::new(Jwt::new(
            name.into(),
            keys,
            algorithms,
            claims,
            Declared::Bearer,
        ))
    };
    let schemes = vec![
        by("one", SECRET, AUDIENCE),
        by("two", other, AUDIENCE),
        by("three", SECRET, "another"),
    ];
    let house = desk(schemes, Failures::new(1, Duration::from_secs(60))).await;
    let mut elsewhere = claims("ann");
    elsewhere["aud"] = json!("another");
    for token in [
        hs256(SECRET, &header(), &claims("ann")),
        hs256(other, &header(), &claims("ann")),
        hs256(SECRET, &header(), &elsewhere),
    ] {
        for _ in 0..3 {
            assert_eq!(status(&house, &token).await, 404);
        }
    }
    let forged = hs256(&[b'x'; 32], &header(), &claims("ann"));
    assert_eq!(status(&house, &forged).await, 401);
    assert_eq!(status(&house, &forged).await, 429);
}

#[tokio::test]
async fn the_streams_of_a_token_end_when_it_expires() {
    let scheme = by_secret("bearer", None);
    let access = Access::by(vec![Alternative(vec![Arc::clone(&scheme)])]);
    let tasks = Tasks::default();
    let books = Books::unread(&tasks);
    let agents = vec![("stall".into(), access)];
    let house = serve(agents, Authenticator::new(vec![scheme]), books, tasks).await;
    let mut short = claims("ann");
    // With the leeway of a minute it has three seconds left at most.
    short["exp"] = json!(seconds() - 57);
    let token = hs256(SECRET, &header(), &short);
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let params = json!({"message": message});
    let stream = house.rpc("/a2a/stall", &token, "SendStreamingMessage", params);
    let stream = tokio::time::timeout(Duration::from_secs(60), stream).await;
    let stream = stream.unwrap();
    assert_eq!(stream.status, 200, "{stream:?}");
    assert!(stream.error().contains("TASK_STATE_"), "{stream:?}");
    let late = house.read(Way::Rest10, "stall", &token, "nothing").await;
    assert!(late.error().contains("have expired"), "{late:?}");
}
