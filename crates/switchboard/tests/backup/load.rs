//! A backup beside a server under load, and everything that must still work after a restore.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_testkit::webhook::Receiver;
use switchboard_testkit::{Answer, Server, answer, eventually};
use tokio::task::JoinSet;

use crate::{backup, names, printed, restore, scratch, store_check, switchboard};

const AGENTS: &str = r#"
push: { allow: ["127.0.0.1"] }
auth: { methods: { keys: { api_key: {} } } }
agents:
  echo: { script: [{ say: working }, { complete: "you said {{text}}" }] }
  asker:
    script:
      - choose: [{ when: { turn: 1 }, do: [{ ask: "Really?" }] }]
      - complete: "you answered {{text}}"
"#;

/// Callers at once.
const CALLERS: usize = 8;
/// Tasks that are acknowledged before a backup begins, and during it.
const BEFORE: usize = 120;
const DURING: usize = 20;

/// Texts by the tasks that were acknowledged with them.
type Sent = Arc<Mutex<BTreeMap<String, String>>>;

/// A caller with an API key.
#[derive(Clone)]
struct Caller {
    http: reqwest::Client,
    base: String,
    key: String,
}

impl Caller {
    async fn send(&self, agent: &str, message: Value) -> Answer {
        let url = format!("{}/a2a/{agent}/message:send", self.base);
        answer(self.request(self.http.post(url)).json(&message)).await
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("{}/a2a/{path}", self.base);
        let got = answer(self.request(self.http.get(url))).await;
        assert_eq!(got.status, 200, "{path}: {got:?}");
        got.body
    }

    fn request(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        request.header("A2A-Version", "1.0").bearer_auth(&self.key)
    }

    /// All tasks of an agent, page by page.
    async fn all(&self, agent: &str) -> Vec<Value> {
        let mut tasks = Vec::new();
        let mut token = String::new();
        loop {
            let path = format!("{agent}/tasks?pageSize=100&pageToken={token}");
            let page = self.get(&path).await;
            tasks.extend(page["tasks"].as_array().unwrap().iter().cloned());
            token = page["nextPageToken"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if token.is_empty() {
                return tasks;
            }
        }
    }
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

fn text_of(task: &Value) -> &str {
    let parts = &task["status"]["message"]["parts"];
    parts[0]["text"].as_str().unwrap_or_default()
}

/// Sends without a pause, and notes what was acknowledged.
fn load(caller: &Caller, sent: &Sent) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let (caller, sent) = (caller.clone(), Arc::clone(sent));
        callers.spawn(async move {
            for count in 0.. {
                let text = format!("text-{number}-{count}");
                let got = caller.send("echo", message(&text)).await;
                assert_eq!(got.status, 200, "{got:?}");
                let id = got.body["task"]["id"].as_str().unwrap().to_owned();
                sent.lock().unwrap().insert(id, text);
            }
        });
    }
    callers
}

fn with_data(args: &[&str], server: &Server) -> std::process::Output {
    let mut all: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let data = server.data();
    all.extend([OsStr::new("--data"), data.as_os_str()]);
    switchboard(&all)
}

fn new_key(server: &Server) -> String {
    let config = server.configuration();
    let config = config.to_str().unwrap();
    let agents = ["--agent", "echo", "--agent", "asker"];
    let made = [&["key", "create", "-c", config][..], &agents].concat();
    let made = with_data(&made, server);
    assert!(made.status.success(), "{made:?}");
    let key = String::from_utf8(made.stdout).unwrap();
    key.trim().to_owned()
}

