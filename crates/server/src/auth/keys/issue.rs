//! Making and revoking keys: by a running server, or by a command beside it.

use std::net::IpAddr;

use switchboard_keys::{encoded, random, sha256};
use switchboard_types::model::{Secret, Timestamp};
use switchboard_types::{Error, ErrorKind};

use crate::clock;
use crate::principal::{API_KEY_PREFIX, Identity, Kind, Principal};
use crate::store;
use crate::store::access::{AccessStore, AuditEntry, KeyId, KeyRecord, What};

/// Letters that are not mistaken for one another. 32: each takes five bits of a byte, evenly.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The longest label, subject or tenant, in bytes.
const LONGEST: usize = 200;

/// The most scopes, and the longest one.
const MOST_SCOPES: usize = 64;
const LONGEST_SCOPE: usize = 128;

/// The key that is wanted.
#[derive(Debug, Clone, Default)]
pub struct NewKey {
    /// What people are going to call it.
    pub label: String,
    /// The agents it opens; `None`: all.
    pub agents: Option<Vec<String>>,
    /// What it grants.
    pub scopes: Vec<String>,
    /// The tenant of who uses it.
    pub tenant: Option<String>,
    /// Who uses it; `None`: nobody but this key. Keys of one subject share their tasks, so that one can follow another.
    pub subject: Option<String>,
    /// From when on it is no good any more.
    pub expires: Option<Timestamp>,
}

/// Who makes or revokes a key.
#[derive(Debug, Clone)]
pub struct By {
    /// The name.
    pub who: String,
    /// Where the request came from, if it came over the network.
    pub address: Option<IpAddr>,
}

impl By {
    /// Someone at this machine.
    #[must_use]
    pub fn here(who: &str) -> Self {
        Self {
            who: who.to_owned(),
            address: None,
        }
    }

    fn notes(&self, what: What, id: &KeyId) -> AuditEntry {
        AuditEntry {
            address: self.address.map(|address| address.to_string()),
            ..AuditEntry::new(what, &*self.who).about(id.as_str())
        }
    }
}

/// Makes a key. It is told here and never again: only its hash is kept.
///
/// # Errors
///
/// If something about it is wrong, or it cannot be kept.
pub async fn issue(
    store: &dyn AccessStore,
    new: NewKey,
    by: &By,
) -> Result<(KeyRecord, Secret), Error> {
    check(&new)?;
    let letters = random::<12>().map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
    let id = String::from_iter(letters);
    let key = format!("{API_KEY_PREFIX}{id}_{}", encoded(&random::<32>()));
    let subject = new.subject.unwrap_or_else(|| format!("key:{id}"));
    let record = KeyRecord {
        id: KeyId::new(id),
        hash: sha256(key.as_bytes()),
        label: new.label,
        agents: new.agents,
        scopes: new.scopes,
        tenant: new.tenant,
        subject,
        made: clock::now(),
        made_by: by.who.clone(),
        expires: new.expires,
        last_used: None,
        revoked: None,
    };
    let noted = by
        .notes(What::KeyCreated, &record.id)
        .with("label", &*record.label)
        .with("agents", record.agents.clone())
        .with("scopes", record.scopes.clone());
    let kept = store.put_key(record.clone(), noted).await;
    kept.map_err(store::Error::for_caller)?;
    Ok((record, Secret::new(key)))
}

/// Whether this caller may make keys over the network. A key that could make keys could not be taken back; nor could
/// anything else that has no end.
///
/// # Errors
///
/// If it has shown no token, or one that does not grant the scope.
pub fn may_make(caller: &Principal, scope: &str) -> Result<(), Error> {
    let token = |known: &Identity| known.kind == Kind::Token;
    let message = if !caller.identity().is_some_and(token) {
        "API keys are created with a bearer token only".to_owned()
    } else if !caller.scopes().any(|granted| granted == scope) {
        format!("the token does not grant {scope:?}")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::PermissionDenied, message))
}

/// Takes a key back. False if there is no such key, or it was taken back before.
///
/// # Errors
///
/// If that cannot be kept.
pub async fn revoke(store: &dyn AccessStore, id: &KeyId, by: &By) -> Result<bool, Error> {
    let noted = by.notes(What::KeyRevoked, id);
    store
        .revoke_key(id, noted)
        .await
        .map_err(store::Error::for_caller)
}

fn check(new: &NewKey) -> Result<(), Error> {
    let texts = [
        ("label", Some(&new.label)),
        ("subject", new.subject.as_ref()),
        ("tenant", new.tenant.as_ref()),
    ];
    for (field, text) in texts {
        // They are shown on terminals.
        let odd = |text: &&String| text.len() > LONGEST || text.chars().any(char::is_control);
        if text.is_some_and(|text| odd(&text)) {
            let must = format!("must be one line of at most {LONGEST} bytes");
            return Err(Error::invalid_params(field, must));
        }
    }
    if new.agents.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::invalid_params("agents", "must name an agent"));
    }
    if new.scopes.len() > MOST_SCOPES || !new.scopes.iter().all(|scope| is_scope(scope)) {
        let must = format!(
            "must be at most {MOST_SCOPES} words without spaces, quotes and backslashes, of at most {LONGEST_SCOPE} bytes"
        );
        return Err(Error::invalid_params("scopes", must));
    }
    if new.expires.is_some_and(|expires| expires <= clock::now()) {
        return Err(Error::invalid_params("expires", "must be in the future"));
    }
    Ok(())
}

/// As RFC 6749 has it.
fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    (1..=LONGEST_SCOPE).contains(&text.len()) && text.bytes().all(fits)
}
