//! What a receiver is sent proves where it comes from.

use serde_json::{Value, json};
use switchboard_client::webhook;
use switchboard_testkit::webhook::{Delivery, Receiver};
use switchboard_testkit::{message, say};
use switchboard_types::model::Secret;
use url::Url;

use crate::{published, signing};

fn is_over(got: &[Delivery]) -> bool {
    let last = got
        .last()
        .and_then(|got| serde_json::from_slice(&got.body).ok());
    last.is_some_and(|body: Value| body["status"]["state"] == "completed")
}

#[tokio::test]
async fn s1_193_our_receiver_believes_what_our_server_signs_and_nothing_else() {
    let (server, _files) = signing("{ file: made.pem, create: true }").await;
    let hook = Receiver::start().await;
    for (path, config) in [
        ("/plain", json!({})),
        (
            "/asked",
            json!({"token": "tok", "authentication": {"schemes": ["Bearer"], "credentials": "cred"}}),
        ),
    ] {
        let mut config = config;
        config["url"] = json!(format!("{}{path}", hook.origin));
        let params = json!({
            "message": message("report"),
            "configuration": {"blocking": false, "pushNotificationConfig": config},
        });
        server.result("both", "message/send", params).await;
    }
    let keys = published(&server).await;
    let url = Url::parse(&hook.origin)
        .expect("a URL")
        .join("/plain")
        .expect("a URL");
    let receiver = || {
        let receiver = webhook::Receiver::new().any_task();
        receiver.keys(keys.clone()).audience(&url)
    };
    let ours = receiver();
    let plain = hook.until("/plain", is_over).await.pop().expect("the last");
    let signature = plain.headers["x-a2a-signature"].to_str().expect("text");
    assert_eq!(
        plain.headers["authorization"],
        format!("Bearer {signature}")
    );
    assert!(
        ours.receive(&plain.headers, &plain.body)
            .expect("good")
            .is_some()
    );
    assert_eq!(ours.receive(&plain.headers, &plain.body), Ok(None), "again");
    let altered = String::from_utf8_lossy(&plain.body).replace("completed", "failed");
    for (receiver, body) in [
        (receiver(), altered.as_bytes()),
        (
            webhook::Receiver::new()
                .any_task()
                .keys(keys.clone())
                .audience(&Url::parse("https://elsewhere.example").expect("a URL")),
            &plain.body,
        ),
    ] {
        let refused = receiver.receive(&plain.headers, body).expect_err("refused");
        assert_eq!(refused.status(), 401);
    }

    let asked = hook.until("/asked", is_over).await.pop().expect("the last");
    assert_eq!(asked.headers["authorization"], "Bearer cred");
    let all = receiver()
        .token(Secret::new("tok"))
        .authorization("Bearer", Secret::new("cred"));
    assert!(
        all.receive(&asked.headers, &asked.body)
            .expect("good")
            .is_some()
    );

    // A notification is no token: it opens no agent, not even one that believes its key.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
    let keys_file = tempfile::NamedTempFile::new().expect("a file");
    let listed = server.get("/.well-known/jwks.json").await.body.to_string();
    std::fs::write(keys_file.path(), listed).expect("a file");
    let other = switchboard_testkit::Server::serve(&format!(
        "auth: {{ methods: {{ bearer: {{ jwt: {{ jwks_file: \"{}\", audience: [\"{}\"] }} }} }} }}\n\
         agents: {{ shut: {{ script: [complete: done] }} }}\n",
        keys_file.path().display(),
        hook.origin,
    ))
    .await;
    let request = other
        .http
        .post(other.url("/a2a/shut"))
        .bearer_auth(signature);
    let refused = switchboard_testkit::answer(request.json(&call)).await;
    assert_eq!(refused.status, 401);
}

#[tokio::test]
async fn webhooks_may_be_left_unsigned() {
    let server = switchboard_testkit::Server::serve(
        "public_url: https://agents.example\nsigning: { keys: [{ file: k.pem, create: true }], webhooks: false }\n\
         push: { allow: [127.0.0.1] }\nagents: { both: { script: [complete: done] } }\n",
    )
    .await;
    let hook = Receiver::start().await;
    let params = json!({
        "message": message("report"),
        "configuration": {"blocking": false, "pushNotificationConfig": {"url": format!("{}/", hook.origin)}},
    });
    server.result("both", "message/send", params).await;
    let got = hook.until("/", is_over).await.pop().expect("the last");
    assert_eq!(got.headers.get("x-a2a-signature"), None);
    assert_eq!(got.headers.get("authorization"), None);
}
