//! Tokens by OAuth 2.0: client credentials (RFC 6749 §4.4), device code (RFC 8628), refreshed as they expire.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::AUTHORIZATION;
use switchboard_types::model::{OAuthFlow, Secret, SecurityScheme};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::apply::basic;
use super::grant::{DeviceCode, Granted, Metadata, Token, USUAL_INTERVAL, refused};
use super::{AccessToken, Prompt};
use crate::error::{Error, Kind};
use crate::reference::is_local;
use crate::transport::http::{Http, Outgoing};
use crate::transport::record::shown;

/// The most bytes of an answer of a token endpoint.
const MOST_BYTES: usize = 1 << 20;

/// How long others wait while a person enters a code.
const LONGEST_LOGIN: Duration = Duration::from_secs(3600);

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Who asks for tokens, and for what.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) scopes: Vec<String>,
}

/// Where tokens come from. Holds the one that is good now.
#[derive(Debug)]
pub(crate) struct Source {
    http: Http,
    terms: Terms,
    endpoints: Endpoints,
    prompt: Option<Arc<dyn Prompt>>,
    held: Mutex<Option<Token>>,
}

#[derive(Debug)]
enum Endpoints {
    Known(Known),
    /// A document names them (RFC 8414, OpenID Connect Discovery).
    Described(Url),
}

#[derive(Debug, Clone)]
struct Known {
    token: Url,
    device: Option<Url>,
    refresh: Option<Url>,
}

