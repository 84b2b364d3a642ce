//! Where the keys of an issuer come from: fetched by one task, kept in memory, renewed before they are old.

use std::sync::Arc;
use std::time::Duration;

use http::header::CACHE_CONTROL;
use parking_lot::{Mutex, RwLock};
use reqwest::{Client, Response, Url, redirect};
use serde::Deserialize;
use switchboard_keys::{KeyError, PublicKeys};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::shutdown::Tasks;

const USER_AGENT: &str = concat!("switchboard/", env!("CARGO_PKG_VERSION"));
/// The longest answer that is read, and how long an answer may take.
const MAX_ANSWER: usize = 1 << 20;
const MAX_TIME: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;
/// How long keys are fresh: as the issuer says, within these bounds.
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const USUAL: Duration = Duration::from_secs(10 * 60);
/// How long keys serve when no newer ones can be had.
const LAST_RESORT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a key that nobody knows makes us ask: callers choose its name.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// The same while there are no keys at all.
const ASK_AGAIN_SOON: Duration = Duration::from_secs(1);
/// How long a request waits for keys.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where keys are to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwksFrom {
    /// A list of keys.
    Url(Url),
    /// An issuer, to the letter: its own description (OpenID Connect Discovery, RFC 8414) names the list.
    Issuer(String),
}

/// The keys of an issuer, as they are now.
#[derive(Debug)]
pub struct KeySource {
    from: JwksFrom,
    client: Client,
    kept: RwLock<Option<Kept>>,
    asking: Mutex<Asking>,
    wanted: Notify,
    /// Moves whenever an attempt is over.
    over: watch::Sender<u64>,
}

#[derive(Debug, Clone)]
struct Kept {
    keys: Arc<PublicKeys>,
    version: u64,
    fetched: Instant,
    json: Vec<u8>,
}

#[derive(Debug)]
struct Asking {
    under_way: bool,
    /// When a request made us ask.
    last: Option<Instant>,
}

/// Why there are no keys; for our log.
#[derive(Debug, thiserror::Error)]
enum Missing {
    #[error("{0}")]
    Unreachable(String),
    #[error("answered {0}")]
    Refused(u16),
    #[error("the answer has more than {MAX_ANSWER} bytes")]
    TooLong,
    #[error("the description cannot be read: {0}")]
    Unreadable(#[source] serde_json::Error),
    #[error("the description is of another issuer: {0:?}")]
    Another(String),
    #[error("the list of keys is neither at an https address nor on this machine: {0:?}")]
    Unsafe(String),
    #[error(transparent)]
    Keys(#[from] switchboard_keys::KeyError),
}

#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: String,
}

impl KeySource {
    /// Begins to fetch, and goes on until `tasks` stop.
    ///
    /// # Errors
    ///
    /// If there can be no connections at all: no roots of trust, say.
    pub fn start(from: JwksFrom, tasks: &Tasks) -> Result<Arc<Self>, reqwest::Error> {
        let client = Client::builder()
            .redirect(redirect::Policy::custom(within_origin))
            .referer(false)
            .user_agent(USER_AGENT)
            .timeout(MAX_TIME)
            .build()?;
        let source = Arc::new(Self {
            from,
            client,
            kept: RwLock::default(),
            asking: Mutex::new(Asking {
                under_way: true,
                last: None,
            }),
            wanted: Notify::new(),
            over: watch::Sender::new(0),
        });
        let (fetching, stop) = (Arc::clone(&source), tasks.stopping().clone());
        tasks.spawn(async move {
            stop.run_until_cancelled(fetching.keep_up()).await;
        });
        Ok(source)
    }

    /// The keys at hand and their version, unless they are too old to be believed.
    pub(super) fn current(&self) -> Option<(Arc<PublicKeys>, u64)> {
        let kept = self.kept.read();
        let kept = kept.as_ref()?;
        let young = kept.fetched.elapsed() < LAST_RESORT;
        young.then(|| (Arc::clone(&kept.keys), kept.version))
    }

    /// The keys, after asking for newer ones, if it is time to.
    pub(super) async fn renewed(&self) -> Option<(Arc<PublicKeys>, u64)> {
        let mut over = self.over.subscribe();
        let wait = {
            let gap = match self.current() {
                Some(_) => ASK_AGAIN,
                None => ASK_AGAIN_SOON,
            };
            let mut asking = self.asking.lock();
            let may = asking.last.is_none_or(|last| last.elapsed() >= gap);
            if may && !asking.under_way {
                asking.under_way = true;
                asking.last = Some(Instant::now());
                self.wanted.notify_one();
            }
            asking.under_way
        };
        if wait {
            // Late or never: what is at hand counts then.
            drop(timeout(PATIENCE, over.changed()).await);
        }
        self.current()
    }

