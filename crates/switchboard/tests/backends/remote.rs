//! A remote A2A agent behind ours: the task is ours, whatever the other side has.

use serde_json::{Value, json};
use switchboard_testkit::{Server, say, text_of};

use crate::stranger::Stranger;

/// Agents to stand behind others.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

pub(crate) const UPSTREAM: &str = r#"
interfaces: [jsonrpc, http_json, grpc]
agents:
  writer:
    description: Writes
    skills: [{id: write, description: Writes things}]
    script:
      - say: thinking
      - repeat: {words: "{{text}}", do: [{wait: 10ms}, {chunk: {name: answer, text: "{{word}}"}}]}
      - complete: done
  asker:
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ask: "Which colour?"}]
      - complete: "painted {{text}}"
  mind:
    script: [{complete: "before: {{earlier.text}}"}]
  sleeper:
    script: [{say: asleep}, {wait: 10m}, {complete: awake}]
  rude:
    script: [{reject: never}]
  broken:
    script: [{fail: "no paper"}]
  deaf:
    streaming: false
    push_notifications: false
    script: [{say: hm}, {wait: 200ms}, {artifact: {name: it, text: "made of {{text}}"}}, {complete: done}]
"#;

/// Ours, with one agent for each of theirs, and more of the same kind for each way to speak.
pub(crate) fn front(base: &str) -> String {
    let names = [
        "writer", "asker", "mind", "sleeper", "rude", "broken", "deaf",
    ];
    let mut yaml = "push: {allow: [127.0.0.1]}\nagents:\n".to_owned();
    for name in names {
        yaml += &format!("  {name}: {{a2a: {{url: '{base}/a2a/{name}'}}}}\n");
    }
    for (way, more) in [
        ("old", "version: '0.3'"),
        ("rest", "binding: rest"),
        ("old-rest", "binding: rest, version: '0.3'"),
        ("grpc", "binding: grpc"),
    ] {
        yaml += &format!("  writer-{way}: {{a2a: {{url: '{base}/a2a/writer', {more}}}}}\n");
    }
    yaml
}

/// A remote server and ours before it.
pub(crate) async fn pair() -> (Server, Server) {
    let upstream = Server::serve(UPSTREAM).await;
    let ours = Server::serve(&front(&upstream.base)).await;
    (upstream, ours)
}

/// The tasks that an agent has.
pub(crate) async fn tasks(server: &Server, agent: &str) -> Vec<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"includeArtifacts": true}});
    let answer = server.post_v1(&format!("/a2a/{agent}"), &body).await;
    answer.body["result"]["tasks"].as_array().unwrap().clone()
}

