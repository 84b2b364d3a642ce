//! What is logged of upstream calls: where, how long and with what result; never what was said.

use serde_json::json;
use switchboard_testkit::{Server, say};

use crate::{some_lines, upstream};

#[tokio::test]
async fn debug_shows_each_upstream_call_without_content_or_credentials() {
    let far = Server::serve("agents: { poet: { script: [{ complete: 'a secret poem' }] } }").await;
    let model = upstream(
        "400 Bad Request",
        r#"{"error":{"message":"no such thing"}}"#,
    )
    .await;
    let yaml = format!(
        "log: {{ level: debug }}
agents:
  remote: {{ a2a: {{ url: '{}/a2a/poet' }} }}
  model: {{ openai: {{ url: '{model}/v1', model: m, key: '${{MODEL_KEY}}' }} }}
",
        far.base
    );
    let server = Server::serve_with(&yaml, &[], &[("MODEL_KEY", "s3cr3t-key")]).await;
    let task = server
        .result("remote", "message/send", say("a secret wish"))
        .await;
    let sent = some_lines(&server, "upstream request", 1).await;
    let sent: Vec<_> = sent
        .iter()
        .filter(|line| line["task"] == task["id"])
        .collect();
    let post = sent.iter().find(|line| line["method"] == "POST");
    let post = post.expect("the message was sent");
    assert_eq!(
        (&post["agent"], &post["status"]),
        (&json!("remote"), &json!(200)),
        "{post}"
    );
    assert!(
        post["url"]
            .as_str()
            .is_some_and(|url| url.starts_with(&far.base)),
        "{post}"
    );
    assert!(post["duration_ms"].is_u64(), "{post}");

    let task = server
        .result("model", "message/send", say("a secret prompt"))
        .await;
    assert_eq!(task["status"]["state"], "failed");
    let ended = some_lines(&server, "upstream call ended", 2).await;
    let call = ended.iter().find(|line| line["agent"] == "model");
    let call = call.expect("the call to the model");
    assert_eq!(
        (&call["call"], &call["error"]),
        (&json!("chat m"), &json!("400")),
        "{call}"
    );
    assert_eq!(call["task"], task["id"]);
    assert_eq!(call["url"], format!("{model}/v1/chat/completions"));
    let refused = &some_lines(&server, "model endpoint refused a request", 1).await[0];
    for name in ["agent", "task", "url"] {
        assert_eq!(refused[name], call[name], "{refused}");
    }
    let logged = server.logged();
    for never in ["secret", "s3cr3t"] {
        assert!(!logged.contains(never), "{logged}");
    }
}

#[tokio::test]
async fn content_is_logged_only_if_its_target_is_named() {
    let far = Server::serve("agents: { poet: { script: [{ complete: 'a secret poem' }] } }").await;
    let server = Server::serve(&format!(
        "log: {{ level: 'info,switchboard::content=debug' }}\nagents: {{ remote: {{ a2a: {{ url: '{}/a2a/poet' }} }} }}",
        far.base
    ))
    .await;
    server
        .result("remote", "message/send", say("a secret wish"))
        .await;
    let logged = server.logged();
    assert!(
        logged.contains("A2A Request") && logged.contains("a secret wish"),
        "{logged}"
    );
}
