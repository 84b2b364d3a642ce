//! Questions of other agents that were passed on, and that nobody answers any more.

use serde_json::{Value, json};
use switchboard_testkit::{Server, begin, say};

const AGENTS: &str = "
limits: { tasks: 1 }
agents:
  desk: { script: [{ call: { agent: other } }, { complete: done }] }
  other: { script: [{ choose: [{ when: { turn: 1 }, do: [{ ask: 'Which?' }] }] }, { complete: own }] }
  busy: { script: [{ wait: 10m }] }
";

/// The only task of an agent.
async fn task_of(server: &Server, agent: &str) -> Value {
    let path = format!("/a2a/{agent}/tasks?A2A-Version=1.0");
    let tasks = server.get(&path).await.body["tasks"].clone();
    assert_eq!(tasks.as_array().map(Vec::len), Some(1), "{tasks}");
    tasks[0]["id"].clone()
}

#[tokio::test]
async fn a_question_of_another_agent_is_withdrawn_though_its_answer_stands_in_line() {
    for answered in [false, true] {
        let server = Server::serve(AGENTS).await;
        let asked = server.result("desk", "message/send", say("x")).await;
        assert_eq!(asked["status"]["state"], "input-required", "{asked}");
        server.result("busy", "message/send", begin("y")).await;
        if answered {
            let mut answer = begin("green");
            answer["message"]["taskId"] = asked["id"].clone();
            server.result("desk", "message/send", answer).await;
        }
        let gone = json!({"id": asked["id"]});
        let canceled = server.result("desk", "tasks/cancel", gone).await;
        assert_eq!(canceled["status"]["state"], "canceled", "{canceled}");
        let others = task_of(&server, "other").await;
        server.until("other", &others, &["canceled"]).await;
    }
}