    async fn keep_up(&self) {
        loop {
            let next = match self.fetch().await {
                Ok(fresh) => fresh.mul_f64(0.8),
                Err(error) => {
                    tracing::warn!(url = %self.place(), %error, "could not fetch JWKS, will retry");
                    ASK_AGAIN
                }
            };
            self.asking.lock().under_way = false;
            self.over.send_modify(|attempt| *attempt += 1);
            tokio::select! {
                () = sleep(next) => self.asking.lock().under_way = true,
                () = self.wanted.notified() => {}
            }
        }
    }

    /// Fetches the keys, and tells how long they are fresh.
    async fn fetch(&self) -> Result<Duration, Missing> {
        let url = match &self.from {
            JwksFrom::Url(url) => url.clone(),
            JwksFrom::Issuer(issuer) => self.discover(issuer).await?,
        };
        let response = self.get(url).await?;
        let fresh = response.headers().get(CACHE_CONTROL);
        let fresh = fresh.and_then(|value| max_age(value.to_str().ok()?));
        let json = read(response).await?;
        let keys = match PublicKeys::from_jwks(&json) {
            // Whoever takes all keys back means it: nothing is signed with them any more.
            Err(error @ KeyError::NoneUsable) if self.current().is_some() => {
                tracing::warn!(url = %self.place(), %error, "JWKS has no usable key, all tokens are refused");
                PublicKeys::default()
            }
            read => read?,
        };
        let mut kept = self.kept.write();
        let before = kept.as_ref().map_or(0, |kept| kept.version);
        // The same keys again: what was checked with them stays checked.
        let same = kept.as_ref().is_some_and(|kept| kept.json == json);
        *kept = Some(Kept {
            keys: Arc::new(keys),
            version: if same { before } else { before + 1 },
            fetched: Instant::now(),
            json,
        });
        Ok(fresh.unwrap_or(USUAL).clamp(SHORTEST, LONGEST))
    }

    async fn discover(&self, issuer: &str) -> Result<Url, Missing> {
        let read_as = |text: &str| {
            let url = Url::parse(text).ok();
            url.ok_or_else(|| Missing::Unsafe(text.to_owned()))
        };
        let base = issuer.trim_end_matches('/');
        let openid = read_as(&format!("{base}/.well-known/openid-configuration"))?;
        let response = match self.get(openid).await {
            Err(Missing::Refused(_)) => {
                let mut oauth = read_as(base)?;
                let path = oauth.path().trim_end_matches('/').to_owned();
                oauth.set_path(&format!("/.well-known/oauth-authorization-server{path}"));
                self.get(oauth).await?
            }
            found => found?,
        };
        let json = read(response).await?;
        let said: Description = serde_json::from_slice(&json).map_err(Missing::Unreadable)?;
        if said.issuer != issuer {
            return Err(Missing::Another(said.issuer));
        }
        let url = read_as(&said.jwks_uri)?;
        if url.scheme() == "https" || is_here(&url) {
            Ok(url)
        } else {
            Err(Missing::Unsafe(said.jwks_uri))
        }
    }

    async fn get(&self, url: Url) -> Result<Response, Missing> {
        let response = self
            .client
            .get(url)
            .send()
            .await
            .map_err(|error| unreachable(&error))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(Missing::Refused(status.as_u16())),
        }
    }

    fn place(&self) -> &str {
        match &self.from {
            JwksFrom::Url(url) => url.as_str(),
            JwksFrom::Issuer(issuer) => issuer,
        }
    }
}

/// Who answers for an address may send us on within it, but nowhere else: inside our network, say.
fn within_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let first = attempt.previous().first().map(Url::origin);
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("too many redirects")
    } else if first != Some(attempt.url().origin()) {
        attempt.error("a redirect to elsewhere is not followed")
    } else {
        attempt.follow()
    }
}

fn unreachable(error: &reqwest::Error) -> Missing {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Missing::Unreachable(cause.to_string())
}

async fn read(mut response: Response) -> Result<Vec<u8>, Missing> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| unreachable(&error))?
    {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(Missing::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Whether an address is on this machine, where nobody listens in.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let address = literal.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn max_age(cache_control: &str) -> Option<Duration> {
    let mut directives = cache_control.split(',').map(str::trim);
    directives.find_map(|directive| {
        let (name, value) = directive.split_once('=')?;
        let seconds = value.trim_matches('"').parse().ok()?;
        name.eq_ignore_ascii_case("max-age")
            .then(|| Duration::from_secs(seconds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_long_keys_are_fresh() {
        for (text, seconds) in [
            ("max-age=300", Some(300)),
            ("public, Max-Age=\"60\", must-revalidate", Some(60)),
            ("s-maxage=5", None),
            ("no-store", None),
            ("max-age=soon", None),
        ] {
            assert_eq!(max_age(text), seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn only_this_machine_is_here() {
        for (url, here) in [
            ("http://localhost:9/x", true),
            ("http://127.0.0.1/", true),
            ("http://[::1]:9/", true),
            ("http://localhost.example/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_here(&Url::parse(url).unwrap()), here, "{url}");
        }
    }
}
