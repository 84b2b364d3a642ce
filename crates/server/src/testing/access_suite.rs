//! What every [`AccessStore`] has to do.

use std::sync::Arc;

use switchboard_types::model::Timestamp;

use crate::store::access::{
    AccessStore, AuditEntry, AuditQuery, KeyId, KeyRecord, RuleRecord, What,
};

/// Runs through all of it, on a store that is new.
///
/// # Panics
///
/// If the store does something else.
#[expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]
pub async fn check(store: Arc<dyn AccessStore>) {
    assert_eq!(store.revision().await.unwrap(), 0);
    assert_eq!(store.keys().await.unwrap(), []);
    let old = key("old", 1);
    let new = KeyRecord {
        agents: None,
        scopes: Vec::new(),
        tenant: None,
        expires: None,
        ..key("new", 2)
    };
    store.put_key(new.clone(), entry(2, "ann")).await.unwrap();
    store.put_key(old.clone(), entry(1, "bob")).await.unwrap();
    assert_eq!(store.keys().await.unwrap(), [old.clone(), new.clone()]);
    let made = store.revision().await.unwrap();
    assert!(made > 0);

    // A name and a hash are one key's, and nothing is noted of what did not happen.
    let other = KeyRecord {
        hash: new.hash,
        ..key("other", 3)
    };
    assert!(store.put_key(key("old", 3), entry(3, "x")).await.is_err());
    assert!(store.put_key(other, entry(3, "x")).await.is_err());
    assert_eq!(store.keys().await.unwrap().len(), 2);
    assert_eq!(store.revision().await.unwrap(), made);

    used(&*store, &old.id, made).await;
    revoked(&*store, &old.id, made).await;
    let keys = store.keys().await.unwrap();
    assert_eq!(keys[0].revoked, Some(Timestamp::from_micros(9)));
    assert_eq!(keys[0].last_used, Some(Timestamp::from_micros(8)));
    assert_eq!(keys[1], new);
    audited(&*store).await;
    ruled(&*store).await;
}

#[expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]
async fn ruled(store: &dyn AccessStore) {
    let rule = |id: &str, text: &str, made: i64| RuleRecord {
        id: id.to_owned(),
        agent: "desk".to_owned(),
        rule: serde_json::json!({ "text": text, "to": "poet" }),
        made: Timestamp::from_micros(made),
    };
    let keys = store.revision().await.unwrap();
    assert_eq!(store.rules().await.unwrap(), []);
    store
        .put_rule(rule("b", "new", 20), entry(20, "ann"))
        .await
        .unwrap();
    store
        .put_rule(rule("a", "old", 10), entry(21, "ann"))
        .await
        .unwrap();
    store
        .put_rule(rule("b", "newer", 20), entry(22, "ann"))
        .await
        .unwrap();
    let kept = [rule("a", "old", 10), rule("b", "newer", 20)];
    assert_eq!(store.rules().await.unwrap(), kept);
    assert!(store.delete_rule("a", entry(23, "gone")).await.unwrap());
    assert!(!store.delete_rule("a", entry(24, "never")).await.unwrap());
    assert_eq!(store.rules().await.unwrap(), kept[1..]);
    let by = |who: &str| AuditQuery {
        who: Some(who.to_owned()),
        limit: 9,
        ..AuditQuery::default()
    };
    assert_eq!(store.audit(by("gone")).await.unwrap().len(), 1);
    assert_eq!(store.audit(by("never")).await.unwrap().len(), 0);
    assert_eq!(
        store.revision().await.unwrap(),
        keys,
        "keys are as they were"
    );
}

#[expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]
async fn used(store: &dyn AccessStore, id: &KeyId, revision: u64) {
    for at in [7, 8, 5] {
        let nobody = (KeyId::new("nobody"), Timestamp::from_micros(at));
        let used = vec![(id.clone(), Timestamp::from_micros(at)), nobody];
        store.used(used).await.unwrap();
    }
    let last = store.keys().await.unwrap()[0].last_used;
    assert_eq!(last, Some(Timestamp::from_micros(8)), "the latest stays");
    assert_eq!(store.revision().await.unwrap(), revision);
}

#[expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]
async fn revoked(store: &dyn AccessStore, id: &KeyId, revision: u64) {
    let nobody = KeyId::new("nobody");
    assert!(!store.revoke_key(&nobody, entry(9, "x")).await.unwrap());
    assert_eq!(store.revision().await.unwrap(), revision);
    assert!(store.revoke_key(id, entry(9, "carl")).await.unwrap());
    assert!(store.revision().await.unwrap() > revision);
    assert!(!store.revoke_key(id, entry(10, "x")).await.unwrap(), "once");
}

#[expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]
async fn audited(store: &dyn AccessStore) {
    let full = AuditEntry {
        what: What::Denied,
        agent: Some("desk".to_owned()),
        address: Some("::1".to_owned()),
        count: 3,
        ..entry(11, "ann").about("GetTask").with("rule", "no")
    };
    let noted = vec![full.clone(), entry(12, "bob")];
    store.note(noted).await.unwrap();
    let who = async |query: AuditQuery| -> Vec<String> {
        let entries = store.audit(query).await.unwrap();
        entries.into_iter().map(|entry| entry.who).collect()
    };
    let all = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    assert_eq!(who(all.clone()).await, ["bob", "ann", "carl", "bob", "ann"]);
    let two = AuditQuery {
        limit: 2,
        ..all.clone()
    };
    assert_eq!(who(two).await, ["bob", "ann"]);
    let since = AuditQuery {
        since: Some(Timestamp::from_micros(9)),
        ..all.clone()
    };
    assert_eq!(who(since).await, ["bob", "ann", "carl"]);
    let by = AuditQuery {
        who: Some("ann".to_owned()),
        ..all.clone()
    };
    assert_eq!(who(by).await, ["ann", "ann"]);
    let denied = AuditQuery {
        what: Some(What::Denied),
        ..all
    };
    assert_eq!(store.audit(denied).await.unwrap(), [full]);
}

fn entry(at: i64, who: &str) -> AuditEntry {
    AuditEntry {
        at: Timestamp::from_micros(at),
        ..AuditEntry::new(What::KeyCreated, who)
    }
}

fn key(id: &str, made: i64) -> KeyRecord {
    let byte = u8::try_from(made).unwrap_or_default();
    KeyRecord {
        id: KeyId::new(id),
        hash: [byte; 32],
        label: "\u{fc}ber \"alles\"".to_owned(),
        agents: Some(vec!["desk".to_owned(), "shop".to_owned()]),
        scopes: vec!["read".to_owned()],
        tenant: Some("corp".to_owned()),
        subject: format!("key:{id}"),
        made: Timestamp::from_micros(made),
        made_by: "operator".to_owned(),
        expires: Some(Timestamp::from_micros(100)),
        last_used: None,
        revoked: None,
    }
}
