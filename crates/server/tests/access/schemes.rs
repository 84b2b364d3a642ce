//! Two ways to show who one is.

use std::sync::Arc;

use hyper::header::HeaderValue;
use switchboard_server::auth::{Carried, Finding, Rejection, Scheme};
use switchboard_server::principal::{API_KEY_PREFIX, Identity, Kind, Principal};
use switchboard_types::model::{ApiKeyLocation, SecurityScheme};

/// A bearer token that says who one is: `ann` is Ann's, and that of `maker` grants making keys.
#[derive(Debug)]
pub(crate) struct Bearer(pub(crate) Arc<str>);

impl Scheme for Bearer {
    fn name(&self) -> &Arc<str> {
        &self.0
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        let token = match carried.authorization("Bearer") {
            None => return Finding::Absent,
            Some(Err(cause)) => return Finding::Now(Err(cause)),
            // Keys are for another scheme.
            Some(Ok(token)) if token.starts_with(API_KEY_PREFIX) => return Finding::Absent,
            Some(Ok(token)) => token,
        };
        match token {
            "ann" | "bob" | "maker" => Finding::Now(Ok(self.knows(token))),
            // Someone has to be asked first.
            "slow" => Finding::Later(Box::pin(async {
                tokio::task::yield_now().await;
                Ok(self.knows("ann"))
            })),
            "down" => Finding::Later(Box::pin(async { Err(Rejection::KeysUnavailable) })),
            "expired" => Finding::Now(Err(Rejection::Expired)),
            "early" => Finding::Now(Err(Rejection::NotYet)),
            "elsewhere" => Finding::Now(Err(Rejection::WrongAudience)),
            "foreign" => Finding::Now(Err(Rejection::WrongIssuer)),
            "revoked" => Finding::Now(Err(Rejection::Revoked)),
            _ => Finding::Now(Err(Rejection::Unknown)),
        }
    }

    fn challenge(&self, cause: Option<Rejection>, carried: &Carried<'_>) -> HeaderValue {
        let base = carried.base_url();
        let error = cause.map_or("", |_| ", error=\"invalid_token\"");
        let text = format!("Bearer realm=\"{base}\"{error}");
        HeaderValue::from_str(&text).unwrap()
    }

    fn declared(&self) -> SecurityScheme {
        SecurityScheme::Http {
            description: None,
            scheme: "bearer".to_owned(),
            bearer_format: None,
        }
    }
}

impl Bearer {
    fn knows(&self, subject: &str) -> Principal {
        let scopes: &[&str] = match subject {
            "maker" => &["keys:create", "read"],
            _ => &[],
        };
        Principal::from(Identity {
            scheme: Arc::clone(&self.0),
            kind: Kind::Token,
            realm: "tests".into(),
            subject: subject.into(),
            scopes: scopes.iter().map(|scope| Arc::from(*scope)).collect(),
            ..Identity::default()
        })
    }
}

/// A name in a header of its own.
#[derive(Debug)]
pub(crate) struct Badge(pub(crate) Arc<str>);

impl Scheme for Badge {
    fn name(&self) -> &Arc<str> {
        &self.0
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        let Some(badge) = carried.headers().get("x-badge") else {
            return Finding::Absent;
        };
        Finding::Now(match badge.to_str() {
            Ok(subject) => Ok(Principal::from(Identity {
                scheme: Arc::clone(&self.0),
                realm: "badges".into(),
                subject: subject.into(),
                ..Identity::default()
            })),
            Err(_) => Err(Rejection::Malformed),
        })
    }

    fn challenge(&self, _: Option<Rejection>, _: &Carried<'_>) -> HeaderValue {
        HeaderValue::from_static("ApiKey in=\"header\", name=\"X-Badge\"")
    }

    fn declared(&self) -> SecurityScheme {
        SecurityScheme::ApiKey {
            description: None,
            location: ApiKeyLocation::Header,
            name: "X-Badge".to_owned(),
        }
    }
}
