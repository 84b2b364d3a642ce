//! Being told: by the real engine, and by those who pretend.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json as value;
use switchboard_client::Keys;
use switchboard_client::webhook::{Receiver, Rejected};
use switchboard_types::model::{Secret, TaskId};

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
