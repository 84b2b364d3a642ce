//! Runs that are stopped, also if their gateway was away, or ours was killed, when that was asked for.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::openclaw::{AGAIN, Claw, Reaction, TOKEN};
use switchboard_testkit::{Server, say};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::openclaw::{begin, eventually, front, greet, hurried};
use crate::openclaw_crash::{COUNT, some_of};

async fn cancel(ours: &Server, task: &Value) {
    let canceled = ours
        .result("bot", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
}

#[tokio::test]
async fn a_task_that_ends_while_ours_stops_still_stops_its_run() {
    let claw = Claw::start().await;
    let mut ours = hurried(&claw).await;
    ours.result("bot", "message/send", begin("hang")).await;
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    ours.stop().await;
    eventually("a stop", async || claw.calls("sessions.abort").len() == 1).await;
}

#[tokio::test]
async fn a_run_that_was_not_there_yet_when_ours_stopped_is_stopped_once_it_is() {
    let claw = Claw::start().await;
    let mut ours = hurried(&claw).await;
    let task = ours.result("bot", "message/send", begin("hang late")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    ours.stop().await;
    eventually("the end of the run", async || {
        claw.world.is_over(task.as_str().unwrap())
    })
    .await;
}

/// Ours, which may take so long to end.
async fn ending_within(grace: &str, claw: &Claw) -> Server {
    let url = claw.url();
    let yaml = format!(
        "shutdown: {{grace: {grace}}}
agents: {{bot: {{openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}"
    );
    Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await
}

/// Begins a task and cancels it once the gateway was asked to run it; meanwhile `away` may happen to the gateway.
async fn canceled(ours: &Server, claw: &mut Claw, away: bool) -> Value {
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    if away {
        claw.cut_off().await;
    }
    cancel(ours, &task).await;
    task
}

#[tokio::test]
async fn what_was_canceled_while_the_gateway_was_away_is_stopped_after_a_crash_or_a_stop_of_ours() {
    let stopped = async |crashes: bool| {
        let mut claw = Claw::start().await;
        let mut ours = front(&claw, "").await;
        let task = canceled(&ours, &mut claw, true).await;
        match crashes {
            true => ours.kill().await,
            false => ours.stop().await,
        }
        claw.back().await;
        ours.restart().await;
        eventually("the end of the run", async || {
            claw.world.is_over(task.as_str().unwrap())
        })
        .await;
        // It is told once, if that can be noted.
        ours.stop().await;
        ours.restart().await;
        greet(&ours).await;
        assert_eq!(claw.calls("sessions.abort").len(), 1, "crashes: {crashes}");
    };
    tokio::join!(stopped(true), stopped(false));
}

#[tokio::test]
async fn a_new_gateway_does_not_go_on_with_what_was_canceled_while_it_was_away() {
    let mut claw = Claw::start().await;
    claw.world.manner.lock().goes_on = "hang";
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    claw.die().await;
    cancel(&ours, &task).await;
    claw.revive().await;
    let again = format!("{AGAIN}{}", task.as_str().unwrap());
    eventually("the end of the run", async || claw.world.is_over(&again)).await;
}

#[tokio::test]
async fn nor_with_what_it_had_gone_on_with_before() {
    let mut claw = Claw::start().await;
    claw.world.manner.lock().goes_on = "hang";
    let mut ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    claw.cut_off().await;
    cancel(&ours, &task).await;
    ours.kill().await;
    let mut again = task.as_str().unwrap().to_owned();
    for _ in 0..2 {
        again.insert_str(0, AGAIN);
        claw.die().await;
        claw.revive().await;
        eventually("a resumed run", async || claw.world.is_running(&again)).await;
    }
    ours.restart().await;
    eventually("the end of the run", async || claw.world.is_over(&again)).await;
}

#[tokio::test]
async fn what_cannot_be_stopped_does_not_keep_ours_from_its_end() {
    let ends = async |away| {
        let mut claw = Claw::start().await;
        claw.world.manner.lock().asked = Reaction::Deaf;
        let mut ours = ending_within("15s", &claw).await;
        canceled(&ours, &mut claw, away).await;
        ours.stop().await;
        let told = ours.logged();
        assert!(!told.contains("did not end in time"), "{told}");
    };
    tokio::join!(ends(false), ends(true));
}

#[tokio::test]
async fn a_gateway_that_answers_nothing_does_not_keep_ours_from_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let yaml = format!("agents: {{bot: {{openclaw: {{url: '{url}', token: '${{TOKEN}}'}}}}}}");
    let mut ours = Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await;
    let _silent = listener.accept().await.unwrap();
    let began = Instant::now();
    ours.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "it waits");
}

#[tokio::test]
async fn a_run_that_a_gateway_did_not_begin_because_it_starts_is_begun_again_and_not_stopped() {
    let claw = Claw::start().await;
    claw.world.manner.lock().asked = Reaction::Starting;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hello")).await;
    let text = "is unavailable, retrying for up to 120 s: the gateway is starting";
    ours.until_says("bot", &task["id"], text).await;
    claw.world.manner.lock().asked = Reaction::Runs;
    let done = ours
        .until("bot", &task["id"], &["completed", "failed"])
        .await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert!(claw.calls("sessions.abort").is_empty());
}

#[tokio::test]
async fn a_task_whose_run_was_cut_off_can_be_canceled() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = some_of(&ours, say(COUNT)).await;
    claw.world.manner.lock().recovers = false;
    claw.die().await;
    claw.revive().await;
    eventually("a lookup", async || !claw.calls("chat.history").is_empty()).await;
    cancel(&ours, &task).await;
    eventually("a stop", async || !claw.calls("sessions.abort").is_empty()).await;
    assert_eq!(claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn a_cancel_reaches_a_gateway_that_was_away() {
    let mut claw = Claw::start().await;
    let ours = front(&claw, "").await;
    let task = ours.result("bot", "message/send", begin("hang")).await["id"].clone();
    eventually("a request", async || claw.calls("agent").len() == 1).await;
    claw.cut_off().await;
    cancel(&ours, &task).await;
    claw.back().await;
    eventually("a stop", async || claw.calls("sessions.abort").len() == 1).await;
    assert!(claw.world.is_over(task.as_str().unwrap()));
}
