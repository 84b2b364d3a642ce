//! How failures are told, and what the process ends with.

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::agent::{Agent, bare, ran};

#[tokio::test]
async fn failures_have_a_code_a_hint_and_an_exit_code() {
    let agent = Agent::start().await;
    let missing = agent
        .run(&["task", "get", "no-such-task", "-o", "json"])
        .await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let error: Value = serde_json::from_str(&missing.out).unwrap();
    assert_eq!(error["error"]["code"], "TaskNotFoundError");
    assert_eq!(error["error"]["a2aCode"], -32001);
    let text = agent.run(&["task", "get", "no-such-task"]).await;
    assert!(text.err.starts_with("error: "), "{}", text.err);
    assert_eq!(text.out, "");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_unreachable() {
    let dir = tempfile::tempdir().unwrap();
    let lost = ran(bare(
        &dir,
        &["send", "-a", "127.0.0.1:9", "hello", "-o", "json"],
    ))
    .await;
    assert_eq!(lost.code, Some(3), "{lost:?}");
    let error: Value = serde_json::from_str(&lost.out).unwrap();
    assert_eq!(error["error"]["code"], "A2ACLI_ERR_UNREACHABLE");
    assert_eq!(error["error"]["a2aCode"], Value::Null);
    let nothing = ran(bare(
        &dir,
        &["card", "get", "-a", "./nothing.json", "-o", "json"],
    ))
    .await;
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    let error: Value = serde_json::from_str(&nothing.out).unwrap();
    assert_eq!(error["error"]["code"], "A2ACLI_ERR_CARD_NOT_FOUND");
}

#[tokio::test]
async fn a_file_that_is_no_card_is_invalid() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("card.json"), "[1, 2]").unwrap();
    let wrong = ran(bare(&dir, &["card", "get", "-a", "card.json"])).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(
        wrong.err.contains("A2ACLI_ERR_CARD_INVALID"),
        "{}",
        wrong.err
    );
}

#[tokio::test]
async fn wrong_usage_is_two_for_people_and_programs() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["send", "hello"][..],
        &["send", "hello", "-a", "x", "--no-such-flag"],
        &["send", "-a", "127.0.0.1:9", "--metadata", "[]", "hello"],
        &["task", "list", "-a", "127.0.0.1:9", "--timeout", "soon"],
    ] {
        let text = ran(bare(&dir, args)).await;
        let json = ran(bare(&dir, &[args, &["-o", "json"]].concat())).await;
        if args.contains(&"--metadata") {
            // The agent is looked for first.
            continue;
        }
        assert_eq!(text.code, Some(2), "{text:?}");
        assert!(text.err.starts_with("error: "), "{text:?}");
        assert_eq!(json.code, Some(2), "{json:?}");
        let error: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(error["error"]["code"], "A2ACLI_ERR_USAGE", "{json:?}");
    }
}

#[tokio::test]
async fn debug_tells_what_is_sent_but_no_secret() {
    let agent = Agent::start().await;
    let args = [
        "send",
        "--debug",
        "--bearer",
        "hush-hush",
        "--svc-param",
        "X-Key:also-secret",
        "hello",
    ];
    let ran = agent.run(&args).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("SendStreamingMessage"), "{}", ran.err);
    for secret in ["hush-hush", "also-secret"] {
        assert!(!ran.err.contains(secret), "{}", ran.err);
        assert!(!ran.out.contains(secret), "{}", ran.out);
    }
}

/// An agent whose lists have no end, and who never answers to a send.
async fn endless() -> (String, JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let card = json!({
        "name": "endless", "description": "d", "version": "1",
        "supportedInterfaces": [{"url": format!("{base}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    });
    let answer = async |body: Bytes| {
        let call: Value = serde_json::from_slice(&body).unwrap();
        if call["method"] != "ListTasks" {
            std::future::pending::<()>().await;
        }
        let page = json!({"tasks": [], "nextPageToken": "again", "pageSize": 1, "totalSize": 9});
        json!({"jsonrpc": "2.0", "id": call["id"], "result": page}).to_string()
    };
    let card = card.to_string();
    let app = Router::new()
        .route("/.well-known/agent-card.json", get(async move || card))
        .route("/", post(answer));
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
    (base, serving)
}

#[tokio::test]
async fn an_agent_without_an_end_does_not_keep_us() {
    let (base, _serving) = endless().await;
    let dir = tempfile::tempdir().unwrap();
    let listed = ran(bare(&dir, &["task", "list", "--all", "-a", &base])).await;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let late = ran(bare(
        &dir,
        &[
            "send",
            "hi",
            "-a",
            &base,
            "--timeout",
            "500ms",
            "-o",
            "json",
        ],
    ))
    .await;
    assert_eq!(late.code, Some(5), "{late:?}");
    let error: Value = serde_json::from_str(&late.out).unwrap();
    assert_eq!(error["error"]["code"], "A2ACLI_ERR_TIMEOUT");
}

#[tokio::test]
async fn a_version_that_is_not_offered_is_not_replaced_by_another() {
    let (base, _serving) = endless().await;
    let dir = tempfile::tempdir().unwrap();
    let refused = ran(bare(
        &dir,
        &["task", "list", "-a", &base, "--a2a-version", "0.3"],
    ))
    .await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.err.contains("it offers JSONRPC 1.0"),
        "{}",
        refused.err
    );
}
