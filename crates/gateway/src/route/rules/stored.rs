//! Rules that operators store while the server runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;
use serde_json::Value;
use switchboard_server::store::access::{AccessStore, AuditEntry, RuleRecord, What};
use switchboard_server::{clock, store};
use uuid::Uuid;

use super::Route;
use crate::config::{Place, WrittenRoute, WrongRoute};

/// Rules in the store, and as they are followed.
#[derive(Debug)]
pub(crate) struct Stored {
    store: Arc<dyn AccessStore>,
    rules: RwLock<HashMap<String, Vec<Arc<Route>>>>,
    /// Those of the file, to be shown beside.
    written: RwLock<HashMap<String, Vec<Arc<Route>>>>,
    /// There are some at all.
    any: AtomicBool,
    /// Grows with every change.
    changes: AtomicU64,
    /// One changes them at a time.
    changing: tokio::sync::Mutex<()>,
}

/// Why a rule is not stored.
#[derive(Debug)]
pub(crate) enum NotStored {
    /// Nobody could follow it.
    Wrong(WrongRoute),
    /// The one that it was to replace is not there.
    Gone,
    /// The store could not.
    Store(store::Error),
}

impl From<store::Error> for NotStored {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl Stored {
    /// All rules of a store. One that cannot be followed any more is left out, and told.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn open(store: Arc<dyn AccessStore>) -> Result<Self, store::Error> {
        let stored = Self {
            store,
            rules: RwLock::default(),
            written: RwLock::default(),
            any: AtomicBool::new(false),
            changes: AtomicU64::new(1),
            changing: tokio::sync::Mutex::default(),
        };
        stored.read().await?;
        Ok(stored)
    }

    /// Whether there are none for any agent.
    pub(super) fn are_none(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// How often they have changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The rules of an agent.
    pub(crate) fn of(&self, agent: &str) -> Vec<Arc<Route>> {
        let rules = self.rules.read();
        rules.get(agent).cloned().unwrap_or_default()
    }

    /// An agent has these rules in the file.
    pub(crate) fn beside(&self, agent: &str, written: Vec<Arc<Route>>) {
        let mut all = self.written.write();
        match written.is_empty() {
            true => all.remove(agent),
            false => all.insert(agent.to_owned(), written),
        };
    }

    /// The rules of an agent in the file.
    pub(crate) fn written(&self, agent: &str) -> Vec<Arc<Route>> {
        let all = self.written.read();
        all.get(agent).cloned().unwrap_or_default()
    }

    /// All of them, as they are kept.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn all(&self) -> Result<Vec<RuleRecord>, store::Error> {
        self.store.rules().await
    }

    /// Stores a new rule, or one in place of `before`. It counts at once.
    ///
    /// # Errors
    ///
    /// If nobody could follow it, there is no such rule, or it cannot be stored.
    pub(crate) async fn put(
        &self,
        before: Option<&str>,
        agent: &str,
        rule: Value,
    ) -> Result<RuleRecord, NotStored> {
        let id = before.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
        route(&id, rule.clone()).map_err(NotStored::Wrong)?;
        let _alone = self.changing.lock().await;
        let made = match before {
            None => clock::now(),
            Some(id) => {
                let known = self.store.rules().await?;
                let known = known.into_iter().find(|known| known.id == id);
                known.ok_or(NotStored::Gone)?.made
            }
        };
        let noted = noted(What::RuleStored, &id, Some(agent)).with("rule", rule.clone());
        let record = RuleRecord {
            id,
            agent: agent.to_owned(),
            rule,
            made,
        };
        self.store.put_rule(record.clone(), noted).await?;
        self.read().await?;
        Ok(record)
    }

    /// Takes a rule away; whether there was one.
    ///
    /// # Errors
    ///
    /// If the store could not.
    pub(crate) async fn delete(&self, id: &str) -> Result<bool, store::Error> {
        let _alone = self.changing.lock().await;
        let noted = noted(What::RuleDeleted, id, None);
        let deleted = self.store.delete_rule(id, noted).await?;
        self.read().await?;
        Ok(deleted)
    }

    async fn read(&self) -> Result<(), store::Error> {
        let mut rules: HashMap<String, Vec<Arc<Route>>> = HashMap::new();
        for record in self.store.rules().await? {
            match route(&record.id, record.rule) {
                Ok(rule) => rules.entry(record.agent).or_default().push(Arc::new(rule)),
                Err(wrong) => {
                    let rule = record.id;
                    tracing::warn!(rule, error = %wrong, "stored routing rule ignored");
                }
            }
        }
        let any = !rules.is_empty();
        *self.rules.write() = rules;
        self.any.store(any, Ordering::Release);
        self.changes.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

/// What a stored rule says.
pub(crate) fn route(id: &str, rule: Value) -> Result<Route, WrongRoute> {
    let written: Result<WrittenRoute, _> = serde_path_to_error::deserialize(rule);
    let written = written.map_err(|error| WrongRoute {
        key: Some(error.path().to_string()),
        message: error.into_inner().to_string(),
        hint: None,
    })?;
    let name = written.name.clone().unwrap_or_else(|| id.to_owned());
    Route::read(written, &name, Place::Stored(id.into()))
}

fn noted(what: What, id: &str, agent: Option<&str>) -> AuditEntry {
    AuditEntry {
        agent: agent.map(str::to_owned),
        ..AuditEntry::new(what, "admin").about(id)
    }
}
