//! API keys: random, told once, kept as a hash, for some agents only.
//!
//! All keys are in memory, so that a request waits for no store, unless its key is not known: it may have been made just
//! now. What else another process does to keys is seen within a second.
//!
//! - `issue`: making and revoking keys.
//! - `scheme`: where a request carries one.

mod issue;
mod scheme;

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use serde_json::Map;
use switchboard_keys::sha256;
use switchboard_types::Error;
use switchboard_types::model::{Secret, Timestamp};
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{Identity, Kind, Principal, Rejection};
use crate::clock;
use crate::shutdown::Tasks;
use crate::store;
use crate::store::access::{AccessStore, KeyId, KeyRecord};

pub use issue::{By, NewKey, issue, may_make, revoke};
pub use scheme::KeyScheme;

/// How every key begins: by it people, and programs that look for secrets, know what they have found. No other token
/// that we take begins so.
pub const PREFIX: &str = "sbk_";

/// Who vouches for the subjects of keys.
const REALM: &str = "key";

/// The longest text that is looked up.
const LONGEST: usize = 256;

/// How often it is looked what others have done to the keys.
const LOOK: Duration = Duration::from_secs(1);

/// How long it is not looked again for keys that nobody knows.
const REST: Duration = Duration::from_millis(50);

/// After so many looks it is kept when keys were used last.
const LOOKS: u32 = 60;

/// All keys of a server; cheap to clone.
#[derive(Debug, Clone)]
pub struct ApiKeys(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Arc<dyn AccessStore>,
    scheme: Arc<str>,
    known: RwLock<Known>,
    /// One reads at a time: nobody puts back what was known before. When the last one began.
    reading: Mutex<Instant>,
}

/// The keys as of one revision, by their hashes.
#[derive(Debug, Default)]
struct Known {
    revision: u64,
    keys: HashMap<[u8; 32], Arc<Key>>,
}

#[derive(Debug)]
struct Key {
    id: KeyId,
    caller: Principal,
    expires: Option<Timestamp>,
    revoked: bool,
    /// Microseconds since 1970; 0: never.
    used: AtomicI64,
    /// Until when that is kept.
    kept: AtomicI64,
}

