//! What issuers of tokens answer.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use switchboard_types::model::Secret;
use tokio::time::Instant;

use crate::error::{Error, Kind, Reach};

/// A token this close to its end is renewed at once: it should not expire on its way.
const LEEWAY: Duration = Duration::from_secs(30);

/// How long a token lives whose issuer does not say.
const USUAL_LIFE: Duration = Duration::from_secs(300);

/// A year is as good as always, and can be added to any moment.
const LONGEST_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

/// How often to ask whether the person is done, unless told otherwise (RFC 8628 §3.5).
pub(super) const USUAL_INTERVAL: Duration = Duration::from_secs(5);

/// A longer token fits no request.
const LONGEST_TOKEN: usize = 16 << 10;

/// The most characters of what an issuer says of a failure.
const LONGEST_REASON: usize = 300;

/// A token, and how long it is good for.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) good_until: Instant,
}

impl Token {
    pub(super) fn is_good(&self) -> bool {
        Instant::now() < self.good_until
    }
}

#[derive(Deserialize)]
pub(super) struct Granted {
    access_token: Option<String>,
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    pub(super) error: Option<String>,
    error_description: Option<String>,
}

impl Granted {
    /// The same without what the issuer was told in confidence, and no longer than one reads.
    pub(super) fn without(mut self, secrets: &[String]) -> Self {
        for said in [&mut self.error, &mut self.error_description] {
            let Some(text) = said else { continue };
            for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
                *text = text.replace(secret, "***");
            }
            *text = text
                .chars()
                .filter(|c| !c.is_control())
                .take(LONGEST_REASON)
                .collect();
        }
        self
    }

    /// The token, if one was given.
    pub(super) fn token(&self) -> Result<Token, Error> {
        let access = self.access_token.as_ref();
        let Some(access) = access.filter(|token| !token.is_empty()) else {
            let why = self.error.as_deref().unwrap_or("no token was given");
            let more = self.error_description.as_deref().unwrap_or_default();
            return Err(refused(format!("{why} {more}").trim()));
        };
        if access.len() > LONGEST_TOKEN {
            let message = format!("the token has more than {LONGEST_TOKEN} bytes");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let life = self.expires_in.unwrap_or(USUAL_LIFE).min(LONGEST_LIFE);
        Ok(Token {
            access: Secret::new(access.as_str()),
            refresh: self.refresh_token.as_deref().map(Secret::new),
            good_until: Instant::now() + life.saturating_sub(LEEWAY.min(life / 2)),
        })
    }
}

#[derive(Deserialize)]
pub(super) struct DeviceCode {
    pub(super) device_code: String,
    pub(super) user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    #[serde(default, deserialize_with = "seconds")]
    interval: Option<Duration>,
}

impl DeviceCode {
    /// The page to open.
    pub(super) fn page(&self) -> &str {
        let complete = self.verification_uri_complete.as_ref();
        complete.unwrap_or(&self.verification_uri)
    }

    /// How long the person has.
    pub(super) fn life(&self) -> Duration {
        let hour = Duration::from_secs(3600);
        self.expires_in.map_or(hour / 4, |life| life.min(hour))
    }

    /// How often to ask whether they are done.
    pub(super) fn interval(&self) -> Duration {
        let interval = self.interval.unwrap_or(USUAL_INTERVAL);
        interval.max(Duration::from_secs(1))
    }
}

#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) issuer: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) device_authorization_endpoint: Option<String>,
}

/// Seconds, which some issuers write as text. What cannot be understood counts as not said.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let number = match Value::deserialize(from)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    Ok(number.map(Duration::from_secs))
}

pub(super) fn refused(why: &str) -> Error {
    let message = format!("the issuer of tokens refused: {why}");
    Error::new(Kind::Refused, message).reached(Reach::NotSent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_live_as_long_as_their_issuer_says_but_not_forever() {
        for (said, secs) in [
            ("3600", 3570),
            (r#""3600""#, 3570),
            ("18446744073709551615", 365 * 24 * 3600 - 30),
            ("null", 270),
            (r#""soon""#, 270),
            ("10", 5),
        ] {
            let answer = format!(r#"{{"access_token":"t","expires_in":{said}}}"#);
            let granted: Granted = serde_json::from_str(&answer).unwrap();
            let life = granted.token().unwrap().good_until - Instant::now();
            let off = life.as_secs_f64() - f64::from(secs);
            assert!((-5.0..=0.0).contains(&off), "{said}: {life:?}");
        }
    }

    #[test]
    fn an_issuer_is_asked_once_a_second_at_most() {
        for (said, secs) in [("0", 1), ("7", 7), (r#""2""#, 2), ("null", 5)] {
            let answer = format!(
                r#"{{"device_code":"d","user_code":"u","verification_uri":"v","interval":{said}}}"#
            );
            let code: DeviceCode = serde_json::from_str(&answer).unwrap();
            assert_eq!(code.interval(), Duration::from_secs(secs), "{said}");
        }
    }
}
