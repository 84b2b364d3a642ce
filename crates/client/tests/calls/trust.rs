//! Signed cards, catalogues, and who may know credentials.

use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json as value};
use switchboard_client::{Client, Credential, Credentials, Keys, Kind, Reference, Signatures};
use switchboard_types::model::Secret;
use switchboard_types::wire::card::{canonical_card, canonical_received, decode_card};
use url::Url;

use crate::support::{Asked, House, Odd, json};

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    fn keys(&self, kid: &str) -> Keys {
        let point = self.0.public_key().as_ref();
        let jwks = value!({"keys": [
            {"kty": "oct", "k": "c2VjcmV0"},
            {"kty": "EC", "crv": "P-256", "kid": kid, "x": b64(&point[1..33]), "y": b64(&point[33..])},
        ]});
        Keys::from_jwks(jwks.to_string().as_bytes()).unwrap()
    }

    fn sign(&self, header: &Value, payload: &[u8]) -> Value {
        let protected = b64(header.to_string());
        let signed = format!("{protected}.{}", b64(payload));
        let signature = self
            .0
            .sign(&SystemRandom::new(), signed.as_bytes())
            .unwrap();
        value!({"protected": protected, "signature": b64(signature)})
    }
}

fn card() -> Value {
    value!({
        "name": "signed", "description": "d", "version": "1", "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"]}],
        "supportedInterfaces": [{"url": "http://127.0.0.1:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "unknown": "members are part of what was sent",
    })
}

async fn connect(
    card: &Value,
    signatures: Signatures,
) -> Result<Client, switchboard_client::Error> {
    let text: Arc<str> = card.to_string().into();
    let odd = Odd::serve(move |_: Asked| {
        let text = Arc::clone(&text);
        async move { json(200, &text) }
    })
    .await;
    let builder = Client::builder().signatures(signatures);
    builder.connect(odd.base.as_str()).await
}

#[tokio::test]
async fn c_017_a_signature_over_either_reading_of_the_card_is_good() {
    let signer = Signer::new();
    let header = value!({"alg": "ES256", "kid": "k1", "typ": "JOSE"});
    let text = card().to_string();
    let typed = canonical_card(&decode_card(text.as_bytes()).unwrap());
    let received = canonical_received(text.as_bytes()).unwrap();
    assert_ne!(typed, received);
    for payload in [typed, received] {
        let mut card = card();
        card["signatures"] = value!([signer.sign(&header, &payload)]);
        let required = Signatures::Required(signer.keys("k1"));
        assert!(connect(&card, required).await.is_ok());
        let stranger = Signatures::IfPresent(Signer::new().keys("k1"));
        assert_eq!(
            connect(&card, stranger).await.unwrap_err().kind(),
            Kind::CardInvalid
        );
        let renamed = Signatures::Required(signer.keys("k2"));
        assert_eq!(
            connect(&card, renamed).await.unwrap_err().kind(),
            Kind::CardInvalid
        );
        card["name"] = value!("forged");
        let required = Signatures::Required(signer.keys("k1"));
        assert_eq!(
            connect(&card, required).await.unwrap_err().kind(),
            Kind::CardInvalid
        );
        assert!(connect(&card, Signatures::Ignored).await.is_ok());
    }
}

