//! Where a request carries a key.

use std::sync::Arc;

use hyper::header::{COOKIE, HeaderName, HeaderValue};
use switchboard_types::model::{ApiKeyLocation, SecurityScheme};

use super::ApiKeys;
use crate::auth::{Carried, Finding, Rejection, Scheme};
use crate::principal::API_KEY_PREFIX;

/// Where keys are taken from whatever the card says.
static X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Callers who have an API key. It is taken from where the card says, from `X-API-Key`, and as a bearer token.
#[derive(Debug)]
pub struct KeyScheme {
    keys: ApiKeys,
    location: ApiKeyLocation,
    parameter: String,
    /// Where the card says, if that is another header.
    header: Option<HeaderName>,
}

impl KeyScheme {
    /// Cards say that a key goes into `X-API-Key`.
    #[must_use]
    pub fn new(keys: ApiKeys) -> Self {
        Self::declared_in(keys, ApiKeyLocation::Header, "X-API-Key")
    }

    /// Cards say that a key goes there, under that name.
    pub fn declared_in(
        keys: ApiKeys,
        location: ApiKeyLocation,
        parameter: impl Into<String>,
    ) -> Self {
        let parameter = parameter.into();
        let header = HeaderName::try_from(&parameter).ok();
        Self {
            keys,
            location,
            parameter,
            header: header.filter(|name| location == ApiKeyLocation::Header && *name != X_API_KEY),
        }
    }

    /// The one key that the request carries.
    fn carried<'a>(&self, carried: &Carried<'a>) -> Option<Result<&'a str, Rejection>> {
        let bearer = carried.authorization("Bearer");
        // Other tokens are for others to judge.
        let bearer =
            bearer.filter(|token| token.is_ok_and(|token| token.starts_with(API_KEY_PREFIX)));
        let header = |name: &HeaderName| carried.headers().get_all(name).into_iter().map(text);
        let usual = bearer.into_iter().chain(header(&X_API_KEY));
        let name = &*self.parameter;
        match self.location {
            ApiKeyLocation::Header => alone(usual.chain(self.header.iter().flat_map(header))),
            ApiKeyLocation::Query => {
                let pairs = carried.query().unwrap_or_default().split('&');
                alone(usual.chain(pairs.filter_map(|pair| value_of(pair, name)).map(Ok)))
            }
            ApiKeyLocation::Cookie => {
                let cookies = carried.headers().get_all(COOKIE).into_iter();
                let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
                let pairs = cookies.flat_map(|cookies| cookies.split(';'));
                let values = pairs.filter_map(|pair| value_of(pair.trim(), name));
                alone(usual.chain(values.map(Ok)))
            }
        }
    }
}

/// Of two keys nobody knows which one counts.
fn alone<'a>(
    mut all: impl Iterator<Item = Result<&'a str, Rejection>>,
) -> Option<Result<&'a str, Rejection>> {
    let first = all.next()?;
    match all.all(|other| other == first) {
        true => Some(first),
        false => Some(Err(Rejection::Malformed)),
    }
}

fn text(value: &HeaderValue) -> Result<&str, Rejection> {
    let text = value.to_str().map_err(|_| Rejection::Malformed)?;
    Ok(text.trim())
}

fn value_of<'a>(pair: &'a str, name: &str) -> Option<&'a str> {
    pair.split_once('=')
        .filter(|(said, _)| *said == name)
        .map(|(_, value)| value)
}

impl Scheme for KeyScheme {
    fn name(&self) -> &Arc<str> {
        self.keys.scheme()
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        match self.carried(carried) {
            None => Finding::Absent,
            Some(Err(cause)) => Finding::Now(Err(cause)),
            Some(Ok(key)) => match self.keys.find(key) {
                Err(Rejection::Unknown) => Finding::Later(Box::pin(self.keys.find_anew(key))),
                found => Finding::Now(found),
            },
        }
    }

    fn challenge(&self, _: Option<Rejection>, _: &Carried<'_>) -> HeaderValue {
        let place = match self.location {
            ApiKeyLocation::Query => "query",
            ApiKeyLocation::Header => "header",
            ApiKeyLocation::Cookie => "cookie",
        };
        let name = &self.parameter;
        let text = format!("ApiKey realm=\"switchboard\", in=\"{place}\", name=\"{name}\"");
        HeaderValue::from_str(&text)
            .unwrap_or_else(|_| HeaderValue::from_static("ApiKey realm=\"switchboard\""))
    }

    fn declared(&self) -> SecurityScheme {
        SecurityScheme::ApiKey {
            description: None,
            location: self.location,
            name: self.parameter.clone(),
        }
    }
}
