//! The credentials of a check, and which origins may receive them.

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_client::TrustedOrigins;
use switchboard_types::model::{ApiKeyLocation, Secret, SecurityScheme};
use url::Url;

use super::Plan;

/// What lets us in. Not shown.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    bearer: Option<Secret>,
    api_key: Option<Secret>,
    /// Where the key goes: as the card says, or `X-API-Key`.
    key_place: Option<(ApiKeyLocation, String)>,
    /// Other headers for every request.
    pub(crate) params: Vec<(HeaderName, HeaderValue)>,
    /// Who may learn all of this, once the card is known; until then requests go where the user said.
    trusted: Option<TrustedOrigins>,
}

impl Access {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            bearer: plan.bearer.clone(),
            api_key: plan.api_key.clone(),
            key_place: None,
            params: plan.params.clone(),
            trusted: None,
        }
    }

    /// From now on credentials go to these origins only.
    pub(crate) fn trust(&mut self, origins: TrustedOrigins) {
        self.trusted = Some(origins);
    }

    /// # Errors
    ///
    /// If there are credentials, and they must not be sent there; says why.
    pub(crate) fn require(&self, url: &Url) -> Result<(), String> {
        let has_any = self.bearer.is_some() || self.api_key.is_some() || !self.params.is_empty();
        match &self.trusted {
            Some(trusted) if has_any => trusted.require(url).map_err(|error| match error.hint() {
                Some(hint) => format!("{error}; {hint}"),
                None => error.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Learns from a card where an API key goes.
    pub(crate) fn heed<'a>(&mut self, schemes: impl Iterator<Item = &'a SecurityScheme>) {
        let place = schemes.filter_map(|scheme| match scheme {
            SecurityScheme::ApiKey { location, name, .. } => Some((*location, name.clone())),
            _ => None,
        });
        self.key_place = place.take(1).next();
    }

    /// The name of the header or parameter that holds the key.
    pub(crate) fn secret(&self) -> &str {
        self.key_place
            .as_ref()
            .map_or("X-API-Key", |(_, name)| name)
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap, url: &mut Url) -> Result<(), http::Error> {
        let hidden = |text: &str| -> Result<HeaderValue, http::Error> {
            let mut value = HeaderValue::from_str(text)?;
            value.set_sensitive(true);
            Ok(value)
        };
        if let Some(bearer) = &self.bearer {
            headers.insert(
                AUTHORIZATION,
                hidden(&format!("Bearer {}", bearer.reveal()))?,
            );
        }
        let Some(key) = &self.api_key else {
            return Ok(());
        };
        match &self.key_place {
            Some((ApiKeyLocation::Query, name)) => {
                url.query_pairs_mut().append_pair(name, key.reveal());
            }
            Some((ApiKeyLocation::Cookie, name)) => {
                headers.insert(COOKIE, hidden(&format!("{name}={}", key.reveal()))?);
            }
            _ => {
                let name: HeaderName = self.secret().parse()?;
                headers.insert(name, hidden(key.reveal())?);
            }
        }
        Ok(())
    }
}
