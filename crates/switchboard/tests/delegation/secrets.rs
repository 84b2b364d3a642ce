//! What answers a question for credentials goes to the agent that asked for them, however far away, and is kept nowhere.

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
async fn is_kept_nowhere(mut server: Server) {
    server.kill().await;
    let kept = std::fs::read_dir(server.data()).expect("a directory");
    let kept: Vec<_> = kept.flatten().map(|file| file.path()).collect();
    assert!(!kept.is_empty());
    for file in kept {
        let bytes = std::fs::read(&file).expect("a file");
        let found = bytes.windows(9).any(|text| text == b"swordfish");
        assert!(!found, "{}", file.display());
    }
    assert!(!server.logged().contains("swordfish"));
}

#[tokio::test]
async fn a_secret_goes_to_the_agent_that_asked_and_to_no_other() {
    for agent in ["front", "desk", "ruled"] {
        let server = Server::serve(AGENTS).await;
        let done = answered(&server, agent, true).await;
        assert_eq!(done["status"]["state"], "completed", "{agent}: {done}");
        assert_eq!(said(&done), DONE, "{agent}");
        is_kept_nowhere(server).await;
    }
}

#[tokio::test]
async fn a_crash_after_the_secret_was_told_changes_nothing() {
    for agent in ["front", "desk", "ruled"] {
        let mut server = Server::serve(AGENTS).await;
        let task = answered(&server, agent, false).await;
        // The other agent is at work: whoever had to hear the secret has.
        loop {
            let path = "/a2a/worker/tasks?A2A-Version=1.0";
            let tasks = server.get(path).await.body["tasks"].clone();
            if tasks[0]["status"]["state"] == "TASK_STATE_WORKING" {
                break;
            }
        }
        server.kill().await;
        server.restart().await;
        let ended = ["completed", "failed", "auth-required"];
        let done = server.until(agent, &task["id"], &ended).await;
        assert_eq!(said(&done), DONE, "{agent}: {done}");
        is_kept_nowhere(server).await;
    }
}
