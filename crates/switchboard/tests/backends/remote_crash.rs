//! `kill -9`, of ours and of the remote one, in the middle of a task.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say, text_of};
use tokio::time::Instant;

use crate::remote::{pair, tasks};
use crate::stranger::Stranger;

/// Many words, so that there is a middle.
fn words() -> String {
    let words: Vec<String> = (0..150).map(|n| format!("w{n}")).collect();
    words.join(" ")
}

/// Reads a stream until it has brought some pieces; gives the task.
async fn some_of(server: &Server, agent: &str) -> Value {
    let mut stream = server.stream(agent, "message/stream", say(&words())).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    let mut pieces = 0;
    while pieces < 5 {
        let event = stream.next().await.unwrap();
        pieces += u32::from(event.data["result"]["kind"] == "artifact-update");
    }
    task
}

#[tokio::test]
async fn after_a_crash_of_ours_the_remote_task_goes_on_here_and_nothing_is_repeated() {
    for agent in ["writer", "writer-grpc", "writer-old-rest"] {
        let (upstream, mut ours) = pair().await;
        let task = some_of(&ours, agent).await;
        ours.kill().await;
        ours.restart().await;
        let done = ours.until(agent, &task, &["completed", "failed"]).await;
        assert_eq!(text_of(&done["status"]["message"]), "done", "{agent}");
        assert_eq!(text_of(&done["artifacts"][0]), words(), "{agent}");
        assert_eq!(done["artifacts"].as_array().unwrap().len(), 1);
        assert_eq!(tasks(&upstream, "writer").await.len(), 1, "{agent}");
        // Neither is anything told twice to those who read it all.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
        let path = ours.url(&format!("/a2a/{agent}"));
        let request = ours
            .http
            .post(path)
            .header("Last-Event-ID", "0")
            .json(&body);
        let events = switchboard_testkit::events(request).await.results().await;
        let thoughts = events
            .iter()
            .filter(|e| text_of(&e["status"]["message"]) == "thinking");
        assert_eq!(thoughts.count(), 1, "{agent}");
        let pieces = events.iter().filter(|e| e["kind"] == "artifact-update");
        let told: String = pieces.map(|e| text_of(&e["artifact"])).collect();
        assert_eq!(told, words(), "{agent}");
    }
}

#[tokio::test]
async fn after_a_crash_of_ours_a_task_that_waits_still_waits_for_the_same_answer() {
    let (upstream, mut ours) = pair().await;
    let asked = ours.result("asker", "message/send", say("paint")).await;
    ours.kill().await;
    ours.restart().await;
    let mut answer = say("green");
    answer["message"]["taskId"] = asked["id"].clone();
    let done = ours.result("asker", "message/send", answer).await;
    assert_eq!(text_of(&done["status"]["message"]), "painted green");
    assert_eq!(tasks(&upstream, "asker").await.len(), 1);
}

#[tokio::test]
async fn when_the_remote_agent_dies_the_task_fails_and_says_why() {
    let (mut upstream, ours) = pair().await;
    let task = some_of(&ours, "writer").await;
    upstream.kill().await;
    let failed = ours.until("writer", &task, &["failed"]).await;
    let text = text_of(&failed["status"]["message"]);
    let lost =
        "the connection to the remote agent was lost and could not be re-established in time";
    assert_eq!(text, lost);
    assert!(text_of(&failed["artifacts"][0]).starts_with("w0 w1 "));
}

#[tokio::test]
async fn a_message_that_may_have_arrived_is_not_sent_again_after_a_crash() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents: {{plain: {{a2a: {{url: '{}'}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}}}",
        stranger.base
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("KEY", "k")]).await;
    let send = json!({"message": say("hang")["message"], "configuration": {"blocking": false}});
    let task = ours.result("plain", "message/send", send).await["id"].clone();
    until_asked(&stranger).await;
    ours.kill().await;
    ours.restart().await;
    let failed = ours.until("plain", &task, &["failed"]).await;
    let text = text_of(&failed["status"]["message"]);
    assert!(
        text.ends_with("it is unknown whether it was processed"),
        "{text}"
    );
    assert_eq!(stranger.asked().len(), 1);
}

