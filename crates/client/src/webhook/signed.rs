//! Notifications that are signed: a JWT in the authorization, as the guide to A2A's webhooks describes it. It says
//! when it was made and, often, for which task and for which body.

use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;
use switchboard_keys::{decoded, sha256_hex};

use super::Rejected;
use crate::clock;
use crate::keys::Keys;

/// How old a signature may be that does not say how long it holds.
const LONGEST: Duration = Duration::from_secs(300);

/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// What a signature says.
#[derive(Debug, Default)]
pub(super) struct Proof {
    pub(super) task: Option<String>,
    pub(super) id: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    iat: Option<f64>,
    exp: Option<f64>,
    jti: Option<String>,
    #[serde(rename = "taskId", alias = "task_id")]
    task: Option<String>,
    request_body_sha256: Option<String>,
}

pub(super) fn prove(keys: &Keys, token: &str, body: &[u8]) -> Result<Proof, Rejected> {
    let no = |why| Err(Rejected::NotAuthentic(why));
    let Ok(jws) = switchboard_keys::read(token) else {
        return no("the signature is no JWT that can be checked");
    };
    if !keys.verify(&jws) {
        return no("the signature is wrong, or of a key that is not known");
    }
    let claims = decoded(jws.payload).and_then(|json| serde_json::from_slice::<Claims>(&json).ok());
    let Some(claims) = claims else {
        return no("the signature says nothing");
    };
    let now = clock::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let moment = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let end = match (claims.exp.map(moment), claims.iat.map(moment)) {
        (Some(end), _) => end,
        (None, Some(made)) => made.saturating_add(LONGEST),
        (None, None) => return no("the signature does not say when it was made"),
    };
    if now > end.saturating_add(LEEWAY) {
        return no("the signature has expired");
    }
    if claims.iat.is_some_and(|made| moment(made) > now + LEEWAY) {
        return no("the signature was made in the future");
    }
    let hash = claims.request_body_sha256;
    if hash.is_some_and(|hash| !hash.eq_ignore_ascii_case(&sha256_hex(body))) {
        return no("the signature is for another body");
    }
    Ok(Proof {
        task: claims.task,
        id: claims.jti,
    })
}
