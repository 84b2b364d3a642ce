//! Public keys, and what was signed with them: cards (A2A 1.0 §8.4) and notifications.

use aws_lc_rs::digest;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::error::{Error, Kind};

/// Public keys of those we believe, as a JWKS (RFC 7517) lists them.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug, Clone)]
struct Key {
    /// Its name, if it has one.
    kid: Option<String>,
    public: Public,
}

#[derive(Debug, Clone)]
enum Public {
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

#[derive(Deserialize)]
struct Listed {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
}

/// The protected header of a signature.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood: we know none.
    crit: Option<serde_json::Value>,
}

impl Keys {
    /// The keys of a JWKS. What is not for signatures, or of a kind that is not known, is left out.
    ///
    /// # Errors
    ///
    /// If it is no JWKS, or none of its keys can be used.
    pub fn from_jwks(json: &[u8]) -> Result<Self, Error> {
        let listed: Listed = serde_json::from_slice(json)
            .map_err(|error| Error::new(Kind::Reference, format!("this is no JWKS: {error}")))?;
        let keys: Vec<Key> = listed.keys.into_iter().filter_map(Jwk::read).collect();
        if keys.is_empty() {
            let message = "none of the keys can be used: ES256, ES384, EdDSA, RS256 and PS256 can";
            return Err(Error::new(Kind::Reference, message));
        }
        Ok(Self(keys))
    }

    /// Whether `signature` over `signed` was made with one of the keys, by the algorithm that `header` names. A key
    /// decides which algorithms it can be used with: a header cannot talk it into another one.
    pub(crate) fn verify(&self, header: &str, signed: &str, signature: &str) -> bool {
        let header = decoded(header).and_then(|json| serde_json::from_slice::<Header>(&json).ok());
        let (Some(header), Some(signature)) = (header, decoded(signature)) else {
            return false;
        };
        if header.crit.is_some() {
            return false;
        }
        let named = |key: &&Key| match (&key.kid, &header.kid) {
            (Some(known), Some(said)) => known == said,
            _ => true,
        };
        let mut fitting = self.0.iter().filter(named);
        fitting.any(|key| {
            key.public
                .verify(&header.alg, signed.as_bytes(), &signature)
        })
    }
}

impl Public {
    fn verify(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        let verified = match (self, algorithm) {
            (Self::P256(key), "ES256") => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed, signature)
            }
            (Self::P384(key), "ES384") => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, key).verify(signed, signature)
            }
            (Self::Ed25519(key), "EdDSA" | "Ed25519") => {
                UnparsedPublicKey::new(&ED25519, key).verify(signed, signature)
            }
            (Self::Rsa { n, e }, "RS256") => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                signed,
                signature,
            ),
            (Self::Rsa { n, e }, "PS256") => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, signed, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

impl Jwk {
    fn read(self) -> Option<Key> {
        if self.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let point = || {
            let (x, y) = (decoded(self.x.as_deref()?)?, decoded(self.y.as_deref()?)?);
            Some([&[4], &x[..], &y[..]].concat())
        };
        let public = match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => Public::P256(point()?),
            ("EC", Some("P-384")) => Public::P384(point()?),
            ("OKP", Some("Ed25519")) => Public::Ed25519(decoded(self.x.as_deref()?)?),
            ("RSA", _) => Public::Rsa {
                n: decoded(self.n.as_deref()?)?,
                e: decoded(self.e.as_deref()?)?,
            },
            _ => return None,
        };
        Some(Key {
            kid: self.kid,
            public,
        })
    }
}

/// The bytes of a base64url text.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// The base64url text of bytes.
pub(crate) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// SHA-256, as hex digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, bytes);
    hash.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
