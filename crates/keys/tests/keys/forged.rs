//! Signatures that look right: keys and secrets must not be talked into believing them.

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use switchboard_keys::{
    Algorithm, KeyError, PublicKeys, SharedSecret, SigningKey, encoded, jwks, read,
};

use crate::{ALL, listed, pem};

/// What is signed, with this header.
fn message(header: &Value) -> String {
    format!("{}.e30", encoded(header.to_string().as_bytes()))
}

#[test]
fn a_public_key_is_no_shared_secret() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let keys = PublicKeys::from_jwks(&jwks(&[&key])).unwrap();
    let jwk = key.jwk();
    let x = switchboard_keys::decoded(jwk["x"].as_str().unwrap()).unwrap();
    // What everyone knows of the key, in the forms in which it has been taken for a secret.
    for known in [x, jwk.to_string().into_bytes(), jwks(&[&key])] {
        let signed = message(&json!({"alg": "HS256", "kid": key.kid()}));
        let tag = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, &known),
            signed.as_bytes(),
        );
        let token = format!("{signed}.{}", encoded(tag.as_ref()));
        let jws = read(&token).unwrap();
        let secret = SharedSecret::new(&known).unwrap();
        assert!(secret.verify(&jws, &ALL), "the forgery is well made");
        assert!(!keys.verify(&jws, &ALL));
        assert!(!keys.verify(&jws, &[Algorithm::Hs256]));
    }
}

#[test]
fn a_secret_that_can_be_guessed_is_refused() {
    for length in [0, 1, 31] {
        let error = SharedSecret::new(&vec![7; length]).unwrap_err();
        assert!(matches!(error, KeyError::TooShort), "{length}: {error}");
    }
    let secret = SharedSecret::new(&[7; 32]).unwrap();
    assert!(!format!("{secret:?}").contains('7'), "not for logs");
}

#[test]
fn signatures_that_are_no_numbers_are_refused() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let keys = PublicKeys::from_jwks(&jwks(&[&key])).unwrap();
    let token = key.sign_compact("JWT", b"{}");
    let good = read(&token).unwrap();
    assert!(keys.verify(&good, &ALL));
    let cut = good.signature[..63].to_vec();
    let longer = [&good.signature[..], &[0]].concat();
    let mut turned = good.signature.clone();
    turned[63] ^= 1;
    // Zeros were once believed by others whatever was signed.
    let zeros = vec![0; 64];
    for signature in [Vec::new(), cut, longer, turned, zeros, vec![0xff; 64]] {
        let mut jws = read(&token).unwrap();
        jws.signature = signature;
        assert!(!keys.verify(&jws, &ALL), "{:?}", jws.signature);
    }
}

/// The same key in our type.
fn of_pair(pair: &EcdsaKeyPair) -> SigningKey {
    let der = pair.to_pkcs8v1().unwrap();
    SigningKey::from_pem(pem("PRIVATE KEY", der.as_ref()).as_bytes()).unwrap()
}

#[test]
fn a_signature_in_the_form_of_certificates_is_refused() {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
    let key = of_pair(&pair);
    let signed = message(&json!({"alg": "ES256"}));
    let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    let token = format!("{signed}.{}", encoded(signature.as_ref()));
    assert!(!listed(&key.jwk()).verify(&read(&token).unwrap(), &ALL));
}

#[test]
fn a_name_chooses_among_keys_and_an_unknown_one_fits_none() {
    let named = |kid: &str| {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        key.with_kid(kid.to_owned())
    };
    let (one, two) = (named("1"), named("2"));
    let keys = PublicKeys::from_jwks(&jwks(&[&one, &two])).unwrap();
    assert!(keys.knows("1") && keys.knows("2") && !keys.knows("3"));
    for key in [&one, &two] {
        assert!(keys.verify(&read(&key.sign_compact("JWT", b"{}")).unwrap(), &ALL));
    }
    let stolen = named("1").sign_compact("JWT", b"{}");
    assert!(!keys.verify(&read(&stolen).unwrap(), &ALL));
    let token = one.with_kid("2".to_owned()).sign_compact("JWT", b"{}");
    let mut jws = read(&token).unwrap();
    assert!(!keys.verify(&jws, &ALL), "a good signature, another's name");
    jws.header.kid = Some("3".to_owned());
    assert!(!keys.verify(&jws, &ALL), "nobody's name");
    jws.header.kid = None;
    assert!(keys.verify(&jws, &ALL), "no name: all are tried");
    let mut nameless = two.jwk();
    nameless.as_object_mut().unwrap().remove("kid");
    let token = two.sign_compact("JWT", b"{}");
    assert!(listed(&nameless).verify(&read(&token).unwrap(), &ALL));
    assert!(!listed(&nameless).knows("2"));
}

#[test]
fn a_key_that_comes_with_the_signature_is_not_believed() {
    let ours = SigningKey::generate(Algorithm::Es256).unwrap();
    let keys = PublicKeys::from_jwks(&jwks(&[&ours])).unwrap();
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    for header in [
        json!({"alg": "ES256", "jwk": of_pair(&pair).jwk()}),
        json!({"alg": "ES256", "kid": ours.kid(), "jku": "https://evil.example/jwks.json"}),
        json!({"alg": "ES256", "x5c": ["AAAA"]}),
    ] {
        let signed = message(&header);
        let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        let token = format!("{signed}.{}", encoded(signature.as_ref()));
        assert!(!keys.verify(&read(&token).unwrap(), &ALL), "{header}");
    }
}

#[test]
fn an_rsa_key_checks_six_algorithms_and_mixes_up_none() {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let numbers = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
    let (n, e) = (encoded(&numbers.n), encoded(&numbers.e));
    let keys = listed(&json!({"kty": "RSA", "n": n, "e": e}));
    let ways: [(Algorithm, &'static dyn RsaEncoding); 6] = [
        (Algorithm::Rs256, &RSA_PKCS1_SHA256),
        (Algorithm::Rs384, &RSA_PKCS1_SHA384),
        (Algorithm::Rs512, &RSA_PKCS1_SHA512),
        (Algorithm::Ps256, &RSA_PSS_SHA256),
        (Algorithm::Ps384, &RSA_PSS_SHA384),
        (Algorithm::Ps512, &RSA_PSS_SHA512),
    ];
    for (made, way) in ways {
        for said in ALL {
            let signed = message(&json!({"alg": said.name()}));
            let mut signature = vec![0; pair.public_modulus_len()];
            let rng = SystemRandom::new();
            pair.sign(way, &rng, signed.as_bytes(), &mut signature)
                .unwrap();
            let token = format!("{signed}.{}", encoded(&signature));
            let good = keys.verify(&read(&token).unwrap(), &ALL);
            assert_eq!(good, made == said, "{made:?} as {said:?}");
            // A key that says what it is for is good for that only.
            let one = json!({"kty": "RSA", "n": n, "e": e, "alg": "PS256"});
            let good = listed(&one).verify(&read(&token).unwrap(), &ALL);
            assert_eq!(good, made == said && said == Algorithm::Ps256, "{said:?}");
        }
    }
}
