//! What a token says, judged without network and without a clock of its own.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use switchboard_types::model::Timestamp;

use crate::auth::Rejection;
use crate::principal::{Identity, Kind};

/// The end of the year 9999: what lies beyond is no moment, but a way to say "never".
const LAST: f64 = 253_402_300_799.0;

/// What must stand in a token.
#[derive(Debug, Clone)]
pub struct Claims {
    /// Who issued it, to the letter; `None` where everyone who has the key may.
    pub issuer: Option<String>,
    /// For whom it is: one of these.
    pub audiences: Vec<String>,
    /// How far clocks may be apart.
    pub skew: Duration,
    /// The claim that names the caller.
    pub subject_claim: String,
    /// The claim that names the caller's tenant. If there is one, every token must have it.
    pub tenant_claim: Option<String>,
    /// The claim that lists what was granted; `None`: `scope`, else `scp`.
    pub scope_claim: Option<String>,
}

impl Claims {
    /// Whether the issuer is the one expected. Nothing is proven by it: it only tells whose keys to look at.
    pub(super) fn is_ours(&self, said: &Map<String, Value>) -> bool {
        let issuer = said.get("iss").and_then(Value::as_str);
        self.issuer.is_none() || issuer == self.issuer.as_deref()
    }

    /// Who the caller is, and until when that may be believed; the signature has been checked.
    pub(super) fn judge(
        &self,
        scheme: &Arc<str>,
        said: Map<String, Value>,
        now: Timestamp,
    ) -> Result<(Identity, Timestamp), Rejection> {
        if !self.is_ours(&said) {
            return Err(Rejection::WrongIssuer);
        }
        let until = self.time(&said, now)?;
        if !self.is_for_us(&said) {
            return Err(Rejection::WrongAudience);
        }
        let subject = text(&said, &self.subject_claim).ok_or(Rejection::Malformed)?;
        let tenant = match &self.tenant_claim {
            // Without it, all who have none would be one tenant.
            Some(claim) => Some(text(&said, claim).ok_or(Rejection::Malformed)?),
            None => None,
        };
        let realm = match &self.issuer {
            Some(issuer) => issuer.as_str().into(),
            None => format!("jwt:{scheme}").into(),
        };
        let identity = Identity {
            scheme: Arc::clone(scheme),
            kind: Kind::Token,
            realm,
            subject: subject.into(),
            tenant: tenant.map(Arc::from),
            scopes: self.scopes(&said),
            claims: said,
            expires: Some(until),
            ..Identity::default()
        };
        Ok((identity, until))
    }

    /// The token holds now; until when?
    fn time(&self, said: &Map<String, Value>, now: Timestamp) -> Result<Timestamp, Rejection> {
        let skew = i64::try_from(self.skew.as_micros()).unwrap_or(i64::MAX);
        let expires = moment(said, "exp")?.ok_or(Rejection::Malformed)?;
        let until = expires.saturating_add(skew);
        if now.as_micros() >= until {
            return Err(Rejection::Expired);
        }
        for claim in ["nbf", "iat"] {
            let begins = moment(said, claim)?.unwrap_or(i64::MIN);
            if begins > now.as_micros().saturating_add(skew) {
                return Err(Rejection::NotYet);
            }
        }
        Ok(Timestamp::from_micros(until))
    }

    fn is_for_us(&self, said: &Map<String, Value>) -> bool {
        let ours = |value: &Value| {
            let said = value.as_str();
            said.is_some_and(|said| self.audiences.iter().any(|audience| audience == said))
        };
        match said.get("aud") {
            Some(Value::Array(several)) => several.iter().any(ours),
            Some(one) => ours(one),
            None => false,
        }
    }

