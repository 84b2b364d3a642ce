//! Notifications that are signed: a JWT in a header of its own or, as the guide to A2A's webhooks describes it, in the
//! authorization. It says when it was made and, often, for whom, for which task and for which body.

use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;
use switchboard_keys::{decoded, read_distinct, sha256_hex};

use super::Rejected;
use super::seen::Mark;
use crate::clock;
use crate::keys::Keys;

/// How old a signature may be that does not say how long it holds.
const LONGEST: Duration = Duration::from_secs(300);

/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// What Switchboard calls its signatures: their number is that of the event.
const OURS: &str = "a2a-notification+jwt";

/// What a signature says.
#[derive(Debug, Default)]
pub(super) struct Proof {
    pub(super) task: Option<String>,
    pub(super) id: Option<String>,
    /// Whether its number must be that of the event.
    pub(super) numbers_events: bool,
    /// What the signature itself is known by, if it has no number.
    pub(super) token: Option<Mark>,
    /// Since 1970, until when it counts.
    pub(super) until: Option<Duration>,
}

/// For whom a notification must be: an address, and its origin.
#[derive(Debug)]
pub(super) struct Audience {
    pub(super) url: String,
    pub(super) origin: String,
}

#[derive(Deserialize)]
struct Claims {
    iat: Option<f64>,
    exp: Option<f64>,
    jti: Option<String>,
    aud: Option<Said>,
    #[serde(rename = "taskId", alias = "task_id")]
    task: Option<String>,
    request_body_sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn is_in(&self, said: Option<&Said>) -> bool {
        let said = match said {
            None => &[],
            Some(Said::One(one)) => std::slice::from_ref(one),
            Some(Said::Many(many)) => many.as_slice(),
        };
        said.iter().any(|to| *to == self.url || *to == self.origin)
    }
}

pub(super) fn prove(
    keys: &Keys,
    audience: Option<&Audience>,
    token: &str,
    body: &[u8],
) -> Result<Proof, Rejected> {
    let no = |why| Err(Rejected::NotAuthentic(why));
    let Ok(jws) = switchboard_keys::read(token) else {
        return no("the signature is no JWT that can be checked");
    };
    if !keys.verify(&jws) {
        return no("the signature is wrong, or of a key that is not known");
    }
    let claims = decoded(jws.payload).and_then(|json| read_distinct::<Claims>(&json).ok());
    let Some(claims) = claims else {
        return no("the signature says nothing");
    };
    let now = now();
    let moment = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let end = match (claims.exp.map(moment), claims.iat.map(moment)) {
        (Some(end), _) => end,
        (None, Some(made)) => made.saturating_add(LONGEST),
        (None, None) => return no("the signature does not say when it was made"),
    };
    let until = end.saturating_add(LEEWAY);
    if now > until {
        return no("the signature has expired");
    }
    if claims.iat.is_some_and(|made| moment(made) > now + LEEWAY) {
        return no("the signature was made in the future");
    }
    if audience.is_some_and(|audience| !audience.is_in(claims.aud.as_ref())) {
        return no("the signature is for another receiver");
    }
    let hash = claims.request_body_sha256;
    if hash.is_some_and(|hash| !hash.eq_ignore_ascii_case(&sha256_hex(body))) {
        return no("the signature is for another body");
    }
    Ok(Proof {
        task: claims.task,
        numbers_events: jws.header.typ.as_deref() == Some(OURS),
        token: claims.jti.is_none().then(|| Mark::token(token, body)),
        id: claims.jti,
        until: Some(until),
    })
}

/// Since 1970.
pub(super) fn now() -> Duration {
    clock::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
