//! Lost sockets, `kill -9` of ours, and the death of the gateway, in the middle of a run.

use serde_json::{Value, json};
use switchboard_testkit::openclaw::{Claw, Reaction, TOKEN};
use switchboard_testkit::{Server, say};

use crate::openclaw::{answer, begin, eventually, file, front, front_with, greet, why, with};

pub(crate) const COUNT: &str = "count 40 50";

fn counted() -> String {
    let words: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    words.join(" ")
}

/// Reads until some of the answer is there; gives the task.
pub(crate) async fn some_of(server: &Server, said: Value) -> Value {
    let mut stream = server.stream("bot", "message/stream", said).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    let mut pieces = 0;
    while pieces < 4 {
        let event = stream.next().await.unwrap();
        pieces += u32::from(event.data["result"]["kind"] == "artifact-update");
    }
    task
}

#[tokio::test]
async fn a_run_goes_on_over_another_socket() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = some_of(&ours, say(COUNT)).await;
    claw.cut().await;
    let done = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!((answer(&done), why(&done)), (counted(), String::new()));
    assert_eq!(claw.calls("agent").len(), 1);
    assert_eq!(claw.connections(), 2);
}

#[tokio::test]
async fn after_a_crash_of_ours_the_run_is_followed_and_not_repeated() {
    for said in [say(COUNT), with(COUNT, file("a.txt", "text/plain", "eA=="))] {
        let claw = Claw::start().await;
        let mut ours = front(&claw, "").await;
        let task = some_of(&ours, said).await;
        ours.kill().await;
        ours.restart().await;
        let done = ours.until("bot", &task, &["completed", "failed"]).await;
        assert_eq!((answer(&done), why(&done)), (counted(), String::new()));
        let runs = claw.calls("agent").len() + claw.calls("chat.send").len();
        assert_eq!(runs, 1);
        // Nothing is told twice to those who read it all.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
        let request = ours
            .http
            .post(ours.url("/a2a/bot"))
            .header("Last-Event-ID", "0");
        let events = switchboard_testkit::events(request.json(&body))
            .await
            .results()
            .await;
        let pieces = events.iter().filter(|e| e["kind"] == "artifact-update");
        let told: String = pieces
            .map(|e| switchboard_testkit::text_of(&e["artifact"]))
            .collect();
        assert_eq!(told, counted());
    }
}

