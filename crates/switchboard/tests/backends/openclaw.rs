//! An agent of an OpenClaw gateway behind ours, over its socket.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::openclaw::{Claw, Manner, TOKEN};
use switchboard_testkit::{Server, look, say, text_of};
use tokio::time::Instant;

pub(crate) use switchboard_testkit::{begin, eventually, file, with};

/// Ours, with one agent of the gateway; `more` is said of it.
pub(crate) async fn front(claw: &Claw, more: &str) -> Server {
    front_with(claw, "timeouts: {}", more).await
}

/// The same, with another key of the agent.
pub(crate) async fn front_with(claw: &Claw, key: &str, more: &str) -> Server {
    let url = claw.url();
    let yaml = format!(
        "agents: {{bot: {{{key}, openclaw: {{url: '{url}', token: '${{TOKEN}}'{more}}}}}}}"
    );
    Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await
}

/// The answer of a task.
pub(crate) fn answer(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    artifacts.iter().map(text_of).collect()
}

pub(crate) fn why(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

/// Ours before it, where a task may take a second.
pub(crate) async fn hurried(claw: &Claw) -> Server {
    let url = claw.url();
    let yaml = format!(
        "agents: {{bot: {{timeouts: {{task: 1s}}, openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}"
    );
    Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await
}

/// Says hello until there is an answer.
pub(crate) async fn greet(ours: &Server) {
    let task = eventually("an answer", async || {
        let task = ours.result("bot", "message/send", say("hello")).await;
        match task["status"]["state"] == "completed" {
            true => Ok(task),
            false => Err(why(&task)),
        }
    });
    assert_eq!(answer(&task.await), "heard: hello");
}

#[tokio::test]
async fn an_answer_of_an_openclaw_agent_streams_as_one_artifact() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let stream = ours
        .stream("bot", "message/stream", say("count 5 60"))
        .await;
    let events = stream.results().await;
    let pieces: Vec<&Value> = events
        .iter()
        .filter(|e| e["kind"] == "artifact-update")
        .collect();
    let told: String = pieces.iter().map(|e| text_of(&e["artifact"])).collect();
    assert_eq!(told, "1 2 3 4 5");
    assert!(pieces.len() > 2, "{pieces:?}");
    let last = events.last().unwrap();
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(last["metadata"]["model"], "p/m");
    assert_eq!(last["metadata"]["usage"]["totalTokens"], 3);
    // The run has the name of the task, and the agent is named.
    let asked = claw.calls("agent");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["idempotencyKey"], events[0]["id"]);
    assert_eq!(asked[0]["agentId"], "main");
    assert_eq!(asked[0]["timeout"], 601);
}

#[tokio::test]
async fn a_conversation_is_a_session_of_its_own() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    for context in ["one", "one", "two"] {
        let mut said = say("hello");
        said["message"]["contextId"] = context.into();
        let task = ours.result("bot", "message/send", said).await;
        assert_eq!(answer(&task), "heard: hello");
    }
    let sessions: Vec<Value> = claw
        .calls("agent")
        .iter()
        .map(|a| a["sessionKey"].clone())
        .collect();
    assert_eq!(sessions[0], sessions[1]);
    assert_ne!(sessions[0], sessions[2]);
    assert!(sessions[0].as_str().unwrap().starts_with("agent:main:a2a:"));
}

#[tokio::test]
async fn text_that_is_taken_back_is_replaced_and_progress_is_told() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let stream = ours.stream("bot", "message/stream", say("retry")).await;
    let events = stream.results().await;
    let words: Vec<String> = events
        .iter()
        .map(|e| text_of(&e["status"]["message"]))
        .collect();
    assert!(
        words.contains(&"Retrying in 1s (1/8).".to_owned()),
        "{words:?}"
    );
    let pieces = events.iter().filter(|e| e["kind"] == "artifact-update");
    let pieces: Vec<(String, bool)> = pieces
        .map(|e| (text_of(&e["artifact"]), e["append"] == true))
        .collect();
    assert_eq!(pieces[0], ("something wro".to_owned(), false));
    assert_eq!(pieces[1], ("right".to_owned(), false));
    let task = json!({"id": events[0]["id"]});
    assert_eq!(
        answer(&ours.result("bot", "tasks/get", task).await),
        "right"
    );
}

