//! Keys to sign with, and what is published of them.

use std::fmt;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Map, Value, json};

use crate::algorithm::Algorithm;
use crate::base64url::encoded;
use crate::digest::sha256;
use crate::error::KeyError;

/// A key to sign with. `Debug` shows its name only.
pub struct SigningKey {
    pair: Pair,
    kid: String,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    ///
    /// If the algorithm is none of ES256, ES384, `EdDSA` and RS256.
    pub fn generate(algorithm: Algorithm) -> Result<Self, KeyError> {
        let pair = match algorithm {
            Algorithm::Es256 => {
                EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Pair::P256)
            }
            Algorithm::Es384 => {
                EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Pair::P384)
            }
            Algorithm::EdDsa => Ed25519KeyPair::generate().map(Pair::Ed25519),
            Algorithm::Rs256 => RsaKeyPair::generate(KeySize::Rsa3072).map(Pair::Rsa),
            _ => Err(Unspecified),
        };
        let pair = pair.map_err(|_| KeyError::CannotMake(algorithm))?;
        Ok(Self::new(pair))
    }

    /// The first private key of a PEM text: PKCS#8, SEC1 or PKCS#1. An RSA key signs RS256.
    ///
    /// # Errors
    ///
    /// If there is none, it is encrypted, or of a kind that cannot sign.
    pub fn from_pem(pem: &[u8]) -> Result<Self, KeyError> {
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| KeyError::NotPem)?;
        let der = key.secret_der();
        let pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, der)
            .map(Pair::P256)
            .or_else(|_| {
                EcdsaKeyPair::from_private_key_der(&ECDSA_P384_SHA384_FIXED_SIGNING, der)
                    .map(Pair::P384)
            })
            .or_else(|_| Ed25519KeyPair::from_pkcs8(der).map(Pair::Ed25519))
            .or_else(|_| RsaKeyPair::from_pkcs8(der).map(Pair::Rsa))
            .or_else(|_| RsaKeyPair::from_der(der).map(Pair::Rsa))
            .map_err(|_| KeyError::UnknownKind)?;
        Ok(Self::new(pair))
    }

    fn new(pair: Pair) -> Self {
        let kid = thumbprint(&pair.members());
        Self { pair, kid }
    }

    /// The key as PEM, PKCS#8: it is the secret itself.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a key that was read can be written")]
    pub fn to_pem(&self) -> String {
        let der = self.pair.to_pkcs8().expect("a document");
        let text = STANDARD.encode(der);
        let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for (at, c) in text.chars().enumerate() {
            if at > 0 && at % 64 == 0 {
                pem.push('\n');
            }
            pem.push(c);
        }
        pem + "\n-----END PRIVATE KEY-----\n"
    }

    /// The key's name: its thumbprint (RFC 7638), unless it was named.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The key under another name.
    #[must_use]
    pub fn with_kid(self, kid: String) -> Self {
        Self { kid, ..self }
    }

    /// How it signs.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.pair {
            Pair::P256(_) => Algorithm::Es256,
            Pair::P384(_) => Algorithm::Es384,
            Pair::Ed25519(_) => Algorithm::EdDsa,
            Pair::Rsa(_) => Algorithm::Rs256,
        }
    }

    /// Its public part (RFC 7517), with `alg`, `use` and `kid`.
    #[must_use]
    pub fn jwk(&self) -> Value {
        let mut members = self.pair.members();
        members.insert("alg".to_owned(), self.algorithm().name().into());
        members.insert("use".to_owned(), "sig".into());
        members.insert("kid".to_owned(), self.kid.as_str().into());
        members.into()
    }

    /// The public key itself: of an Ed25519 key its 32 bytes, of a curve the uncompressed point, of RSA the DER.
    #[must_use]
    pub fn public_bytes(&self) -> &[u8] {
        match &self.pair {
            Pair::P256(pair) | Pair::P384(pair) => pair.public_key().as_ref(),
            Pair::Ed25519(pair) => pair.public_key().as_ref(),
            Pair::Rsa(pair) => pair.public_key().as_ref(),
        }
    }

    /// Signs a message as it is, for protocols that are no JWS.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message)
    }

    /// Signs a payload that travels apart: the protected header and the signature, both encoded. The header says `alg`,
    /// `kid` and what `header_extra` adds to that.
    #[must_use]
    pub fn sign_detached(&self, header_extra: &[(&str, &str)], payload: &[u8]) -> (String, String) {
        let protected = self.protected(header_extra);
        let signed = format!("{protected}.{}", encoded(payload));
        let signature = encoded(&self.pair.sign(signed.as_bytes()));
        (protected, signature)
    }

    /// Signs a payload: `header.payload.signature`.
    #[must_use]
    pub fn sign_compact(&self, typ: &str, payload: &[u8]) -> String {
        let signed = format!("{}.{}", self.protected(&[("typ", typ)]), encoded(payload));
        let signature = encoded(&self.pair.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn protected(&self, extra: &[(&str, &str)]) -> String {
        let mut header = Map::new();
        header.insert("alg".to_owned(), self.algorithm().name().into());
        header.insert("kid".to_owned(), self.kid.as_str().into());
        for (name, value) in extra {
            header.entry(*name).or_insert_with(|| (*value).into());
        }
        encoded(Value::from(header).to_string().as_bytes())
    }
}

impl Pair {
    /// What RFC 7638 §3.2 asks of a JWK, in its order.
    fn members(&self) -> Map<String, Value> {
        match self {
            Self::P256(pair) => curve("P-256", pair.public_key().as_ref()),
            Self::P384(pair) => curve("P-384", pair.public_key().as_ref()),
            Self::Ed25519(pair) => {
                let x = encoded(pair.public_key().as_ref());
                members([("crv", "Ed25519"), ("kty", "OKP"), ("x", &x)])
            }
            Self::Rsa(pair) => {
                let key = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                let (e, n) = (encoded(&key.e), encoded(&key.n));
                members([("e", &e), ("kty", "RSA"), ("n", &n)])
            }
        }
    }

    fn to_pkcs8(&self) -> Result<Vec<u8>, Unspecified> {
        Ok(match self {
            Self::P256(pair) | Self::P384(pair) => pair.to_pkcs8v1()?.as_ref().to_vec(),
            Self::Ed25519(pair) => pair.to_pkcs8v1()?.as_ref().to_vec(),
            Self::Rsa(pair) => {
                let der: Pkcs8V1Der<'_> = pair.as_der()?;
                der.as_ref().to_vec()
            }
        })
    }

    #[expect(
        clippy::expect_used,
        reason = "a key that was checked when it was read signs anything"
    )]
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let rng = SystemRandom::new();
        match self {
            Self::P256(pair) | Self::P384(pair) => {
                let signature = pair.sign(&rng, message).expect("a signature");
                signature.as_ref().to_vec()
            }
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &rng, message, &mut signature)
                    .expect("a signature");
                signature
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.kid).finish()
    }
}

/// The members of a point, which comes uncompressed: a mark, then both coordinates.
fn curve(crv: &str, point: &[u8]) -> Map<String, Value> {
    let (x, y) = point[1..].split_at(point.len() / 2);
    let (x, y) = (encoded(x), encoded(y));
    members([("crv", crv), ("kty", "EC"), ("x", &x), ("y", &y)])
}

fn members<const N: usize>(pairs: [(&str, &str); N]) -> Map<String, Value> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// The public parts of keys, as a JWKS.
#[must_use]
pub fn jwks(keys: &[&SigningKey]) -> Vec<u8> {
    let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
    json!({ "keys": keys }).to_string().into_bytes()
}

/// The name of a key that has none of its own (RFC 7638).
fn thumbprint(members: &Map<String, Value>) -> String {
    let text = Value::from(members.clone()).to_string();
    encoded(&sha256(text.as_bytes()))
}