#[tokio::test]
async fn a_stop_of_ours_does_not_stop_the_run() {
    let claw = Claw::start().await;
    let url = claw.url();
    let yaml = format!(
        "shutdown: {{grace: 200ms}}
agents: {{bot: {{openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}"
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    let task = some_of(&ours, say(COUNT)).await;
    ours.stop().await;
    ours.restart().await;
    let done = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!((answer(&done), why(&done)), (counted(), String::new()));
    assert_eq!(claw.calls("agent").len(), 1);
    assert!(claw.calls("sessions.abort").is_empty());
}

#[tokio::test]
async fn a_stop_of_ours_is_no_caller_that_goes_away() {
    let claw = Claw::start().await;
    let url = claw.url();
    let yaml = format!(
        "shutdown: {{grace: 200ms}}
agents: {{bot: {{on_disconnect: cancel, openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}"
    );
    let mut ours = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    let mut stream = ours.stream("bot", "message/stream", say(COUNT)).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while stream.next().await.unwrap().data["result"]["kind"] != "artifact-update" {}
    ours.stop().await;
    drop(stream);
    ours.restart().await;
    let ends = ["completed", "failed", "canceled"];
    let done = ours.until("bot", &task, &ends).await;
    assert_eq!((answer(&done), why(&done)), (counted(), String::new()));
    assert!(claw.calls("sessions.abort").is_empty());
}

#[tokio::test]
async fn a_message_that_was_sent_anew_is_not_taken_for_cut_off_after_a_crash_either() {
    let mut claw = Claw::start().await;
    claw.world.manner.lock().asked = Reaction::Deaf;
    let mut ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("break")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    claw.die().await;
    // The next one takes it, and ours never hears of that.
    claw.world.manner.lock().asked = Reaction::Mute;
    claw.revive().await;
    eventually("the end of the run", async || {
        claw.world.is_over(task.as_str().unwrap())
    })
    .await;
    ours.kill().await;
    ours.restart().await;
    let failed = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!(why(&failed), "the agent failed: boom");
    assert_eq!(claw.calls("agent").len(), 2);
    // Nobody looked for a run that goes on with it.
    assert_eq!(claw.calls("chat.history").len(), 1);
}

#[tokio::test]
async fn a_message_that_was_sent_anew_to_a_new_gateway_is_not_taken_for_cut_off() {
    let mut claw = Claw::start().await;
    claw.world.manner.lock().asked = Reaction::Deaf;
    let ours = front(&claw, "").await;
    let said = with("break", file("a.txt", "text/plain", "eA=="));
    let said = json!({"message": said["message"], "configuration": {"blocking": false}});
    let task = ours.result("bot", "message/send", said).await["id"].clone();
    eventually("a request", async || claw.calls("chat.send").len() == 1).await;
    claw.die().await;
    claw.world.manner.lock().asked = Reaction::Runs;
    claw.revive().await;
    let failed = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!(why(&failed), "the agent failed: the model broke");
    assert_eq!(claw.calls("chat.send").len(), 2);
    // Nobody looked for a run that goes on with it.
    assert_eq!(claw.calls("chat.history").len(), 1);
}

#[tokio::test]
async fn an_answer_that_came_while_ours_was_dead_is_found() {
    let claw = Claw::start().await;
    let mut ours = front(&claw, "").await;
    let task = some_of(&ours, say("count 8 60")).await;
    ours.kill().await;
    let run = task.as_str().unwrap();
    eventually("the end of the run", async || claw.world.is_over(run)).await;
    ours.restart().await;
    let done = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!(answer(&done), "1 2 3 4 5 6 7 8");
    assert_eq!(claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn a_run_that_a_new_gateway_goes_on_with_is_followed_there() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = some_of(&ours, say(COUNT)).await;
    claw.die().await;
    claw.revive().await;
    let done = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!(
        (answer(&done), why(&done)),
        ("went on after the restart".to_owned(), String::new())
    );
    assert_eq!(claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn whatever_a_new_gateway_says_of_a_run_it_is_followed_where_it_goes_on() {
    for left_as in ["running", "failed", "lost"] {
        let mut claw = Claw::start().await;
        claw.world.manner.lock().left_as = left_as;
        let mut ours = front(&claw, "").await;
        let task = some_of(&ours, say(COUNT)).await;
        claw.die().await;
        ours.kill().await;
        claw.revive().await;
        ours.restart().await;
        let done = ours.until("bot", &task, &["completed", "failed"]).await;
        assert_eq!(
            (answer(&done), why(&done)),
            ("went on after the restart".to_owned(), String::new()),
            "{left_as}"
        );
        assert_eq!(claw.calls("agent").len(), 1);
    }
}

#[tokio::test]
async fn both_may_die() {
    let mut claw = Claw::start().await;
    let mut ours = front(&claw, "").await;
    let task = some_of(&ours, say(COUNT)).await;
    claw.die().await;
    ours.kill().await;
    claw.revive().await;
    ours.restart().await;
    let done = ours.until("bot", &task, &["completed", "failed"]).await;
    assert_eq!(answer(&done), "went on after the restart");
    assert_eq!(claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn a_gateway_that_does_not_come_back_is_given_up() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, ", reconnect: 300ms").await;
    let task = some_of(&ours, say(COUNT)).await;
    claw.cut_off().await;
    let failed = ours.until("bot", &task, &["completed", "failed"]).await;
    let text =
        "the connection to the OpenClaw gateway was lost and could not be re-established in time";
    assert_eq!(why(&failed), text);
    // What was told before stays, and what runs for nobody is stopped when it can be.
    assert!(counted().starts_with(&answer(&failed)) && !answer(&failed).is_empty());
    claw.back().await;
    eventually("a stop", async || claw.calls("sessions.abort").len() == 1).await;
}

#[tokio::test]
async fn a_gateway_that_is_not_there_makes_the_agent_unavailable() {
    let mut claw = Claw::start().await;
    claw.die().await;
    let ours = front_with(&claw, "timeouts: {upstream: 1s}", "").await;
    let stream = ours.stream("bot", "message/stream", say("hello")).await;
    let events = stream.results().await;
    let failed = events.last().unwrap();
    assert_eq!(failed["status"]["state"], "failed");
    assert!(why(failed).contains("is unreachable: "), "{failed}");
    assert!(why(failed).contains("; gave up after "), "{failed}");
    assert_eq!(
        failed["metadata"]["reason"], "AGENT_UNAVAILABLE",
        "{failed}"
    );
    claw.live().await;
    greet(&ours).await;
}