/// Waits until a message has come there.
async fn until_asked(stranger: &Stranger) {
    eventually("a message", async || !stranger.asked().is_empty()).await;
}

/// The caller has waited as long as it may, so the answer that could have been a bare message is a task; and what was
/// sent for it is known with it.
#[tokio::test]
async fn a_task_that_an_agent_of_bare_answers_became_is_not_sent_again_after_a_crash() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents: {{bare: {{reply: message, timeouts: {{blocking: 300ms}}, a2a: {{url: '{}'}}, \
         identity: {{headers: {{x-key: '${{KEY}}'}}}}}}}}",
        stranger.base
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("KEY", "k")]).await;
    let task = ours.result("bare", "message/send", say("hang")).await;
    assert_eq!(task["kind"], "task", "{task}");
    until_asked(&stranger).await;
    ours.kill().await;
    ours.restart().await;
    let failed = ours.until("bare", &task["id"], &["failed"]).await;
    let text = text_of(&failed["status"]["message"]);
    assert!(
        text.ends_with("it is unknown whether it was processed"),
        "{text}"
    );
    assert_eq!(stranger.asked().len(), 1);
}

/// A caller that does not wait gets a task from an agent that could reply directly; the reply ends that task, even if the
/// server is killed meanwhile.
#[tokio::test]
async fn a_direct_reply_that_nobody_waits_for_ends_its_task_after_a_crash() {
    let mut ours =
        Server::serve("agents: {late: {reply: message, script: [{wait: 3s}, {reply: at last}]}}")
            .await;
    let began = Instant::now();
    let send = json!({"message": say("hello")["message"], "configuration": {"blocking": false}});
    let task = ours.result("late", "message/send", send).await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(task["kind"], "task", "{task}");
    ours.kill().await;
    ours.restart().await;
    let states = ["completed", "failed"];
    let done = ours.until("late", &task["id"], &states).await;
    assert_eq!(text_of(&done["status"]["message"]), "at last");
}

#[tokio::test]
async fn a_remote_direct_reply_that_nobody_waits_for_is_not_asked_for_again_after_a_crash() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents: {{bare: {{reply: message, a2a: {{url: '{}'}}, \
         identity: {{headers: {{x-key: '${{KEY}}'}}}}}}}}",
        stranger.base
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("KEY", "k")]).await;
    let send = json!({"message": say("hang")["message"], "configuration": {"blocking": false}});
    let task = ours.result("bare", "message/send", send).await;
    assert_eq!(task["kind"], "task", "{task}");
    until_asked(&stranger).await;
    ours.kill().await;
    ours.restart().await;
    let failed = ours.until("bare", &task["id"], &["failed"]).await;
    let text = text_of(&failed["status"]["message"]);
    assert!(
        text.ends_with("it is unknown whether it was processed"),
        "{text}"
    );
    assert_eq!(stranger.asked().len(), 1);
}

#[tokio::test]
async fn an_agent_that_knows_repeated_messages_is_sent_the_same_one_again_after_a_crash() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents: {{plain: {{a2a: {{url: '{}', idempotent: true}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}}}",
        stranger.base
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("KEY", "k")]).await;
    let send =
        json!({"message": say("hang once")["message"], "configuration": {"blocking": false}});
    let task = ours.result("plain", "message/send", send).await["id"].clone();
    until_asked(&stranger).await;
    ours.kill().await;
    ours.restart().await;
    let done = ours.until("plain", &task, &["completed", "failed"]).await;
    assert_eq!(text_of(&done["status"]["message"]), "heard hang once");
    let asked = stranger.asked();
    assert_eq!(asked.len(), 2);
    let same = |of: usize| {
        let (headers, message) = &asked[of];
        let key = headers["idempotency-key"].to_str().unwrap();
        assert_eq!(message["messageId"], key);
        key
    };
    assert_eq!(same(0), same(1));
}
