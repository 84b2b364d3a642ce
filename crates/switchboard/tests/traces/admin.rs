//! The listener for operators: who may look, and where it is.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{Server, answer};
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
    assert!(!server.logged().contains("operators can look"));
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
        wrong.contains("choose another with admin.listen"),
        "{wrong}"
    );
}