#[tokio::test]
async fn text_that_is_taken_back_goes_also_if_none_comes_in_its_place() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let stream = ours
        .stream("bot", "message/stream", say("takes-back"))
        .await;
    let events = stream.results().await;
    let pieces: Vec<&Value> = events
        .iter()
        .filter(|e| e["kind"] == "artifact-update")
        .collect();
    assert_eq!(text_of(&pieces[0]["artifact"]), "not for you");
    assert_eq!(text_of(&pieces[1]["artifact"]), "");
    assert!(pieces[1]["append"] != true, "{}", pieces[1]);
    // That it goes may be told before it is known that all is said.
    let last = pieces.last().unwrap();
    assert_eq!(text_of(&last["artifact"]), "");
    assert_eq!(last["lastChunk"], true, "{last}");
    let task = json!({"id": events[0]["id"]});
    assert_eq!(answer(&ours.result("bot", "tasks/get", task).await), "");
}

#[tokio::test]
async fn tools_are_told_to_operators_by_name_and_time_and_that_never_leaves_by_a2a() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", tools: none").await;
    let stream = ours.stream("bot", "message/stream", say("tool")).await;
    let events = stream.results().await;
    let id = events[0]["id"].as_str().unwrap();
    let tree = look(&ours, &format!("/admin/traces/{id}")).await.body;
    let internal = tree["internal"].as_array().unwrap();
    assert_eq!(internal.len(), 2, "{tree}");
    assert_eq!(internal[0]["name"], "internal:tool-call");
    assert_eq!(internal[0]["value"]["name"], "exec");
    assert!(internal[0]["value"]["durationMs"].is_u64(), "{tree}");
    assert_eq!(internal[1]["name"], "internal:llm-call");
    assert_eq!(internal[1]["value"]["model"], "p/m");
    assert_eq!(internal[1]["value"]["usage"]["totalTokens"], 3);
    let task = ours.result("bot", "tasks/get", json!({"id": id})).await;
    for told in [&Value::from(events), &task] {
        let told = told.to_string();
        assert!(
            !told.contains("tool-call") && !told.contains("llm-call"),
            "{told}"
        );
        assert!(!told.contains("exec"), "{told}");
    }
}

#[tokio::test]
async fn a_token_that_is_told_back_is_passed_on_to_nobody() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let stream = ours.stream("bot", "message/stream", say("leak")).await;
    let events = stream.results().await;
    let told = Value::from(events.clone()).to_string();
    assert!(!told.contains(TOKEN), "{told}");
    let words: Vec<String> = events
        .iter()
        .map(|e| text_of(&e["status"]["message"]))
        .collect();
    assert!(words.contains(&"no use for ***".to_owned()), "{words:?}");
    assert_eq!(
        why(events.last().unwrap()),
        "the agent failed: no use for ***"
    );
    assert!(!ours.logged().contains(TOKEN));
}

#[tokio::test]
async fn half_a_token_is_passed_on_to_nobody() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let text = file("a.txt", "text/plain", "eA==");
    for said in [say("leak-at-the-cut"), with("leak-at-the-cut", text)] {
        let failed = ours.result("bot", "message/send", said).await;
        let why = why(&failed);
        assert!(why.starts_with("the agent failed: xxx"), "{why}");
        assert!(!why.contains(&TOKEN[..4]), "{why}");
    }
    assert!(!ours.logged().contains(&TOKEN[..4]));
}

#[tokio::test]
async fn tools_are_status_updates() {
    let claw = Claw::start().await;
    for (setting, arguments) in [
        ("", Value::Null),
        (", tools: full", json!({"command": "ls"})),
    ] {
        let ours = front(&claw, setting).await;
        let stream = ours.stream("bot", "message/stream", say("tool")).await;
        let events = stream.results().await;
        let calls = events
            .iter()
            .filter(|e| e["metadata"]["toolCall"].is_object());
        let calls: Vec<&Value> = calls.collect();
        assert_eq!(calls.len(), 2, "{events:?}");
        assert_eq!(calls[0]["status"]["state"], "working");
        let call = &calls[0]["metadata"]["toolCall"];
        assert_eq!(
            (&call["type"], &call["name"]),
            (&json!("tool-call"), &json!("exec"))
        );
        assert_eq!(call["arguments"], arguments);
        assert_eq!(calls[1]["metadata"]["toolCall"]["isError"], false);
    }
    let ours = front(&claw, ", tools: none").await;
    let events = ours
        .stream("bot", "message/stream", say("tool"))
        .await
        .results()
        .await;
    assert!(events.iter().all(|e| e["metadata"]["toolCall"].is_null()));
}

