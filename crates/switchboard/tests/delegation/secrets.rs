//! What answers a question for credentials goes to the agent that asked for them, however far away, and stands nowhere in clear.

use serde_json::{Value, json};
use switchboard_testkit::{Server, message, say};

use crate::said;

/// By a script, by one that calls that, and by a rule. What was asked for comes again at the end.
const AGENTS: &str = "
agents:
  front:
    script:
      - call: { agent: porter }
      - call: { agent: worker }
      - complete: '{{call.porter.text}}, {{call.worker.text}}: {{text}}'
  desk: { script: [{ hand_off: front }] }
  ruled: { script: [{ complete: own }], routes: [{ name: all, to: front }] }
  porter:
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ require_auth: 'your code, please' }]
          - when: { text: swordfish-4711 }
            do: [{ complete: welcome }]
      - reject: wrong
  worker: { script: [{ say: on it }, { wait: 1s }, { complete: 'did {{text}}' }] }
";

const DONE: &str = "welcome, did open the door: open the door";

/// Asks `agent`, and answers its question for a code; `blocking` waits for what comes of it.
async fn answered(server: &Server, agent: &str, blocking: bool) -> Value {
    let door = say("open the door");
    let asked = server.result(agent, "message/send", door).await;
    assert_eq!(asked["status"]["state"], "auth-required", "{asked}");
    let mut reply = message("swordfish-4711");
    reply["taskId"] = asked["id"].clone();
    let send = json!({"message": reply, "configuration": {"blocking": blocking}});
    server.result(agent, "message/send", send).await
}

/// The code is in none of the files, and in none of the lines.
fn is_nowhere_in_clear(server: &Server) {
    let stored = std::fs::read_dir(server.data()).expect("a directory");
    let stored: Vec<_> = stored.flatten().map(|file| file.path()).collect();
    assert!(!stored.is_empty());
    for file in stored {
        let bytes = std::fs::read(&file).expect("a file");
        let found = bytes.windows(9).any(|text| text == b"swordfish");
        assert!(!found, "{}", file.display());
    }
    assert!(!server.logged().contains("swordfish"));
}

#[tokio::test]
async fn a_secret_goes_to_the_agent_that_asked_and_to_no_other() {
    for agent in ["front", "desk", "ruled"] {
        let mut server = Server::serve(AGENTS).await;
        let done = answered(&server, agent, true).await;
        assert_eq!(done["status"]["state"], "completed", "{agent}: {done}");
        assert_eq!(said(&done), DONE, "{agent}");
        server.kill().await;
        is_nowhere_in_clear(&server);
    }
}

/// Crashes once a task of `busy` works, after `agent` was given the secret.
async fn survives_a_crash(agents: &str, agent: &str, busy: &str) {
    let mut server = Server::serve(agents).await;
    let task = answered(&server, agent, false).await;
    loop {
        let path = format!("/a2a/{busy}/tasks?A2A-Version=1.0");
        let tasks = server.get(&path).await.body["tasks"].clone();
        if tasks[0]["status"]["state"] == "TASK_STATE_WORKING" {
            break;
        }
    }
    server.kill().await;
    is_nowhere_in_clear(&server);
    server.restart().await;
    let ended = ["completed", "failed", "auth-required"];
    let done = server.until(agent, &task["id"], &ended).await;
    assert_eq!(said(&done), DONE, "{agent}: {done}");
    server.kill().await;
    is_nowhere_in_clear(&server);
}

#[tokio::test]
async fn a_crash_after_the_secret_arrived_changes_nothing() {
    for agent in ["front", "desk", "ruled"] {
        // The other agent is at work: the one that had to receive the secret has.
        survives_a_crash(AGENTS, agent, "worker").await;
    }
}

#[tokio::test]
async fn a_secret_in_flight_at_a_crash_arrives_after_the_restart() {
    // The front does not pass the answer on for a while.
    let front = "script:\n      - call: { agent: porter }";
    let slow = "script:\n      - choose: [{ when: { turn: 2 }, do: [{ wait: 1s }] }]\n      - call: { agent: porter }";
    let agents = AGENTS.replacen(front, slow, 1);
    assert_ne!(agents, AGENTS);
    for agent in ["front", "desk", "ruled"] {
        survives_a_crash(&agents, agent, "front").await;
    }
}
