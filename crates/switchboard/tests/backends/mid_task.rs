//! `kill -9` in the middle of a task, of ours and of what stands behind it, where the tests of the kinds do not show it:
//! the task ends as it should, nothing runs twice, and a cancel still arrives.

use serde_json::{Value, json};
use switchboard_testkit::model::{Model, Step, events, word};
use switchboard_testkit::openclaw::Claw;
use switchboard_testkit::{Server, say, text_of};

use crate::openai::{before, soon};
use crate::openclaw::{answer, begin, eventually, front, why};
use crate::remote::{UPSTREAM, pair, tasks};
use crate::remote_circle::Socket;

const CHAT: &str = "/v1/chat/completions";

/// Cancels a task of an agent.
async fn cancel(ours: &Server, agent: &str, task: &Value) {
    let canceled = ours.result(agent, "tasks/cancel", json!({"id": task}));
    assert_eq!(canceled.await["status"]["state"], "canceled", "{agent}");
}

#[tokio::test]
async fn a_cancel_after_a_crash_of_ours_closes_the_new_request_to_the_model() {
    let model = Model::open(|_, _| vec![events(), word("one "), Step::Hang]).await;
    let mut ours = before(&model).await;
    let task = ours.result("chat", "message/send", begin("x")).await["id"].clone();
    eventually("a request", async || model.asked().len() == 1).await;
    ours.kill().await;
    soon(model.hung_up(1)).await;
    ours.restart().await;
    eventually("a second request", async || model.asked().len() == 2).await;
    cancel(&ours, "chat", &task).await;
    soon(model.hung_up(2)).await;
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn a_cancel_after_a_crash_of_ours_reaches_the_remote_task() {
    let (upstream, mut ours) = pair().await;
    let mut stream = ours.stream("sleeper", "message/stream", say("x")).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while stream.next().await.unwrap().data["result"]["status"]["message"].is_null() {}
    ours.kill().await;
    ours.restart().await;
    cancel(&ours, "sleeper", &task).await;
    let theirs = tasks(&upstream, "sleeper").await;
    let [theirs] = theirs.as_slice() else {
        panic!("{theirs:?}");
    };
    upstream
        .until("sleeper", &theirs["id"], &["canceled"])
        .await;
}

/// It knows its task by its id, wherever it is reached.
#[tokio::test]
async fn a_remote_agent_that_was_killed_goes_on_with_the_same_task_when_it_is_back() {
    let socket = Socket::open().await;
    let mut upstream = Server::serve(UPSTREAM).await;
    socket.leads_to(&upstream);
    let yaml = format!(
        "agents: {{far: {{a2a: {{url: '{}/a2a/writer'}}}}}}",
        socket.base
    );
    let ours = Server::serve(&yaml).await;
    let words: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
    let words = words.join(" ");
    let mut stream = ours.stream("far", "message/stream", say(&words)).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while stream.next().await.unwrap().data["result"]["kind"] != "artifact-update" {}
    upstream.kill().await;
    upstream.restart().await;
    socket.leads_to(&upstream);
    let done = ours.until("far", &task, &["completed", "failed"]).await;
    let theirs = tasks(&upstream, "writer").await;
    let [theirs] = theirs.as_slice() else {
        panic!("it was sent again: {theirs:?}");
    };
    assert_eq!(theirs["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(text_of(&done["artifacts"][0]), words);
}

#[tokio::test]
async fn a_cancel_after_a_crash_of_ours_reaches_the_run_of_a_bot() {
    let claw = Claw::start().await;
    let mut ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    ours.kill().await;
    ours.restart().await;
    cancel(&ours, "bot", &task).await;
    let run = task.as_str().unwrap();
    eventually("the end of the run", async || claw.world.is_over(run)).await;
    assert_eq!(claw.calls("agent").len(), 1);
}

/// Some gateways forget what they were at. That is known only when they had their time to go on with it.
#[tokio::test]
async fn a_run_that_a_new_gateway_does_not_go_on_with_fails_and_is_not_sent_again() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    claw.world.manner.lock().recovers = false;
    claw.die().await;
    claw.revive().await;
    let failed = ours.until("bot", &task, &["failed"]).await;
    assert!(
        why(&failed).contains("restarted during the run"),
        "{}",
        why(&failed)
    );
    assert_eq!(answer(&failed), "hm", "what there was is kept");
    assert_eq!(claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn over_http_the_death_of_a_gateway_fails_the_task_and_nothing_is_sent_again() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, ", transport: http").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls(CHAT).len() == 1).await;
    claw.die().await;
    let failed = ours.until("bot", &task, &["failed", "completed"]).await;
    assert_eq!(failed["status"]["state"], "failed");
    let broke = "the agent's response was cut off";
    assert!(why(&failed).starts_with(broke), "{}", why(&failed));
    claw.live().await;
    let again = ours.result("bot", "message/send", say("hello")).await;
    assert_eq!(answer(&again), "heard: hello");
    assert_eq!(claw.calls(CHAT).len(), 2);
}
