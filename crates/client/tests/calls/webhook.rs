//! Being told: by the real engine, and by those who pretend.

use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json as value;
use switchboard_client::Keys;
use switchboard_client::webhook::{Receiver, Rejected};
use switchboard_keys::{Algorithm, SigningKey, jwks, sha256_hex};
use switchboard_server::sign::{Outgoing, Signer, Use};
use switchboard_types::model::{Secret, TaskId};
use url::Url;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        )
    });
    pairs.collect()
}

const TASK: &[u8] = br#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#;

#[test]
fn s1_038_only_what_is_authentic_and_expected_counts() {
    let receiver = Receiver::new()
        .token(Secret::new("tok"))
        .authorization("Bearer", Secret::new("cred"));
    let good = headers(&[
        ("x-a2a-notification-token", "tok"),
        ("authorization", "bearer cred"),
    ]);
    assert_eq!(receiver.receive(&good, TASK), Err(Rejected::NotExpected));
    receiver.expects(&TaskId::new("t").unwrap());
    for wrong in [
        headers(&[]),
        headers(&[("x-a2a-notification-token", "tok")]),
        headers(&[("authorization", "Bearer cred")]),
        headers(&[
            ("x-a2a-notification-token", "tok"),
            ("authorization", "Bearer other"),
        ]),
        headers(&[
            ("x-a2a-notification-token", "to"),
            ("authorization", "Bearer cred"),
        ]),
        headers(&[
            ("x-a2a-notification-token", "tok"),
            ("authorization", "Basic cred"),
        ]),
    ] {
        let rejected = receiver.receive(&wrong, TASK).unwrap_err();
        assert_eq!(rejected.status(), 401, "{wrong:?}");
    }
    let told = receiver.receive(&good, TASK).unwrap().unwrap();
    assert_eq!(told.task_id, Some(TaskId::new("t").unwrap()));
    assert_eq!(receiver.receive(&good, TASK), Ok(None), "told before");
    for body in [&b""[..], b"{", b"[]", b"{}", b"\xff"] {
        assert_eq!(receiver.receive(&good, body).unwrap_err().status(), 400);
    }
    receiver.forgets(&TaskId::new("t").unwrap());
    assert_eq!(receiver.receive(&good, TASK), Err(Rejected::NotExpected));
}

#[test]
fn repeats_are_known_by_their_number_and_pieces_without_one_are_no_repeats() {
    let receiver = Receiver::new().any_task();
    let piece = br#"{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,
        "artifact":{"artifactId":"a","parts":[{"text":"ha"}]}}}"#;
    let one = headers(&[("x-a2a-event-id", "1")]);
    let two = headers(&[("x-a2a-event-id", "2")]);
    assert!(receiver.receive(&one, piece).unwrap().is_some());
    assert!(receiver.receive(&one, piece).unwrap().is_none());
    assert!(receiver.receive(&two, piece).unwrap().is_some());
    for _ in 0..2 {
        assert!(receiver.receive(&headers(&[]), piece).unwrap().is_some());
    }
}

#[test]
fn c_030_a_signature_is_checked_with_all_it_says() {
    let key = Ed25519KeyPair::generate().unwrap();
    let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let x = b64(key.public_key().as_ref());
    let jwks = value!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]}).to_string();
    let receiver = Receiver::new()
        .any_task()
        .keys(Keys::from_jwks(jwks.as_bytes()).unwrap());
    let now = switchboard_server::clock::now().as_micros() / 1_000_000;
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, TASK);
    let hash: String = hash
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let token = |claims: serde_json::Value| {
        let header = b64(br#"{"alg":"EdDSA"}"#);
        let signed = format!("{header}.{}", b64(claims.to_string().as_bytes()));
        let signature = b64(key.sign(signed.as_bytes()).as_ref());
        headers(&[("authorization", &format!("Bearer {signed}.{signature}"))])
    };
    for (claims, why) in [
        (value!({"iat": now - 10_000}), "expired"),
        (value!({"exp": now - 3600}), "expired"),
        (value!({"iat": now + 3600}), "future"),
        (value!({"jti": "x"}), "does not say when"),
        (value!({"iat": now, "taskId": "other"}), "another task"),
        (
            value!({"iat": now, "request_body_sha256": "00"}),
            "another body",
        ),
    ] {
        let rejected = receiver.receive(&token(claims.clone()), TASK).unwrap_err();
        assert!(rejected.to_string().contains(why), "{claims}: {rejected}");
    }
    let good = value!({"iat": now, "exp": now + 60, "jti": "1", "taskId": "t", "request_body_sha256": hash});
    assert!(
        receiver
            .receive(&token(good.clone()), TASK)
            .unwrap()
            .is_some()
    );
    assert!(
        receiver.receive(&token(good), TASK).unwrap().is_none(),
        "the same signature again"
    );
    for wrong in ["", "Bearer a.b.c", "Bearer x", "Basic eA=="] {
        let rejected = receiver.receive(&headers(&[("authorization", wrong)]), TASK);
        assert_eq!(rejected.unwrap_err().status(), 401, "{wrong}");
    }
}

