//! A task and those that were made for it name each other in `referenceTaskIds`, in every binding that has the field.

use serde_json::{Value, json};
use switchboard_client::{CallOptions, Client, Preference};
use switchboard_testkit::{Server, events, say};
use switchboard_types::model::{Binding, Event, TaskId};

/// By a script that calls, one that hands on, a rule, and what goes wrong or asks on the way.
const AGENTS: &str = "
interfaces: [jsonrpc, http_json, grpc]
agents:
  calls: { script: [{ call: { agent: poet } }, { complete: '{{call.poet.text}}' }] }
  hands: { script: [{ hand_off: poet }] }
  rules: { script: [{ complete: own }], routes: [{ name: all, to: poet }] }
  fails: { script: [{ hand_off: broken }] }
  asks: { script: [{ hand_off: asker }] }
  quiet: { script: [{ hand_off: mute }] }
  poet: { script: [{ say: 'on it' }, { artifact: { name: poem, text: roses } }, { complete: done }] }
  broken: { script: [{ fail: 'no ink' }] }
  asker: { script: [{ ask: 'which one?' }] }
  mute: { script: [{ artifact: { name: poem, text: roses } }] }
  alone: { script: [{ say: 'hm' }, { complete: done }] }
";

/// The only task of an agent.
async fn only(server: &Server, agent: &str) -> Value {
    let path = format!("/a2a/{agent}/tasks?A2A-Version=1.0&historyLength=50");
    let tasks = server.get(&path).await.body["tasks"].clone();
    assert_eq!(tasks.as_array().map(Vec::len), Some(1), "{agent}: {tasks}");
    tasks[0].clone()
}

#[tokio::test]
async fn a_task_and_the_one_made_for_it_name_each_other_however_it_was_handed_on() {
    for (agent, other, state) in [
        ("calls", "poet", "TASK_STATE_COMPLETED"),
        ("hands", "poet", "TASK_STATE_COMPLETED"),
        ("rules", "poet", "TASK_STATE_COMPLETED"),
        ("quiet", "mute", "TASK_STATE_COMPLETED"),
        ("fails", "broken", "TASK_STATE_FAILED"),
        ("asks", "asker", "TASK_STATE_INPUT_REQUIRED"),
    ] {
        let server = Server::serve(AGENTS).await;
        let sent = server.stream(agent, "message/stream", say("go")).await;
        let events = sent.results().await;
        let (parent, child) = (only(&server, agent).await, only(&server, other).await);
        assert_eq!(parent["status"]["state"], state, "{parent}");
        assert_eq!(
            child["history"][0]["referenceTaskIds"],
            json!([parent["id"]]),
            "{agent}"
        );
        let result = &parent["status"]["message"];
        assert_eq!(result["referenceTaskIds"], json!([child["id"]]), "{agent}");
        // What is said on the way names it, too; what the caller has said does not.
        assert_eq!(parent["history"][0].get("referenceTaskIds"), None);
        let said = events.iter().map(|event| &event["status"]["message"]);
        let said: Vec<&Value> = said.filter(|message| message.is_object()).collect();
        assert!(said.len() >= 2, "{events:?}");
        for message in said {
            assert_eq!(message["referenceTaskIds"], json!([child["id"]]), "{agent}");
        }
    }
    let server = Server::serve(AGENTS).await;
    server.result("alone", "message/send", say("go")).await;
    let alone = only(&server, "alone").await;
    assert!(!alone.to_string().contains("referenceTaskIds"), "{alone}");
}

#[tokio::test]
async fn every_binding_that_has_the_field_tells_it() {
    let server = Server::serve(AGENTS).await;
    let task = server.result("hands", "message/send", say("go")).await;
    let child = json!([only(&server, "poet").await["id"]]);
    assert_eq!(task["status"]["message"]["referenceTaskIds"], child);
    let id = task["id"].as_str().expect("an id");
    let get = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
    let v1 = server.post_v1("/a2a/hands", &get).await.body["result"].clone();
    assert_eq!(v1["status"]["message"]["referenceTaskIds"], child, "{v1}");
    let path = format!("/a2a/hands/tasks/{id}?A2A-Version=1.0");
    let rest = server.get(&path).await.body;
    assert_eq!(
        rest["status"]["message"]["referenceTaskIds"], child,
        "{rest}"
    );
    // Readers of the REST form of 0.3 would refuse what its proto does not have.
    let path = format!("/a2a/hands/v1/tasks/{id}?A2A-Version=0.3");
    let old = server.get(&path).await;
    assert_eq!(old.status, 200, "{old:?}");
    assert!(!old.body.to_string().contains("eferenceTaskIds"), "{old:?}");
    let stream =
        json!({"message": {"messageId": "s", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let stream = server
        .http
        .post(server.url("/a2a/hands/message:stream"))
        .header("A2A-Version", "1.0")
        .json(&stream);
    let told = events(stream).await.rest().await;
    let last = &told.last().expect("events").data["statusUpdate"]["status"];
    let named = last["message"]["referenceTaskIds"].as_array();
    assert_eq!(named.map(Vec::len), Some(1), "{last}");
    assert_eq!(over_grpc(&server).await.len(), 1);
}

/// What the last message of a stream names.
async fn over_grpc(server: &Server) -> Vec<TaskId> {
    let prefer = Preference {
        bindings: vec![Binding::Grpc],
        ..Preference::default()
    };
    let client = Client::builder()
        .only(prefer)
        .connect(server.url("/a2a/hands"))
        .await
        .expect("a client");
    let mut heard = client
        .stream_with(switchboard_client::text("x"), &CallOptions::new())
        .await
        .expect("a stream");
    let mut named = Vec::new();
    while let Some(item) = heard.next().await {
        if let Event::Status(update) = item.expect("an event").event
            && let Some(message) = update.status.message
        {
            named.clone_from(&message.reference_task_ids);
        }
    }
    named
}

#[tokio::test]
async fn a_task_of_another_server_is_not_named() {
    let upstream = Server::serve(AGENTS).await;
    let yaml = format!(
        "agents: {{ far: {{ a2a: {{ url: '{}/a2a/hands' }} }} }}",
        upstream.base
    );
    let ours = Server::serve(&yaml).await;
    let task = ours.result("far", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
    // The other one does name its own.
    let theirs = only(&upstream, "hands").await;
    assert!(theirs.to_string().contains("referenceTaskIds"), "{theirs}");
    assert!(!task.to_string().contains("referenceTaskIds"), "{task}");
}
