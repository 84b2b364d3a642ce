//! A JWS (RFC 7515), taken apart: what was signed, how, and the signature. Nothing in it is believed before a key says
//! so; an address or a key in the header never is.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::algorithm::Algorithm;
use crate::base64url::decoded;
use crate::json::read_distinct;

/// The longest token, in bytes. The same holds for the header and the signature of a detached one, whose payload is
/// not ours to bound.
const LONGEST: usize = 8 * 1024;

/// The longest header of a token, encoded. A detached one may carry certificates; a token is sent with every request.
const LONGEST_HEADER: usize = 1024;

/// A signature and what it is over. Not yet checked: see [`PublicKeys::verify`](crate::PublicKeys::verify) and
/// [`SharedSecret::verify`](crate::SharedSecret::verify).
pub struct Jws<'a> {
    /// What it says of itself.
    pub header: Header,
    /// What is signed: header and payload, encoded.
    pub signed: Cow<'a, str>,
    /// The payload, encoded.
    pub payload: &'a str,
    /// The signature.
    pub signature: Vec<u8>,
}

/// What a JWS says of itself, as far as we care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// How it is signed, it says. The key has the last word.
    pub alg: Algorithm,
    /// The name of the key.
    pub kid: Option<String>,
    /// What kind of thing is signed.
    pub typ: Option<String>,
}

/// Why a text is no JWS that we can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// It is longer than any that is meant well.
    #[error("the signature is too long")]
    TooLong,
    /// It cannot be read, or asks for what we do not do.
    #[error("{0}")]
    Malformed(&'static str),
}

#[derive(Deserialize)]
struct Protected {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that must be understood: we know none.
    #[serde(default, deserialize_with = "present")]
    crit: bool,
}

/// Reads a compact JWS: `header.payload.signature`.
///
/// # Errors
///
/// If it is too long, has other than three parts, a part cannot be read, or its header asks for no signature, an
/// algorithm that is not known, or an extension.
pub fn read(compact: &str) -> Result<Jws<'_>, JwsError> {
    if compact.len() > LONGEST {
        return Err(JwsError::TooLong);
    }
    let parts = compact.rsplit_once('.').and_then(|(signed, signature)| {
        let (protected, payload) = signed.split_once('.')?;
        (!payload.contains('.')).then_some((signed, protected, payload, signature))
    });
    let Some((signed, protected, payload, signature)) = parts else {
        return Err(JwsError::Malformed("a JWS has three parts"));
    };
    if protected.len() > LONGEST_HEADER {
        return Err(JwsError::TooLong);
    }
    Ok(Jws {
        header: header(protected)?,
        signed: signed.into(),
        payload,
        signature: bytes(signature)?,
    })
}

/// Reads a JWS whose payload is elsewhere; `payload_b64` is that payload, encoded.
///
/// # Errors
///
/// If header or signature are too long or cannot be read, or the header asks for what [`read`] refuses.
pub fn read_detached<'a>(
    protected: &'a str,
    payload_b64: &'a str,
    signature: &str,
) -> Result<Jws<'a>, JwsError> {
    if protected.len() > LONGEST || signature.len() > LONGEST {
        return Err(JwsError::TooLong);
    }
    Ok(Jws {
        header: header(protected)?,
        signed: format!("{protected}.{payload_b64}").into(),
        payload: payload_b64,
        signature: bytes(signature)?,
    })
}

fn header(protected: &str) -> Result<Header, JwsError> {
    let json = decoded(protected).ok_or(JwsError::Malformed("the header is not base64url"))?;
    let read: Protected = read_distinct(&json)
        .map_err(|_| JwsError::Malformed("the header is no JSON object that names an algorithm"))?;
    if read.crit {
        let message = "the header has extensions that must be understood: none is";
        return Err(JwsError::Malformed(message));
    }
    let alg = Algorithm::from_name(&read.alg)
        .ok_or(JwsError::Malformed("the algorithm is none that is known"))?;
    Ok(Header {
        alg,
        kid: read.kid,
        typ: read.typ,
    })
}

fn bytes(signature: &str) -> Result<Vec<u8>, JwsError> {
    decoded(signature).ok_or(JwsError::Malformed("the signature is not base64url"))
}

/// Whether a member is there, whatever it says: `null` too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// A token opens doors: its text is not for logs.
impl fmt::Debug for Jws<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jws")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}
