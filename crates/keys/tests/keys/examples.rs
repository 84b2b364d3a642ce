//! What the RFCs print must be good, and no longer good when it is touched.

use serde_json::Value;
use switchboard_keys::{
    Algorithm, Header, Jws, SharedSecret, decoded, encoded, read, read_detached, same, sha256,
    sha256_hex,
};

use crate::{ALL, hex, listed};

/// RFC 7515 A.1 to A.3, RFC 7520 4.1, 4.2 and 4.4, RFC 8037 A.4.
fn rfc(list: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("rfc.json")).unwrap();
    let examples = all[list].as_array().unwrap().clone();
    assert!(!examples.is_empty());
    examples
}

/// The same text with another payload.
fn touched(jws: &str) -> String {
    let (header, rest) = jws.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    format!("{header}.{payload}AAAA.{signature}")
}

#[test]
fn the_signatures_that_rfcs_print_are_good() {
    for example in rfc("public") {
        let name = &example["name"];
        let text = example["jws"].as_str().unwrap();
        let (jws, keys) = (read(text).unwrap(), listed(&example["key"]));
        assert!(keys.verify(&jws, &ALL), "{name}");
        assert!(keys.verify(&jws, &[jws.header.alg]), "{name}");
        assert!(!keys.verify(&jws, &[]), "{name}: nothing is allowed");
        let others: Vec<Algorithm> = ALL.into_iter().filter(|a| *a != jws.header.alg).collect();
        assert!(!keys.verify(&jws, &others), "{name}: by another algorithm");
        assert!(!keys.verify(&read(&touched(text)).unwrap(), &ALL), "{name}");
        for stranger in rfc("public") {
            if stranger["key"] != example["key"] {
                assert!(!listed(&stranger["key"]).verify(&jws, &ALL), "{name}");
            }
        }
    }
}

#[test]
fn the_shared_secrets_that_rfcs_print_are_good() {
    for example in rfc("shared") {
        let name = &example["name"];
        let text = example["jws"].as_str().unwrap();
        let jws = read(text).unwrap();
        let key = decoded(example["key"].as_str().unwrap()).unwrap();
        let secret = SharedSecret::new(&key).unwrap();
        assert!(secret.verify(&jws, &[Algorithm::Hs256]), "{name}");
        assert!(!secret.verify(&jws, &[Algorithm::Hs512]), "{name}");
        assert!(!secret.verify(&read(&touched(text)).unwrap(), &ALL));
        let other = SharedSecret::new(&[&key[..], &[1]].concat()).unwrap();
        assert!(!other.verify(&jws, &ALL), "{name}: another secret");
        for public in rfc("public") {
            let jws = read(public["jws"].as_str().unwrap()).unwrap();
            assert!(!secret.verify(&jws, &ALL), "{name}: not made by a secret");
        }
    }
}

#[test]
fn the_parts_of_an_example_are_told_apart() {
    let example = rfc("shared").remove(0);
    let jws = read(example["jws"].as_str().unwrap()).unwrap();
    let header = Header {
        alg: Algorithm::Hs256,
        kid: None,
        typ: Some("JWT".to_owned()),
    };
    assert_eq!(jws.header, header);
    let payload = String::from_utf8(decoded(jws.payload).unwrap()).unwrap();
    assert!(payload.starts_with("{\"iss\":\"joe\",\r\n"), "{payload}");
    assert_eq!(jws.signature.len(), 32);
    assert!(jws.signed.ends_with(jws.payload));
    let shown = format!("{jws:?}");
    assert!(!shown.contains(jws.payload), "{shown}: not for logs");
}

/// RFC 7520 4.5.
#[test]
fn a_payload_may_be_elsewhere() {
    let example = rfc("shared").remove(1);
    let key = decoded(example["key"].as_str().unwrap()).unwrap();
    let secret = SharedSecret::new(&key).unwrap();
    let parts: Vec<&str> = example["jws"].as_str().unwrap().split('.').collect();
    let [protected, payload, signature] = parts[..] else {
        panic!("three parts")
    };
    let jws = read_detached(protected, payload, signature).unwrap();
    assert!(secret.verify(&jws, &ALL));
    let padded = format!("{signature}=");
    let jws = read_detached(protected, payload, &padded).unwrap();
    assert!(secret.verify(&jws, &ALL), "padding does no harm");
    let jws = read_detached(protected, "", signature).unwrap();
    assert!(!secret.verify(&jws, &ALL), "another payload");
}

/// RFC 4231 §4.7.
#[test]
fn longer_hashes_are_those_of_the_rfc() {
    let secret = SharedSecret::new(&[0xaa; 131]).unwrap();
    let tags = [
        (
            Algorithm::Hs256,
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        (
            Algorithm::Hs384,
            "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6\
             0c2ef6ab4030fe8296248df163f44952",
        ),
        (
            Algorithm::Hs512,
            "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352\
             6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
        ),
    ];
    for (alg, tag) in tags {
        let mut jws = signed(
            alg,
            "Test Using Larger Than Block-Size Key - Hash Key First",
            tag,
        );
        assert!(secret.verify(&jws, &ALL), "{alg:?}");
        jws.signature.pop();
        assert!(!secret.verify(&jws, &ALL), "{alg:?}: cut short");
    }
}

/// RFC 6979 A.2.6.
#[test]
fn p_384_is_that_of_the_rfc() {
    let x = "EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64\
             DEF8F0EA9055866064A254515480BC13";
    let y = "8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1\
             288B231C3AE0D4FE7344FD2533264720";
    let keys = listed(&serde_json::json!({
        "kty": "EC", "crv": "P-384", "x": encoded(&hex(x)), "y": encoded(&hex(y)),
    }));
    let signature = "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C\
                     81A648152E44ACF96E36DD1E80FABE46\
                     99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94F\
                     A329C145786E679E7B82C71A38628AC8";
    assert!(keys.verify(&signed(Algorithm::Es384, "sample", signature), &ALL));
    assert!(!keys.verify(&signed(Algorithm::Es384, "simple", signature), &ALL));
}

fn signed(alg: Algorithm, text: &'static str, signature: &str) -> Jws<'static> {
    Jws {
        header: Header {
            alg,
            kid: None,
            typ: None,
        },
        signed: text.into(),
        payload: "",
        signature: hex(signature),
    }
}

/// FIPS 180-4, as NIST's examples have it.
#[test]
fn a_hash_is_that_of_the_standard() {
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256_hex(b"abc"), hash);
    assert_eq!(sha256(b"abc")[..], hex(hash));
}

#[test]
fn only_the_same_is_the_same() {
    assert!(same(b"", b""));
    assert!(same(b"secret", b"secret"));
    for other in ["", "secre", "secret ", "Secret", "tecres"] {
        assert!(!same(b"secret", other.as_bytes()), "{other}");
    }
}

#[test]
fn algorithms_are_known_by_name() {
    for alg in ALL {
        assert_eq!(Algorithm::from_name(alg.name()), Some(alg));
        assert_eq!(alg.is_symmetric(), alg.name().starts_with("HS"));
    }
    assert_eq!(Algorithm::from_name("Ed25519"), Some(Algorithm::EdDsa));
    for other in [
        "", "none", "None", "hs256", "ES256K", "ES512", "Ed448", "RSA-OAEP", "ES256 ",
    ] {
        assert_eq!(Algorithm::from_name(other), None, "{other}");
    }
}
