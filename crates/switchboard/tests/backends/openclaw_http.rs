//! An agent of an OpenClaw gateway behind ours, over HTTP.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::openclaw::{Claw, Manner, TOKEN};
use switchboard_testkit::say;
use tokio::time::Instant;

use crate::openclaw::{answer, begin, eventually, file, front, greet, why, with};

const CHAT: &str = "/v1/chat/completions";

fn unpaired(http: bool) -> Manner {
    Manner {
        pairs: true,
        http,
        ..Manner::default()
    }
}

#[tokio::test]
async fn a_gateway_that_refuses_the_socket_is_asked_over_http() {
    let claw = Claw::with(unpaired(true)).await;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", say("hello there")).await;
    assert_eq!(answer(&task), "heard: hello there");
    let asked = &claw.calls(CHAT)[0];
    assert_eq!(asked["model"], "openclaw/main");
    assert!(
        asked["session"]
            .as_str()
            .unwrap()
            .starts_with("agent:main:a2a:")
    );
    // Only what is new: the gateway knows the rest.
    assert_eq!(asked["messages"].as_array().unwrap().len(), 1);
    assert!(claw.calls("agent").is_empty());
    // As soon as it is paired, the socket is used.
    claw.approve();
    let deadline = Instant::now() + Duration::from_secs(20);
    while claw.calls("agent").is_empty() {
        assert!(Instant::now() < deadline, "the socket is not used");
        greet(&ours).await;
    }
}

#[tokio::test]
async fn where_neither_works_both_reasons_are_told() {
    let claw = Claw::with(unpaired(false)).await;
    let ours = front(&claw, "").await;
    let failed = ours.result("bot", "message/send", say("hello")).await;
    let text = why(&failed);
    assert!(text.contains("enable its gateway.http.endpoints"), "{text}");
    assert!(
        text.contains("openclaw devices approve 98ca4865-586e"),
        "{text}"
    );
}

#[tokio::test]
async fn over_http_files_go_where_they_are_taken_or_are_rejected() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", transport: http").await;
    let image = with("look", file("a.png", "image/png", "cG5n"));
    assert_eq!(
        answer(&ours.result("bot", "message/send", image).await),
        "heard: look"
    );
    let part = &claw.calls(CHAT)[0]["messages"][0]["content"][1];
    assert_eq!(part["image_url"]["url"], "data:image/png;base64,cG5n");
    let text = with("read", file("a.txt", "text/plain", "eA=="));
    assert_eq!(
        answer(&ours.result("bot", "message/send", text).await),
        "heard: read"
    );
    let part = &claw.calls("/v1/responses")[0]["input"][0]["content"][1];
    assert_eq!(
        (&part["type"], &part["source"]["filename"]),
        (&json!("input_file"), &json!("a.txt"))
    );
    let zip = with("unpack", file("a.zip", "application/zip", "UEs="));
    let rejected = ours.result("bot", "message/send", zip).await;
    assert_eq!(rejected["status"]["state"], "rejected");
    assert!(why(&rejected).contains("\"a.zip\" (application/zip)"));
    assert_eq!(claw.connections(), 0, "nothing needs the socket");
}

#[tokio::test]
async fn over_http_a_failure_is_one_though_it_comes_with_200() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", transport: http").await;
    let failed = ours.result("bot", "message/send", say("break")).await;
    assert_eq!(failed["status"]["state"], "failed");
    assert_eq!(why(&failed), "the agent failed: 400 the model broke");
}

#[tokio::test]
async fn over_http_a_token_that_is_told_back_is_passed_on_to_nobody() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", transport: http").await;
    for text in ["leak", "leak later"] {
        let failed = ours.result("bot", "message/send", say(text)).await;
        assert_eq!(why(&failed), "the agent failed: no use for ***");
    }
    assert!(ours.logged().contains("no use for ***"));
    assert!(!ours.logged().contains(TOKEN));
}

#[tokio::test]
async fn over_http_half_a_token_is_passed_on_to_nobody() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", transport: http").await;
    let text = file("a.txt", "text/plain", "eA==");
    for said in [say("leak at the cut"), with("leak at the cut", text)] {
        let failed = ours.result("bot", "message/send", said).await;
        let why = why(&failed);
        assert!(why.starts_with("the agent failed: xxx"), "{why}");
        assert!(!why.contains(&TOKEN[..4]), "{why}");
    }
}

#[tokio::test]
async fn over_http_a_cancel_closes_the_connection() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", transport: http").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls(CHAT).len() == 1).await;
    ours.result("bot", "tasks/cancel", json!({"id": task}))
        .await;
    eventually("a closed connection", async || {
        claw.calls("gone") == [json!(0)]
    })
    .await;
}

#[tokio::test]
async fn over_http_a_run_is_not_sent_again_after_a_crash() {
    let claw = Claw::start().await;
    let mut ours = front(&claw, ", transport: http").await;
    let task: Value = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls(CHAT).len() == 1).await;
    ours.kill().await;
    eventually("a closed connection", async || {
        claw.calls("gone").len() == 1
    })
    .await;
    ours.restart().await;
    let failed = ours.until("bot", &task, &["failed", "completed"]).await;
    assert!(
        why(&failed).ends_with("send the message again"),
        "{}",
        why(&failed)
    );
    assert_eq!(claw.calls(CHAT).len(), 1);
}
