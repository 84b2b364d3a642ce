//! Credentials of callers that are missing, have expired, or are lost with a restart: nothing that was said is lost with
//! them. And they are told to nobody.

use axum::http::StatusCode;
use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, say, text_of};

use crate::keeper::Keeper;
use crate::stranger::Stranger;

/// Ours before an agent that wants the caller's own key.
async fn pair() -> (Keeper, Server) {
    let keeper = Keeper::start().await;
    keeper.asks_for("right");
    let yaml = format!(
        "agents: {{desk: {{a2a: {{url: '{}'}}, identity: {{forward: [x-key]}}}}}}",
        keeper.base
    );
    let ours = Server::serve(&yaml).await;
    (keeper, ours)
}

/// An agent elsewhere, and one of ours that hands everything on to it.
const WAYS: [&str; 2] = [
    "agents: {desk: {a2a: {url: 'URL'}}}",
    "agents: {desk: {script: [{complete: own}], routes: [{to: far}]}, far: {a2a: {url: 'URL'}}}",
];

/// What is said with a key, to a task or to begin one. It is answered at once, or when it is over.
pub(crate) async fn tell(ours: &Server, key: &str, text: &str, task: &Value, waits: bool) -> Value {
    let told = answer_to(ours, key, text, task, waits).await;
    assert_eq!(told.get("error"), None);
    told["result"].clone()
}