#[tokio::test]
async fn a_cancel_stops_the_run() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    let canceled = ours
        .result("bot", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
    eventually("a stop", async || claw.calls("sessions.abort").len() == 1).await;
    let stop = &claw.calls("sessions.abort")[0];
    assert_eq!(stop["runId"], task);
    assert_eq!(stop["key"], claw.calls("agent")[0]["sessionKey"]);
}

#[tokio::test]
async fn a_run_that_was_not_there_yet_when_it_was_canceled_is_stopped_once_it_is() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang late")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    ours.result("bot", "tasks/cancel", json!({"id": task}))
        .await;
    eventually("the end of the run", async || {
        claw.world.is_over(task.as_str().unwrap())
    })
    .await;
    assert!(claw.calls("sessions.abort").len() > 1);
}

#[tokio::test]
async fn a_task_that_takes_too_long_stops_the_run_too() {
    let claw = Claw::start().await;
    let ours = hurried(&claw).await;
    let failed = ours.result("bot", "message/send", say("hang")).await;
    assert_eq!(failed["status"]["state"], "failed");
    eventually("a stop", async || claw.calls("sessions.abort").len() == 1).await;
    assert_eq!(claw.calls("agent")[0]["timeout"], 2);
}

#[tokio::test]
async fn a_failed_run_fails_the_task_with_its_reason() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let failed = ours.result("bot", "message/send", say("break")).await;
    assert_eq!(failed["status"]["state"], "failed");
    assert_eq!(why(&failed), "the agent failed: the model broke");
    let stranger = front(&claw, ", agent: nobody").await;
    let failed = stranger.result("bot", "message/send", say("hello")).await;
    assert_eq!(
        why(&failed),
        "the agent failed: invalid agent params: unknown agent id"
    );
}

#[tokio::test]
async fn a_run_that_its_owner_stops_fails_here() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    eventually("the run", async || claw.world.stop(task.as_str().unwrap())).await;
    let failed = ours.until("bot", &task, &["failed"]).await;
    assert_eq!(why(&failed), "the run was stopped in OpenClaw");
    assert_eq!(answer(&failed), "hm");
}

#[tokio::test]
async fn images_go_with_the_run_and_other_files_by_the_way_that_takes_them() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let image = with("look", file("a.png", "image/png", "cG5n"));
    assert_eq!(
        answer(&ours.result("bot", "message/send", image).await),
        "heard: look"
    );
    let attached =
        json!([{"type": "image", "mimeType": "image/png", "fileName": "a.png", "content": "cG5n"}]);
    assert_eq!(claw.calls("agent")[0]["attachments"], attached);
    let zip = with("unpack", file("a.zip", "application/zip", "UEs="));
    let task = ours.result("bot", "message/send", zip).await;
    assert_eq!(answer(&task), "heard: unpack");
    let sent = &claw.calls("chat.send")[0];
    assert_eq!(sent["attachments"][0]["mimeType"], "application/zip");
    assert_eq!(sent["idempotencyKey"], task["id"]);
}

#[tokio::test]
async fn two_messages_with_files_in_one_conversation_do_not_meet() {
    let claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let mut first = with("count 5 100", file("a.txt", "text/plain", "eA=="));
    first["message"]["contextId"] = "c".into();
    first["configuration"] = json!({"blocking": false});
    let mut second = with("hello", file("a.txt", "text/plain", "eA=="));
    second["message"]["contextId"] = "c".into();
    let first = ours.result("bot", "message/send", first).await["id"].clone();
    eventually("a message", async || claw.calls("chat.send").len() == 1).await;
    let second = ours.result("bot", "message/send", second).await;
    assert_eq!(answer(&second), "heard: hello");
    let first = ours.result("bot", "tasks/get", json!({"id": first})).await;
    assert_eq!(answer(&first), "1 2 3 4 5");
}

