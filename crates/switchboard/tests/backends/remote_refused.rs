//! A remote agent that does not know who asks, though it may have been told already: nothing is said twice.

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, say, text_of};

use crate::keeper::Keeper;
use crate::remote_credentials::{state, tell};

/// Ours before an agent that wants the caller's own key. It does one thing at a time.
async fn before(keeper: &Keeper) -> Server {
    keeper.asks_for("right");
    let yaml = format!(
        "limits: {{tasks: 1}}\nagents: {{desk: {{a2a: {{url: '{}'}}, identity: {{forward: [x-key]}}}}}}",
        keeper.base
    );
    Server::serve(&yaml).await
}

/// What refuses a message need not be the agent, which may have got it: by its id it can tell.
#[tokio::test]
async fn a_message_has_the_same_id_however_often_it_is_refused() {
    let keeper = Keeper::start().await;
    let mut ours = before(&keeper).await;
    let asked = tell(&ours, "old", "ask", &Value::Null, true).await;
    let task = asked["id"].clone();
    let first = format!("{}-1", task.as_str().unwrap());
    tell(&ours, "older", "try this", &task, true).await;
    ours.kill().await;
    ours.restart().await;
    let asked = tell(&ours, "right", "go on", &task, true).await;
    assert_eq!(state(&asked), "input-required", "{asked}");
    assert_eq!(keeper.came(), [&*first, &*first, &*first]);
    // So has the answer to its question, and another one.
    tell(&ours, "old", "yellow", &task, true).await;
    let done = tell(&ours, "right", "and now", &task, true).await;
    assert_eq!(text_of(&done["status"]["message"]), "took yellow", "{done}");
    let second = format!("{}-2", task.as_str().unwrap());
    assert_eq!(keeper.came()[3..], [&*second, &*second]);
    assert_eq!(keeper.heard(), ["ask", "yellow"]);
}

#[tokio::test]
async fn a_task_is_looked_for_again_with_credentials_that_are_better() {
    let keeper = Keeper::lists().await;
    let mut ours = before(&keeper).await;
    let task = tell(&ours, "right", "block", &Value::Null, false).await["id"].clone();
    keeper.until_heard(1).await;
    // It has begun there, and nobody here knows what.
    ours.kill().await;
    ours.restart().await;
    ours.until("desk", &task, &["auth-required"]).await;
    let asked = tell(&ours, "old", "try this", &task, true).await;
    assert_eq!(state(&asked), "auth-required", "{asked}");
    tell(&ours, "right", "go on", &task, false).await;
    keeper.until_followed().await;
    keeper.finishes();
    let done = ours.until("desk", &task, &["completed", "failed"]).await;
    assert_eq!(text_of(&done["status"]["message"]), "at last", "{done}");
    assert_eq!(keeper.heard(), ["block"]);
}

/// One that waits for credentials has begun nothing there: what it is called there is known from those before it.
#[tokio::test]
async fn a_conversation_goes_on_past_a_task_that_was_set_aside() {
    let keeper = Keeper::start().await;
    keeper.names_conversations();
    let mut ours = before(&keeper).await;
    let first = tell(&ours, "right", "hello", &Value::Null, true).await;
    let say = async |ours: &Server, text: &str, waits: bool| {
        let mut params = say(text);
        params["message"]["contextId"] = first["contextId"].clone();
        params["configuration"] = json!({"blocking": waits});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
        let request = ours.http.post(ours.url("/a2a/desk")).json(&body);
        answer(request.header("x-key", "right")).await.body["result"].clone()
    };
    tell(&ours, "right", "long", &Value::Null, false).await;
    keeper.until_followed().await;
    let second = say(&ours, "second", false).await["id"].clone();
    // It stood in line, and has lost its caller.
    ours.kill().await;
    ours.restart().await;
    ours.until("desk", &second, &["auth-required"]).await;
    let third = say(&ours, "third", true).await;
    assert_eq!(state(&third), "completed", "{third}");
    tell(&ours, "right", "go on", &second, true).await;
    assert_eq!(keeper.heard(), ["hello", "long", "third", "second"]);
    let theirs = ["theirs-0", "theirs-1", "theirs-0", "theirs-0"];
    assert_eq!(keeper.conversations(), theirs);
}
