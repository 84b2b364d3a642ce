//! Who gives out tokens (RFC 6749): where it is asked, and in which words.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::AUTHORIZATION;
use switchboard_types::model::Secret;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use url::Url;
use url::form_urlencoded::{self, Serializer, byte_serialize};

use super::apply::basic;
use super::grant::{Granted, Metadata, refused};
use super::held::too_late;
use crate::connect::origin::TrustedOrigins;
use crate::error::{Error, Kind};
use crate::reference::is_local;
use crate::transport::http::{Http, Outgoing};
use crate::transport::record::shown;

/// The most bytes of an answer.
const MOST_BYTES: usize = 1 << 20;

/// How long a description is believed.
const FRESH: Duration = Duration::from_secs(3600);

/// Who asks for tokens, and for what.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) scopes: Vec<String>,
}

/// One who gives out tokens.
#[derive(Debug)]
pub(super) struct Issuer {
    http: Http,
    pub(super) terms: Terms,
    endpoints: Endpoints,
    /// What the description said, and when.
    described: Mutex<Option<(Arc<Known>, Instant)>>,
}

/// Where to ask.
#[derive(Debug)]
pub(super) enum Endpoints {
    Known(Arc<Known>),
    /// A document names them (RFC 8414, OpenID Connect Discovery).
    Described {
        /// Where it may be; the first that is there counts.
        places: Vec<Url>,
        /// Whose it must be.
        issuer: Option<String>,
        /// Where its endpoints must be; anywhere, if the user named the issuer.
        trusted: Option<TrustedOrigins>,
    },
}

#[derive(Debug)]
pub(super) struct Known {
    pub(super) token: Url,
    pub(super) device: Option<Url>,
    pub(super) refresh: Option<Url>,
}

impl Endpoints {
    /// The description of an issuer, where such are.
    pub(super) fn of_issuer(issuer: &str) -> Result<Self, Error> {
        let base = endpoint(issuer.trim_end_matches('/'), Kind::Reference)?;
        let path = base.path().trim_end_matches('/');
        let place = |path: String| {
            let mut place = base.clone();
            place.set_path(&path);
            place
        };
        let openid = place(format!("{path}/.well-known/openid-configuration"));
        let oauth = place(format!("/.well-known/oauth-authorization-server{path}"));
        Ok(Self::Described {
            places: vec![openid, oauth],
            issuer: Some(issuer.to_owned()),
            trusted: None,
        })
    }
}

impl Known {
    /// Refuses endpoints that the user has not allowed. A card that is not the issuer's could name one of its own
    /// where a secret, a refresh token or a device code goes.
    ///
    /// # Errors
    ///
    /// If a secret would go to an untrusted origin, or the endpoints of one flow are at several.
    pub(super) fn require_trust(
        &self,
        has_secret: bool,
        trusted: &TrustedOrigins,
    ) -> Result<(), Error> {
        if has_secret {
            trusted.require(&self.token)?;
        }
        for other in self.device.iter().chain(&self.refresh) {
            if !trusted.cover_both(&self.token, other) {
                trusted.require(&self.token)?;
                trusted.require(other)?;
            }
        }
        Ok(())
    }
}

impl Issuer {
    pub(super) fn new(http: Http, terms: Terms, endpoints: Endpoints) -> Self {
        Self {
            http,
            terms,
            endpoints,
            described: Mutex::default(),
        }
    }

    /// Where to ask.
    pub(super) async fn endpoints(&self, deadline: Instant) -> Result<Arc<Known>, Error> {
        let (places, issuer, trusted) = match &self.endpoints {
            Endpoints::Known(known) => return Ok(Arc::clone(known)),
            Endpoints::Described {
                places,
                issuer,
                trusted,
            } => (places, issuer.as_deref(), trusted),
        };
        let Ok(mut described) = timeout_at(deadline, self.described.lock()).await else {
            return Err(too_late());
        };
        if let Some((known, when)) = &*described
            && when.elapsed() < FRESH
        {
            return Ok(Arc::clone(known));
        }
        let known = Arc::new(self.describe(places, issuer, deadline).await?);
        if let Some(trusted) = trusted {
            known.require_trust(self.terms.client_secret.is_some(), trusted)?;
        }
        *described = Some((Arc::clone(&known), Instant::now()));
        Ok(known)
    }

