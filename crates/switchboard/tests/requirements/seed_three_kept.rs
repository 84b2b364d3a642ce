//! What an earlier version has kept is brought up to date and goes on (S3, verification 14).

#![expect(clippy::expect_used, reason = "a test may stop where it is surprised")]

use rusqlite::Connection;
use serde_json::json;
use switchboard_testkit::openclaw::{Claw, TOKEN};
use switchboard_testkit::{Server, admin, answer, look, say, text_of, token};

/// Databases as their first versions were, with something of everything.
const TASKS: &str = include_str!("../../../server/tests/stored/v1/database.sql");
const ACCESS: &str = include_str!("../../../server/tests/stored_access/v1.sql");

/// The key in the second.
const KEY: &str = "sbk_a-key-that-an-earlier-version-has-made-once-0";

/// Tasks in the first: one that is over, and one that was at work.
const OVER: &str = "0190a5c3-0000-7002-8000-00000000abcd";
const AT_WORK: &str = "0190a5c3-0000-7001-8000-00000000abcd";

/// A database as a file has it.
fn database(sql: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("database");
    let made = Connection::open(&path).expect("a database");
    made.execute_batch(sql).expect("its tables");
    drop(made);
    std::fs::read(path).expect("a file")
}

/// The version of a database of a server.
fn version(server: &Server, name: &str) -> i64 {
    let opened = Connection::open(server.data().join(name)).expect("a database");
    let version = opened.query_row("PRAGMA user_version", [], |row| row.get(0));
    version.expect("a version")
}

#[tokio::test]
async fn s3_v14_what_an_earlier_version_kept_is_brought_up_to_date() {
    let claw = Claw::start().await;
    let yaml = format!(
        "
auth: {{ methods: {{ keys: {{ api_key: {{}} }} }} }}
agents:
  bot: {{ openclaw: {{ url: '{}', token: '${{TOKEN}}' }} }}
  echo: {{ script: [{{ complete: done }}] }}
  approver: {{ script: [{{ complete: done }}] }}
",
        claw.url()
    );
    // Nobody is to be called for a task of then.
    let tasks = format!("{TASKS}\nDELETE FROM webhook;");
    let files = [
        ("data/switchboard.db", database(&tasks)),
        ("data/access.db", database(ACCESS)),
    ];
    let mut server = Server::serve_with(&yaml, &files, &[("TOKEN", TOKEN)]).await;
    let empty = Server::serve("agents: { echo: { script: [{ complete: done }] } }").await;
    for name in ["switchboard.db", "access.db"] {
        assert!(version(&server, name) > 1, "{name}");
        if empty.data().join(name).exists() {
            assert_eq!(version(&server, name), version(&empty, name), "{name}");
        }
    }

    // What was there can be read, and what was at work comes to an end.
    let told = look(&server, &format!("/admin/traces/{OVER}")).await.body;
    assert_eq!(told["status"], "SUCCESS", "{told}");
    let begun = tokio::time::Instant::now();
    loop {
        let told = look(&server, &format!("/admin/traces/{AT_WORK}"))
            .await
            .body;
        if told["status"] != "PENDING" {
            break;
        }
        assert!(begun.elapsed().as_secs() < 20, "{told}");
    }

    // A key of then opens its bot, whose tasks need what came with later versions, and so do rules.
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hello agent")});
    let send = async |server: &Server| {
        let request = server.http.post(server.url("/a2a/bot")).bearer_auth(KEY);
        answer(request.json(&body)).await.body["result"].clone()
    };
    let task = send(&server).await;
    assert_eq!(text_of(&task["artifacts"][0]), "STUB-REPLY(1): hello agent");
    let rule = json!({"agent": "bot", "name": "all", "text": ".", "to": "echo"});
    let url = format!("{}/admin/rules", admin(&server));
    let made = server.http.post(url).bearer_auth(token(&server));
    let made = answer(made.json(&rule)).await;
    assert_eq!(made.status, 201, "{made:?}");

    // And it stays so.
    server.kill().await;
    server.restart().await;
    let told = look(&server, &format!("/admin/traces/{OVER}")).await.body;
    assert_eq!(told["status"], "SUCCESS", "{told}");
    let task = send(&server).await;
    assert_eq!(text_of(&task["status"]["message"]), "done", "{task}");
}
