//! The listener for operators: who may look, and where it is.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use switchboard_testkit::{Answer, Server, answer, eventually};

use crate::{AGENTS, admin, look, token};

#[tokio::test]
async fn traces_need_the_token_which_only_its_owner_can_read() {
    let server = Server::serve(AGENTS).await;
    let path = server.data().join("admin.token");
    let mode = std::fs::metadata(path)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let url = format!("{}/admin/health", admin(&server));
    assert_eq!(answer(server.http.get(&url)).await.status, 401);
    assert_eq!(
        answer(server.http.get(&url).bearer_auth("guess"))
            .await
            .status,
        401
    );
    let known = answer(server.http.get(&url).bearer_auth(token(&server))).await;
    assert_eq!((known.status, &known.body["status"]), (200, &"ok".into()));
    let host = server.http.get(&url).bearer_auth(token(&server));
    let host = answer(host.header("Host", "attacker.example")).await;
    assert_eq!(host.status, 403);
    assert_eq!(look(&server, "/admin/nothing").await.status, 404);
    let post = server.http.post(&url).bearer_auth(token(&server));
    assert_eq!(answer(post).await.status, 405);
    // Callers find nothing of it.
    for path in ["/metrics", "/admin/health", "/admin/traces/x"] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_token_outlives_a_restart() {
    let mut server = Server::serve(AGENTS).await;
    let before = token(&server);
    server.kill().await;
    server.restart().await;
    assert_eq!(token(&server), before);
    assert_eq!(look(&server, "/admin/health").await.status, 200);
}

#[tokio::test]
async fn it_can_be_off_and_open_to_all_on_this_machine() {
    let server = Server::serve(&format!("admin: {{ listen: off }}\n{AGENTS}")).await;
    assert!(!server.logged().contains("admin listening"));
    assert!(!server.data().join("admin.token").exists());
    let open = Server::serve(&format!("admin: {{ open: true }}\n{AGENTS}")).await;
    let health = open.http.get(format!("{}/admin/health", admin(&open)));
    assert_eq!(answer(health).await.status, 200);
}

#[test]
fn open_to_all_machines_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("switchboard.yaml");
    let yaml = format!("admin: {{ listen: '0.0.0.0:7421', open: true }}\n{AGENTS}");
    std::fs::write(&file, yaml).expect("a file");
    let check = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .arg("check")
        .arg(&file)
        .output()
        .expect("the binary runs");
    let wrong = String::from_utf8_lossy(&check.stderr);
    assert_eq!(check.status.code(), Some(2), "{wrong}");
    assert!(
        wrong.contains("can be reached from other machines"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_port_that_is_taken_stops_only_who_has_asked_for_it() {
    let first = Server::serve(AGENTS).await;
    let taken = admin(&first).trim_start_matches("http://").to_owned();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("switchboard.yaml");
    std::fs::write(&file, format!("admin: {{ listen: '{taken}' }}\n{AGENTS}")).expect("a file");
    let second = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--listen", "127.0.0.1:0", "-c"])
        .arg(&file)
        .arg("--data")
        .arg(dir.path().join("data"))
        .output()
        .expect("the binary runs");
    let wrong = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{wrong}");
    assert!(
        wrong.contains("choose another port with admin.listen"),
        "{wrong}"
    );
}

#[tokio::test]
async fn health_tells_of_what_stands_behind_each_agent_and_of_the_configuration() {
    let yaml = "
agents:
  desk: { script: [{ complete: done }] }
  lost: { exec: { command: [there-is-no-such-program-here] } }
  away: { a2a: { url: 'http://127.0.0.1:9/' } }
  there: { exec: { command: [cat] } }
";
    let server = Server::serve(yaml).await;
    let health = look(&server, "/admin/health").await.body;
    assert_eq!(health["status"], "degraded", "{health}");
    let agents = health["agents"].as_array().expect("agents");
    let states: Vec<(&str, &str)> = agents
        .iter()
        .filter_map(|agent| Some((agent["name"].as_str()?, agent["state"].as_str()?)))
        .collect();
    assert_eq!(
        states,
        [
            ("away", "down"),
            ("desk", "unknown"),
            ("lost", "down"),
            ("there", "up"),
        ]
    );
    // A configuration that cannot be used is told, and so is that it is mended.
    let told = async |yaml: &str, taken: bool| {
        std::fs::write(server.configuration(), yaml).expect("a file");
        eventually("the health of the configuration", async || {
            let health = look(&server, "/admin/health").await.body;
            match health["configuration"]["taken"] == taken {
                true => Ok(health["configuration"].clone()),
                false => Err(health),
            }
        })
        .await
    };
    let refused = told("agents: 3", false).await;
    let problems = refused["problems"].as_str().unwrap_or_default();
    assert!(problems.contains("agents"), "{refused}");
    let mended = told("agents: { desk: { script: [{ complete: other }] } }", true).await;
    assert_eq!(mended["changed"], serde_json::json!(["desk"]), "{mended}");
}

const DESK: &str = "
agents:
  desk: { script: [{ artifact: { name: a, text: own } }], routes: [{ name: songs, text: song, to: poet }] }
  poet: { script: [{ artifact: { name: a, text: poem } }] }
";

async fn said(server: &Server, text: &str) -> String {
    let body = serde_json::json!({ "message": text });
    let said = server.post("/agents/desk/chat", &body).await;
    said.body["response"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// What is answered at `/admin/rules`.
async fn ask(server: &Server, method: &str, path: &str, body: serde_json::Value) -> Answer {
    let url = format!("{}/admin/rules{path}", admin(server));
    let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
    let request = server.http.request(method, url).bearer_auth(token(server));
    answer(request.json(&body)).await
}

#[tokio::test]
async fn rules_can_be_stored_changed_and_taken_away_while_the_server_runs() {
    let mut server = Server::serve(DESK).await;
    assert_eq!(said(&server, "a poem").await, "own");
    let rule = serde_json::json!({"agent": "desk", "name": "poems", "text": "poem", "to": "poet"});
    let made = ask(&server, "POST", "", rule.clone()).await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.body["id"].as_str().expect("an id").to_owned();
    assert_eq!(said(&server, "a poem").await, "poem", "at once");
    let listed = ask(&server, "GET", "", serde_json::Value::Null).await.body;
    let sources: Vec<_> = listed["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .map(|rule| (rule["name"].clone(), rule["source"].clone()))
        .collect();
    let expected = [("songs", "file"), ("poems", "stored")];
    let expected = expected.map(|(name, source)| (name.into(), source.into()));
    assert_eq!(sources, expected, "{listed}");

    // They last.
    server.kill().await;
    server.restart().await;
    assert_eq!(said(&server, "a poem").await, "poem");
    let told = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["route", "-c"])
        .arg(server.configuration())
        .args(["a poem"])
        .env("SWITCHBOARD_DATA", server.data())
        .output()
        .expect("the binary runs");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(told, format!("to poet by poems (stored as {id})\n"));

    let mut other = rule.clone();
    other["enabled"] = false.into();
    let path = format!("/{id}");
    let changed = ask(&server, "PUT", &path, other).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(said(&server, "a poem").await, "own");
    assert_eq!(
        ask(&server, "DELETE", &path, serde_json::Value::Null)
            .await
            .status,
        200
    );
    for (method, path) in [("GET", &*path), ("PUT", &path), ("DELETE", &path)] {
        assert_eq!(
            ask(&server, method, path, rule.clone()).await.status,
            404,
            "{method}"
        );
    }
    assert_eq!(ask(&server, "PATCH", "", rule.clone()).await.status, 405);

    let url = format!("{}/admin/rules", admin(&server));
    assert_eq!(answer(server.http.post(&url).json(&rule)).await.status, 401);

    let audit = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["audit", "--data"])
        .arg(server.data())
        .output()
        .expect("the binary runs");
    let audit = String::from_utf8_lossy(&audit.stdout).into_owned();
    for what in ["rule-stored", "rule-deleted"] {
        assert!(audit.contains(what), "{audit}");
    }
}

#[tokio::test]
async fn a_rule_that_nobody_could_follow_is_refused_and_the_key_is_named() {
    let server = Server::serve(DESK).await;
    for (wrong, expected) in [
        (serde_json::json!({"to": "poet"}), "agent: must name"),
        (serde_json::json!({"agent": "desk"}), "does nothing"),
        (
            serde_json::json!({"agent": "nobody", "to": "poet"}),
            "agent: no agent named",
        ),
        (
            serde_json::json!({"agent": "desk", "to": "nobody"}),
            "to: no agent named",
        ),
        (
            serde_json::json!({"agent": "desk", "to": "desk"}),
            "hands tasks off to itself",
        ),
        (
            serde_json::json!({"agent": "desk", "to": "poet", "text": "(a"}),
            "text: regex parse error",
        ),
        (
            serde_json::json!({"agent": "desk", "to": "poet", "priority": "high"}),
            "priority: invalid type",
        ),
        (
            serde_json::json!({"agent": "desk", "to": "poet", "when": "nothing"}),
            "when: ",
        ),
        (
            serde_json::json!({"agent": "desk", "to": "poet", "pattern": "x"}),
            "pattern: unknown field",
        ),
        (serde_json::json!([1]), "a rule as a JSON object"),
    ] {
        let refused = ask(&server, "POST", "", wrong.clone()).await;
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
        let told = refused.body["error"].as_str().unwrap_or_default();
        assert!(told.contains(expected), "{wrong}: {told}");
    }
}