    fn scopes(&self, said: &Map<String, Value>) -> Vec<Arc<str>> {
        let granted = match &self.scope_claim {
            Some(claim) => said.get(claim),
            None => said.get("scope").or_else(|| said.get("scp")),
        };
        match granted {
            Some(Value::String(words)) => words.split_ascii_whitespace().map(Arc::from).collect(),
            Some(Value::Array(words)) => {
                let words = words.iter().filter_map(Value::as_str);
                words.map(Arc::from).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A claim that must be a text with something in it.
fn text<'a>(said: &'a Map<String, Value>, claim: &str) -> Option<&'a str> {
    let text = said.get(claim)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

/// A moment in seconds since 1970, as microseconds.
fn moment(said: &Map<String, Value>, claim: &str) -> Result<Option<i64>, Rejection> {
    let Some(value) = said.get(claim) else {
        return Ok(None);
    };
    let seconds = value.as_f64().ok_or(Rejection::Malformed)?;
    if !(0.0..=LAST).contains(&seconds) {
        return Err(Rejection::Malformed);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked just now: it is far below the largest"
    )]
    let micros = (seconds * 1e6) as i64;
    Ok(Some(micros))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn claims() -> Claims {
        Claims {
            issuer: Some("https://login.example/".to_owned()),
            audiences: vec!["desk".to_owned(), "switchboard".to_owned()],
            skew: Duration::from_secs(60),
            subject_claim: "sub".to_owned(),
            tenant_claim: None,
            scope_claim: None,
        }
    }

    fn good() -> Value {
        json!({"iss": "https://login.example/", "aud": "switchboard", "sub": "ann", "exp": NOW + 300})
    }

    fn judge(claims: &Claims, said: &Value) -> Result<(Identity, Timestamp), Rejection> {
        let said = said.as_object().unwrap().clone();
        claims.judge(
            &"corp".into(),
            said,
            Timestamp::from_micros(NOW * 1_000_000),
        )
    }

    #[test]
    fn what_is_wrong_with_a_token_is_told_apart() {
        use Rejection::{Expired, Malformed, NotYet, WrongAudience, WrongIssuer};
        for (claim, value, expected) in [
            ("exp", json!(NOW - 59), None),
            ("exp", json!(NOW - 60), Some(Expired)),
            ("exp", json!(0), Some(Expired)),
            ("exp", json!(NOW as f64 + 0.5), None),
            ("exp", json!("1900000000"), Some(Malformed)),
            ("exp", json!(1e300), Some(Malformed)),
            ("exp", json!(-1), Some(Malformed)),
            ("exp", json!(u64::MAX), Some(Malformed)),
            ("exp", Value::Null, Some(Malformed)),
            ("nbf", json!(NOW + 60), None),
            ("nbf", json!(NOW + 61), Some(NotYet)),
            ("iat", json!(NOW + 60), None),
            ("iat", json!(NOW + 61), Some(NotYet)),
            ("iat", json!("now"), Some(Malformed)),
            ("iss", json!("https://login.example"), Some(WrongIssuer)),
            ("iss", json!(["https://login.example/"]), Some(WrongIssuer)),
            ("iss", Value::Null, Some(WrongIssuer)),
            ("aud", json!(["other", "desk"]), None),
            ("aud", json!(["other"]), Some(WrongAudience)),
            ("aud", json!("Switchboard"), Some(WrongAudience)),
            ("aud", json!([]), Some(WrongAudience)),
            ("aud", json!({"switchboard": true}), Some(WrongAudience)),
            ("sub", json!(""), Some(Malformed)),
            ("sub", json!("  "), Some(Malformed)),
            ("sub", json!(7), Some(Malformed)),
        ] {
            let mut said = good();
            said[claim] = value.clone();
            let found = judge(&claims(), &said).err();
            assert_eq!(found, expected, "{claim}: {value}");
        }
        for claim in ["exp", "iss", "aud", "sub"] {
            let mut said = good();
            said.as_object_mut().unwrap().remove(claim);
            assert!(judge(&claims(), &said).is_err(), "{claim}");
        }
    }

    #[test]
    fn a_token_is_believed_until_it_expires_and_no_longer() {
        let (_, until) = judge(&claims(), &good()).unwrap();
        assert_eq!(until.as_micros(), (NOW + 360) * 1_000_000);
    }

    #[test]
    fn scopes_are_words_or_a_list() {
        for (claim, value, expected) in [
            ("scope", json!("read  write"), &["read", "write"][..]),
            ("scp", json!("read"), &["read"]),
            ("scp", json!(["read", "write", 3]), &["read", "write"]),
            ("roles", json!(["admin"]), &[]),
            ("scope", json!({"read": true}), &[]),
        ] {
            let mut said = good();
            said[claim] = value;
            let (identity, _) = judge(&claims(), &said).unwrap();
            let scopes: Vec<&str> = identity.scopes.iter().map(AsRef::as_ref).collect();
            assert_eq!(scopes, expected, "{claim}");
        }
        let mut said = good();
        said["roles"] = json!(["admin"]);
        said["scope"] = json!("read");
        let roles = Claims {
            scope_claim: Some("roles".to_owned()),
            ..claims()
        };
        assert_eq!(judge(&roles, &said).unwrap().0.scopes, ["admin".into()]);
    }

    #[test]
    fn a_caller_is_named_within_issuer_and_tenant() {
        let tenants = Claims {
            tenant_claim: Some("tid".to_owned()),
            ..claims()
        };
        assert_eq!(judge(&tenants, &good()).unwrap_err(), Rejection::Malformed);
        let mut said = good();
        said["tid"] = json!("north");
        let (identity, _) = judge(&tenants, &said).unwrap();
        assert_eq!(identity.tenant.as_deref(), Some("north"));
        assert_eq!(&*identity.realm, "https://login.example/");
        let anyone = Claims {
            issuer: None,
            ..claims()
        };
        // What a token says of its issuer is not proven, where nobody asked for one.
        assert_eq!(&*judge(&anyone, &good()).unwrap().0.realm, "jwt:corp");
    }
}
