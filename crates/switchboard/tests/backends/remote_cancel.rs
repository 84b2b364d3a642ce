//! Cancels that find their way, and questions that nobody answers.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say};

use crate::keeper::Keeper;
use crate::remote::{UPSTREAM, tasks};

async fn before(base: &str) -> Server {
    Server::serve(&format!("agents: {{desk: {{a2a: {{url: '{base}'}}}}}}")).await
}

async fn begin(ours: &Server, text: &str, task: Option<&Value>) -> Value {
    let mut params = say(text);
    params["configuration"] = json!({"blocking": false});
    if let Some(task) = task {
        params["message"]["taskId"] = task.clone();
    }
    ours.result("desk", "message/send", params).await["id"].clone()
}

async fn cancel(ours: &Server, task: &Value) {
    let gone = ours
        .result("desk", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(gone["status"]["state"], "canceled", "{gone}");
}

#[tokio::test]
async fn a_cancel_finds_the_task_of_an_agent_that_answers_only_when_it_is_done() {
    let keeper = Keeper::lists().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "block", None).await;
    keeper.until_heard(1).await;
    cancel(&ours, &task).await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

#[tokio::test]
async fn a_cancel_reaches_a_task_whose_answer_takes_its_time() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "late", None).await;
    keeper.until_heard(1).await;
    cancel(&ours, &task).await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

#[tokio::test]
async fn a_cancel_reaches_a_task_that_was_answered_and_does_not_answer() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "ask", None).await;
    ours.until("desk", &task, &["input-required"]).await;
    begin(&ours, "block", Some(&task)).await;
    keeper.until_heard(2).await;
    cancel(&ours, &task).await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

/// An answer that stands in line is never given: the question is withdrawn there, also if another agent has passed it on.
#[tokio::test]
async fn a_cancel_of_an_answer_in_line_withdraws_the_question() {
    for agents in [
        "desk: {a2a: {url: 'URL'}}",
        "desk: {script: [{complete: own}], routes: [{to: far}]}\n  far: {a2a: {url: 'URL'}}",
    ] {
        let keeper = Keeper::start().await;
        let agents = agents.replace("URL", &keeper.base);
        let ours = Server::serve(&format!(
            "limits: {{tasks: 1}}\nagents:\n  busy: {{script: [{{wait: 30s}}]}}\n  {agents}\n"
        ))
        .await;
        let task = begin(&ours, "ask", None).await;
        ours.until("desk", &task, &["input-required"]).await;
        let mut params = say("work");
        params["configuration"] = json!({"blocking": false});
        ours.result("busy", "message/send", params).await;
        begin(&ours, "green", Some(&task)).await;
        cancel(&ours, &task).await;
        keeper.until_canceled().await;
        assert_eq!(keeper.canceled(), ["task-0"], "{agents}");
        assert_eq!(keeper.heard(), ["ask"]);
    }
}

