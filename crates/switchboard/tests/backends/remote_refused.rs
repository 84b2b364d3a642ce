//! A remote agent that does not know who asks, though it may have been told already: nothing is said twice.

use serde_json::Value;

use crate::keeper::Keeper;
use crate::remote_credentials::{state, tell};
use crate::support::{Server, text_of};

/// Ours before an agent that wants the caller's own key.
async fn before(keeper: &Keeper) -> Server {
    keeper.asks_for("right");
    let yaml = format!(
        "agents: {{desk: {{a2a: {{url: '{}'}}, identity: {{forward: [x-key]}}}}}}",
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
