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
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};
use serde_json::Map;
use switchboard_keys::sha256;
use switchboard_types::Error;
use switchboard_types::model::{Secret, Timestamp};
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Rejection;
use crate::clock;
use crate::principal::{API_KEY_PREFIX, Identity, Kind, Principal};
use crate::shutdown::Tasks;
use crate::store;
use crate::store::access::{AccessStore, KeyId, KeyRecord};

pub use issue::{By, NewKey, issue, may_make, revoke};
pub use scheme::KeyScheme;

/// Who vouches for the subjects of keys.
const REALM: &str = "key";

/// The longest text that is looked up.
const LONGEST: usize = 256;

/// The revision of no store.
const NEVER: u64 = u64::MAX;

/// How often it is looked what others have done to the keys.
const LOOK: Duration = Duration::from_secs(1);

/// How long it is not looked again for keys that nobody knows.
const REST: Duration = Duration::from_millis(50);

/// After so many looks it is kept when keys were used last.
const LOOKS: u32 = 60;

/// How long a key counts for its maker that was made, and is known that is over: a day, in microseconds.
const LATELY: i64 = 24 * 60 * 60 * 1_000_000;

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
    made_by: String,
    made: Timestamp,
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
    pub(crate) fn scheme(&self) -> &Arc<str> {
        &self.0.scheme
    }

    /// Whose key that is.
    ///
    /// # Errors
    ///
    /// If it is nobody's, or no good any more.
    pub(super) fn find(&self, text: &str) -> Result<Principal, Rejection> {
        if !text.starts_with(API_KEY_PREFIX) || text.len() > LONGEST {
            return Err(Rejection::Malformed);
        }
        let hash = sha256(text.as_bytes());
        let known = self.known();
        let key = known.keys.get(&hash).ok_or(Rejection::Unknown)?;
        let now = clock::now();
        key.is_good(now)?;
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
                tracing::warn!(%error, "could not read API keys, keeping previous");
            }
        }
        drop(last);
        self.find(text)
    }

    /// Makes a key, which opens at once. `None` if so many keys of the same maker are good already, or were made lately:
    /// keys that end soon leave their traces, too.
    ///
    /// # Errors
    ///
    /// As [`issue()`].
    pub(crate) async fn issue(
        &self,
        new: NewKey,
        by: &By,
        most: usize,
    ) -> Result<Option<(KeyRecord, Secret)>, Error> {
        // Nobody reads meanwhile, and forgets it again.
        let _alone = self.0.reading.lock().await;
        let now = clock::now();
        let lately = Timestamp::from_micros(now.as_micros() - LATELY);
        let counts = |key: &Key| key.is_good(now).is_ok() || key.made > lately && !key.revoked;
        let theirs = |key: &&Arc<Key>| *key.made_by == *by.who && counts(key);
        if self.known().keys.values().filter(theirs).count() >= most {
            return Ok(None);
        }
        let made = issue(&*self.0.store, new, by).await?;
        let key = Arc::new(Key::new(&made.0, &self.0.scheme));
        let mut known = self.0.known.write();
        known.keys.insert(made.0.hash, key);
        Ok(Some(made))
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
        let over = Timestamp::from_micros(clock::now().as_micros() - LATELY);
        let mut records = store.keys().await?;
        // They open nothing, and nobody asks why any more.
        records.retain(|record| record.expires.is_none_or(|expires| expires > over));
        let before = |hash: &[u8; 32]| self.known().keys.get(hash).cloned();
        let keys = records.into_iter().map(|record| {
            let key = match before(&record.hash) {
                Some(key) if key.revoked == record.revoked.is_some() && !key.is_ended() => key,
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
        let mut known = self.0.known.write();
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

    /// Ends the streams of keys that were good until now. If the clock was wrong then, those keys are read anew.
    fn end_expired(&self) {
        let now = clock::now();
        let mut wrong = false;
        for key in self.known().keys.values() {
            match key.is_good(now) {
                Ok(()) => wrong |= key.is_ended(),
                Err(_) => key
                    .caller
                    .revoked()
                    .into_iter()
                    .for_each(CancellationToken::cancel),
            }
        }
        if wrong {
            self.0.known.write().revision = NEVER;
        }
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.known.read()
    }

    /// Keeps when keys were used last.
    async fn keep_used(&self) -> Result<(), store::Error> {
        let used: Vec<(Arc<Key>, i64)> = {
            let known = self.known();
            let used = known.keys.values().filter_map(|key| {
                let used = key.used.load(Ordering::Relaxed);
                (used > key.kept.load(Ordering::Relaxed)).then(|| (Arc::clone(key), used))
            });
            used.collect()
        };
        if used.is_empty() {
            return Ok(());
        }
        let moment =
            |(key, used): &(Arc<Key>, i64)| (key.id.clone(), Timestamp::from_micros(*used));
        self.0.store.used(used.iter().map(moment).collect()).await?;
        for (key, used) in used {
            key.kept.fetch_max(used, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn keep_up(self, stopping: CancellationToken) {
        let mut tick = interval(LOOK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 1_u32.. {
            let stop = tokio::select! {
                _ = tick.tick() => false,
                () = stopping.cancelled() => true,
            };
            self.end_expired();
            if let Err(error) = self.read().await {
                tracing::warn!(%error, "could not read API keys, keeping previous");
            }
            if (stop || look.is_multiple_of(LOOKS))
                && let Err(error) = self.keep_used().await
            {
                tracing::warn!(%error, "could not record when API keys were last used");
            }
            if stop {
                return;
            }
        }
    }
}

impl Key {
    fn is_good(&self, now: Timestamp) -> Result<(), Rejection> {
        if self.revoked {
            return Err(Rejection::Revoked);
        }
        if self.expires.is_some_and(|expires| expires <= now) {
            return Err(Rejection::Expired);
        }
        Ok(())
    }

    /// Whether its streams have been ended.
    fn is_ended(&self) -> bool {
        let revoked = self.caller.revoked();
        revoked.is_some_and(CancellationToken::is_cancelled)
    }

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
                // Whoever looks after the keys ends their streams.
                expires: None,
            }),
            made_by: record.made_by.clone(),
            made: record.made,
            expires: record.expires,
            revoked: record.revoked.is_some(),
            used: AtomicI64::new(used),
            kept: AtomicI64::new(used),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use async_trait::async_trait;

    use super::*;
    use crate::store::access::{AuditEntry, AuditQuery, MemoryAccess, RuleRecord};

    /// A store on a disk that is full now and then.
    #[derive(Debug, Default)]
    struct Flaky {
        store: MemoryAccess,
        full: AtomicBool,
    }

    #[async_trait]
    impl AccessStore for Flaky {
        async fn put_key(&self, key: KeyRecord, noted: AuditEntry) -> Result<(), store::Error> {
            self.store.put_key(key, noted).await
        }

        async fn revoke_key(&self, id: &KeyId, noted: AuditEntry) -> Result<bool, store::Error> {
            self.store.revoke_key(id, noted).await
        }

        async fn keys(&self) -> Result<Vec<KeyRecord>, store::Error> {
            self.store.keys().await
        }

        async fn used(&self, used: Vec<(KeyId, Timestamp)>) -> Result<(), store::Error> {
            if self.full.load(Ordering::Relaxed) {
                return Err(store::Error::Unavailable("the disk is full".to_owned()));
            }
            self.store.used(used).await
        }

        async fn revision(&self) -> Result<u64, store::Error> {
            self.store.revision().await
        }

        async fn rules(&self) -> Result<Vec<RuleRecord>, store::Error> {
            self.store.rules().await
        }

        async fn put_rule(&self, rule: RuleRecord, noted: AuditEntry) -> Result<(), store::Error> {
            self.store.put_rule(rule, noted).await
        }

        async fn delete_rule(&self, id: &str, noted: AuditEntry) -> Result<bool, store::Error> {
            self.store.delete_rule(id, noted).await
        }

        async fn note(&self, entries: Vec<AuditEntry>) -> Result<(), store::Error> {
            self.store.note(entries).await
        }

        async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, store::Error> {
            self.store.audit(query).await
        }
    }

    #[tokio::test]
    async fn when_a_key_was_used_is_kept_once_it_can_be() {
        let tasks = Tasks::default();
        let store = Arc::new(Flaky::default());
        let keys = ApiKeys::open(Arc::clone(&store) as _, "keys", &tasks);
        let keys = keys.await.unwrap();
        let made = keys
            .issue(NewKey::default(), &By::here("operator"), 1)
            .await;
        let (_, key) = made.unwrap().unwrap();
        keys.find(key.reveal()).unwrap();
        store.full.store(true, Ordering::Relaxed);
        assert!(keys.keep_used().await.is_err());
        store.full.store(false, Ordering::Relaxed);
        keys.keep_used().await.unwrap();
        assert!(store.keys().await.unwrap()[0].last_used.is_some());
        tasks.stop();
    }

    #[tokio::test]
    async fn a_clock_that_was_wrong_for_a_while_ends_no_good_key() {
        let tasks = Tasks::default();
        let keys = ApiKeys::open(Arc::new(MemoryAccess::new()), "keys", &tasks);
        let keys = keys.await.unwrap();
        let new = NewKey {
            expires: Some(clock::after_now(Duration::from_secs(60))),
            ..NewKey::default()
        };
        let made = keys.issue(new, &By::here("operator"), 1).await.unwrap();
        let (_, key) = made.unwrap();
        let is_ended = || {
            let caller = keys.find(key.reveal()).unwrap();
            caller.revoked().unwrap().is_cancelled()
        };
        // As if it had been tomorrow.
        let caller = keys.find(key.reveal()).unwrap();
        caller.revoked().unwrap().cancel();
        assert!(is_ended());
        keys.end_expired();
        keys.read().await.unwrap();
        assert!(!is_ended());
        tasks.stop();
    }
}
