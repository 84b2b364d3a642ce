//! Cards that were fetched, for as long as their agents allow (A2A 1.0 §8.6.2). Kept apart by who asked, since an
//! agent may show different cards to different callers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG};
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use tokio::time::Instant;
use url::Url;

/// The most cards that are kept.
const MOST: usize = 1024;

/// Where cards are kept between connections. Cheap to clone: give the same one to several clients.
#[derive(Debug, Clone, Default)]
pub struct CardCache(Arc<Mutex<HashMap<Key, Kept>>>);

type Key = (Url, &'static str, u64);

/// A card, as it came.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) body: Bytes,
    pub(super) freshness: Freshness,
}

/// How long a card is good, and how to ask whether it still is.
#[derive(Debug, Clone)]
pub(super) struct Freshness {
    pub(super) etag: Option<HeaderValue>,
    until: Option<Instant>,
}

impl CardCache {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn get(&self, url: &Url, version: &'static str, who: u64) -> Option<Kept> {
        let cards = self.0.lock();
        cards.get(&(url.clone(), version, who)).cloned()
    }

    pub(super) fn keep(
        &self,
        url: &Url,
        version: &'static str,
        who: u64,
        body: Bytes,
        freshness: Freshness,
    ) {
        let mut cards = self.0.lock();
        let key = (url.clone(), version, who);
        if !freshness.is_worth_keeping() {
            cards.remove(&key);
        } else if cards.len() < MOST || cards.contains_key(&key) {
            cards.insert(key, Kept { body, freshness });
        }
    }
}

impl Freshness {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let said = headers.get(CACHE_CONTROL);
        let said = said
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let mut age = None;
        for directive in said.split(',').map(str::trim) {
            if directive.eq_ignore_ascii_case("no-store") {
                return Self {
                    etag: None,
                    until: None,
                };
            }
            let seconds = directive.strip_prefix("max-age=");
            age = seconds.and_then(|text| text.parse().ok()).or(age);
        }
        let fresh = age.filter(|_| !said.contains("no-cache"));
        // A year is as good as always, and can be added to any moment.
        let most = 365 * 24 * 3600;
        Self {
            etag: headers.get(ETAG).cloned(),
            until: fresh.map(|age: u64| Instant::now() + Duration::from_secs(age.min(most))),
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    fn is_worth_keeping(&self) -> bool {
        self.etag.is_some() || self.is_fresh()
    }
}
