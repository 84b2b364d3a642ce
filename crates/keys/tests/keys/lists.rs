//! Lists of keys: what is taken, what is left out, what is refused.

use serde_json::{Value, json};
use switchboard_keys::{Algorithm, KeyError, PublicKeys, SigningKey, encoded, jwks, read};

use crate::{ALL, listed};

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).unwrap()
}

/// The public part of a key, changed.
fn changed(key: &SigningKey, change: &[(&str, Value)]) -> Value {
    let mut jwk = key.jwk();
    for (name, value) in change {
        jwk[*name] = value.clone();
    }
    jwk
}

fn read_list(keys: &[Value]) -> Result<PublicKeys, KeyError> {
    PublicKeys::from_jwks(json!({ "keys": keys }).to_string().as_bytes())
}

#[test]
fn what_is_no_list_is_refused() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        "keys",
        r#"{"keys":{}}"#,
        r#"{"keys":null}"#,
        r#"{"keys":[]"#,
        r#"{"keys":[],"keys":[]}"#,
        r#"{"keys":[{"kty":"EC","kid":"a","kid":"b"}]}"#,
    ] {
        let error = PublicKeys::from_jwks(text.as_bytes()).unwrap_err();
        assert!(matches!(error, KeyError::NotJwks(_)), "{text}: {error}");
    }
}

#[test]
fn keys_that_cannot_be_used_are_left_out_and_a_list_of_them_is_refused() {
    let key = key();
    let text = |length: usize| encoded(&vec![0xf1; length]);
    let useless = [
        json!(null),
        json!("key"),
        json!({}),
        json!({"kty": "oct", "k": "c2VjcmV0"}),
        json!({"kty": "EC"}),
        changed(&key, &[("kty", json!("RSA"))]),
        changed(&key, &[("kty", json!(7))]),
        changed(&key, &[("kid", json!(7))]),
        changed(&key, &[("use", json!("enc"))]),
        changed(&key, &[("alg", json!("ES384"))]),
        changed(&key, &[("alg", json!("HS256"))]),
        changed(&key, &[("alg", json!("ECDH-ES"))]),
        changed(&key, &[("crv", json!("P-384"))]),
        changed(&key, &[("crv", json!("P-521"))]),
        changed(&key, &[("crv", json!("secp256k1"))]),
        changed(&key, &[("x", json!("!"))]),
        changed(&key, &[("x", Value::Null)]),
        // No point of the curve.
        changed(&key, &[("x", json!(text(32)))]),
        changed(&key, &[("x", json!(text(31)))]),
        changed(&key, &[("y", json!(""))]),
        json!({"kty": "OKP", "crv": "Ed25519", "x": text(31)}),
        json!({"kty": "OKP", "crv": "X25519", "x": text(32)}),
        json!({"kty": "RSA", "n": text(256)}),
        json!({"kty": "RSA", "n": "", "e": "AQAB"}),
        json!({"kty": "RSA", "n": "AAAA", "e": "AQAB"}),
        json!({"kty": "RSA", "n": text(256), "e": ""}),
        // 1024 bits, and more than 8192.
        json!({"kty": "RSA", "n": text(128), "e": "AQAB"}),
        json!({"kty": "RSA", "n": text(1025), "e": "AQAB"}),
    ];
    for jwk in &useless {
        let error = read_list(std::slice::from_ref(jwk)).unwrap_err();
        assert!(matches!(error, KeyError::NoneUsable), "{jwk}: {error}");
    }
    let all: Vec<Value> = useless.into_iter().chain([key.jwk()]).collect();
    let keys = read_list(&all).unwrap();
    let token = key.sign_compact("JWT", b"{}");
    assert!(keys.verify(&read(&token).unwrap(), &ALL));
}

#[test]
fn a_key_need_not_say_what_it_is_for() {
    let key = key();
    let token = key.sign_compact("JWT", b"{}");
    let mut jwk = key.jwk();
    for member in ["alg", "use", "kid"] {
        jwk.as_object_mut().unwrap().remove(member);
        assert!(listed(&jwk).verify(&read(&token).unwrap(), &ALL));
    }
}

#[test]
fn a_zero_before_a_number_does_no_harm() {
    let key = SigningKey::generate(Algorithm::Rs256).unwrap();
    let mut jwk = key.jwk();
    let n = switchboard_keys::decoded(jwk["n"].as_str().unwrap()).unwrap();
    jwk["n"] = encoded(&[&[0], &n[..]].concat()).into();
    jwk["e"] = "AAEAAQ".into();
    let token = key.sign_compact("JWT", b"{}");
    assert!(listed(&jwk).verify(&read(&token).unwrap(), &ALL));
}

#[test]
fn a_list_has_64_keys_at_most() {
    let key = key();
    let named = |count: usize| {
        let names = (0..count).map(|at| changed(&key, &[("kid", at.to_string().into())]));
        names.collect::<Vec<_>>()
    };
    assert!(read_list(&named(64)).unwrap().knows("63"));
    let error = read_list(&named(65)).unwrap_err();
    assert!(matches!(error, KeyError::TooMany), "{error}");
}

#[test]
fn lists_side_by_side_are_one() {
    let (one, two) = (key(), key());
    let [first, second] = [&one, &two].map(|key| PublicKeys::from_jwks(&jwks(&[key])).unwrap());
    let token = two.sign_compact("JWT", b"{}");
    assert!(!first.verify(&read(&token).unwrap(), &ALL));
    let both = first.merged(&second);
    assert!(both.knows(one.kid()) && both.knows(two.kid()));
    for key in [&one, &two] {
        let token = key.sign_compact("JWT", b"{}");
        assert!(both.verify(&read(&token).unwrap(), &ALL));
    }
    let nothing = PublicKeys::default();
    assert!(!nothing.verify(&read(&token).unwrap(), &ALL));
    assert!(nothing.merged(&both).knows(one.kid()));
}
