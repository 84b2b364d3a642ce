//! API keys from outside: how they are made, what they open, and when they stop.

mod ends;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_server::auth::keys::{By, NewKey, issue, revoke};
use switchboard_server::call::{Call, Handler, Origin, ServiceParams, Target};
use switchboard_server::clock;
use switchboard_server::principal::Principal;
use switchboard_server::store::access::{
    AccessStore, AuditEntry, AuditQuery, KeyRecord, MemoryAccess, SqliteAccess, What,
};
use switchboard_server::task::Owner;
use switchboard_testkit::eventually;
use switchboard_types::model::{TaskId, Timestamp};
use switchboard_types::operation::{CancelTask, Operation};
use tokio::time::timeout;

use crate::house::{DAY, House, MOST_KEYS, open, open_with};
use crate::wire::{Answer, WAYS, bearer};

/// A second, and patience with a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn opens(agents: &[&str]) -> NewKey {
    NewKey {
        agents: Some(agents.iter().map(|&agent| agent.to_owned()).collect()),
        ..NewKey::default()
    }
}

/// Makes a key as the command does: in the store, beside the server.
async fn make(store: &dyn AccessStore, new: NewKey) -> (KeyRecord, String) {
    let made = issue(store, new, &By::here("operator")).await;
    let (record, key) = made.unwrap();
    (record, key.reveal().to_owned())
}