/// The same, and the whole answer.
async fn answer_to(ours: &Server, key: &str, text: &str, task: &Value, waits: bool) -> Value {
    let mut params = say(text);
    params["configuration"] = json!({"blocking": waits});
    if !task.is_null() {
        params["message"]["taskId"] = task.clone();
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
    let request = ours.http.post(ours.url("/a2a/desk")).json(&body);
    answer(request.header("x-key", key)).await.body
}

pub(crate) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

#[tokio::test]
async fn what_could_not_be_sent_is_sent_with_the_credentials_that_come_later() {
    for crash in [false, true] {
        let (keeper, mut ours) = pair().await;
        let asked = tell(&ours, "old", "hello", &Value::Null, true).await;
        assert_eq!(state(&asked), "auth-required", "{asked}");
        // Still the wrong one.
        let asked = tell(&ours, "older", "try this", &asked["id"], true).await;
        assert_eq!(state(&asked), "auth-required", "{asked}");
        if crash {
            ours.kill().await;
            ours.restart().await;
        }
        let done = tell(&ours, "right", "go on", &asked["id"], true).await;
        assert_eq!(text_of(&done["status"]["message"]), "took hello", "{done}");
        assert_eq!(keeper.heard(), ["hello"]);
    }
}

#[tokio::test]
async fn an_answer_that_could_not_be_sent_is_sent_with_the_credentials_that_come_later() {
    for crash in [false, true] {
        let (keeper, mut ours) = pair().await;
        let asked = tell(&ours, "right", "ask", &Value::Null, true).await;
        assert_eq!(state(&asked), "input-required", "{asked}");
        let task = &asked["id"];
        let wanted = tell(&ours, "old", "green", task, true).await;
        assert_eq!(state(&wanted), "auth-required", "{wanted}");
        if crash {
            ours.kill().await;
            ours.restart().await;
        }
        let done = tell(&ours, "right", "go on", task, true).await;
        assert_eq!(text_of(&done["status"]["message"]), "took green", "{done}");
        assert_eq!(keeper.heard(), ["ask", "green"]);
    }
}

/// There are clients that give one id to several messages, and `tell` is one.
#[tokio::test]
async fn messages_of_one_id_are_told_apart_when_credentials_come_later() {
    let (keeper, ours) = pair().await;
    let asked = tell(&ours, "old", "ask", &Value::Null, true).await;
    let task = &asked["id"];
    let asked = tell(&ours, "right", "key 1", task, true).await;
    assert_eq!(state(&asked), "input-required", "{asked}");
    let wanted = tell(&ours, "old", "green", task, true).await;
    assert_eq!(state(&wanted), "auth-required", "{wanted}");
    let done = tell(&ours, "right", "key 2", task, true).await;
    assert_eq!(text_of(&done["status"]["message"]), "took green", "{done}");
    assert_eq!(keeper.heard(), ["ask", "green"]);
}

/// A task that stood in line has lost its caller with the restart.
#[tokio::test]
async fn what_never_was_at_work_before_a_restart_is_sent_with_the_credentials_that_come_later() {
    let keeper = Keeper::start().await;
    keeper.asks_for("right");
    let yaml = format!(
        "limits: {{tasks: 1}}\nagents: {{desk: {{a2a: {{url: '{}'}}, identity: {{forward: [x-key]}}}}}}",
        keeper.base
    );
    let mut ours = Server::serve(&yaml).await;
    tell(&ours, "right", "long", &Value::Null, false).await;
    keeper.until_followed().await;
    let task = tell(&ours, "right", "hello", &Value::Null, false).await["id"].clone();
    ours.kill().await;
    ours.restart().await;
    ours.until("desk", &task, &["auth-required"]).await;
    let done = tell(&ours, "right", "go on", &task, true).await;
    assert_eq!(text_of(&done["status"]["message"]), "took hello", "{done}");
    assert_eq!(keeper.heard(), ["long", "hello"]);
}

#[tokio::test]
async fn a_remote_task_is_found_again_after_any_number_of_restarts() {
    let (keeper, mut ours) = pair().await;
    let task = tell(&ours, "right", "long", &Value::Null, false).await["id"].clone();
    keeper.until_followed().await;
    for word in ["one", "two", "three"] {
        ours.kill().await;
        ours.restart().await;
        // What the caller had shown was never stored.
        ours.until("desk", &task, &["auth-required"]).await;
        tell(&ours, "right", "go on", &task, false).await;
        keeper.speaks(word);
        ours.until_says("desk", &task, word).await;
    }
    keeper.finishes();
    let done = ours.until("desk", &task, &["completed", "failed"]).await;
    assert_eq!(text_of(&done["status"]["message"]), "at last", "{done}");
    assert_eq!(keeper.heard(), ["long"]);
}

/// It brings the credentials, and no more than that.
#[tokio::test]
async fn what_waits_for_a_turn_that_asks_for_credentials_answers_that() {
    let (keeper, ours) = pair().await;
    let task = tell(&ours, "right", "long", &Value::Null, false).await["id"].clone();
    keeper.until_followed().await;
    let waits = tell(&ours, "left", "green", &task, true);
    let (asked, ()) = tokio::join!(waits, async {
        keeper.asks_for("left");
        keeper.until_followed().await;
        keeper.asks();
    });
    assert_eq!(state(&asked), "input-required", "{asked}");
    assert_eq!(text_of(&asked["history"][2]), "[redacted]", "{asked}");
    let done = tell(&ours, "left", "blue", &task, true).await;
    assert_eq!(text_of(&done["status"]["message"]), "took blue", "{done}");
    assert_eq!(keeper.heard(), ["long", "blue"]);
}

#[tokio::test]
async fn a_secret_that_the_other_side_has_is_not_sent_again_after_a_restart() {
    for way in WAYS {
        let keeper = Keeper::start().await;
        let mut ours = Server::serve(&way.replace("URL", &keeper.base)).await;
        let asked = tell(&ours, "", "login", &Value::Null, true).await;
        assert_eq!(state(&asked), "auth-required", "{asked}");
        let task = &asked["id"];
        tell(&ours, "", "long", task, false).await;
        keeper.until_followed().await;
        ours.kill().await;
        ours.restart().await;
        keeper.until_followed().await;
        keeper.finishes();
        let states = ["completed", "failed", "auth-required"];
        let done = ours.until("desk", task, &states).await;
        assert_eq!(text_of(&done["status"]["message"]), "at last", "{done}");
        assert_eq!(keeper.heard(), ["login", "long"], "{way}");
    }
}

/// It is stored meanwhile, but nobody can read it.
#[tokio::test]
async fn a_secret_that_did_not_reach_the_other_side_is_sent_after_a_restart() {
    for way in WAYS {
        let keeper = Keeper::start().await;
        let mut ours = Server::serve(&way.replace("URL", &keeper.base)).await;
        let asked = tell(&ours, "", "login", &Value::Null, true).await;
        assert_eq!(state(&asked), "auth-required", "{asked}");
        let task = &asked["id"];
        keeper.is_away(Some(StatusCode::TOO_MANY_REQUESTS));
        tell(&ours, "", "swordfish", task, false).await;
        ours.until_says("desk", task, "is unavailable, retrying")
            .await;
        ours.kill().await;
        for file in std::fs::read_dir(ours.data()).unwrap() {
            let file = file.unwrap().path();
            let bytes = std::fs::read(&file).unwrap();
            let in_clear = bytes.windows(9).any(|text| text == b"swordfish");
            assert!(!in_clear, "{}", file.display());
        }
        keeper.is_away(None);
        ours.restart().await;
        let states = ["completed", "failed", "auth-required"];
        let done = ours.until("desk", task, &states).await;
        let text = text_of(&done["status"]["message"]);
        assert_eq!(text, "took swordfish", "{done}");
        assert_eq!(keeper.heard(), ["login", "swordfish"], "{way}");
    }
}

/// A message that waits answers the next question, whoever has asked it. One whose sender does not wait is refused.
#[tokio::test]
async fn what_waits_answers_a_question_that_was_passed_on() {
    for (way, crash) in [(WAYS[0], false), (WAYS[1], false), (WAYS[1], true)] {
        let keeper = Keeper::start().await;
        let mut ours = Server::serve(&way.replace("URL", &keeper.base)).await;
        let task = tell(&ours, "", "long", &Value::Null, false).await["id"].clone();
        keeper.until_followed().await;
        let refused = answer_to(&ours, "", "red", &task, false).await;
        let reason = &refused["error"]["data"]["reason"];
        assert_eq!(reason, "UNSUPPORTED_OPERATION", "{refused}");
        if crash {
            ours.kill().await;
            ours.restart().await;
            keeper.until_followed().await;
        }
        let waits = tell(&ours, "", "green", &task, true);
        let (done, ()) = tokio::join!(waits, async { keeper.asks() });
        assert_eq!(text_of(&done["status"]["message"]), "took green", "{done}");
        assert_eq!(keeper.heard(), ["long", "green"], "{way}");
        assert_eq!(keeper.tasks(), 1, "{way}");
    }
}

#[tokio::test]
async fn a_task_that_waits_for_credentials_is_canceled_there_with_ours() {
    let (keeper, mut ours) = pair().await;
    let task = tell(&ours, "right", "long", &Value::Null, false).await["id"].clone();
    keeper.until_followed().await;
    ours.kill().await;
    ours.restart().await;
    ours.until("desk", &task, &["auth-required"]).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": task}});
    let request = ours.http.post(ours.url("/a2a/desk")).json(&body);
    answer(request.header("x-key", "right")).await;
    keeper.until_canceled().await;
    assert_eq!(keeper.canceled(), ["task-0"]);
}

#[tokio::test]
async fn what_an_error_repeats_of_our_credentials_is_told_to_nobody() {
    let keeper = Keeper::start().await;
    let yaml = format!(
        "log: {{level: debug}}\nagents: {{desk: {{a2a: {{url: '{}'}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}}}",
        keeper.base
    );
    let ours = Server::serve_with(&yaml, &[], &[("KEY", "s3cr3t")]).await;
    let failed = ours.result("desk", "message/send", say("echo")).await;
    assert_eq!(state(&failed), "failed", "{failed}");
    let text = text_of(&failed["status"]["message"]);
    assert_eq!(
        text,
        "the remote agent answered with an error: what is ***?"
    );
    let failed = ours.result("desk", "message/send", say("repeat")).await;
    let text = text_of(&failed["status"]["message"]);
    assert_eq!(text, "*** is no good", "{failed}");
    for (word, ends) in [("reject", "rejected"), ("wonder", "input-required")] {
        let ended = ours.result("desk", "message/send", say(word)).await;
        assert_eq!(state(&ended), ends, "{ended}");
        let said = &ended["status"]["message"];
        let told = |value: &Value| value["why"] == "*** is no good";
        assert_eq!(said["parts"][0]["text"], "*** is no good", "{ended}");
        assert!(told(&said["metadata"]), "{ended}");
        assert!(told(&said["parts"][1]["data"]), "{ended}");
        assert!(told(&said["parts"][1]["metadata"]), "{ended}");
    }
    let logged = ours.logged();
    assert!(logged.contains("what is ***?"), "{logged}");
    assert!(!logged.contains("s3cr3t"), "{logged}");
}

#[tokio::test]
async fn credentials_go_to_the_origin_of_the_url_and_to_listed_ones_only() {
    let (agent, other) = (Stranger::start().await, Stranger::start().await);
    agent.moves_to(&other.base);
    let yaml = |more: &str| {
        format!(
            "agents:\n  desk: {{a2a: {{url: '{0}'{more}}}, identity: {{forward: [x-key]}}}}\n  \
             own: {{a2a: {{url: '{0}'{more}}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}\n",
            agent.base
        )
    };
    let ours = Server::serve_with(&yaml(""), &[], &[("KEY", "s3cr3t")]).await;
    let failed = tell(&ours, "mine", "x", &Value::Null, true).await;
    assert_eq!(state(&failed), "failed", "{failed}");
    let failed = ours.result("own", "message/send", say("x")).await;
    assert_eq!(state(&failed), "failed", "{failed}");
    assert!(other.asked().is_empty());
    let log = ours.logged();
    let wanted = format!("unless credentials_to lists {}", other.base);
    assert!(log.contains(&wanted), "{log}");
    assert!(!log.contains("s3cr3t"), "{log}");

    let listed = yaml(&format!(", credentials_to: ['{}']", other.base));
    let ours = Server::serve_with(&listed, &[], &[("KEY", "s3cr3t")]).await;
    let done = tell(&ours, "mine", "x", &Value::Null, true).await;
    assert_eq!(state(&done), "completed", "{done}");
    let done = ours.result("own", "message/send", say("x")).await;
    assert_eq!(state(&done), "completed", "{done}");
    let keys = other.asked();
    let keys: Vec<_> = keys.iter().map(|(headers, _)| &headers["x-key"]).collect();
    assert_eq!(keys, ["mine", "s3cr3t"]);
}