/// A task that waits for an answer, with a webhook that needs credentials.
async fn ask(caller: &Caller, url: &str) -> String {
    let mut question = message("buy?");
    question["configuration"] = json!({"taskPushNotificationConfig": {
        "url": url, "authentication": {"scheme": "Bearer", "credentials": "s3cret"},
    }});
    let asked = caller.send("asker", question).await;
    assert_eq!(
        asked.body["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
        "{asked:?}"
    );
    asked.body["task"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn backup_under_load_restores_everything_acknowledged_before() {
    let mut server = Server::serve(AGENTS).await;
    let hook = Receiver::start().await;
    let key = new_key(&server);
    let mut caller = Caller {
        http: server.http.clone(),
        base: server.base.clone(),
        key,
    };
    until_accepted(&caller).await;
    let question = ask(&caller, &hook.origin).await;
    let sent = Sent::default();
    let mut load = load(&caller, &sent);
    eventually("load", async || sent.lock().unwrap().len() >= BEFORE).await;

    let place = scratch();
    let target = place.path().join("copy");
    let acknowledged = sent.lock().unwrap().clone();
    let (data, to) = (server.data(), target.clone());
    let copied = tokio::task::spawn_blocking(move || backup(&data, &to));
    let copied = printed(&copied.await.unwrap());
    assert_eq!(copied["serverRunning"], true, "{copied}");
    assert_eq!(copied["skipped"], json!([]));
    // The server goes on during the backup and after it.
    let now = acknowledged.len() + DURING;
    eventually("more", async || sent.lock().unwrap().len() >= now).await;
    assert!(load.try_join_next().is_none(), "a caller got no answer");
    load.shutdown().await;

    // The directory is lost, and comes back from the backup.
    server.kill().await;
    fs::remove_dir_all(server.data()).unwrap();
    printed(&restore(&target, &server.data()));
    let checked = store_check(&server.data());
    assert!(checked.status.success(), "{checked:?}");
    let seen = hook.deliveries().len();
    server.restart().await;
    caller.base.clone_from(&server.base);

    for (id, text) in &acknowledged {
        let task = caller.get(&format!("echo/tasks/{id}")).await;
        assert_eq!(text_of(&task), format!("you said {text}"), "{task}");
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    }
    // What came during the backup is there as a whole or not at all.
    let sent = sent.lock().unwrap().clone();
    for task in caller.all("echo").await {
        let id = task["id"].as_str().unwrap();
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        if let Some(text) = sent.get(id) {
            assert_eq!(text_of(&task), format!("you said {text}"), "{task}");
        }
    }
    assert_eq!(with_audit(&server, "key-created"), 1);

    // The question still waits, and its webhook still has its credentials.
    let mut reply = message("yes");
    reply["message"]["taskId"] = json!(question);
    let answered = caller.send("asker", reply).await.body["task"].clone();
    assert_eq!(text_of(&answered), "you answered yes", "{answered}");
    hook.until("/", |got| {
        got.iter().skip(seen).any(|delivery| {
            delivery.headers["authorization"] == "Bearer s3cret"
                && delivery.json().to_string().contains("you answered yes")
        })
    })
    .await;
}

/// A server learns of a new key within a second.
async fn until_accepted(caller: &Caller) {
    eventually("the key is accepted", async || {
        caller.send("echo", message("hello")).await.status == 200
    })
    .await;
}

fn with_audit(server: &Server, event: &str) -> usize {
    let audit = with_data(&["audit", "-o", "json"], server);
    assert!(audit.status.success(), "{audit:?}");
    let lines = String::from_utf8(audit.stdout).unwrap();
    lines.lines().filter(|line| line.contains(event)).count()
}

#[tokio::test]
async fn backup_after_a_crash_holds_what_only_the_journal_has() {
    let mut server = Server::serve("agents: { echo: { script: [{ complete: done }] } }").await;
    let mut sent = Vec::new();
    for number in 0..5 {
        let text = format!("text-{number}");
        let got = server
            .post_v1("/a2a/echo/message:send", &message(&text))
            .await;
        sent.push(got.body["task"]["id"].as_str().unwrap().to_owned());
    }
    server.kill().await;
    let place = scratch();
    let target = place.path().join("copy");
    let copied = printed(&backup(&server.data(), &target));
    assert_eq!(copied["serverRunning"], false);
    assert!(
        names(&target.join("data")).contains(&"switchboard.journal-a".to_owned()),
        "{copied}"
    );
    fs::remove_dir_all(server.data()).unwrap();
    printed(&restore(&target, &server.data()));
    server.restart().await;
    for id in sent {
        let path = format!("/a2a/echo/tasks/{id}");
        let got = server
            .http
            .get(server.url(&path))
            .header("A2A-Version", "1.0");
        assert_eq!(answer(got).await.status, 200, "{id}");
    }
}

/// Several backups one after the other, each of a moment that really was.
#[tokio::test]
async fn backups_in_a_row_never_lack_an_acknowledged_task() {
    let server = Server::serve(AGENTS).await;
    let key = new_key(&server);
    let caller = Caller {
        http: server.http.clone(),
        base: server.base.clone(),
        key,
    };
    until_accepted(&caller).await;
    let sent = Sent::default();
    let mut load = load(&caller, &sent);
    let place = scratch();
    for round in 0..6 {
        let least = 20 * (round + 1);
        eventually("load", async || sent.lock().unwrap().len() >= least).await;
        let target = place.path().join(format!("copy-{round}"));
        let acknowledged = sent.lock().unwrap().clone();
        let (data, to) = (server.data(), target.clone());
        let copied = tokio::task::spawn_blocking(move || backup(&data, &to));
        printed(&copied.await.unwrap());
        let database = target.join("data/switchboard.db");
        let database = rusqlite::Connection::open(database).unwrap();
        let count = |sql: &str| -> i64 { database.query_row(sql, [], |row| row.get(0)).unwrap() };
        for id in acknowledged.keys() {
            let id = uuid::Uuid::parse_str(id).unwrap();
            let sql = "SELECT count(*) FROM task WHERE id = ?1 AND state = 5";
            let found: i64 = database
                .query_row(sql, [id.as_bytes().as_slice()], |row| row.get(0))
                .unwrap();
            assert_eq!(found, 1, "round {round}: {id}");
        }
        let stray =
            "SELECT count(*) FROM event WHERE place / 16777216 NOT IN (SELECT key FROM task)";
        assert_eq!(count(stray), 0, "events without a task");
        let missing = "SELECT sum(tasks) - (SELECT count(*) FROM task) FROM tally";
        assert_eq!(count(missing), 0, "totals of another moment");
    }
    assert!(load.try_join_next().is_none(), "a caller got no answer");
    load.shutdown().await;
}
