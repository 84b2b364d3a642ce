//! Flags and exit codes.

use std::path::PathBuf;

use switchboard_testkit::Server;
use tempfile::TempDir;

use crate::conformance;
use crate::mutation::{Mutation, Traits, serve};

const ECHO: &str = "agents:\n  echo:\n    description: Says it again\n    script:\n      - complete: \"{{text}}\"\n";

fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

#[tokio::test]
async fn only_and_level_choose_the_rules() {
    let server = Server::serve(ECHO).await;
    let args = [
        "-a",
        &server.base,
        "-o",
        "json",
        "--only",
        "s-02,V03-013",
        "--level",
        "must",
    ];
    let ran = conformance(&args).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report = ran.json();
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.len() > 5);
    for check in checks {
        let id = check["id"].as_str().unwrap_or_default();
        assert!(id.starts_with("S-02") || id == "V03-013", "{id}");
        assert_eq!(check["level"], "must", "{id}");
    }
    // S-028 is a SHOULD.
    assert!(!checks.iter().any(|check| check["id"] == "S-028"));
}

/// A rule may have a MUST and a SHOULD half; only the former is asked for.
#[tokio::test]
async fn level_must_leaves_out_the_should_half_of_a_rule() {
    let agent = serve(
        Traits::at("JSONRPC 1.0"),
        Mutation::Reply(|_, reply| {
            if let Some(serde_json::Value::Object(error)) = reply.json.get_mut("error") {
                error.remove("data");
            }
        }),
    )
    .await;
    let args = ["-a", &agent.base, "-o", "json", "--only", "S-040"];
    let ran = conformance(&args).await;
    assert_eq!(ran.json()["checks"][0]["level"], "should", "{}", ran.out);
    assert_eq!(ran.ids("fail"), ["S-040"]);
    let ran = conformance(&[&args[..], &["--level", "must"]].concat()).await;
    assert_eq!(ran.ids("pass"), ["S-040"], "{}", ran.out);
    let checks = ran.json()["checks"].as_array().cloned().expect("checks");
    assert!(
        checks.iter().all(|check| check["level"] == "must"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn a_card_is_found_by_its_address_and_in_a_file() {
    let server = Server::serve(ECHO).await;
    let url = server.url("/a2a/echo/.well-known/agent-card.json");
    let card = server.get("/a2a/echo/.well-known/agent-card.json").await;
    let dir = tempfile::tempdir().expect("a directory");
    let path = file(&dir, "card.json", &card.body.to_string());
    let path = path.to_str().expect("a path of text");
    let host = server.base.trim_start_matches("http://");
    for reference in [&*url, path, host] {
        let ran = conformance(&["-a", reference, "--only", "S-001,S-085", "-o", "json"]).await;
        assert_eq!(ran.code, Some(0), "{reference}: {}", ran.err);
        let published = if reference == path {
            "not seen"
        } else {
            "pass"
        };
        assert!(
            ran.ids(published).contains(&"S-085".to_owned()),
            "{reference}: {}",
            ran.out
        );
        assert!(ran.ids("pass").contains(&"S-001".to_owned()), "{reference}");
    }
}

#[tokio::test]
async fn an_agent_that_is_not_there_ends_with_3() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a port")
        .port();
    let nobody = format!("http://127.0.0.1:{port}");
    let ran = conformance(&["-a", &nobody]).await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.err.contains("there is no agent card") && ran.err.contains("hint:"),
        "{}",
        ran.err
    );
    assert_eq!(ran.out, "");

    let server = Server::serve(ECHO).await;
    let ran = conformance(&["-a", &server.url("/livez")]).await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);

    let dir = tempfile::tempdir().expect("a directory");
    let card = format!(
        r#"{{"name": "gone", "supportedInterfaces": [{{"url": "{nobody}", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}}]}}"#
    );
    let path = file(&dir, "card.json", &card);
    let ran = conformance(&[
        "-a",
        path.to_str().expect("a path of text"),
        "--timeout",
        "2s",
    ])
    .await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("nothing answers at"), "{}", ran.err);
}

#[tokio::test]
async fn wrong_usage_ends_with_2() {
    for args in [
        &[][..],
        &["-a", "x", "--level", "may"],
        &["-a", "x", "--timeout", "soon"],
        &["-a", "x", "--svc-param", "no colon"],
        &["--report", "x.html", "--request", "y"],
        &["--request", "/no/such/file"],
    ] {
        let ran = conformance(args).await;
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
    }
}

#[tokio::test]
async fn s0_054_a_request_is_checked_on_five_points() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = r#"{"jsonrpc": "2.0", "id": "1", "method": "message/send",
        "params": {"message": {"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": "hi"}]}}}"#;
    let path = file(&dir, "good.json", good);
    let ran = conformance(&["--request", path.to_str().expect("a path of text")]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.out,
        "pass  jsonrpc is 2.0\npass  id is there\npass  method is message/send\n\
         pass  params.message.parts is a list\npass  each part has a kind and its content\n"
    );

    let bad = r#"{"jsonrpc": "1.0", "method": "tasks/send", "params": {"message": {"parts": [{"type": "text"}]}}}"#;
    let path = file(&dir, "bad.json", bad);
    let ran = conformance(&[
        "--request",
        path.to_str().expect("a path of text"),
        "-o",
        "json",
    ])
    .await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let report = ran.json();
    assert_eq!(report["passed"], false);
    let failed = report["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["passed"] == false);
    assert_eq!(failed.count(), 4, "{}", ran.out);
}

#[tokio::test]
async fn a_choice_that_leaves_nothing_to_check_is_no_success() {
    let ran = conformance(&["-a", "127.0.0.1:9", "--only", "S-999"]).await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("nothing to check"), "{}", ran.err);
}

/// Whoever writes the card must not decide who learns our credentials.
#[tokio::test]
async fn credentials_go_only_where_the_user_said() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    other.set_nonblocking(true).expect("a socket");
    let origin = format!("http://{}", other.local_addr().expect("an address"));
    let was_called = || other.accept().is_ok();
    let server = Server::serve(&format!("public_url: {origin}\n{ECHO}")).await;
    let agent = server.url("/a2a/echo/.well-known/agent-card.json");
    let args = [
        "-a",
        &agent,
        "-o",
        "json",
        "--only",
        "S-020",
        "--timeout",
        "1s",
    ];
    for secret in [
        ["--bearer", "secret"],
        ["--api-key", "secret"],
        ["--svc-param", "x-token:secret"],
    ] {
        let ran = conformance(&[&args[..], &secret].concat()).await;
        assert!(!was_called(), "{secret:?}: {}", ran.err);
        let report = ran.json();
        let interfaces = report["interfaces"].as_array().expect("interfaces");
        assert!(!interfaces.is_empty());
        for interface in interfaces {
            let why = interface["why"].as_str().unwrap_or_default();
            assert!(why.contains(&format!("--credentials-to {origin}")), "{why}");
        }
    }
    let told = ["--bearer", "secret", "--credentials-to", &origin];
    conformance(&[&args[..], &told].concat()).await;
    assert!(was_called());
}
