//! Tokens for agents whose card asks for them: client credentials (RFC 6749 §4.4), device code (RFC 8628), refreshed as
//! they expire.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::{OAuthFlow, Secret, SecurityScheme};
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::apply::Means;
use super::grant::{DeviceCode, Token, USUAL_INTERVAL, refused};
use super::held::Held;
use super::issuer::{Endpoints, Issuer, Known, Terms, endpoint};
use super::{AccessToken, Prompt};
use crate::connect::origin::TrustedOrigins;
use crate::error::{Error, Kind};
use crate::transport::record::shown;

/// How long others wait while a person enters a code.
const LONGEST_LOGIN: Duration = Duration::from_secs(3600);

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Where tokens come from. Holds the one that is good now.
#[derive(Debug)]
pub(crate) struct Source {
    issuer: Issuer,
    prompt: Option<Arc<dyn Prompt>>,
    held: Held,
}

impl Source {
    /// Where `scheme` says that tokens come from; nothing if it offers no flow that works without a browser.
    pub(crate) fn of(
        scheme: &SecurityScheme,
        terms: Terms,
        means: Means<'_>,
    ) -> Result<Option<Self>, Error> {
        let trusted = means.trusted;
        let endpoints = match scheme {
            SecurityScheme::OAuth2 {
                flows,
                metadata_url,
                ..
            } => {
                let known = flows.iter().find_map(|flow| known(flow, &terms));
                match (known.transpose()?, metadata_url) {
                    (Some(known), _) => {
                        known.require_trust(terms.client_secret.is_some(), trusted)?;
                        Endpoints::Known(Arc::new(known))
                    }
                    (None, Some(url)) => described(url, trusted)?,
                    (None, None) => return Ok(None),
                }
            }
            SecurityScheme::OpenIdConnect { url, .. } => described(url, trusted)?,
            _ => return Ok(None),
        };
        Ok(Some(Self {
            issuer: Issuer::new(means.http.clone(), terms, endpoints),
            prompt: means.prompt.cloned(),
            held: Held::default(),
        }))
    }

    pub(crate) fn client_id(&self) -> &str {
        &self.issuer.terms.client_id
    }

    /// A token that is good now, and for how long. Whoever else asks meanwhile waits and gets the same one.
    pub(crate) async fn token(&self, deadline: Instant) -> Result<AccessToken, Error> {
        // A person takes longer than an issuer.
        let by_person = self.issuer.terms.client_secret.is_none() && self.prompt.is_some();
        let patience = if by_person {
            deadline.max(Instant::now() + LONGEST_LOGIN)
        } else {
            deadline
        };
        let renew = |old| self.renewed(old, deadline);
        self.held.get(patience, renew).await
    }

    /// The agent refused a token. Whether another one may be had.
    pub(crate) fn forget(&self, refused: impl Fn(&Secret) -> bool) -> bool {
        self.held.forget(refused)
    }

    async fn renewed(&self, old: Option<Secret>, deadline: Instant) -> Result<Token, Error> {
        let known = self.issuer.endpoints(deadline).await?;
        if let Some(refresh) = old {
            match self.refreshed(&known, refresh, deadline).await {
                Ok(token) => return Ok(token),
                Err(error) => {
                    tracing::debug!(%error, "a token could not be refreshed: asking for a new one");
                }
            }
        }
        self.granted(&known, deadline).await
    }

    async fn granted(&self, known: &Known, deadline: Instant) -> Result<Token, Error> {
        match (&self.issuer.terms.client_secret, &known.device) {
            (None, Some(device)) => self.by_device(known, device, deadline).await,
            (None, None) => Err(Error::new(
                Kind::CredentialsMissing,
                "tokens are given by client credentials only, which need a client secret",
            )),
            (Some(_), _) => {
                let form = self.issuer.form(&[("grant_type", "client_credentials")]);
                self.issuer.ask(&known.token, form, deadline).await?.token()
            }
        }
    }

    async fn refreshed(
        &self,
        known: &Known,
        refresh: Secret,
        deadline: Instant,
    ) -> Result<Token, Error> {
        let form = self.issuer.form(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.reveal()),
        ]);
        let url = known.refresh.as_ref().unwrap_or(&known.token);
        let mut token = self.issuer.ask(url, form, deadline).await?.token()?;
        // An issuer that sends no new one means the old one to be kept (RFC 6749 §6).
        token.refresh.get_or_insert(refresh);
        Ok(token)
    }

    /// A person opens a page and enters a code; we ask until they have.
    async fn by_device(
        &self,
        known: &Known,
        device: &Url,
        deadline: Instant,
    ) -> Result<Token, Error> {
        let Some(prompt) = &self.prompt else {
            let message = "a person must enter a code, and there is nobody to be told";
            return Err(Error::new(Kind::CredentialsMissing, message));
        };
        let answer = self
            .issuer
            .post(device, self.issuer.form(&[]), false, deadline)
            .await?;
        let code: DeviceCode = serde_json::from_slice(answer.body())
            .map_err(|error| refused(&format!("{} gave no device code: {error}", shown(device))))?;
        prompt.device_code(code.page(), &code.user_code).await;
        let end = Instant::now() + code.life();
        let mut interval = code.interval();
        loop {
            if timeout_at(end, sleep(interval)).await.is_err() {
                return Err(refused("the code was not entered in time"));
            }
            let form = self.issuer.form(&[
                ("grant_type", DEVICE_GRANT),
                ("device_code", &code.device_code),
            ]);
            let granted = self.issuer.ask(&known.token, form, end).await?;
            match granted.error.as_deref() {
                Some("authorization_pending") => {}
                Some("slow_down") => interval += USUAL_INTERVAL,
                _ => return granted.token(),
            }
        }
    }
}

/// The endpoints of a flow that these terms can use.
fn known(flow: &OAuthFlow, terms: &Terms) -> Option<Result<Known, Error>> {
    let (token, device, refresh) = match flow {
        OAuthFlow::ClientCredentials {
            token_url,
            refresh_url,
            ..
        } if terms.client_secret.is_some() => (token_url, None, refresh_url),
        OAuthFlow::DeviceCode {
            device_authorization_url,
            token_url,
            refresh_url,
            ..
        } if terms.client_secret.is_none() => {
            (token_url, Some(device_authorization_url), refresh_url)
        }
        _ => return None,
    };
    let endpoint = |url: &str| endpoint(url, Kind::CardInvalid);
    let known = || {
        Ok(Known {
            token: endpoint(token)?,
            device: device.map(|url| endpoint(url)).transpose()?,
            refresh: refresh.as_deref().map(endpoint).transpose()?,
        })
    };
    Some(known())
}

/// The endpoints that a document names.
fn described(url: &str, trusted: &TrustedOrigins) -> Result<Endpoints, Error> {
    let url = endpoint(url, Kind::CardInvalid)?;
    // An issuer that the user trusts may have its token endpoint anywhere; another one must name a trusted one.
    let trusted = (!trusted.cover(&url)).then(|| trusted.clone());
    Ok(Endpoints::Described {
        places: vec![url],
        issuer: None,
        trusted,
    })
}