    async fn describe(
        &self,
        places: &[Url],
        issuer: Option<&str>,
        deadline: Instant,
    ) -> Result<Known, Error> {
        let mut missed = Error::new(Kind::Reference, "there is no place to look for an issuer");
        for url in places {
            let asked = Outgoing::new(Method::GET, url.clone());
            let answer = self.http.fetch(asked, MOST_BYTES, deadline).await?;
            if !answer.status().is_success() {
                missed = turned_down(url, answer.status().as_u16());
                continue;
            }
            let metadata: Metadata = serde_json::from_slice(answer.body()).map_err(|error| {
                refused(&format!(
                    "{} describes no token endpoint: {error}",
                    shown(url)
                ))
            })?;
            if issuer.is_some_and(|issuer| metadata.issuer.as_deref() != Some(issuer)) {
                let message = format!("{} describes another issuer", shown(url));
                return Err(refused(&message));
            }
            let device = metadata.device_authorization_endpoint.as_deref();
            let endpoint = |url: &str| endpoint(url, Kind::Refused);
            return Ok(Known {
                token: endpoint(&metadata.token_endpoint)?,
                device: device.map(endpoint).transpose()?,
                refresh: None,
            });
        }
        Err(missed)
    }

    /// What every request says, and `more`.
    pub(super) fn form(&self, more: &[(&str, &str)]) -> String {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(more);
        if !self.terms.scopes.is_empty() {
            form.append_pair("scope", &self.terms.scopes.join(" "));
        }
        form.finish()
    }

    /// Asks a token endpoint. The secret goes where every issuer must take it; some take it in the body only.
    pub(super) async fn ask(
        &self,
        url: &Url,
        form: String,
        deadline: Instant,
    ) -> Result<Granted, Error> {
        let mut answer = self.post(url, form.clone(), true, deadline).await?;
        if answer.status() == 401 && self.terms.client_secret.is_some() {
            answer = self.post(url, form.clone(), false, deadline).await?;
        }
        let status = answer.status().as_u16();
        match serde_json::from_slice::<Granted>(answer.body()) {
            Ok(granted) if !is_away(status) => Ok(granted.without(&self.confided(&form))),
            Ok(_) | Err(_) if status >= 400 => Err(turned_down(url, status)),
            Ok(_) | Err(_) => {
                let message = format!("{} gives no tokens: its answer is no JSON", shown(url));
                Err(Error::new(Kind::Unintelligible, message).with_status(status))
            }
        }
    }

    /// What an issuer is told in confidence; some quote it in their answers.
    fn confided(&self, form: &str) -> Vec<String> {
        let said = form_urlencoded::parse(form.as_bytes());
        let secret = said.filter(|(name, _)| name.ends_with("token") || name == "device_code");
        let own = self.terms.client_secret.iter();
        let own = own.map(|secret| secret.reveal().to_owned());
        own.chain(secret.map(|(_, value)| value.into_owned()))
            .collect()
    }

    pub(super) async fn post(
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

/// An address that may be told a secret: encrypted, or on this machine. `kind` says whose mistake another one is.
pub(super) fn endpoint(url: &str, kind: Kind) -> Result<Url, Error> {
    let parsed =
        Url::parse(url).map_err(|error| Error::new(kind, format!("{url:?} is no URL: {error}")))?;
    if parsed.scheme() == "https" || parsed.scheme() == "http" && is_local(&parsed) {
        return Ok(parsed);
    }
    let message = format!(
        "{} is not encrypted: no secret is sent there",
        shown(&parsed)
    );
    Err(Error::new(kind, message))
}

/// Whether an issuer cannot answer now, but may later.
fn is_away(status: u16) -> bool {
    status == 429 || status >= 500
}

/// What is said of an issuer that answers with nothing but a status.
fn turned_down(url: &Url, status: u16) -> Error {
    let why = format!("{} answered with status {status}", shown(url));
    if is_away(status) {
        let message = format!("the issuer of tokens cannot answer now: {why}");
        return Error::new(Kind::Unreachable, message);
    }
    refused(&why)
}