fn said(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

#[tokio::test]
async fn a_remote_agent_is_spoken_to_in_every_version_and_binding() {
    let (upstream, ours) = pair().await;
    let ways = [
        "writer",
        "writer-old",
        "writer-rest",
        "writer-old-rest",
        "writer-grpc",
    ];
    for way in ways {
        let stream = ours
            .stream(way, "message/stream", say("one two three"))
            .await;
        let events = stream.results().await;
        let kinds = events.iter().map(|event| match event["kind"].as_str() {
            Some("artifact-update") => text_of(&event["artifact"]),
            Some("status-update") => {
                let state = event["status"]["state"].as_str().unwrap();
                format!("{state} {}", text_of(&event["status"]["message"]))
            }
            _ => "task".to_owned(),
        });
        let kinds: Vec<String> = kinds.collect();
        let wanted = [
            "task",
            "working ",
            "working thinking",
            "one ",
            "two ",
            "three",
            "completed done",
        ];
        assert_eq!(kinds, wanted, "{way}");
        let task = &events[0]["id"];
        let task = ours.result(way, "tasks/get", json!({"id": task})).await;
        assert_eq!(text_of(&task["artifacts"][0]), "one two three", "{way}");
    }
    assert_eq!(tasks(&upstream, "writer").await.len(), ways.len());
}

#[tokio::test]
async fn a_question_comes_back_to_the_caller_and_the_answer_to_the_task_that_asked() {
    let (upstream, ours) = pair().await;
    let asked = ours.result("asker", "message/send", say("paint")).await;
    assert_eq!(asked["status"]["state"], "input-required");
    assert_eq!(said(&asked), "Which colour?");
    // The same message id as before: some clients count badly.
    let mut answer = say("green");
    answer["message"]["taskId"] = asked["id"].clone();
    answer["message"]["messageId"] = json!("m-5");
    let done = ours.result("asker", "message/send", answer).await;
    assert_eq!(done["id"], asked["id"]);
    assert_eq!(said(&done), "painted green");
    assert_eq!(tasks(&upstream, "asker").await.len(), 1);
}

#[tokio::test]
async fn a_conversation_here_is_one_conversation_there() {
    let (upstream, ours) = pair().await;
    let first = ours.result("mind", "message/send", say("one")).await;
    let mut next = say("second");
    next["message"]["contextId"] = first["contextId"].clone();
    let second = ours.result("mind", "message/send", next).await;
    assert_eq!(said(&second), "before: one");
    let other = ours.result("mind", "message/send", say("other")).await;
    assert_eq!(said(&other), "before: ");
    let theirs = tasks(&upstream, "mind").await;
    assert_eq!(theirs[1]["contextId"], theirs[2]["contextId"]);
    assert_ne!(theirs[0]["contextId"], theirs[1]["contextId"]);
    assert_ne!(theirs[1]["contextId"], first["contextId"]);
}

#[tokio::test]
async fn refusals_and_failures_are_told_as_they_were_said() {
    let (_upstream, ours) = pair().await;
    let rejected = ours.result("rude", "message/send", say("x")).await;
    assert_eq!(rejected["status"]["state"], "rejected");
    assert_eq!(said(&rejected), "never");
    let failed = ours.result("broken", "message/send", say("x")).await;
    assert_eq!(failed["status"]["state"], "failed");
    assert_eq!(said(&failed), "no paper");
}

#[tokio::test]
async fn cancel_reaches_the_remote_agent_while_it_works_and_while_it_waits() {
    let (upstream, ours) = pair().await;
    let mut stream = ours.stream("sleeper", "message/stream", say("x")).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while stream.next().await.unwrap().data["result"]["status"]["message"].is_null() {}
    let canceled = ours
        .result("sleeper", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
    let theirs = tasks(&upstream, "sleeper").await;
    assert_eq!(theirs[0]["status"]["state"], "TASK_STATE_CANCELED");

    let asked = ours.result("asker", "message/send", say("paint")).await;
    let task = json!({"id": asked["id"]});
    ours.result("asker", "tasks/cancel", task).await;
    let theirs = tasks(&upstream, "asker").await[0]["id"].clone();
    upstream.until("asker", &theirs, &["canceled"]).await;
}

#[tokio::test]
async fn streams_subscriptions_lists_and_replay_work_before_an_agent_without_them() {
    let (_upstream, ours) = pair().await;
    let mut stream = ours.stream("deaf", "message/stream", say("wool")).await;
    let first = stream.next().await.unwrap();
    let task = first.data["result"]["id"].clone();
    let watching = ours
        .stream("deaf", "tasks/resubscribe", json!({"id": task}))
        .await;
    let events = stream.rest().await;
    let last = &events.last().unwrap().data["result"];
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(text_of(&last["status"]["message"]), "done");
    let made = events
        .iter()
        .filter(|e| e.data["result"]["kind"] == "artifact-update");
    let made: Vec<String> = made
        .map(|e| text_of(&e.data["result"]["artifact"]))
        .collect();
    assert_eq!(made, ["made of wool"]);
    let watched = watching.results().await;
    assert_eq!(watched.last().unwrap(), last);
    assert_eq!(tasks(&ours, "deaf").await.len(), 1);
    // Replay: everything after the first event, once more.
    let request = ours
        .http
        .post(ours.url("/a2a/deaf"))
        .header("Last-Event-ID", first.id.unwrap());
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
    let again = switchboard_testkit::events(request.json(&body))
        .await
        .results()
        .await;
    assert_eq!(again.len(), events.len());
    assert_eq!(again.last().unwrap(), last);
}

#[tokio::test]
async fn webhooks_are_called_for_an_agent_that_calls_none() {
    let (_upstream, ours) = pair().await;
    let (called, mut calls) = tokio::sync::mpsc::channel(64);
    let app = axum::Router::new().fallback(move |body: axum::body::Bytes| {
        let called = called.clone();
        async move { called.send(body).await.unwrap() }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let mut owner = tokio::task::JoinSet::new();
    owner.spawn(async move { axum::serve(listener, app).await });
    let mut send = say("wool");
    send["configuration"] = json!({"blocking": false, "pushNotificationConfig": {"url": url}});
    let task = ours.result("deaf", "message/send", send).await;
    loop {
        let posted: Value = serde_json::from_slice(&calls.recv().await.unwrap()).unwrap();
        if posted["status"]["state"] == "completed" {
            assert_eq!(posted["id"], task["id"]);
            break;
        }
    }
}

#[tokio::test]
async fn a_bare_answer_ends_the_task_and_who_we_are_is_shown() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents:\n  plain: {{a2a: {{url: '{0}'}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}\n  \
         bare: {{reply: message, a2a: {{url: '{0}'}}, identity: {{forward: [x-key]}}}}\n  \
         nobody: {{a2a: {{url: '{0}'}}}}\n",
        stranger.base
    );
    let ours = Server::serve_with(&yaml, &[], &[("KEY", "s3cr3t")]).await;
    let done = ours.result("plain", "message/send", say("x")).await;
    assert_eq!(done["status"]["state"], "completed");
    assert_eq!(said(&done), "heard x");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("y")});
    let request = ours
        .http
        .post(ours.url("/a2a/bare"))
        .header("x-key", "mine")
        .header("traceparent", format!("00-{TRACE}-b7ad6b7169203331-01"));
    let reply = switchboard_testkit::answer(request.json(&body)).await.body["result"].clone();
    assert_eq!(reply["kind"], "message");
    assert_eq!(text_of(&reply), "heard y");
    let refused = ours.result("nobody", "message/send", say("z")).await;
    assert_eq!(refused["status"]["state"], "failed");
    assert!(said(&refused).contains("credentials"), "{refused}");
    let asked = stranger.asked();
    let keys: Vec<_> = asked
        .iter()
        .map(|(headers, _)| headers["x-key"].to_str().unwrap())
        .collect();
    assert_eq!(keys, ["s3cr3t", "mine"]);
    let told = asked[1].0["traceparent"].to_str().unwrap();
    assert!(told.contains(TRACE), "{told}");
    assert!(!ours.logged().contains("s3cr3t"));
    let id = asked[0].1["messageId"].as_str().unwrap();
    assert_eq!(id, format!("{}-1", done["id"].as_str().unwrap()));
}

#[tokio::test]
async fn a_remote_agent_is_asked_whatever_its_card_says_of_media_types() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents:\n  open: {{a2a: {{url: '{0}'}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}\n  \
         strict: {{a2a: {{url: '{0}'}}, input_modes: [text/plain], \
         identity: {{headers: {{x-key: '${{KEY}}'}}}}}}\n",
        stranger.base
    );
    let ours = Server::serve_with(&yaml, &[], &[("KEY", "k")]).await;
    let sound =
        switchboard_testkit::with("x", switchboard_testkit::file("a.ogg", "audio/ogg", "aGk="));
    let done = ours.result("open", "message/send", sound.clone()).await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    let (_, message) = &stranger.asked()[0];
    assert_eq!(message["parts"][1]["file"]["mimeType"], "audio/ogg");
    let refused = ours.error("strict", "message/send", sound).await;
    assert_eq!(refused["code"], -32005);
    assert_eq!(stranger.asked().len(), 1);
}
