//! What cannot be used, and what cannot be taken up.

use std::process::Command;

use serde_json::json;
use switchboard_testkit::Server;

use crate::world::{
    asked, hang_up, logged, one, record, save, save_beside, until_logged, until_says,
};

/// What `switchboard check` says of the configuration as it is.
fn checked(server: &Server) -> String {
    let file = server.configuration();
    let check = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["check", "switchboard.yaml"])
        .current_dir(file.parent().unwrap())
        .output()
        .unwrap();
    assert!(!check.status.success());
    String::from_utf8(check.stderr)
        .unwrap()
        .trim_end()
        .to_owned()
}

const REFUSED: &str = "config reload rejected, keeping previous";

#[tokio::test]
async fn a_bad_file_changes_nothing_and_is_told_as_the_check_tells_it() {
    let server = Server::serve(&one("a", "good")).await;
    let bad = [
        "agents: { a: { script: [",
        "agents: { a: { scrip: [] } }\nlissten: 1",
        "agents: { a: { script: [{ call: { agent: nobody } }] } }",
        "agents: { a: { script_file: missing.yaml } }",
        "",
    ];
    for (number, text) in bad.iter().enumerate() {
        save(&server, text);
        until_logged(&server, REFUSED, number + 1).await;
        let refused = record(&server, REFUSED);
        assert_eq!(refused["problems"], json!(checked(&server)), "{text}");
        assert_eq!(
            (&refused["level"], &refused["file"]),
            (&json!("ERROR"), &json!("switchboard.yaml"))
        );
        assert_eq!(asked(&server, "a").await, "good", "{text}");
    }
    std::fs::remove_file(server.configuration()).unwrap();
    until_logged(&server, REFUSED, bad.len() + 1).await;
    assert_eq!(asked(&server, "a").await, "good");
    // Told to look, it says again what is wrong.
    hang_up(&server).await;
    until_logged(&server, REFUSED, bad.len() + 2).await;
    save(&server, &one("a", "better"));
    until_says(&server, "a", "better").await;
    save(&server, "{");
    until_logged(&server, REFUSED, bad.len() + 3).await;
    save(&server, &one("a", "better"));
    until_logged(&server, "config reload accepted, no agent changed", 1).await;
}

#[tokio::test]
async fn a_file_that_is_missing_is_waited_for() {
    let server = Server::serve(&one("a", "good")).await;
    save(&server, "agents: { a: { script_file: steps.yaml } }");
    until_logged(&server, REFUSED, 1).await;
    save_beside(&server, "steps.yaml", "[{ nonsense: 1 }]");
    until_logged(&server, REFUSED, 2).await;
    save_beside(&server, "steps.yaml", "[{ complete: mended }]");
    until_says(&server, "a", "mended").await;
}

#[tokio::test]
async fn what_only_a_restart_takes_up_is_named() {
    let secret = [(
        "key.txt",
        b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_vec(),
    )];
    let yaml = "secrets: { key_file: key.txt }\n";
    let server = Server::serve_with(&format!("{yaml}{}", one("a", "old")), &secret, &[]).await;
    save(
        &server,
        &format!(
            "{yaml}listen: 127.0.0.1:1\npublic_url: https://agents.example\nlimits: {{ body: 1MiB, parts: 7 }}\ncors: {{ origins: ['https://a.example', 'https://b.example'] }}\n{}",
            one("a", "new")
        ),
    );
    until_says(&server, "a", "new").await;
    let message = "config changes need a restart";
    until_logged(&server, message, 1).await;
    // Where to listen is said by a flag here, and would be at a restart.
    let told = record(&server, message);
    assert_eq!(told["keys"], json!("cors.origins, limits.body, public_url"));
    let card = server.get("/a2a/a/.well-known/agent-card.json").await;
    assert!(!card.body.to_string().contains("agents.example"));
    // What is in a file counts with the key that names it.
    save_beside(
        &server,
        "key.txt",
        "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=",
    );
    until_logged(&server, message, 2).await;
    let told = record(&server, message);
    let keys = "cors.origins, limits.body, public_url, secrets.key_file";
    assert_eq!(told["keys"], json!(keys));
    assert!(!server.logged().contains("BBBB"));
}

#[tokio::test]
async fn a_hangup_is_an_order_to_look_and_ends_nothing() {
    let server = Server::serve(&one("a", "one")).await;
    hang_up(&server).await;
    until_logged(&server, "config reload changed no agent", 1).await;
    assert_eq!(asked(&server, "a").await, "one");
    save(&server, &one("a", "two"));
    hang_up(&server).await;
    until_says(&server, "a", "two").await;
    assert_eq!(logged(&server, REFUSED), 0);
}
