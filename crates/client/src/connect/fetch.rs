//! One GET of a card.

use http::header::ACCEPT;
use http::{HeaderValue, Method, StatusCode};
use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::decode_card;
use tokio::time::Instant;
use url::Url;

use super::cache::{CardCache, Freshness};
use crate::auth::Authority;
use crate::error::{Error, Reach};
use crate::transport::http::{Http, Outgoing};

/// How much of the message of an error is repeated, in bytes.
const MAX_MESSAGE: usize = 300;

/// What an address said to a GET.
#[derive(Debug)]
pub(super) enum Fetched {
    /// A card, and the text it came as.
    Card(Box<AgentCard>, bytes::Bytes),
    /// Something else: what, and whether it was a success all the same.
    Nothing { said: String, good: bool },
    /// It cannot answer now: 429, 502, 503 or 504.
    Away(u16),
    /// It wants to know who asks.
    Refused(u16),
}

/// How cards are fetched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetcher<'a> {
    pub(super) http: &'a Http,
    pub(super) limit: usize,
    pub(super) deadline: Instant,
    /// Some agents have a card per version.
    pub(super) version: &'static str,
    pub(super) cache: Option<&'a CardCache>,
}

impl Fetcher<'_> {
    /// Fetches a card.
    ///
    /// # Errors
    ///
    /// If nobody answers.
    pub(super) async fn card(&self, url: &Url, authority: &Authority) -> Result<Fetched, Error> {
        let who = authority.fingerprint();
        let mut out = Outgoing::new(Method::GET, url.clone());
        out.headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, */*;q=0.1"),
        );
        out.headers
            .insert("a2a-version", HeaderValue::from_static(self.version));
        let kept = self
            .cache
            .and_then(|cache| cache.get(url, self.version, who));
        if let Some(kept) = &kept {
            if kept.freshness.is_fresh() {
                return Ok(read(&kept.body));
            }
            if let Some(etag) = &kept.freshness.etag {
                out.headers
                    .insert(http::header::IF_NONE_MATCH, etag.clone());
            }
        }
        authority.apply(&mut out, self.deadline).await?;
        let answer = match self.http.fetch(out, self.limit, self.deadline).await {
            Ok(answer) => answer,
            // A redirect that is not followed, a page without end: an answer, but no card.
            Err(error) if error.reach() == Reach::Answered => {
                return Ok(Fetched::Nothing {
                    said: error.to_string(),
                    good: false,
                });
            }
            Err(error) => return Err(error),
        };
        let status = answer.status();
        match (status, kept) {
            (StatusCode::NOT_MODIFIED, Some(kept)) => return Ok(read(&kept.body)),
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
                return Ok(Fetched::Refused(status.as_u16()));
            }
            (status, _) if matches!(status.as_u16(), 429 | 502..=504) => {
                return Ok(Fetched::Away(status.as_u16()));
            }
            (status, _) if !status.is_success() => {
                return Ok(Fetched::Nothing {
                    said: match message(answer.body()) {
                        Some(message) => format!("status {}: {message}", status.as_u16()),
                        None => format!("status {}", status.as_u16()),
                    },
                    good: false,
                });
            }
            _ => {}
        }
        let fetched = read(answer.body());
        if let (Fetched::Card(_, body), Some(cache)) = (&fetched, self.cache) {
            let freshness = Freshness::of(answer.headers());
            cache.keep(url, self.version, who, body.clone(), freshness);
        }
        Ok(fetched)
    }
}

/// The message of an error in JSON, which may tell what to ask for instead.
fn message(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let message = body["error"]["message"].as_str()?;
    Some(message[..message.floor_char_boundary(MAX_MESSAGE)].to_owned())
}

fn read(body: &bytes::Bytes) -> Fetched {
    match decode_card(body) {
        Ok(card) => Fetched::Card(Box::new(card), body.clone()),
        Err(error) => Fetched::Nothing {
            said: format!("no card: {error}"),
            good: true,
        },
    }
}