/// Switchboard's signature, and a receiver that knows its key.
struct Signed {
    key: Arc<SigningKey>,
    signer: Signer,
    receiver: Receiver,
}

const HOOK: &str = "https://hooks.example:8443/told?by=agent";

impl Signed {
    fn new() -> Self {
        let key = Arc::new(SigningKey::generate(Algorithm::Es256).unwrap());
        let signer = Signer::new("https://a.example".into(), &[(Arc::clone(&key), Use::Sign)]);
        let keys = Keys::from_jwks(&jwks(&[&key])).unwrap();
        let receiver = Receiver::new().any_task().keys(keys);
        Self {
            key,
            signer: signer.unwrap(),
            receiver: receiver.audience(&Url::parse(HOOK).unwrap()),
        }
    }

    /// What is sent of one event of the task `t`.
    fn notice(&self, number: usize, body: &[u8]) -> HeaderMap {
        let id = format!("t:{number}");
        let signature = self.signer.sign_notice(&Outgoing {
            audience: "https://hooks.example:8443",
            id: &id,
            task: "t",
            body_sha256: &sha256_hex(body),
        });
        headers(&[("x-a2a-event-id", &id), ("x-a2a-signature", &signature)])
    }

    /// A signature of our own making.
    fn claims(&self, claims: &serde_json::Value) -> HeaderMap {
        let token = self
            .key
            .sign_compact("a2a-notification+jwt", claims.to_string().as_bytes());
        headers(&[("x-a2a-signature", &token)])
    }

    fn refuses(&self, headers: &HeaderMap, body: &[u8], why: &str) {
        let rejected = self.receiver.receive(headers, body).unwrap_err();
        assert_eq!(rejected.status(), 401);
        assert!(rejected.to_string().contains(why), "{rejected}");
    }
}

fn with(mut headers: HeaderMap, name: &'static str, value: &str) -> HeaderMap {
    headers.insert(name, HeaderValue::from_str(value).unwrap());
    headers
}

fn now() -> i64 {
    switchboard_server::clock::now().as_micros() / 1_000_000
}

#[test]
fn what_switchboard_signs_is_taken_once() {
    let signed = Signed::new();
    let told = signed.receiver.receive(&signed.notice(1, TASK), TASK);
    assert_eq!(told.unwrap().unwrap().id.as_deref(), Some("t:1"));
    // A repetition is signed anew.
    let again = signed.receiver.receive(&signed.notice(1, TASK), TASK);
    assert_eq!(again, Ok(None));
}

#[test]
fn a_signature_is_looked_for_in_its_header_and_then_in_the_authorization() {
    let signed = Signed::new();
    let notice = signed.notice(1, TASK);
    let signature = notice["x-a2a-signature"].to_str().unwrap();
    let other = with(notice.clone(), "authorization", "Bearer of something else");
    assert!(signed.receiver.receive(&other, TASK).unwrap().is_some());
    let bearer = headers(&[("authorization", &format!("Bearer {signature}"))]);
    assert_eq!(signed.receiver.receive(&bearer, TASK), Ok(None));
    let first = with(
        signed.notice(2, TASK),
        "authorization",
        &format!("Bearer {signature}"),
    );
    let first = with(first, "x-a2a-signature", "a.b.c");
    signed.refuses(&first, TASK, "no JWT that can be checked");
}

#[test]
fn a_notification_that_was_overheard_is_not_told_again_under_another_number() {
    let signed = Signed::new();
    let overheard = signed.notice(1, TASK);
    assert!(signed.receiver.receive(&overheard, TASK).unwrap().is_some());
    let renumbered = with(overheard.clone(), "x-a2a-event-id", "t:2");
    signed.refuses(&renumbered, TASK, "another event");
    let mut unnumbered = overheard;
    unnumbered.remove("x-a2a-event-id");
    assert_eq!(signed.receiver.receive(&unnumbered, TASK), Ok(None));
}

