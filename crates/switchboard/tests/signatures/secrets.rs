//! No secret of a webhook stands in a file.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::webhook::{Delivery, Receiver};
use switchboard_testkit::{Server, eventually, message};

const TOKEN: &str = "token-that-nobody-may-read-7f3a";
const CREDENTIALS: &str = "credentials-that-nobody-may-read-91bc";
/// How long a server that refuses to start may take to say so.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const AGENTS: &str = "push: { allow: [127.0.0.1], give_up_after: 1s }\n\
    agents: { asker: { script: [{ choose: [{ when: { turn: 1 }, do: [ask: 'what?'] }] }, complete: done] } }\n";

/// Every file below, hidden ones too.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
    found
}

fn no_secret_in(server: &Server, hook: &Receiver) {
    let files = files(&server.data());
    let holding = |text: &str| {
        let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|at| at == text.as_bytes());
        let holding = files.iter().filter(|(_, bytes)| holds(bytes));
        holding.map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert!(!holding(&hook.origin).is_empty(), "the webhook is kept");
    for secret in [TOKEN, CREDENTIALS] {
        assert_eq!(holding(secret), [""; 0], "{secret}");
    }
    for secret in [TOKEN, CREDENTIALS] {
        assert!(!server.logged().contains(secret));
    }
}

/// A task that waits for an answer, with a webhook that was told so.
async fn asked(server: &Server, hook: &Receiver) -> Value {
    let params = json!({
        "message": message("report"),
        "configuration": {"pushNotificationConfig": {
            "id": "w", "url": format!("{}/", hook.origin), "token": TOKEN,
            "authentication": {"schemes": ["Bearer"], "credentials": CREDENTIALS},
        }},
    });
    let task = server.result("asker", "message/send", params).await;
    hook.until("/", |got| !got.is_empty()).await;
    task
}

async fn answer(server: &Server, task: &Value) {
    let mut reply = message("that is it");
    reply["taskId"] = task["id"].clone();
    let params = json!({"message": reply});
    server.result("asker", "message/send", params).await;
}

fn is_theirs(got: &Delivery) {
    assert_eq!(got.headers["x-a2a-notification-token"], TOKEN);
    assert_eq!(
        got.headers["authorization"],
        format!("Bearer {CREDENTIALS}")
    );
}

#[tokio::test]
async fn secrets_of_webhooks_are_sealed_wherever_they_are_kept_and_still_sent() {
    let mut server = Server::serve(AGENTS).await;
    let hook = Receiver::start().await;
    let task = asked(&server, &hook).await;
    // A second one, by the operation of its own: the client is told what it said, and readers are not.
    let config = json!({"taskId": task["id"], "pushNotificationConfig": {
        "id": "x", "url": format!("{}/x", hook.origin), "token": TOKEN,
        "authentication": {"schemes": ["Bearer"], "credentials": CREDENTIALS},
    }});
    let made = server
        .result("asker", "tasks/pushNotificationConfig/set", config)
        .await;
    assert_eq!(made["pushNotificationConfig"]["token"], TOKEN);
    let get = json!({"id": task["id"], "pushNotificationConfigId": "x"});
    let read = server
        .result("asker", "tasks/pushNotificationConfig/get", get)
        .await;
    assert_eq!(read["pushNotificationConfig"]["token"], "***");
    let credentials = &read["pushNotificationConfig"]["authentication"]["credentials"];
    assert_eq!(credentials, "***");
    no_secret_in(&server, &hook);
    let key = std::fs::metadata(server.data().join("secret.key")).expect("a key");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);

    server.kill().await;
    no_secret_in(&server, &hook);
    server.restart().await;
    answer(&server, &task).await;
    hook.until("/", |got| got.len() >= 2)
        .await
        .iter()
        .for_each(is_theirs);
    hook.until("/x", |got| !got.is_empty())
        .await
        .iter()
        .for_each(is_theirs);
    no_secret_in(&server, &hook);
}

#[tokio::test]
async fn a_lost_key_makes_dead_letters_and_nothing_worse() {
    let mut server = Server::serve(AGENTS).await;
    let hook = Receiver::start().await;
    let task = asked(&server, &hook).await;
    server.kill().await;
    std::fs::remove_file(server.data().join("secret.key")).expect("it was there");
    server.restart().await;
    answer(&server, &task).await;
    let why = "the secret of this webhook cannot be opened: it was sealed with another key";
    eventually("a dead letter", async || {
        let args = ["deliveries", "-c", "switchboard.yaml", "--data", "data"];
        let ran = Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(args)
            .current_dir(server.data().parent().expect("a directory"))
            .output()
            .expect("the binary");
        let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
        let listed = shown.contains(why) && shown.contains("dead letter since");
        listed.then_some(()).ok_or(shown)
    })
    .await;
    server.until("asker", &task["id"], &["completed"]).await;
    assert_eq!(hook.until("/", |got| !got.is_empty()).await.len(), 1);
}

#[tokio::test]
async fn a_key_of_the_operators_own_leaves_none_in_the_data_directory() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("key");
    std::fs::write(&file, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n").expect("a file");
    let secrets = format!("secrets: {{ key_file: \"{}\" }}\n{AGENTS}", file.display());
    let mut server = Server::serve(&secrets).await;
    let hook = Receiver::start().await;
    let task = asked(&server, &hook).await;
    assert!(!server.data().join("secret.key").exists());
    server.kill().await;
    server.restart().await;
    answer(&server, &task).await;
    hook.until("/", |got| got.len() >= 2)
        .await
        .iter()
        .for_each(is_theirs);
}

#[tokio::test]
async fn a_key_that_everyone_can_read_stops_the_server_with_what_to_do() {
    let mut server = Server::serve(AGENTS).await;
    server.kill().await;
    let file = server.data().join("secret.key");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&file, open).expect("it is ours");
    let start = tokio::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--config"])
        .arg(server.configuration())
        .arg("--data")
        .arg(server.data())
        .args(["--listen", "127.0.0.1:0"])
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(START_TIMEOUT, start).await;
    let output = output.expect("it does not serve").expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{told}");
    let advice = format!("chmod 600 {}", file.display());
    assert!(
        told.contains("mode 0644") && told.contains(&advice),
        "{told}"
    );
    let closed = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&file, closed).expect("it is ours");
    server.restart().await;
}
