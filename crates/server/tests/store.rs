//! The stores of this crate against the suite.
#![cfg(feature = "testing")]

use std::sync::Arc;

use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::store_suite::BEHAVIOURS;

#[tokio::test]
async fn memory_behaves() {
    for behaviour in BEHAVIOURS {
        eprintln!("{behaviour:?}");
        behaviour.check(Arc::new(MemoryStore::new())).await;
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_behaves() {
    use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
    for behaviour in BEHAVIOURS {
        eprintln!("{behaviour:?}");
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap());
        behaviour.check(store).await;
    }
}
