//! From a reference to an agent that can be called: find its card, choose an interface, know who we are.

pub(crate) mod address;
pub(crate) mod cache;
mod catalog;
pub(crate) mod choose;
mod discover;
mod fetch;
pub(crate) mod origin;
pub(crate) mod quirks;
pub(crate) mod verify;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use switchboard_types::wire::card::decode_card;
use switchboard_types::{Dialect, ProtocolVersion};
use tokio::time::Instant;
use url::Url;

use self::choose::Chosen;
use self::discover::Found;
use self::fetch::Fetcher;
use self::origin::TrustedOrigins;
use self::quirks::Quirks;
use crate::auth::{Authority, Means};
use crate::builder::Settings;
use crate::client::{Candidate, Client, Inner, Known};
use crate::error::{Error, Kind};
use crate::reference::Reference;
use crate::transport;
use crate::transport::headers::ServiceParams;
use crate::transport::http::{Http, Outgoing};
use crate::transport::link::{Link, Shared};
use crate::transport::record::shown;

/// Connects: nothing is sent to the agent yet but for its card.
pub(crate) async fn connect(settings: Settings, reference: Reference) -> Result<Client, Error> {
    let http = Http::new(&settings.tls, settings.recorder.clone())?;
    let look = Look {
        settings: &settings,
        http: &http,
        deadline: Instant::now() + settings.timeout,
    };
    let named = reference.base()?;
    let (found, base) = look.for_card(reference, named.as_ref()).await?;
    let text = found.text.as_deref();
    let known = Known {
        signature: settings.signatures.check(&found.card, text)?,
        card: Arc::new(found.card),
    };
    let given = base.as_ref().map(discover::agent_of);
    assemble(&settings, http, known, given.as_ref(), named.as_ref())
}

/// What is needed to look for a card.
#[derive(Clone, Copy)]
struct Look<'a> {
    settings: &'a Settings,
    http: &'a Http,
    deadline: Instant,
}

impl Look<'_> {
    /// The card, and where it was found. `named` is where the user said to look.
    async fn for_card(
        self,
        reference: Reference,
        named: Option<&Url>,
    ) -> Result<(Found, Option<Url>), Error> {
        match (reference, named) {
            (Reference::Card(card), _) => {
                let found = Found {
                    card: *card,
                    text: None,
                };
                Ok((found, None))
            }
            (Reference::File(path), _) => Ok((in_file(&path).await?, None)),
            (Reference::Catalog { name, .. }, Some(url)) => self.in_catalog(url, &name).await,
            (_, Some(base)) => {
                let credentials = Authority::before_card(&self.settings.credentials)?;
                Ok((self.at(base, &credentials).await?, Some(base.clone())))
            }
            (_, None) => Err(Error::new(Kind::Reference, "there is nowhere to look")),
        }
    }

    async fn at(self, base: &Url, credentials: &Authority) -> Result<Found, Error> {
        let first = self.settings.preference.versions.first();
        let fetcher = Fetcher {
            http: self.http,
            limit: self.settings.limits.card,
            deadline: self.deadline,
            version: first.copied().unwrap_or(ProtocolVersion::ALL[0]).name(),
            cache: self.settings.cache.as_ref(),
        };
        discover::find(base, fetcher, credentials).await
    }

    async fn in_catalog(self, url: &Url, name: &str) -> Result<(Found, Option<Url>), Error> {
        let place = catalog::address(url);
        let credentials = Authority::before_card(&self.settings.credentials)?;
        let limit = self.settings.limits.body;
        let mut asked = Outgoing::new(http::Method::GET, place.clone());
        let mut answer = self.http.fetch(asked.clone(), limit, self.deadline).await?;
        if matches!(answer.status().as_u16(), 401 | 403) && !credentials.is_empty() {
            credentials.apply(&mut asked, self.deadline).await?;
            answer = self.http.fetch(asked, limit, self.deadline).await?;
        }
        let status = answer.status();
        if !status.is_success() {
            let message = format!(
                "there is no catalogue at {}: status {}",
                shown(&place),
                status.as_u16()
            );
            return Err(Error::new(Kind::CardNotFound, message).with_status(status.as_u16()));
        }
        match catalog::find(answer.body(), &place, name)? {
            catalog::Entry::At(at) => {
                // Whoever writes the list says where to look, not who may know the credentials.
                let nobody = Authority::default();
                let own = at.origin() == url.origin();
                let known = if own { &credentials } else { &nobody };
                Ok((self.at(&at, known).await?, Some(at)))
            }
            catalog::Entry::Card(card) => {
                let found = Found {
                    card: *card,
                    text: None,
                };
                Ok((found, Some(url.clone())))
            }
        }
    }
}

