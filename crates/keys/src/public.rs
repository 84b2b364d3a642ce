//! Public keys, as a JWKS (RFC 7517) lists them.

use std::ops::RangeInclusive;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents,
};
use serde::Deserialize;
use serde_json::Value;

use crate::algorithm::Algorithm;
use crate::base64url::decoded;
use crate::error::KeyError;
use crate::json::read_distinct;
use crate::jws::Jws;

/// The most keys in a list: a signature that names none of them is tried with all.
pub(crate) const MOST: usize = 64;

/// How many bytes an RSA key may have: 2048 to 8192 bits.
const RSA_BYTES: RangeInclusive<usize> = 256..=1024;

/// What an RSA key can check.
static RSA: [(Algorithm, &RsaParameters); 6] = [
    (Algorithm::Rs256, &RSA_PKCS1_2048_8192_SHA256),
    (Algorithm::Rs384, &RSA_PKCS1_2048_8192_SHA384),
    (Algorithm::Rs512, &RSA_PKCS1_2048_8192_SHA512),
    (Algorithm::Ps256, &RSA_PSS_2048_8192_SHA256),
    (Algorithm::Ps384, &RSA_PSS_2048_8192_SHA384),
    (Algorithm::Ps512, &RSA_PSS_2048_8192_SHA512),
];

/// Public keys of those we believe.
#[derive(Debug, Clone, Default)]
pub struct PublicKeys(Vec<Key>);

#[derive(Debug, Clone)]
struct Key {
    /// Its name, if it has one.
    kid: Option<String>,
    /// What it checks. A key decides which algorithms it is used with: a header cannot talk it into another one.
    checks: Vec<(Algorithm, ParsedPublicKey)>,
}

#[derive(Deserialize)]
struct Listed {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
}

impl PublicKeys {
    /// The keys of a JWKS. What is not for signatures, or cannot be used, is left out (RFC 7517 §5).
    ///
    /// # Errors
    ///
    /// If it is no JWKS, none of its keys can be used, or more than 64 can.
    pub fn from_jwks(json: &[u8]) -> Result<Self, KeyError> {
        let listed: Listed = read_distinct(json).map_err(KeyError::NotJwks)?;
        let listed = listed.keys.into_iter();
        let keys: Vec<Key> = listed
            .filter_map(|jwk| serde_json::from_value::<Jwk>(jwk).ok()?.read())
            .collect();
        if keys.is_empty() {
            return Err(KeyError::NoneUsable);
        }
        if keys.len() > MOST {
            return Err(KeyError::TooMany);
        }
        Ok(Self(keys))
    }

    /// Whether one of the keys has that name.
    #[must_use]
    pub fn knows(&self, kid: &str) -> bool {
        self.0.iter().any(|key| key.kid.as_deref() == Some(kid))
    }

    /// Whether it was signed with one of the keys, by an algorithm that is allowed. Algorithms with a shared secret
    /// never are, whatever `allowed` says. Names only choose: a key without one is tried for all that is signed, and
    /// all keys for what names none.
    #[must_use]
    pub fn verify(&self, jws: &Jws<'_>, allowed: &[Algorithm]) -> bool {
        let alg = jws.header.alg;
        if !allowed.contains(&alg) {
            return false;
        }
        let named = |key: &&Key| match (&key.kid, &jws.header.kid) {
            (Some(known), Some(said)) => known == said,
            _ => true,
        };
        let mut fitting = self.0.iter().filter(named).flat_map(|key| &key.checks);
        fitting.any(|(checks, key)| {
            *checks == alg
                && key
                    .verify_sig(jws.signed.as_bytes(), &jws.signature)
                    .is_ok()
        })
    }

    /// These and the other keys: for lists that stand side by side. A newer copy of a list replaces the old one.
    #[must_use]
    pub fn merged(mut self, other: &Self) -> Self {
        self.0.extend_from_slice(&other.0);
        self
    }
}

impl Jwk {
    fn read(self) -> Option<Key> {
        if self.purpose.as_deref().is_some_and(|use_| use_ != "sig") {
            return None;
        }
        let mut checks = self.checks()?;
        if let Some(alg) = self.alg {
            let alg = Algorithm::from_name(&alg)?;
            checks.retain(|(checks, _)| *checks == alg);
        }
        let kid = self.kid;
        (!checks.is_empty()).then_some(Key { kid, checks })
    }

    fn checks(&self) -> Option<Vec<(Algorithm, ParsedPublicKey)>> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => {
                let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.point()?).ok()?;
                Some(vec![(Algorithm::Es256, key)])
            }
            ("EC", Some("P-384")) => {
                let key = ParsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, self.point()?).ok()?;
                Some(vec![(Algorithm::Es384, key)])
            }
            ("OKP", Some("Ed25519")) => {
                let key = ParsedPublicKey::new(&ED25519, decoded(self.x.as_deref()?)?).ok()?;
                Some(vec![(Algorithm::EdDsa, key)])
            }
            ("RSA", _) => {
                let (n, e) = (number(self.n.as_deref()?)?, number(self.e.as_deref()?)?);
                if !RSA_BYTES.contains(&n.len()) {
                    return None;
                }
                let key = RsaPublicKeyComponents { n, e };
                RSA.iter()
                    .map(|(alg, how)| Some((*alg, key.to_parsed_public_key(how).ok()?)))
                    .collect()
            }
            _ => None,
        }
    }

    /// The uncompressed point of an elliptic curve.
    fn point(&self) -> Option<Vec<u8>> {
        let (x, y) = (decoded(self.x.as_deref()?)?, decoded(self.y.as_deref()?)?);
        Some([&[4], &x[..], &y[..]].concat())
    }
}

/// A number, without the zero that some write before it.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = decoded(text)?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[first..].to_vec())
}