impl Source {
    /// Where `scheme` says that tokens come from; nothing if it offers no flow that works without a browser.
    pub(crate) fn of(
        scheme: &SecurityScheme,
        terms: Terms,
        http: Http,
        prompt: Option<Arc<dyn Prompt>>,
    ) -> Result<Option<Self>, Error> {
        let endpoints = match scheme {
            SecurityScheme::OAuth2 {
                flows,
                metadata_url,
                ..
            } => {
                let known = flows.iter().find_map(|flow| known(flow, &terms));
                match (known, metadata_url) {
                    (Some(known), _) => Endpoints::Known(known?),
                    (None, Some(url)) => Endpoints::Described(endpoint(url)?),
                    (None, None) => return Ok(None),
                }
            }
            SecurityScheme::OpenIdConnect { url, .. } => Endpoints::Described(endpoint(url)?),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            http,
            terms,
            endpoints,
            prompt,
            held: Mutex::default(),
        }))
    }

    pub(crate) fn client_id(&self) -> &str {
        &self.terms.client_id
    }

    /// A token that is good now. Whoever else asks meanwhile waits and gets the same one.
    pub(crate) async fn token(&self, deadline: Instant) -> Result<Secret, Error> {
        // A person takes longer than an issuer.
        let by_person = self.terms.client_secret.is_none() && self.prompt.is_some();
        let patience = if by_person {
            deadline.max(Instant::now() + LONGEST_LOGIN)
        } else {
            deadline
        };
        let Ok(mut held) = timeout_at(patience, self.held.lock()).await else {
            return Err(Error::new(Kind::Timeout, "no token came in time"));
        };
        if let Some(token) = held.as_ref().filter(|token| token.is_good()) {
            return Ok(token.access.clone());
        }
        let known = self.endpoints(deadline).await?;
        let old = held.take().and_then(|token| token.refresh);
        let token = match old {
            Some(refresh) => match self.refreshed(&known, refresh, deadline).await {
                Ok(token) => token,
                Err(error) => {
                    tracing::debug!(%error, "a token could not be refreshed: asking for a new one");
                    self.granted(&known, deadline).await?
                }
            },
            None => self.granted(&known, deadline).await?,
        };
        let access = token.access.clone();
        *held = Some(token);
        Ok(access)
    }

    /// A token that is good now, and for how long.
    pub(crate) async fn lasting(&self, deadline: Instant) -> Result<AccessToken, Error> {
        let token = self.token(deadline).await?;
        let held = timeout_at(deadline, self.held.lock()).await.ok();
        let good_until = held.and_then(|held| Some(held.as_ref()?.good_until));
        Ok(AccessToken {
            token,
            lasts: good_until.map_or(Duration::ZERO, |end| end - Instant::now()),
        })
    }

    /// The agent refused `sent`: if it is the token that is held, it is no longer good. Whether another one may be
    /// had, which others may have asked for already.
    pub(crate) fn forget(&self, sent: impl Fn(&Secret) -> bool) -> bool {
        let Ok(mut held) = self.held.try_lock() else {
            return true;
        };
        if let Some(token) = held.as_mut().filter(|token| sent(&token.access)) {
            token.good_until = Instant::now();
        }
        held.is_some()
    }

    async fn endpoints(&self, deadline: Instant) -> Result<Known, Error> {
        let url = match &self.endpoints {
            Endpoints::Known(known) => return Ok(known.clone()),
            Endpoints::Described(url) => url,
        };
        let asked = Outgoing::new(Method::GET, url.clone());
        let answer = self.http.fetch(asked, MOST_BYTES, deadline).await?;
        let metadata: Metadata = serde_json::from_slice(answer.body()).map_err(|error| {
            refused(&format!(
                "{} describes no token endpoint: {error}",
                shown(url)
            ))
        })?;
        let device = metadata.device_authorization_endpoint;
        Ok(Known {
            token: endpoint(&metadata.token_endpoint)?,
            device: device.as_deref().map(endpoint).transpose()?,
            refresh: None,
        })
    }

    async fn granted(&self, known: &Known, deadline: Instant) -> Result<Token, Error> {
        match (&self.terms.client_secret, &known.device) {
            (None, Some(device)) => self.by_device(known, device, deadline).await,
            (None, None) => Err(Error::new(
                Kind::CredentialsMissing,
                "tokens are given by client credentials only, which need a client secret",
            )),
            (Some(_), _) => {
                let form = self.form(&[("grant_type", "client_credentials")]);
                self.ask(&known.token, form, deadline).await?.token()
            }
        }
    }

    async fn refreshed(
        &self,
        known: &Known,
        refresh: Secret,
        deadline: Instant,
    ) -> Result<Token, Error> {
        let form = self.form(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.reveal()),
        ]);
        let url = known.refresh.as_ref().unwrap_or(&known.token);
        let mut token = self.ask(url, form, deadline).await?.token()?;
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
        let answer = self.post(device, self.form(&[]), false, deadline).await?;
        let code: DeviceCode = serde_json::from_slice(answer.body())
            .map_err(|error| refused(&format!("{} gave no device code: {error}", shown(device))))?;
        prompt.device_code(code.page(), &code.user_code).await;
        let end = Instant::now() + code.life();
        let mut interval = code.interval();
        loop {
            if timeout_at(end, sleep(interval)).await.is_err() {
                return Err(refused("the code was not entered in time"));
            }
            let form = self.form(&[
                ("grant_type", DEVICE_GRANT),
                ("device_code", &code.device_code),
            ]);
            let granted = self.ask(&known.token, form, end).await?;
            match granted.error.as_deref() {
                Some("authorization_pending") => {}
                Some("slow_down") => interval += USUAL_INTERVAL,
                _ => return granted.token(),
            }
        }
    }

    /// What every request says, and `more`.
    fn form(&self, more: &[(&str, &str)]) -> String {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(more);
        if !self.terms.scopes.is_empty() {
            form.append_pair("scope", &self.terms.scopes.join(" "));
        }
        form.finish()
    }

    /// Asks a token endpoint. The secret goes where every issuer must take it; some take it in the body only.
    async fn ask(&self, url: &Url, form: String, deadline: Instant) -> Result<Granted, Error> {
        let mut answer = self.post(url, form.clone(), true, deadline).await?;
        if answer.status() == 401 && self.terms.client_secret.is_some() {
            answer = self.post(url, form, false, deadline).await?;
        }
        serde_json::from_slice(answer.body()).map_err(|_| {
            refused(&format!(
                "{} answered with status {}",
                shown(url),
                answer.status()
            ))
        })
    }

    async fn post(
        &self,
        url: &Url,
        form: String,
        in_header: bool,
        deadline: Instant,
    ) -> Result<http::Response<Bytes>, Error> {
        let out = self.request(url, form, in_header)?;
        self.http.fetch(out, MOST_BYTES, deadline).await
    }

    fn request(&self, url: &Url, form: String, in_header: bool) -> Result<Outgoing, Error> {
        let Terms {
            client_id,
            client_secret,
            ..
        } = &self.terms;
        let mut out = Outgoing::new(Method::POST, url.clone());
        let mut form = Serializer::new(form);
        match client_secret {
            Some(secret) if in_header => {
                // Name and secret are form-encoded first (RFC 6749 §2.3.1).
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let secret = Secret::new(encoded(secret.reveal()));
                let value = basic(&encoded(client_id), &secret)?;
                out.headers.insert(AUTHORIZATION, value);
            }
            Some(secret) => {
                form.append_pair("client_id", client_id);
                form.append_pair("client_secret", secret.reveal());
            }
            None => {
                form.append_pair("client_id", client_id);
            }
        }
        let out = out.body("application/x-www-form-urlencoded", form.finish());
        Ok(out.private())
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
    let known = || {
        Ok(Known {
            token: endpoint(token)?,
            device: device.map(|url| endpoint(url)).transpose()?,
            refresh: refresh.as_deref().map(endpoint).transpose()?,
        })
    };
    Some(known())
}

/// An address that may be told a secret: encrypted, or on this machine.
fn endpoint(url: &str) -> Result<Url, Error> {
    let parsed = Url::parse(url)
        .map_err(|error| Error::new(Kind::CardInvalid, format!("{url:?} is no URL: {error}")))?;
    if parsed.scheme() == "https" || is_local(&parsed) {
        return Ok(parsed);
    }
    let message = format!(
        "{} is not encrypted: no secret is sent there",
        shown(&parsed)
    );
    Err(Error::new(Kind::CardInvalid, message))
}
