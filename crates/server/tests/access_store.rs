//! The stores of keys and audit against their suite.
#![cfg(feature = "testing")]

use std::sync::Arc;

use switchboard_server::store::access::MemoryAccess;
use switchboard_server::testing::access_suite::check;

#[tokio::test]
async fn memory_behaves() {
    check(Arc::new(MemoryAccess::new())).await;
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::os::unix::fs::PermissionsExt;

    use switchboard_server::store::Error;
    use switchboard_server::store::access::{
        AccessStore, AuditEntry, AuditQuery, SqliteAccess, What,
    };

    use super::*;

    #[tokio::test]
    async fn sqlite_behaves() {
        let dir = tempfile::tempdir().unwrap();
        check(Arc::new(SqliteAccess::open(dir.path()).unwrap())).await;
        // Opened again, and beside the other: nothing is lost, and no step is taken twice.
        let first = SqliteAccess::open(dir.path()).unwrap();
        let second = SqliteAccess::open(dir.path()).unwrap();
        let keys = first.keys().await.unwrap();
        assert_eq!(keys.len(), 2);
        assert_eq!(second.keys().await.unwrap(), keys);
        let revision = first.revision().await.unwrap();
        let noted = AuditEntry::new(What::KeyRevoked, "ann");
        assert!(second.revoke_key(&keys[1].id, noted).await.unwrap());
        assert!(first.revision().await.unwrap() > revision);
    }

    #[tokio::test]
    async fn a_database_that_others_could_read_is_taken_from_them() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("access.db");
        drop(SqliteAccess::open(dir.path()).unwrap());
        let loose = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&file, loose).unwrap();
        drop(SqliteAccess::open(dir.path()).unwrap());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn the_audit_takes_nothing_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteAccess::open(dir.path()).unwrap();
        let noted = vec![AuditEntry::new(What::Denied, "ann")];
        store.note(noted).await.unwrap();
        let file = rusqlite::Connection::open(dir.path().join("access.db")).unwrap();
        for change in ["UPDATE audit SET who = 'bob'", "DELETE FROM audit"] {
            let error = file.execute(change, []).unwrap_err().to_string();
            assert!(error.contains("append-only"), "{error}");
        }
        let query = AuditQuery {
            limit: 10,
            ..AuditQuery::default()
        };
        let entries = store.audit(query).await.unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].who, "ann");
    }

    #[tokio::test]
    async fn only_its_owner_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteAccess::open(&dir.path().join("new")).unwrap();
        let noted = vec![AuditEntry::new(What::Denied, "ann")];
        store.note(noted).await.unwrap();
        for file in std::fs::read_dir(dir.path().join("new")).unwrap() {
            let file = file.unwrap();
            let mode = file.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{file:?}");
        }
    }

    #[test]
    fn what_a_newer_version_wrote_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        drop(SqliteAccess::open(dir.path()).unwrap());
        let file = rusqlite::Connection::open(dir.path().join("access.db")).unwrap();
        file.pragma_update(None, "user_version", 99).unwrap();
        let error = SqliteAccess::open(dir.path()).unwrap_err();
        assert!(
            matches!(&error, Error::Unavailable(why) if why.contains("newer")),
            "{error}"
        );
    }
}