impl ApiKeys {
    /// Reads all keys, and goes on looking what others do to them. `scheme` is the name of the scheme on cards.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub async fn open(
        store: Arc<dyn AccessStore>,
        scheme: impl Into<Arc<str>>,
        tasks: &Tasks,
    ) -> Result<Self, store::Error> {
        let keys = Self(Arc::new(Shared {
            store,
            scheme: scheme.into(),
            known: RwLock::default(),
            reading: Mutex::new(Instant::now()),
        }));
        keys.read().await?;
        tasks.spawn(keys.clone().keep_up(tasks.stopping().clone()));
        Ok(keys)
    }

    /// The name of the scheme on cards.
    pub(super) fn scheme(&self) -> &Arc<str> {
        &self.0.scheme
    }

    /// Whose key that is.
    ///
    /// # Errors
    ///
    /// If it is nobody's, or no good any more.
    pub(super) fn find(&self, text: &str) -> Result<Principal, Rejection> {
        if !text.starts_with(PREFIX) || text.len() > LONGEST {
            return Err(Rejection::Malformed);
        }
        let hash = sha256(text.as_bytes());
        let known = self.known();
        let key = known.keys.get(&hash).ok_or(Rejection::Unknown)?;
        let now = clock::now();
        if key.revoked {
            return Err(Rejection::Revoked);
        }
        if key.expires.is_some_and(|expires| expires <= now) {
            return Err(Rejection::Expired);
        }
        key.used.store(now.as_micros(), Ordering::Relaxed);
        Ok(key.caller.clone())
    }

    /// The same of a key that is not known: it may have been made just now. Many who guess at once share one look.
    pub(super) async fn find_anew(&self, text: &str) -> Result<Principal, Rejection> {
        let asked = Instant::now();
        let mut last = self.0.reading.lock().await;
        if *last < asked {
            sleep_until(*last + REST).await;
            *last = Instant::now();
            if let Err(error) = self.read_alone().await {
                tracing::warn!(%error, "API keys cannot be read: those of before still count");
            }
        }
        drop(last);
        self.find(text)
    }

    /// Makes a key, which opens at once.
    ///
    /// # Errors
    ///
    /// As [`issue()`].
    pub(crate) async fn issue(&self, new: NewKey, by: &By) -> Result<(KeyRecord, Secret), Error> {
        let made = issue(&*self.0.store, new, by).await?;
        if let Err(error) = self.read().await {
            // It is kept, and will be known with the next look.
            tracing::warn!(%error, "API keys cannot be read");
        }
        Ok(made)
    }

    /// Reads the keys again if something has happened to them.
    async fn read(&self) -> Result<(), store::Error> {
        let mut last = self.0.reading.lock().await;
        *last = Instant::now();
        self.read_alone().await
    }

    async fn read_alone(&self) -> Result<(), store::Error> {
        let store = &self.0.store;
        // The number first: what happens in between is read again the next time.
        let revision = store.revision().await?;
        if revision == self.known().revision {
            return Ok(());
        }
        let records = store.keys().await?;
        let before = |hash: &[u8; 32]| self.known().keys.get(hash).cloned();
        let keys = records.into_iter().map(|record| {
            let key = match before(&record.hash) {
                Some(key) if key.revoked == record.revoked.is_some() => key,
                before => {
                    let key = Key::new(&record, &self.0.scheme);
                    if let Some(before) = before {
                        let used = before.used.load(Ordering::Relaxed);
                        key.used.fetch_max(used, Ordering::Relaxed);
                    }
                    Arc::new(key)
                }
            };
            (record.hash, key)
        });
        let keys = keys.collect();
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *known, Known { revision, keys });
        for (hash, key) in before.keys {
            let stays = known.keys.get(&hash);
            if stays.is_none_or(|stays| stays.revoked && !key.revoked)
                && let Some(revoked) = key.caller.revoked()
            {
                revoked.cancel();
            }
        }
        Ok(())
    }

    /// Ends the streams of keys that were good until now.
    fn end_expired(&self) {
        let now = clock::now();
        let known = self.known();
        let over = |key: &&Arc<Key>| key.expires.is_some_and(|expires| expires <= now);
        let over = known.keys.values().filter(over);
        over.filter_map(|key| key.caller.revoked())
            .for_each(CancellationToken::cancel);
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps when keys were used last.
    async fn keep_used(&self) -> Result<(), store::Error> {
        let used: Vec<(KeyId, Timestamp)> = {
            let known = self.known();
            let used = known.keys.values().filter_map(|key| {
                let used = key.used.load(Ordering::Relaxed);
                let kept = key.kept.swap(used, Ordering::Relaxed);
                (used > kept).then(|| (key.id.clone(), Timestamp::from_micros(used)))
            });
            used.collect()
        };
        if used.is_empty() {
            return Ok(());
        }
        self.0.store.used(used).await
    }

    async fn keep_up(self, stopping: CancellationToken) {
        let mut tick = interval(LOOK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 1_u32.. {
            let stop = tokio::select! {
                _ = tick.tick() => false,
                () = stopping.cancelled() => true,
            };
            if let Err(error) = self.read().await {
                tracing::warn!(%error, "API keys cannot be read: those of before still count");
            }
            self.end_expired();
            if (stop || look.is_multiple_of(LOOKS))
                && let Err(error) = self.keep_used().await
            {
                tracing::warn!(%error, "it cannot be kept when API keys were used");
            }
            if stop {
                return;
            }
        }
    }
}

impl Key {
    fn new(record: &KeyRecord, scheme: &Arc<str>) -> Self {
        let shared = |texts: &Vec<String>| texts.iter().map(|text| Arc::from(&**text)).collect();
        let used = record.last_used.map_or(0, Timestamp::as_micros);
        let claims = [("key", record.id.as_str()), ("label", &*record.label)];
        let claims = claims.map(|(name, value)| (name.to_owned(), value.into()));
        Self {
            id: record.id.clone(),
            caller: Principal::from(Identity {
                scheme: Arc::clone(scheme),
                kind: Kind::Key,
                realm: REALM.into(),
                subject: (&*record.subject).into(),
                tenant: record.tenant.as_deref().map(Arc::from),
                scopes: shared(&record.scopes),
                agents: record.agents.as_ref().map(shared),
                claims: Map::from_iter(claims),
                revoked: Some(CancellationToken::new()),
            }),
            expires: record.expires,
            revoked: record.revoked.is_some(),
            used: AtomicI64::new(used),
            kept: AtomicI64::new(used),
        }
    }
}
