//! Keys of our own: made, written, read, published, used.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_keys::{
    Algorithm, KeyError, PublicKeys, SigningKey, decoded, encoded, jwks, read, read_detached,
    sha256,
};

use crate::{ALL, hex, listed, pem};

/// What can sign.
const SIGN: [Algorithm; 4] = [
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::EdDsa,
    Algorithm::Rs256,
];

#[test]
fn what_a_key_signs_its_public_part_believes() {
    for alg in SIGN {
        let key = SigningKey::generate(alg).unwrap();
        assert_eq!(key.algorithm(), alg);
        let keys = PublicKeys::from_jwks(&jwks(&[&key])).unwrap();
        assert!(keys.knows(key.kid()));
        let token = key.sign_compact("a2a-notification+jwt", br#"{"iss":"us"}"#);
        let jws = read(&token).unwrap();
        assert!(keys.verify(&jws, &[alg]), "{alg:?}");
        assert_eq!(jws.header.alg, alg);
        assert_eq!(jws.header.kid.as_deref(), Some(key.kid()));
        assert_eq!(jws.header.typ.as_deref(), Some("a2a-notification+jwt"));
        assert_eq!(decoded(jws.payload).unwrap(), br#"{"iss":"us"}"#);
        let stranger = SigningKey::generate(alg).unwrap();
        assert_ne!(stranger.kid(), key.kid());
        let stranger = stranger.with_kid(key.kid().to_owned());
        assert!(!listed(&stranger.jwk()).verify(&jws, &ALL), "{alg:?}");
    }
}

#[test]
fn a_payload_is_signed_apart_with_what_the_header_adds() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let extra = [
        ("typ", "JOSE"),
        ("jku", "https://us.example/.well-known/jwks.json"),
        // The key's own words stand.
        ("alg", "none"),
        ("kid", "another"),
    ];
    let (protected, signature) = key.sign_detached(&extra, b"card");
    let header: Value = serde_json::from_slice(&decoded(&protected).unwrap()).unwrap();
    let expected = json!({
        "alg": "ES256", "kid": key.kid(), "typ": "JOSE",
        "jku": "https://us.example/.well-known/jwks.json",
    });
    assert_eq!(header, expected);
    let payload = encoded(b"card");
    let jws = read_detached(&protected, &payload, &signature).unwrap();
    assert!(listed(&key.jwk()).verify(&jws, &ALL));
    let payload = encoded(b"cart");
    let jws = read_detached(&protected, &payload, &signature).unwrap();
    assert!(!listed(&key.jwk()).verify(&jws, &ALL));
}

#[test]
fn a_key_that_is_written_and_read_is_the_same() {
    for alg in SIGN {
        let key = SigningKey::generate(alg).unwrap();
        let text = key.to_pem();
        assert!(text.lines().all(|line| line.len() <= 64), "{alg:?}");
        let again = SigningKey::from_pem(text.as_bytes()).unwrap();
        assert_eq!(again.jwk(), key.jwk());
        let token = again.sign_compact("JWT", b"{}");
        assert!(listed(&key.jwk()).verify(&read(&token).unwrap(), &ALL));
        assert_eq!(again.to_pem(), text);
    }
}

#[test]
fn a_public_part_says_nothing_of_the_private_one() {
    let members = |alg| {
        let jwk = SigningKey::generate(alg).unwrap().jwk();
        assert_eq!(
            (&jwk["use"], &jwk["alg"]),
            (&json!("sig"), &json!(alg.name()))
        );
        let mut names: Vec<String> = jwk.as_object().unwrap().keys().cloned().collect();
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(members(Algorithm::Es256), "alg crv kid kty use x y");
    assert_eq!(members(Algorithm::Es384), "alg crv kid kty use x y");
    assert_eq!(members(Algorithm::EdDsa), "alg crv kid kty use x");
    assert_eq!(members(Algorithm::Rs256), "alg e kid kty n use");
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    assert_eq!(format!("{key:?}"), format!("SigningKey({:?})", key.kid()));
}

/// The key of RFC 7515 A.3, as `openssl ecparam -genkey` would write it: its parameters first.
#[test]
fn the_older_form_of_a_curve_is_read() {
    let d = decoded("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI").unwrap();
    let oid = hex("06082a8648ce3d030107");
    let der = [&hex("30310201010420")[..], &d, &hex("a00a"), &oid].concat();
    let text = pem("EC PARAMETERS", &oid) + &pem("EC PRIVATE KEY", &der);
    let key = SigningKey::from_pem(text.as_bytes()).unwrap();
    assert_eq!(
        key.jwk()["x"],
        "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    );
    assert_eq!(
        key.jwk()["y"],
        "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    );
    assert_eq!(key.algorithm(), Algorithm::Es256);
}

/// The key of RFC 6979 A.2.6.
#[test]
fn the_older_form_of_the_larger_curve_is_read() {
    let der = "303e0201010430\
               6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D8\
               96D5724E4C70A825F872C9EA60D2EDF5\
               a00706052b81040022";
    let key = SigningKey::from_pem(pem("EC PRIVATE KEY", &hex(der)).as_bytes()).unwrap();
    let x = "EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64\
             DEF8F0EA9055866064A254515480BC13";
    assert_eq!(key.jwk()["x"], encoded(&hex(x)));
    assert_eq!(key.algorithm(), Algorithm::Es384);
}

#[test]
fn the_older_form_of_rsa_is_read() {
    let key = SigningKey::generate(Algorithm::Rs256).unwrap();
    let text: String = key
        .to_pem()
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let der = STANDARD.decode(text).unwrap();
    // PKCS#8 is PKCS#1 behind 26 bytes that say so.
    let older = pem("RSA PRIVATE KEY", &der[26..]);
    let again = SigningKey::from_pem(older.as_bytes()).unwrap();
    assert_eq!(again.jwk(), key.jwk());
}

/// RFC 8037 A.1 to A.3.
#[test]
fn a_key_is_named_by_its_thumbprint() {
    let d = decoded("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    let der = [&hex("302e020100300506032b657004220420")[..], &d].concat();
    let key = SigningKey::from_pem(pem("PRIVATE KEY", &der).as_bytes()).unwrap();
    assert_eq!(
        key.jwk()["x"],
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    );
    assert_eq!(key.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let named = key.with_kid("2026".to_owned());
    assert_eq!((named.kid(), &named.jwk()["kid"]), ("2026", &json!("2026")));
}

/// RFC 7638 §3.2: these members, in this order.
#[test]
fn a_thumbprint_is_over_what_makes_the_key() {
    for alg in SIGN {
        let key = SigningKey::generate(alg).unwrap();
        let jwk = key.jwk();
        let names: &[&str] = match jwk["kty"].as_str().unwrap() {
            "EC" => &["crv", "kty", "x", "y"],
            "OKP" => &["crv", "kty", "x"],
            _ => &["e", "kty", "n"],
        };
        let members: Vec<String> = names
            .iter()
            .map(|name| format!("\"{name}\":{}", jwk[name]))
            .collect();
        let text = format!("{{{}}}", members.join(","));
        assert_eq!(key.kid(), encoded(&sha256(text.as_bytes())), "{alg:?}");
    }
}

#[test]
fn what_is_no_private_key_is_refused_with_the_reason() {
    let good = SigningKey::generate(Algorithm::Es256).unwrap().to_pem();
    for text in [
        "",
        "key",
        "-----BEGIN PRIVATE KEY-----",
        &good.replace("END", "ENDE"),
        &good.replace("PRIVATE KEY", "PUBLIC KEY"),
        &good.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
        &good.replace("\nM", "\n!"),
    ] {
        let error = SigningKey::from_pem(text.as_bytes()).unwrap_err();
        assert!(matches!(error, KeyError::NotPem), "{text}: {error}");
    }
    // X25519, which agrees on keys and signs nothing.
    let x25519 = [&hex("302e020100300506032b656e04220420")[..], &[7; 32]].concat();
    for der in [&b""[..], b"key", &[0x30; 99], &x25519] {
        let error = SigningKey::from_pem(pem("PRIVATE KEY", der).as_bytes()).unwrap_err();
        assert!(matches!(error, KeyError::UnknownKind), "{der:?}: {error}");
    }
    for alg in ALL.into_iter().filter(|alg| !SIGN.contains(alg)) {
        let error = SigningKey::generate(alg).unwrap_err();
        assert!(error.to_string().contains(alg.name()), "{error}");
    }
}