/// Whatever waits or works there, or for whom.
#[tokio::test]
async fn an_agent_that_is_away_when_its_task_is_canceled_is_told_after_a_crash() {
    let direct = "desk: {a2a: {url: 'URL'}}";
    let routed =
        "desk: {script: [{complete: own}], routes: [{to: far}]}\n  far: {a2a: {url: 'URL'}}";
    for (agents, away) in [(direct, 502), (routed, 503), (direct, 429), (direct, 500)] {
        for (text, state) in [("ask", "input-required"), ("long", "working")] {
            let keeper = Keeper::start().await;
            let agents = agents.replace("URL", &keeper.base);
            let mut ours = Server::serve(&format!("agents:\n  {agents}\n")).await;
            let task = begin(&ours, text, None).await;
            keeper.until_heard(1).await;
            if text == "long" {
                keeper.until_followed().await;
            }
            ours.until("desk", &task, &[state]).await;
            keeper.is_away(StatusCode::from_u16(away).ok());
            cancel(&ours, &task).await;
            ours.kill().await;
            assert_eq!(keeper.canceled(), [""; 0], "{agents} {text}");
            keeper.is_away(None);
            ours.restart().await;
            keeper.until_canceled().await;
            ours.stop().await;
            ours.restart().await;
            let next = begin(&ours, "hello", None).await;
            ours.until("desk", &next, &["completed"]).await;
            // Once more if the server stopped before it recorded the first, which is harmless; then never again.
            let canceled = keeper.canceled();
            assert!(
                canceled == ["task-0"] || canceled == ["task-0", "task-0"],
                "{agents} {text}: {canceled:?}"
            );
            ours.stop().await;
            ours.restart().await;
            let next = begin(&ours, "hello", None).await;
            ours.until("desk", &next, &["completed"]).await;
            assert_eq!(keeper.canceled(), canceled, "{agents} {text}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_a_reload_brings_back_is_told_what_it_missed() {
    let keeper = Keeper::start().await;
    let mut ours = before(&keeper.base).await;
    let with_it = std::fs::read(ours.configuration()).unwrap();
    let task = begin(&ours, "ask", None).await;
    ours.until("desk", &task, &["input-required"]).await;
    keeper.is_away(Some(StatusCode::BAD_GATEWAY));
    cancel(&ours, &task).await;
    ours.kill().await;
    std::fs::write(
        ours.configuration(),
        "agents: {other: {script: [{complete: own}]}}",
    )
    .unwrap();
    keeper.is_away(None);
    ours.restart().await;
    assert_eq!(keeper.canceled(), [""; 0]);
    std::fs::write(ours.configuration(), with_it).unwrap();
    keeper.until_canceled().await;
}

/// The task has failed then, and nobody answers the question any more.
#[tokio::test]
async fn a_question_whose_answer_could_not_be_sent_is_withdrawn() {
    let keeper = Keeper::start().await;
    let mut ours = before(&keeper.base).await;
    let task = begin(&ours, "ask", None).await;
    ours.until("desk", &task, &["input-required"]).await;
    keeper.is_away(Some(StatusCode::BAD_GATEWAY));
    begin(&ours, "green", Some(&task)).await;
    ours.until("desk", &task, &["failed"]).await;
    ours.kill().await;
    keeper.is_away(None);
    ours.restart().await;
    keeper.until_canceled().await;
}

#[tokio::test]
async fn a_message_that_was_not_taken_is_not_looked_for() {
    let keeper = Keeper::lists().await;
    let ours = before(&keeper.base).await;
    keeper.is_away(Some(StatusCode::SERVICE_UNAVAILABLE));
    let task = begin(&ours, "hello", None).await;
    ours.until("desk", &task, &["failed"]).await;
    keeper.is_away(None);
    let next = begin(&ours, "hello", None).await;
    ours.until("desk", &next, &["completed"]).await;
    assert_eq!(keeper.was_listed(), 0);
}

#[tokio::test]
async fn a_cancel_before_the_answer_is_sent_withdraws_the_question() {
    let keeper = Keeper::start().await;
    let mut ours = before(&keeper.base).await;
    let task = begin(&ours, "ask", None).await;
    ours.until("desk", &task, &["input-required"]).await;
    ours.kill().await;
    keeper.is_shy();
    ours.restart().await;
    begin(&ours, "long", Some(&task)).await;
    keeper.until_looked_up().await;
    cancel(&ours, &task).await;
    keeper.until_canceled().await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

#[tokio::test]
async fn a_task_that_cannot_be_understood_any_more_is_canceled_there() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "long", None).await;
    keeper.until_followed().await;
    keeper.speaks("gibberish");
    ours.until("desk", &task, &["failed"]).await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

#[tokio::test]
async fn the_same_question_can_be_asked_and_answered_twice() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "ask", None).await;
    for answer in ["again", "again"] {
        ours.until("desk", &task, &["input-required"]).await;
        begin(&ours, answer, Some(&task)).await;
    }
    ours.until("desk", &task, &["input-required"]).await;
    begin(&ours, "green", Some(&task)).await;
    ours.until("desk", &task, &["completed"]).await;
    assert_eq!(keeper.heard(), ["ask", "again", "again", "green"]);
}

/// Neither a restart, nor who comes too late, withdraws it again.
#[tokio::test]
async fn a_question_that_nobody_answers_is_withdrawn_there_once() {
    let keeper = Keeper::start().await;
    let yaml = format!(
        "agents: {{desk: {{a2a: {{url: '{}'}}, timeouts: {{input: 1s}}}}}}",
        keeper.base
    );
    let mut ours = Server::serve(&yaml).await;
    let task = begin(&ours, "ask", None).await;
    ours.until("desk", &task, &["input-required"]).await;
    // What is left of its time is kept.
    ours.kill().await;
    ours.restart().await;
    ours.until("desk", &task, &["failed"]).await;
    keeper.until_canceled().await;
    ours.error("desk", "tasks/cancel", json!({"id": task}))
        .await;
    let mut late = say("green");
    late["message"]["taskId"] = task;
    ours.error("desk", "message/send", late).await;
    ours.kill().await;
    ours.restart().await;
    let next = begin(&ours, "hello", None).await;
    ours.until("desk", &next, &["completed"]).await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

/// What the card of the agent that the work is handed on to offers to callers does not matter: the task is ours.
#[tokio::test]
async fn work_is_handed_on_to_agents_that_do_not_stream() {
    let upstream = Server::serve(UPSTREAM).await;
    let yaml = format!(
        "agents:\n  desk: {{script: [{{complete: own}}], routes: [{{to: deaf}}]}}\n  \
         deaf: {{streaming: false, a2a: {{url: '{}/a2a/deaf'}}}}\n",
        upstream.base
    );
    let ours = Server::serve(&yaml).await;
    let stream = ours.stream("desk", "message/stream", say("wool")).await;
    let events = tokio::time::timeout(Duration::from_secs(20), stream.results()).await;
    let events = events.expect("it ends");
    let last = events.last().unwrap();
    assert_eq!(last["status"]["state"], "completed", "{events:?}");
    assert_eq!(
        switchboard_testkit::text_of(&last["status"]["message"]),
        "done"
    );
    assert_eq!(tasks(&upstream, "deaf").await.len(), 1);
}

const ROUTED: &str =
    "desk: {script: [{complete: own}], routes: [{to: far}]}\n  far: {a2a: {url: 'URL'}}";

/// The cancel counts here, but nobody is led to believe that it does there.
#[tokio::test]
async fn a_cancel_that_the_upstream_refuses_says_so_in_the_task() {
    for agents in ["desk: {a2a: {url: 'URL'}}", ROUTED] {
        let keeper = Keeper::start().await;
        let agents = agents.replace("URL", &keeper.base);
        let ours = Server::serve(&format!("agents:\n  {agents}\n")).await;
        let task = begin(&ours, "long", None).await;
        keeper.until_heard(1).await;
        keeper.until_followed().await;
        keeper.refuses_to_cancel("working");
        let gone = ours
            .result("desk", "tasks/cancel", json!({"id": task}))
            .await;
        assert_eq!(gone["status"]["state"], "canceled", "{gone}");
        let said = &gone["status"]["message"];
        let text = switchboard_testkit::text_of(said);
        assert!(text.contains("refused to cancel and may go on"), "{gone}");
        assert!(text.contains("I never stop"), "{gone}");
        let upstream = &said["metadata"]["switchboard/upstream"];
        assert_eq!(upstream["mayContinue"], true, "{gone}");
        assert_eq!(keeper.canceled(), ["task-0"]);
    }
}

#[tokio::test]
async fn a_cancel_that_finds_the_upstream_task_over_says_nothing() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "long", None).await;
    keeper.until_heard(1).await;
    keeper.until_followed().await;
    keeper.refuses_to_cancel("completed");
    let gone = ours
        .result("desk", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(gone["status"]["state"], "canceled", "{gone}");
    assert_eq!(gone["status"].get("message"), None, "{gone}");
}

/// Nothing runs here that could wait for the refusal: the task is over first, and its trace tells of it.
#[tokio::test]
async fn a_refused_cancel_of_a_task_that_waits_is_in_its_trace() {
    let keeper = Keeper::start().await;
    let ours = before(&keeper.base).await;
    let task = begin(&ours, "ask", None).await;
    ours.until("desk", &task, &["input-required"]).await;
    keeper.refuses_to_cancel("input-required");
    cancel(&ours, &task).await;
    let shown = eventually("the refusal in the trace", async || {
        let ran = tokio::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(["trace", task.as_str().unwrap(), "--data"])
            .arg(ours.data())
            .output()
            .await
            .unwrap();
        let shown = String::from_utf8(ran.stdout).unwrap();
        match shown.contains("refused to cancel and may go on") {
            true => Ok(shown),
            false => Err(shown),
        }
    })
    .await;
    assert!(shown.contains("internal:cancel-refused"), "{shown}");
    assert_eq!(keeper.canceled(), ["task-0"], "it is asked once");
}