fn header(key: &str) -> [(&'static str, String); 1] {
    [("x-api-key", key.to_owned())]
}

impl House {
    /// Asks for a task that is not there: 404 for whoever is let in.
    async fn knock(&self, agent: &str, headers: &[(&'static str, String)]) -> Answer {
        let path = format!("/a2a/{agent}/v1/tasks/none");
        self.ask("GET", &path, headers, "").await
    }

    /// Knocks until the answer has that status.
    async fn becomes(&self, agent: &str, key: &str, status: u16) {
        let what = format!("{status} at {agent}");
        let knock = async || self.knock(agent, &header(key)).await.status;
        eventually(&what, async || knock().await == status).await;
    }

    async fn order(&self, path: &str, headers: &[(&'static str, String)], body: &str) -> Answer {
        self.ask("POST", path, headers, body.to_owned()).await
    }

    pub(crate) async fn audited(&self, what: What) -> Vec<AuditEntry> {
        self.audit.close().await;
        let query = AuditQuery {
            what: Some(what),
            limit: 100,
            ..AuditQuery::default()
        };
        self.access.audit(query).await.unwrap()
    }
}

#[tokio::test]
async fn s3_088_only_a_token_makes_keys() {
    let house = open(&["shop", "gate"]).await;
    for path in ["/a2a/shop/api-key", "/a2a/shop/api-key/generate"] {
        let made = house.order(path, &bearer("maker"), "").await;
        assert_eq!(made.status, 201, "{made:?}");
        assert_eq!(made.header("cache-control"), Some("no-store"));
        let made = made.json();
        assert_eq!(made["agents"], json!(["shop"]));
        assert_eq!(made["scopes"], json!([]));
        assert!(made["expiresAt"].is_string(), "{made}");
        let key = made["apiKey"].as_str().unwrap();
        let let_in = house.knock("shop", &header(key)).await;
        assert_eq!(let_in.status, 404, "it opens at once: {let_in:?}");
        for (headers, status) in [
            (header(key).to_vec(), 403),
            (bearer(key), 403),
            (bearer("ann"), 403),
            (bearer("wrong"), 401),
            (Vec::new(), 401),
        ] {
            let refused = house.order(path, &headers, "").await;
            assert_eq!(refused.status, status, "{headers:?}: {refused:?}");
            assert_eq!(refused.challenges().is_empty(), status == 403);
            assert!(!refused.error().contains("apiKey"), "{refused:?}");
        }
        let read = house.ask("GET", path, &bearer("maker"), "").await;
        assert_eq!(read.status, 405);
        assert_eq!(read.header("allow"), Some("POST"));
    }
    // The badge comes first there, and is no token.
    let worn = [bearer("maker"), vec![("x-badge", "17".to_owned())]].concat();
    let refused = house.order("/a2a/gate/api-key", &worn, "").await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let nowhere = "/a2a/nobody/api-key";
    let refused = house.order(nowhere, &bearer("maker"), "").await;
    assert_eq!(refused.status, 404, "{refused:?}");
    assert_eq!(house.access.keys().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_token_gives_away_no_more_than_it_has() {
    let house = open(&["shop"]).await;
    let order = async |body: &str| {
        house
            .order("/a2a/shop/api-key", &bearer("maker"), body)
            .await
    };
    let made = order(r#"{"label": "ci", "scopes": ["read"], "expiresInSeconds": 3600}"#).await;
    assert_eq!(made.status, 201, "{made:?}");
    let record = house.access.keys().await.unwrap().remove(0);
    assert_eq!(made.json()["id"], record.id.as_str());
    assert_eq!(record.label, "ci");
    assert_eq!(record.scopes, ["read"]);
    assert_eq!(record.made_by, "tests||maker");
    assert!(record.expires.is_some_and(|expires| expires > clock::now()));
    for (body, status) in [
        (r#"{"scopes": ["read", "write"]}"#, 403),
        (r#"{"scopes": "read"}"#, 400),
        (r#"{"agents": ["stall"]}"#, 400),
        (r#"{"label": "a\nb"}"#, 400),
        (r#"{"expiresInSeconds": 0}"#, 400),
        (r#"{"expiresInSeconds": -1}"#, 400),
        ("[", 400),
    ] {
        let refused = order(body).await;
        assert_eq!(refused.status, status, "{body}: {refused:?}");
    }
    let long = format!(r#"{{"label": "{}"}}"#, "x".repeat(1000));
    assert_eq!(order(&long).await.status, 400);
    assert_eq!(house.access.keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_makes_so_many_keys_and_none_that_lasts_for_ever() {
    let house = open(&["shop"]).await;
    let order = async |body: &str| {
        let path = "/a2a/shop/api-key";
        house.order(path, &bearer("maker"), body).await
    };
    let longest = DAY.as_secs();
    let refused = order(&json!({"expiresInSeconds": longest + 1}).to_string()).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.error().contains("must be at most 86400"),
        "{refused:?}"
    );
    for n in 0..MOST_KEYS {
        let body = match n {
            0 => json!({"expiresInSeconds": longest}),
            _ => json!({}),
        };
        assert_eq!(order(&body.to_string()).await.status, 201);
    }
    let refused = order("").await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(
        refused.error().contains("you have 5 active keys"),
        "{refused:?}"
    );
    let denied = house.audited(What::Denied).await;
    assert_eq!(denied[0].detail["rule"], "max_keys");
    let keys = house.access.keys().await.unwrap();
    assert_eq!(keys.len(), MOST_KEYS);
    let latest = clock::after_now(DAY);
    assert!(
        keys.iter()
            .all(|key| key.expires.is_some_and(|at| at <= latest))
    );
    // One that is taken back makes room for another.
    let by = By::here("operator");
    assert!(revoke(&*house.access, &keys[0].id, &by).await.unwrap());
    eventually("room for a key", async || order("").await.status == 201).await;
}

#[tokio::test]
async fn keys_that_end_soon_are_counted_for_a_day() {
    let house = open(&["shop"]).await;
    let order = async || {
        let body = r#"{"expiresInSeconds": 1}"#;
        house
            .order("/a2a/shop/api-key", &bearer("maker"), body)
            .await
    };
    let mut keys = Vec::new();
    for _ in 0..MOST_KEYS {
        let made = order().await;
        assert_eq!(made.status, 201, "{made:?}");
        keys.push(made.json()["apiKey"].as_str().unwrap().to_owned());
    }
    for key in &keys {
        house.becomes("shop", key, 401).await;
    }
    let refused = order().await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test]
async fn an_agent_that_takes_no_keys_has_none_made_for_it() {
    let house = open(&["desk"]).await;
    let refused = house.order("/a2a/desk/api-key", &bearer("maker"), "").await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.error().contains("does not accept API keys"),
        "{refused:?}"
    );
    assert_eq!(house.access.keys().await.unwrap().len(), 0);
}

#[tokio::test]
async fn who_may_make_no_keys_is_written_down() {
    let house = open(&["shop"]).await;
    let path = "/a2a/shop/api-key";
    house.order(path, &bearer("ann"), "").await;
    let more = r#"{"scopes": ["write"]}"#;
    house.order(path, &bearer("maker"), more).await;
    let denied = house.audited(What::Denied).await;
    let mut told: Vec<_> = denied
        .iter()
        .map(|entry| (&*entry.who, entry.detail["rule"].as_str().unwrap()))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [("tests||ann", "create_scope"), ("tests||maker", "scopes")]
    );
    let at = |entry: &AuditEntry| {
        entry.object.as_deref() == Some("CreateApiKey") && entry.agent.as_deref() == Some("shop")
    };
    assert!(denied.iter().all(at), "{denied:?}");
}

#[tokio::test]
async fn a_key_is_taken_from_every_place_it_may_stand() {
    let house = open(&["shop", "kiosk"]).await;
    let (_, key) = make(&*house.access, opens(&["shop", "kiosk"])).await;
    house.becomes("shop", &key, 404).await;
    house.becomes("kiosk", &key, 404).await;
    let other = "sbk_aaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let twice = [bearer(&key), header(&key).to_vec()].concat();
    let torn = [bearer(&key), header(other).to_vec()].concat();
    for (headers, status) in [
        (bearer(&key), 404),
        (twice, 404),
        (torn, 401),
        (header(other).to_vec(), 401),
        (header("").to_vec(), 401),
        (header("\u{fc}").to_vec(), 401),
        (bearer(&key[..key.len() - 1]), 401),
        (vec![("cookie", format!("X-API-Key={key}"))], 401),
    ] {
        let answer = house.knock("shop", &headers).await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
    }
    for (agent, parameter, status) in [
        ("shop", "coin", 401),
        ("shop", "X-API-Key", 401),
        ("kiosk", "coin", 404),
        ("kiosk", "X-API-Key", 401),
    ] {
        let path = format!("/a2a/{agent}/v1/tasks/none?a=b&{parameter}={key}");
        let answer = house.ask("GET", &path, &[], "").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    let asked = house.knock("kiosk", &[]).await;
    let challenge = "ApiKey realm=\"switchboard\", in=\"query\", name=\"coin\"";
    assert_eq!(asked.challenges(), [challenge]);
}

#[tokio::test]
async fn a_key_opens_its_own_agents_only() {
    let house = open(&["shop", "stall", "hall"]).await;
    let (_, key) = make(&*house.access, opens(&["shop"])).await;
    let (_, all) = make(&*house.access, NewKey::default()).await;
    house.becomes("shop", &key, 404).await;
    house.becomes("stall", &all, 404).await;
    for way in WAYS {
        let own = house.read(way, "shop", &key, "none").await;
        way.expect(&own, 404, 5, false);
        let foreign = house.read(way, "stall", &key, "none").await;
        way.expect(&foreign, 401, 16, true);
        let everywhere = house.read(way, "stall", &all, "none").await;
        way.expect(&everywhere, 404, 5, false);
        let open = house.read(way, "hall", &key, "none").await;
        way.expect(&open, 404, 5, false);
    }
    let refused = house.order("/a2a/stall/api-key", &bearer(&key), "").await;
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[tokio::test]
async fn tasks_belong_to_the_subject_of_a_key() {
    let house = open(&["shop"]).await;
    let of = |subject: &str| NewKey {
        subject: Some(subject.to_owned()),
        ..opens(&["shop"])
    };
    let (_, first) = make(&*house.access, of("robot")).await;
    let (_, next) = make(&*house.access, of("robot")).await;
    let (_, other) = make(&*house.access, opens(&["shop"])).await;
    house.becomes("shop", &other, 404).await;
    let task = house.task("shop", &first).await;
    for (key, status) in [(&first, 200), (&next, 200), (&other, 404)] {
        let path = format!("/a2a/shop/v1/tasks/{task}");
        let answer = house.ask("GET", &path, &header(key), "").await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

#[tokio::test]
async fn a_command_beside_the_server_opens_and_closes_within_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let ours = SqliteAccess::open(dir.path()).unwrap();
    let house = open_with(&["shop"], Arc::new(ours)).await;
    let command = SqliteAccess::open(dir.path()).unwrap();
    let (record, key) = make(&command, opens(&["shop"])).await;
    house.becomes("shop", &key, 404).await;
    let by = By::here("operator");
    assert!(revoke(&command, &record.id, &by).await.unwrap());
    house.becomes("shop", &key, 401).await;
    let refused = house.knock("shop", &header(&key)).await;
    let said = "the credentials are not valid";
    assert!(refused.error().contains(said), "{refused:?}");
    assert!(!revoke(&command, &record.id, &by).await.unwrap());
}

#[tokio::test]
async fn a_key_opens_as_soon_as_it_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Arc::new(SqliteAccess::open(dir.path()).unwrap());
    let house = open_with(&["shop"], ours).await;
    let command = SqliteAccess::open(dir.path()).unwrap();
    for _ in 0..3 {
        let (_, key) = make(&command, opens(&["shop"])).await;
        assert_eq!(house.knock("shop", &header(&key)).await.status, 404);
    }
}

#[tokio::test]
async fn a_key_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let ours = SqliteAccess::open(dir.path()).unwrap();
    let house = open_with(&["shop"], Arc::new(ours)).await;
    let made = house.order("/a2a/shop/api-key", &bearer("maker"), "").await;
    let key = made.json()["apiKey"].as_str().unwrap().to_owned();
    let form = key.strip_prefix("sbk_").unwrap().split_once('_').unwrap();
    assert_eq!((form.0.len(), form.1.len()), (12, 43), "{key}");
    assert_eq!(house.knock("shop", &header(&key)).await.status, 404);
    let secret = form.1;
    let noted = house.audited(What::KeyCreated).await;
    assert_eq!(noted.len(), 1);
    assert_eq!(noted[0].who, "tests||maker");
    assert_eq!(noted[0].object.as_deref(), Some(form.0));
    assert_eq!(noted[0].address.as_deref(), Some("127.0.0.1"));
    let keys = house.access.keys().await.unwrap();
    for told in [format!("{noted:?}"), format!("{keys:?}")] {
        assert!(!told.contains(secret), "{told}");
    }
    assert_eq!(holders(dir.path(), secret), [] as [String; 0]);
    let known = holders(dir.path(), form.0);
    assert!(!known.is_empty(), "the id is there, so the search works");
}

/// The files in a directory that hold that text.
fn holders(dir: &Path, text: &str) -> Vec<String> {
    let files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap());
    let holds = |file: &std::fs::DirEntry| {
        let bytes = std::fs::read(file.path()).unwrap();
        bytes.windows(text.len()).any(|at| at == text.as_bytes())
    };
    let holding = files.filter(holds);
    holding
        .map(|file| format!("{:?}", file.file_name()))
        .collect()
}

#[tokio::test]
async fn the_audit_tells_who_failed_who_was_denied_and_what_was_canceled() {
    let house = open(&["shop", "vault"]).await;
    for _ in 0..3 {
        house.knock("shop", &bearer("wrong")).await;
    }
    let failed = house.audited(What::LoginFailed).await;
    let counts: Vec<u32> = failed.iter().map(|entry| entry.count).collect();
    assert_eq!(counts, [2, 1], "{failed:?}");
    assert_eq!(failed[0].detail["scheme"], "bearer");
    assert_eq!(failed[0].detail["cause"], "Unknown");
    assert_eq!(failed[0].address.as_deref(), Some("127.0.0.1"));
    assert_eq!(failed[0].agent.as_deref(), Some("shop"));
    assert!(!format!("{failed:?}").contains("wrong"), "{failed:?}");

    house.knock("vault", &bearer("ann")).await;
    let denied = house.audited(What::Denied).await;
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0].who, "tests||ann");
    assert_eq!(denied[0].agent.as_deref(), Some("vault"));
    assert_eq!(denied[0].detail["rule"], "no-reading");

    let task = house.task("shop", "ann").await;
    let canceled = house.rpc("/a2a/shop", "ann", "CancelTask", json!({"id": task}));
    let canceled = canceled.await;
    assert!(
        canceled.error().contains("TASK_NOT_CANCELABLE"),
        "{canceled:?}"
    );
    let canceled = house.audited(What::Canceled).await;
    assert_eq!(canceled, [], "it was over, so nothing was canceled");
}

#[tokio::test]
async fn it_is_kept_when_a_key_was_used_last() {
    let house = open(&["shop"]).await;
    let (record, key) = make(&*house.access, opens(&["shop"])).await;
    make(&*house.access, opens(&["shop"])).await;
    house.becomes("shop", &key, 404).await;
    house.stop();
    let (used, unused) = eventually("a key that was used", async || {
        let keys = house.access.keys().await.unwrap().into_iter();
        let (mut used, unused): (Vec<_>, Vec<_>) = keys.partition(|key| key.last_used.is_some());
        used.pop().map(|key| (key, unused))
    })
    .await;
    assert_eq!(used.id, record.id);
    assert!(used.last_used >= Some(record.made), "{used:?}");
    assert_eq!(unused.len(), 1);
}
