//! Webhooks (S1 §6.8 to §6.10, §7.5 to §7.8, §9.5).

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::webhook::Receiver;
use switchboard_testkit::{message, say};
use tokio::net::TcpListener;

use crate::server;

/// S1-106, S1-126, S1-191, S1-192.
#[tokio::test]
async fn s1_190_example_9_5_a_webhook_is_called_at_the_end() {
    let server = server().await;
    let hook = Receiver::start().await;
    let params = json!({
        "message": message("report"),
        "configuration": {"blocking": false, "pushNotificationConfig": {
            "url": format!("{}/hook", hook.origin), "token": "secure-client-token-for-task-aaa",
            "authentication": {"schemes": ["Bearer"], "credentials": "s3cret"},
        }},
    });
    let task = server.result("pause", "message/send", params).await;
    server.until("pause", &task["id"], &["completed"]).await;
    let calls = hook.until("/hook", |got| !got.is_empty()).await;
    let (headers, body) = (&calls[0].headers, calls[0].json());
    assert_eq!(headers["content-type"], "application/json");
    let token = &headers["x-a2a-notification-token"];
    assert_eq!(token, "secure-client-token-for-task-aaa");
    assert_eq!(headers["authorization"], "Bearer s3cret");
    assert_eq!(body["kind"], "task");
    assert_eq!(body["id"], task["id"]);
    assert_eq!(body["status"]["state"], "completed");
}

#[tokio::test]
async fn s1_149_webhooks_are_set_read_listed_and_deleted() {
    let server = server().await;
    let task = server.result("booking", "message/send", say("fly")).await;
    let id = &task["id"];
    let call = async |method: &str, params: Value| {
        let method = format!("tasks/pushNotificationConfig/{method}");
        server.rpc("booking", &method, params).await.body
    };
    let config = json!({"url": "http://127.0.0.1:9/one", "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "s3cret"}});
    let set = call(
        "set",
        json!({"taskId": id, "pushNotificationConfig": config}),
    )
    .await;
    assert_eq!(set["result"]["taskId"], *id);
    let made = &set["result"]["pushNotificationConfig"]["id"];
    assert!(made.is_string());
    let other = json!({"id": "two", "url": "http://127.0.0.1:9/two"});
    call(
        "set",
        json!({"taskId": id, "pushNotificationConfig": other}),
    )
    .await;
    let only = call("get", json!({"id": id})).await;
    assert_eq!(
        only["result"]["pushNotificationConfig"]["url"],
        "http://127.0.0.1:9/one"
    );
    let two = call("get", json!({"id": id, "pushNotificationConfigId": "two"})).await;
    assert_eq!(
        two["result"]["pushNotificationConfig"]["url"],
        "http://127.0.0.1:9/two"
    );
    let list = call("list", json!({"id": id})).await;
    assert_eq!(list["result"].as_array().map(Vec::len), Some(2));
    assert!(!list.to_string().contains("s3cret"), "{list}");
    let delete = json!({"id": id, "pushNotificationConfigId": "two"});
    let deleted = call("delete", delete.clone()).await;
    assert_eq!(deleted.get("result"), Some(&Value::Null));
    let gone = call("get", delete).await;
    assert!(gone.get("error").is_some(), "{gone}");
    let unknown = call(
        "set",
        json!({"taskId": "nobody", "pushNotificationConfig": config}),
    )
    .await;
    assert_eq!(unknown["error"]["code"], -32001);
}

#[tokio::test]
async fn s1_036_webhooks_cannot_be_turned_against_inner_hosts() {
    let yaml = "agents: {ask: {script: [{ask: Well?}]}}";
    let server = switchboard_testkit::Server::serve(yaml).await;
    let task = server.result("ask", "message/send", say("hi")).await;
    for url in [
        "http://127.0.0.1/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/latest/meta-data",
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "not a url",
    ] {
        let params = json!({"taskId": task["id"], "pushNotificationConfig": {"url": url}});
        let error = server
            .error("ask", "tasks/pushNotificationConfig/set", params)
            .await;
        assert_eq!(error["code"], -32602, "{url}");
    }
}

#[tokio::test]
async fn deliveries_that_fail_are_shown_beside_the_running_server() {
    let yaml = "push: {allow: [127.0.0.1]}\nagents: {quick: {script: [{complete: done}]}}";
    let server = switchboard_testkit::Server::serve(yaml).await;
    // A port where nobody listens.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let mut params = say("hi");
    params["configuration"] =
        json!({"pushNotificationConfig": {"url": format!("http://{address}/hook?key=secret")}});
    let task = server.result("quick", "message/send", params).await;
    let listed = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
                .args(["deliveries", "-o", "json", "--data"])
                .arg(server.data())
                .output()
                .await
                .expect("the command runs");
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).expect("text");
            if let Some(line) = text.lines().next() {
                return serde_json::from_str::<Value>(line).expect("JSON");
            }
        }
    });
    let listed = listed.await.expect("it fails within seconds");
    assert_eq!(listed["state"], "failing");
    assert_eq!(listed["taskId"], task["id"]);
    assert_eq!(listed["url"], format!("http://{address}/hook"));
    assert!(listed["attempts"].as_u64() >= Some(1), "{listed}");
}
