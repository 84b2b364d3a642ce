//! Where API keys, rules that operators store, and the audit are kept: apart from tasks, so that a command can make and revoke keys beside a
//! running server (ADR 0007).

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};
use switchboard_types::model::Timestamp;

use super::Error;

pub use memory::MemoryAccess;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteAccess;

/// Keeps API keys, and what happened to them and to the doors.
#[async_trait]
pub trait AccessStore: Send + Sync + fmt::Debug {
    /// Keeps a new key, and notes that in the audit: both or nothing.
    async fn put_key(&self, key: KeyRecord, noted: AuditEntry) -> Result<(), Error>;

    /// Marks a key as revoked at the moment of the note, and keeps the note: both or nothing. False, and nothing is
    /// noted, if there is no such key or it was revoked before.
    async fn revoke_key(&self, id: &KeyId, noted: AuditEntry) -> Result<bool, Error>;

    /// All keys, oldest first.
    async fn keys(&self) -> Result<Vec<KeyRecord>, Error>;

    /// Keeps when keys were used last; never an earlier moment than is kept.
    async fn used(&self, used: Vec<(KeyId, Timestamp)>) -> Result<(), Error>;

    /// Grows whenever a key is made or revoked, also by another process; 0 before the first one.
    async fn revision(&self) -> Result<u64, Error>;

    /// All rules, oldest first.
    async fn rules(&self) -> Result<Vec<RuleRecord>, Error>;

    /// Keeps a rule, in place of the one of that id if there is one, and notes that in the audit: both or nothing.
    async fn put_rule(&self, rule: RuleRecord, noted: AuditEntry) -> Result<(), Error>;

    /// Takes a rule away, and notes that: both or nothing. False, and nothing is noted, if there is none.
    async fn delete_rule(&self, id: &str, noted: AuditEntry) -> Result<bool, Error>;

    /// Adds to the audit, in this order. Nothing is ever taken out or changed.
    async fn note(&self, entries: Vec<AuditEntry>) -> Result<(), Error>;

    /// What the audit says, newest first.
    async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, Error>;
}

/// Names a key; no secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(String);

impl KeyId {
    /// The key of that name.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key as it is kept: all but the key itself.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its name.
    pub id: KeyId,
    /// SHA-256 of the key. 256 random bits need no slow hash.
    pub hash: [u8; 32],
    /// What people call it.
    pub label: String,
    /// The agents it opens; `None`: all.
    pub agents: Option<Vec<String>>,
    /// What it grants.
    pub scopes: Vec<String>,
    /// The tenant of who uses it.
    pub tenant: Option<String>,
    /// Who uses it.
    pub subject: String,
    /// When it was made.
    pub made: Timestamp,
    /// By whom.
    pub made_by: String,
    /// From when on it is no good any more.
    pub expires: Option<Timestamp>,
    /// When it was used last; up to a minute behind.
    pub last_used: Option<Timestamp>,
    /// When it was taken back.
    pub revoked: Option<Timestamp>,
}

impl fmt::Debug for KeyRecord {
    /// Without the hash: it belongs nowhere but into the store.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRecord")
            .field("id", &self.id)
            .field("label", &self.label)
            .field("agents", &self.agents)
            .field("revoked", &self.revoked)
            .finish_non_exhaustive()
    }
}

/// A rule by which messages to an agent go to others, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRecord {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub agent: String,
    /// What it says.
    pub rule: Value,
    /// When it was made.
    pub made: Timestamp,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// Credentials were no good.
    LoginFailed,
    /// A key was made.
    KeyCreated,
    /// A key was taken back.
    KeyRevoked,
    /// Someone known asked for what is not allowed.
    Denied,
    /// A task was canceled.
    Canceled,
    /// A rule was made, or changed.
    RuleStored,
    /// A rule was taken away.
    RuleDeleted,
}

impl What {
    /// Everything that is noted.
    pub const ALL: [Self; 7] = [
        Self::LoginFailed,
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::Denied,
        Self::Canceled,
        Self::RuleStored,
        Self::RuleDeleted,
    ];

    /// As it is kept and shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LoginFailed => "login-failed",
            Self::KeyCreated => "key-created",
            Self::KeyRevoked => "key-revoked",
            Self::Denied => "denied",
            Self::Canceled => "canceled",
            Self::RuleStored => "rule-stored",
            Self::RuleDeleted => "rule-deleted",
        }
    }

    /// What is kept under that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }
}

/// One line of the audit. Never holds secrets, nor what callers say to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub what: What,
    /// Who did it, as far as that is known.
    pub who: String,
    /// At which agent.
    pub agent: Option<String>,
    /// To what: a key, a task, an operation.
    pub object: Option<String>,
    /// Where the request came from.
    pub address: Option<String>,
    /// How often, since the line before that says the same.
    pub count: u32,
    /// What else is to be known.
    pub detail: Map<String, Value>,
}

impl AuditEntry {
    /// Happened now, once.
    pub fn new(what: What, who: impl Into<String>) -> Self {
        Self {
            at: crate::clock::now(),
            what,
            who: who.into(),
            agent: None,
            object: None,
            address: None,
            count: 1,
            detail: Map::new(),
        }
    }

    /// The same, about that.
    #[must_use]
    pub fn about(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// The same, with one thing more to be known.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }
}

/// Which lines of the audit.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// From then on.
    pub since: Option<Timestamp>,
    /// Only these.
    pub what: Option<What>,
    /// Only by them.
    pub who: Option<String>,
    /// So many at most.
    pub limit: usize,
}
