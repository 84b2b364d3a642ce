//! Keys and audit in memory: gone with the process.

use std::collections::VecDeque;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use switchboard_types::model::Timestamp;

use super::{AccessStore, AuditEntry, AuditQuery, KeyId, KeyRecord, RuleRecord};
use crate::store::Error;

/// How much of the audit is kept: memory is not for ever.
const AUDIT: usize = 10_000;

/// Keeps keys and audit in memory.
#[derive(Debug, Default)]
pub struct MemoryAccess(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    keys: Vec<KeyRecord>,
    rules: Vec<RuleRecord>,
    revision: u64,
    audit: VecDeque<AuditEntry>,
}

impl Kept {
    fn note(&mut self, entry: AuditEntry) {
        if self.audit.len() == AUDIT {
            self.audit.pop_front();
        }
        self.audit.push_back(entry);
    }
}

impl MemoryAccess {
    /// Keeps nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }
}

#[async_trait]
impl AccessStore for MemoryAccess {
    async fn put_key(&self, key: KeyRecord, noted: AuditEntry) -> Result<(), Error> {
        let mut kept = self.kept();
        let same = |other: &KeyRecord| other.id == key.id || other.hash == key.hash;
        if kept.keys.iter().any(same) {
            return Err(Error::Damaged(format!("there is a key {} already", key.id)));
        }
        kept.keys.push(key);
        kept.revision += 1;
        kept.note(noted);
        Ok(())
    }

    async fn revoke_key(&self, id: &KeyId, noted: AuditEntry) -> Result<bool, Error> {
        let mut kept = self.kept();
        let mut keys = kept.keys.iter_mut();
        let Some(key) = keys.find(|key| key.id == *id && key.revoked.is_none()) else {
            return Ok(false);
        };
        key.revoked = Some(noted.at);
        kept.revision += 1;
        kept.note(noted);
        Ok(true)
    }

    async fn keys(&self) -> Result<Vec<KeyRecord>, Error> {
        let mut keys = self.kept().keys.clone();
        keys.sort_by(|a, b| (a.made, &a.id).cmp(&(b.made, &b.id)));
        Ok(keys)
    }

    async fn used(&self, used: Vec<(KeyId, Timestamp)>) -> Result<(), Error> {
        let mut kept = self.kept();
        for (id, at) in used {
            if let Some(key) = kept.keys.iter_mut().find(|key| key.id == id) {
                key.last_used = key.last_used.max(Some(at));
            }
        }
        Ok(())
    }

    async fn revision(&self) -> Result<u64, Error> {
        Ok(self.kept().revision)
    }

    async fn rules(&self) -> Result<Vec<RuleRecord>, Error> {
        let mut rules = self.kept().rules.clone();
        rules.sort_by(|a, b| (a.made, &a.id).cmp(&(b.made, &b.id)));
        Ok(rules)
    }

    async fn put_rule(&self, rule: RuleRecord, noted: AuditEntry) -> Result<(), Error> {
        let mut kept = self.kept();
        kept.rules.retain(|other| other.id != rule.id);
        kept.rules.push(rule);
        kept.note(noted);
        Ok(())
    }

    async fn delete_rule(&self, id: &str, noted: AuditEntry) -> Result<bool, Error> {
        let mut kept = self.kept();
        let before = kept.rules.len();
        kept.rules.retain(|rule| rule.id != id);
        let deleted = kept.rules.len() < before;
        if deleted {
            kept.note(noted);
        }
        Ok(deleted)
    }

    async fn note(&self, entries: Vec<AuditEntry>) -> Result<(), Error> {
        let mut kept = self.kept();
        entries.into_iter().for_each(|entry| kept.note(entry));
        Ok(())
    }

    async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, Error> {
        let kept = self.kept();
        let wanted = kept.audit.iter().rev().filter(|entry| {
            query.since.is_none_or(|since| entry.at >= since)
                && query.what.is_none_or(|what| entry.what == what)
                && query.who.as_ref().is_none_or(|who| entry.who == *who)
        });
        Ok(wanted.take(query.limit).cloned().collect())
    }
}