#[tokio::test]
async fn what_the_agent_cannot_take_is_refused_before_there_is_a_task() {
    let claw = Claw::start().await;
    let ours = front(&claw, ", max_file: 3B").await;
    let data = with("x", json!({"kind": "data", "data": {"a": 1}}));
    let error = ours.error("bot", "message/send", data.clone()).await;
    assert_eq!(error["code"], -32005);
    let large = with("x", file("a.png", "image/png", "Zm91cg=="));
    let error = ours.error("bot", "message/send", large).await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("a file is larger than 3 bytes"),
        "{error}"
    );
    // Only what is public is fetched for it.
    let link = json!({"kind": "file", "file": {"uri": "https://127.0.0.1/a.png", "mimeType": "image/png"}});
    let error = ours.error("bot", "message/send", with("x", link)).await;
    assert_eq!(error["code"], -32602);
    let text = "message.parts[1] cannot be fetched: its URL must not point to a loopback address";
    assert!(error["message"].as_str().unwrap().contains(text), "{error}");
    assert!(claw.calls("agent").is_empty());
    let talker = front(&claw, ", data: text").await;
    let task = talker.result("bot", "message/send", data).await;
    assert_eq!(answer(&task), "heard: x\n{\"a\":1}");
}

#[tokio::test]
async fn a_gateway_that_asks_to_be_paired_is_told_of_and_used_once_it_is() {
    let claw = Claw::with(Manner {
        pairs: true,
        http: false,
        ..Manner::default()
    })
    .await;
    let ours = front(&claw, ", transport: websocket").await;
    let failed = ours.result("bot", "message/send", say("hello")).await;
    assert_eq!(failed["status"]["state"], "failed");
    let command = "openclaw devices approve 98ca4865-586e";
    assert!(why(&failed).contains(command), "{}", why(&failed));
    assert!(ours.logged().contains(command));
    assert!(!ours.logged().contains(TOKEN));
    claw.approve();
    greet(&ours).await;
    assert_eq!(claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn the_key_of_the_device_is_kept_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let claw = Claw::start().await;
    let mut ours = front(&claw, "").await;
    let file = ours.data().join("openclaw-device.pem");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = std::fs::read(&file).unwrap();
    ours.kill().await;
    ours.restart().await;
    assert_eq!(std::fs::read(&file).unwrap(), key);
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_said() {
    let claw = Claw::start().await;
    let url = claw.url();
    let yaml = format!("agents: {{bot: {{openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}");
    let ours = Server::serve_with(&yaml, &[], &[("TOKEN", "wrong-s3cr3t")]).await;
    let failed = ours.result("bot", "message/send", say("hello")).await;
    let text = "the OpenClaw gateway cannot be used: it rejected the token";
    assert_eq!(why(&failed), text);
    assert!(!ours.logged().contains("s3cr3t"));
}

#[tokio::test]
async fn agents_of_one_gateway_share_one_socket() {
    let claw = Claw::start().await;
    let url = claw.url();
    let one = format!("openclaw: {{url: '{url}', token: '${{TOKEN}}'}}");
    let yaml = format!("agents: {{a: {{{one}}}, b: {{{one}}}}}");
    let ours = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    for agent in ["a", "b"] {
        let task = ours.result(agent, "message/send", say("hello")).await;
        assert_eq!(answer(&task), "heard: hello");
    }
    assert_eq!(claw.connections(), 1);
}

#[tokio::test]
async fn the_health_of_a_gateway_is_whether_it_is_connected() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let health = async || {
        let told = look(&ours, "/admin/health").await.body;
        told["agents"][0]["state"].clone()
    };
    greet(&ours).await;
    assert_eq!(health().await, "up");
    claw.die().await;
    let deadline = Instant::now() + Duration::from_secs(30);
    while health().await != "down" {
        assert!(Instant::now() < deadline, "never down");
    }
}