#[test]
fn another_signer_may_number_otherwise_and_is_known_by_either_number() {
    let signed = Signed::new();
    let claims = |jti: &str| {
        let claims = value!({
            "iat": now(), "aud": HOOK, "jti": jti, "request_body_sha256": sha256_hex(TASK),
        });
        let token = signed
            .key
            .sign_compact("JWT", claims.to_string().as_bytes());
        headers(&[("authorization", &format!("Bearer {token}"))])
    };
    let first = claims("a");
    let one = with(first.clone(), "x-a2a-event-id", "1");
    assert!(signed.receiver.receive(&one, TASK).unwrap().is_some());
    let replayed = with(first, "x-a2a-event-id", "2");
    assert_eq!(signed.receiver.receive(&replayed, TASK), Ok(None));
    let signed_anew = with(claims("b"), "x-a2a-event-id", "1");
    assert_eq!(signed.receiver.receive(&signed_anew, TASK), Ok(None));
    let next = with(claims("c"), "x-a2a-event-id", "3");
    assert!(signed.receiver.receive(&next, TASK).unwrap().is_some());
}

#[test]
fn a_signature_without_a_number_is_good_for_one_time() {
    let signed = Signed::new();
    let piece = br#"{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,
        "artifact":{"artifactId":"a","parts":[{"text":"ha"}]}}}"#;
    let claims = value!({"iat": now(), "aud": [HOOK]});
    let one = signed.claims(&claims);
    assert!(signed.receiver.receive(&one, piece).unwrap().is_some());
    assert_eq!(signed.receiver.receive(&one, piece), Ok(None));
    let two = signed.claims(&claims);
    assert!(signed.receiver.receive(&two, piece).unwrap().is_some());
}

#[test]
fn a_replay_is_known_after_ten_thousand_others() {
    let signed = Signed::new();
    let overheard = signed.notice(0, TASK);
    assert!(signed.receiver.receive(&overheard, TASK).unwrap().is_some());
    for number in 1..=10_001 {
        let notice = signed.notice(number, TASK);
        assert!(signed.receiver.receive(&notice, TASK).unwrap().is_some());
    }
    assert_eq!(signed.receiver.receive(&overheard, TASK), Ok(None));
}

#[test]
fn a_notification_that_comes_late_is_refused() {
    let signed = Signed::new();
    let made = |at: i64| {
        signed.claims(&value!({
            "iat": at, "exp": at + 300, "aud": "https://hooks.example:8443", "jti": "t:1",
            "taskId": "t", "request_body_sha256": sha256_hex(TASK),
        }))
    };
    signed.refuses(&made(now() - 3600), TASK, "expired");
    signed.refuses(&made(now() + 3600), TASK, "future");
    assert!(signed.receiver.receive(&made(now()), TASK).is_ok());
}

#[test]
fn a_notification_that_was_altered_is_refused() {
    let signed = Signed::new();
    let notice = signed.notice(1, TASK);
    let other = String::from_utf8(TASK.to_vec()).unwrap();
    let other = other.replace("completed", "failed");
    signed.refuses(&notice, other.as_bytes(), "another body");
    let signature = notice["x-a2a-signature"].to_str().unwrap();
    let mut parts = signature.split('.');
    let (header, claims) = (parts.next().unwrap(), parts.next().unwrap());
    let claims = URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims = String::from_utf8(claims).unwrap().replace("t:1", "t:2");
    let forged = format!(
        "{header}.{}.{}",
        URL_SAFE_NO_PAD.encode(claims),
        parts.next().unwrap()
    );
    let forged = with(notice, "x-a2a-signature", &forged);
    let forged = with(forged, "x-a2a-event-id", "t:2");
    signed.refuses(&forged, TASK, "the signature is wrong");
}

#[test]
fn a_notification_for_another_receiver_is_refused() {
    let signed = Signed::new();
    for audience in [
        value!("https://hooks.example"),
        value!("https://other.example:8443"),
        value!([]),
        value!(null),
    ] {
        let claims = value!({"iat": now(), "aud": audience, "jti": "t:1"});
        signed.refuses(&signed.claims(&claims), TASK, "another receiver");
    }
}