#[tokio::test]
async fn what_a_signature_says_of_itself_is_not_believed() {
    let signer = Signer::new();
    let payload = canonical_received(card().to_string().as_bytes()).unwrap();
    for header in [
        value!({"alg": "none", "kid": "k1"}),
        value!({"alg": "HS256", "kid": "k1"}),
        value!({"alg": "RS256", "kid": "k1"}),
        value!({"alg": "ES256", "kid": "k1", "crit": ["x"]}),
    ] {
        let mut card = card();
        card["signatures"] = value!([signer.sign(&header, &payload)]);
        let required = Signatures::Required(signer.keys("k1"));
        let error = connect(&card, required).await.unwrap_err();
        assert_eq!(error.kind(), Kind::CardInvalid, "{header}");
    }
    let unsigned = connect(&card(), Signatures::Required(signer.keys("k1"))).await;
    assert_eq!(unsigned.unwrap_err().kind(), Kind::CardInvalid);
    assert!(
        connect(&card(), Signatures::IfPresent(signer.keys("k1")))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn keys_of_other_kinds_are_known_and_useless_lists_refused() {
    let key = Ed25519KeyPair::generate().unwrap();
    let jwks = value!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": b64(key.public_key())}]});
    let keys = Keys::from_jwks(jwks.to_string().as_bytes()).unwrap();
    let payload = canonical_received(card().to_string().as_bytes()).unwrap();
    let protected = b64(r#"{"alg":"EdDSA"}"#);
    let signature = key.sign(format!("{protected}.{}", b64(payload)).as_bytes());
    let mut card = card();
    card["signatures"] = value!([{"protected": protected, "signature": b64(signature)}]);
    assert!(connect(&card, Signatures::Required(keys)).await.is_ok());
    for jwks in [
        "[]",
        r#"{"keys":[]}"#,
        r#"{"keys":[{"kty":"oct","k":"AA"}]}"#,
    ] {
        let error = Keys::from_jwks(jwks.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), Kind::Reference, "{jwks}");
    }
}

#[tokio::test]
async fn s1_045_an_agent_is_found_in_a_catalogue() {
    let house = House::open().await;
    let poet = house.agent("echo");
    let odd = Odd::serve(move |asked: Asked| {
        let list = value!({"entries": [{"displayName": "poet", "url": poet}]});
        async move {
            if asked.path == "/.well-known/ai-catalog.json" {
                return json(200, &list.to_string());
            }
            json(404, "{}")
        }
    })
    .await;
    let url = Url::parse(&odd.base).unwrap();
    let reference = |name: &str| Reference::Catalog {
        url: url.clone(),
        name: name.to_owned(),
    };
    assert_eq!(
        Client::connect(reference("poet"))
            .await
            .unwrap()
            .card()
            .name,
        "echo"
    );
    let error = Client::connect(reference("nobody")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::CardNotFound);
    house.close().await;
}

#[tokio::test]
async fn a_catalogue_learns_credentials_only_if_it_asks_and_others_it_names_never() {
    let hidden = Odd::serve(async |asked: Asked| {
        assert_eq!(asked.header("authorization"), None, "{}", asked.path);
        json(401, "{}")
    })
    .await;
    let elsewhere = hidden.base.clone();
    let odd = Odd::serve(move |asked: Asked| {
        let list = value!({"entries": [{"name": "own", "url": "/own"}, {"name": "other", "url": elsewhere}]});
        async move {
            match (asked.path.as_str(), asked.header("authorization")) {
                (_, None) => json(401, "{}"),
                ("/.well-known/ai-catalog.json", _) => json(200, &list.to_string()),
                _ => asked.card("1.0"),
            }
        }
    })
    .await;
    let connect = |name: &str| {
        let credential = Credential::Bearer(Secret::new("s3cret"));
        Client::builder()
            .credentials(Credentials::any(credential))
            .connect(Reference::Catalog {
                url: Url::parse(&odd.base).unwrap(),
                name: name.to_owned(),
            })
    };
    assert_eq!(connect("own").await.unwrap().card().name, "odd");
    let error = connect("other").await.unwrap_err();
    assert_eq!(error.kind(), Kind::CredentialsMissing, "{error}");
}

#[tokio::test]
async fn credentials_are_not_sent_in_clear_to_a_host_that_only_the_card_names() {
    let card = |urls: &[&str]| {
        let interfaces: Vec<Value> = urls
            .iter()
            .map(|url| value!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}))
            .collect();
        let card = value!({"name": "odd", "supportedInterfaces": interfaces}).to_string();
        decode_card(card.as_bytes()).unwrap()
    };
    let guarded = || {
        let credential = Credential::Bearer(Secret::new("s3cret"));
        Client::builder().credentials(Credentials::any(credential))
    };
    let clear = card(&["http://agent.example/"]);
    let error = guarded().connect(clear.clone()).await.unwrap_err();
    assert!(error.to_string().contains("is not encrypted"), "{error}");
    assert!(Client::connect(clear).await.is_ok(), "nothing to lose");
    let both = card(&["http://agent.example/", "https://agent.example/"]);
    let agent = guarded().connect(both).await.unwrap();
    assert_eq!(agent.interface().interface.url, "https://agent.example/");
}

#[tokio::test]
async fn an_extended_card_is_checked_before_it_replaces_the_public_one() {
    let odd = Odd::serve(async |asked: Asked| {
        let mut card = card();
        card["capabilities"]["extendedAgentCard"] = true.into();
        card["supportedInterfaces"][0]["url"] = asked.base.as_str().into();
        if asked.method == "GET" {
            return json(200, &card.to_string());
        }
        card["name"] = "forged".into();
        card["signatures"] = value!([{"protected": "e30", "signature": "e30"}]);
        asked.result(&card)
    })
    .await;
    let keys = Signer::new().keys("k");
    let builder = Client::builder().signatures(Signatures::IfPresent(keys));
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    let error = agent.extended_card().await.unwrap_err();
    assert_eq!(error.kind(), Kind::CardInvalid, "{error}");
    assert_eq!(agent.card().name, "signed");
}