async fn in_file(path: &Path) -> Result<Found, Error> {
    let read = tokio::fs::read(path).await;
    let text = read.map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        Error::new(Kind::CardNotFound, message).because(error)
    })?;
    let card = decode_card(&text).map_err(|error| {
        let message = format!("{} is no card: {error}", path.display());
        Error::new(Kind::CardInvalid, message)
    })?;
    Ok(Found {
        card,
        text: Some(Bytes::from(text)),
    })
}

/// A client of the agent that is `known`. `given` is where the agent is, as far as it can be told, and `named`
/// what the user said.
fn assemble(
    settings: &Settings,
    http: Http,
    known: Known,
    given: Option<&Url>,
    named: Option<&Url>,
) -> Result<Client, Error> {
    let card = &*known.card;
    let mut chosen = choose::choose(card, &settings.preference)?;
    if settings.only_preferred {
        chosen = choose::only_preferred(card, chosen)?;
    }
    let trusted = TrustedOrigins::new(named, &settings.credentials_to);
    let means = Means {
        http: &http,
        trusted: &trusted,
        certificate: settings.tls.identity.is_some(),
        prompt: settings.prompt.as_ref(),
    };
    let authority = Authority::of(card, &settings.credentials, means)?;
    let sends_secrets = !authority.is_empty()
        || settings.credentials.are_with_calls()
        || settings
            .headers
            .iter()
            .any(|(_, value)| value.is_sensitive());
    let shared = Arc::new(Shared {
        authority,
        params: ServiceParams {
            extensions: settings.extensions.clone(),
            headers: settings.headers.clone(),
        },
        limits: settings.limits,
        timeout: settings.timeout,
        silence: settings.silence,
        http,
    });
    let quirks = settings.quirks.unwrap_or_else(|| Quirks::told_by(card));
    let candidate = |chosen: Chosen| {
        let interface = &chosen.interface;
        let url = address::resolve(interface, given, settings.address)?;
        if sends_secrets {
            trusted.require(&url)?;
        }
        let dialect =
            |version| Dialect::spoken(&interface.binding, version).with_files(settings.file_bytes);
        let link = |version| Link {
            url: url.clone(),
            version,
            dialect: dialect(version),
            plain_card: ProtocolVersion::has_plain_card(&interface.version),
            tenant: interface.tenant.clone(),
            shared: Arc::clone(&shared),
        };
        let transport = transport::open(&interface.binding, link(chosen.version))?;
        let older = quirks.prefers_older.then(|| {
            let oldest = ProtocolVersion::ALL[ProtocolVersion::ALL.len() - 1];
            transport::open(&interface.binding, link(oldest))
        });
        Ok(Candidate {
            elsewhere: address::differs(&url, given),
            dialect: dialect(chosen.version),
            transport,
            older: older.transpose()?,
            url,
            chosen,
        })
    };
    let mut candidates = Vec::new();
    let mut problem = None;
    for chosen in chosen {
        match candidate(chosen) {
            Ok(candidate) => candidates.push(candidate),
            // One bad address does not spoil the others.
            Err(error) => problem = Some(error),
        }
    }
    match problem {
        Some(error) if candidates.is_empty() => Err(error),
        _ => Ok(Client::new(Inner {
            known: parking_lot::RwLock::new(known),
            candidates,
            current: std::sync::atomic::AtomicUsize::new(0),
            quirks,
            signatures: settings.signatures.clone(),
            retry: settings.retry,
            shared,
        })),
    }
}
