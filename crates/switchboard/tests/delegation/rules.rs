//! Rules by which messages go to other agents.

use std::process::Command;

use serde_json::{Value, json};
use switchboard_testkit::{Server, message, say, text_of};

/// A desk whose rules send messages on, and those who take them.
pub(crate) const DESK: &str = r#"
agents:
  desk:
    skills:
      - { id: talk, description: talks }
      - { id: sums, description: counts }
    script: [{ artifact: { name: answer, text: "the desk: {{text}}" } }]
    routes:
      - { name: poems, text: 'poem', to: poet }
      - { name: sums, skill: sums, to: counter }
      - { name: vip, when: 'has(metadata.vip) && metadata.vip', to: poet, priority: 5 }
      - { name: hours, text: '^when', answer: "We are open. You asked: {{text}}" }
      - { name: asks, text: 'which', to: asker }
      - { name: slow, text: 'slow', to: slow }
      - { name: old, text: 'song', to: counter, enabled: false }
      - { name: breaks, text: 'break', to: broken }
      - { name: curt, text: 'curt', to: curt }
  poet:
    script:
      - say: thinking
      - chunk: { name: poem, text: "roses " }
      - chunk: { name: poem, text: "are red", last: true }
      - complete: a poem
  counter: { script: [{ artifact: { name: sum, text: "42" } }] }
  asker:
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ ask: which one? }]
      - artifact: { name: choice, text: "you chose {{text}}" }
  slow:
    script:
      - chunk: { name: words, text: "one " }
      - wait: 300ms
      - chunk: { name: words, text: "two " }
      - wait: 300ms
      - chunk: { name: words, text: "three", last: true }
  broken: { script: [{ fail: out of order }] }
  curt: { reply: message, script: [{ reply: no }] }
"#;

pub(crate) fn made(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    let texts: Vec<String> = artifacts.iter().map(text_of).collect();
    texts.join("|")
}

/// The tasks of an agent, as its caller sees them.
pub(crate) async fn tasks(server: &Server, agent: &str) -> Vec<Value> {
    let path = format!("/a2a/{agent}/tasks?A2A-Version=1.0&historyLength=9&includeArtifacts=true");
    let list = server.get(&path).await.body;
    list["tasks"].as_array().expect("tasks").clone()
}

#[tokio::test]
async fn s3_048_a_rule_sends_a_message_to_the_agent_it_is_for() {
    let server = Server::serve(DESK).await;
    for (text, expected) in [
        ("write me a POEM", "roses are red"),
        (
            "when are you there?",
            "We are open. You asked: when are you there?",
        ),
        // A rule that is off takes nothing, and what no rule takes is the agent's own (S3-050).
        ("a song", "the desk: a song"),
    ] {
        let task = server.result("desk", "message/send", say(text)).await;
        assert_eq!(task["status"]["state"], "completed", "{task}");
        assert_eq!(made(&task).replace('\n', ""), expected, "{task}");
    }
    let by_skill = json!({"message": message("a poem?"), "metadata": {"skillId": "talk"}});
    let task = server.result("desk", "message/send", by_skill).await;
    assert_eq!(made(&task).replace('\n', ""), "roses are red");
    let by_skill = json!({"message": message("1 + 1"), "metadata": {"skillId": "sums"}});
    let task = server.result("desk", "message/send", by_skill).await;
    assert_eq!(made(&task), "42");
    let mut to_vip = say("when?");
    to_vip["message"]["metadata"] = json!({"vip": true});
    let task = server.result("desk", "message/send", to_vip).await;
    assert_eq!(
        made(&task).replace('\n', ""),
        "roses are red",
        "by priority"
    );
}

#[tokio::test]
async fn s3_049_what_is_handed_on_is_a_task_of_its_own_linked_both_ways() {
    let server = Server::serve(DESK).await;
    let mut params = say("a poem");
    params["message"]["metadata"] = json!({"lang": "de"});
    let events = server.stream("desk", "message/stream", params).await;
    let events = events.results().await;
    let parent = events[0]["id"].as_str().unwrap().to_owned();
    let children = tasks(&server, "poet").await;
    let [child] = children.as_slice() else {
        panic!("{children:?}");
    };
    let asked = &child["history"][0];
    assert_eq!(asked["referenceTaskIds"], json!([parent]));
    assert_eq!(asked["metadata"]["lang"], "de");
    assert_eq!(child["contextId"], events[0]["contextId"]);
    let delegate = json!({"agent": "poet", "taskId": child["id"]});
    let told: Vec<&Value> = events
        .iter()
        .filter(|event| event["metadata"]["delegate"] == delegate)
        .collect();
    let said: Vec<String> = told
        .iter()
        .map(|event| text_of(&event["status"]["message"]))
        .collect();
    assert_eq!(said, ["passed to poet", "poet: thinking"]);
    // What it makes comes as it is made.
    let chunks: Vec<&Value> = events
        .iter()
        .filter(|event| event["kind"] == "artifact-update")
        .collect();
    assert_eq!(chunks.len(), 2, "{events:?}");
    assert_eq!(chunks[0]["artifact"]["metadata"]["delegate"], delegate);
    assert_eq!(chunks[1]["append"], true);
    assert_eq!(chunks[1]["lastChunk"], true);
    let last = events.last().unwrap();
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(last["status"]["message"]["metadata"]["delegate"], delegate);
}

#[tokio::test]
async fn what_goes_wrong_elsewhere_is_told_with_its_reason() {
    let server = Server::serve(DESK).await;
    let task = server.result("desk", "message/send", say("break it")).await;
    assert_eq!(task["status"]["state"], "failed");
    assert_eq!(text_of(&task["status"]["message"]), "broken: out of order");
    // An agent that answers with a message answers all the same.
    let task = server.result("desk", "message/send", say("be curt")).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
    assert_eq!(text_of(&task["status"]["message"]), "no");
}

#[tokio::test]
async fn a_question_comes_back_through_a_rule_and_its_answer_goes_the_same_way() {
    let server = Server::serve(DESK).await;
    let asked = server.result("desk", "message/send", say("which?")).await;
    assert_eq!(asked["status"]["state"], "input-required", "{asked}");
    assert_eq!(text_of(&asked["status"]["message"]), "which one?");
    let mut answer = say("a poem, and slow");
    answer["message"]["taskId"] = asked["id"].clone();
    let done = server.result("desk", "message/send", answer).await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    // Also though other rules would take these words.
    assert_eq!(made(&done), "you chose a poem, and slow");
    assert_eq!(tasks(&server, "asker").await.len(), 1);
}

#[tokio::test]
async fn an_answer_reaches_an_agent_that_has_gone_on_without_it() {
    let server = Server::serve(
        "
agents:
  desk: { script: [{ complete: own }], routes: [{ name: all, to: hasty }] }
  hasty:
    timeouts: { input: 100ms }
    on_input_timeout: continue
    script:
      - choose:
          - when: { timed_out: true }
            do: [{ wait: 1s }, { ask: 'still: which one?' }]
          - when: { turn: 1 }
            do: [{ ask: 'which one?' }]
      - complete: 'you chose {{text}}'
",
    )
    .await;
    let asked = server.result("desk", "message/send", say("go")).await;
    assert_eq!(text_of(&asked["status"]["message"]), "which one?");
    let child = tasks(&server, "hasty").await[0]["id"].clone();
    server.until("hasty", &child, &["working"]).await;
    let mut answer = say("the red one");
    answer["message"]["taskId"] = asked["id"].clone();
    answer["configuration"] = json!({"blocking": false});
    server.result("desk", "message/send", answer).await;
    let done = server.until("hasty", &child, &["completed"]).await;
    let chosen = text_of(&done["status"]["message"]);
    assert_eq!(chosen, "you chose the red one");
}

#[tokio::test]
async fn a_cancel_goes_on_to_whoever_has_the_task() {
    let server = Server::serve(DESK).await;
    let mut events = server.stream("desk", "message/stream", say("slow")).await;
    let first = events.next().await.unwrap().data["result"].clone();
    loop {
        let event = events.next().await.unwrap();
        if event.data["result"]["kind"] == "artifact-update" {
            break;
        }
    }
    let id = json!({"id": first["id"]});
    let canceled = server.result("desk", "tasks/cancel", id).await;
    assert_eq!(canceled["status"]["state"], "canceled");
    let children = tasks(&server, "slow").await;
    server
        .until("slow", &children[0]["id"], &["canceled"])
        .await;

    // Also if it only waits for an answer.
    let asked = server.result("desk", "message/send", say("which?")).await;
    let id = json!({"id": asked["id"]});
    server.result("desk", "tasks/cancel", id).await;
    let children = tasks(&server, "asker").await;
    server
        .until("asker", &children[0]["id"], &["canceled"])
        .await;
}

#[tokio::test]
async fn a_task_that_was_handed_on_goes_on_after_a_crash_and_is_made_once() {
    let mut server = Server::serve(DESK).await;
    let mut events = server.stream("desk", "message/stream", say("slow")).await;
    let first = events.next().await.unwrap().data["result"].clone();
    loop {
        let event = events.next().await.unwrap();
        if event.data["result"]["kind"] == "artifact-update" {
            break;
        }
    }
    server.kill().await;
    server.restart().await;
    let ended = ["completed", "failed"];
    let done = server.until("desk", &first["id"], &ended).await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(made(&done).replace('\n', ""), "one two three");
    assert_eq!(tasks(&server, "slow").await.len(), 1);
}

#[tokio::test]
async fn an_agent_that_not_everyone_may_know_of_is_not_named_by_a_rule() {
    let server = Server::serve(
        "
agents:
  desk: { script: [{ complete: own }], routes: [{ name: all, to: back }] }
  back: { visible: false, script: [{ say: hello }, { artifact: { name: a, text: done } }] }
",
    )
    .await;
    let events = server.stream("desk", "message/stream", say("go")).await;
    let events = events.results().await;
    assert_eq!(events.last().unwrap()["status"]["state"], "completed");
    let told = Value::from(events).to_string();
    assert!(told.contains("passed to #1"), "{told}");
    assert!(!told.contains("back"), "{told}");
}

#[tokio::test]
async fn two_agents_whose_rules_send_everything_to_each_other_are_stopped() {
    let server = Server::serve(
        "
agents:
  a: { script: [{ complete: own }], routes: [{ to: b }] }
  b: { script: [{ complete: own }], routes: [{ to: a }] }
",
    )
    .await;
    let task = server.result("a", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let text = text_of(&task["status"]["message"]);
    assert!(text.contains("delegation loop: a → b → a"), "{text}");
}

#[test]
fn the_command_tells_which_rule_takes_a_message_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("switchboard.yaml");
    std::fs::write(&file, DESK).unwrap();
    let route = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .arg("route")
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text, error)
    };
    let (code, told, _) = route(&["a poem"]);
    assert_eq!(code, Some(0));
    assert_eq!(told, "to poet by poems (switchboard.yaml:9:9)\n");
    let (_, told, _) = route(&["a song"]);
    assert_eq!(told, "desk handles it itself\n");
    let (_, told, _) = route(&["--explain", "--skill", "sums", "a song"]);
    let expected = "\
to counter by sums (switchboard.yaml:10:9)
  vip (switchboard.yaml:11:9): `when` is false: metadata.vip is missing
  poems (switchboard.yaml:9:9): the text does not match
  sums (switchboard.yaml:10:9): matches: to counter
  hours (switchboard.yaml:12:9): not evaluated: an earlier rule matched
";
    assert!(told.starts_with(expected), "{told}");
    let (_, told, _) = route(&["--metadata", r#"{"vip": true}"#, "hello"]);
    assert!(told.starts_with("to poet by vip"), "{told}");
    for (args, expected) in [
        (["--agent", "desc", "x"], "no agent named `desc`"),
        (["--metadata", "[1]", "x"], "--metadata cannot be read"),
        (["--caller", r#"{"who": 1}"#, "x"], "--caller has no `who`"),
    ] {
        let (code, _, error) = route(&args);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_rule_that_a_caller_makes_too_expensive_does_not_apply() {
    const NESTED: &str = r#"
agents:
  desk:
    script: [{ complete: "own" }]
    routes:
      - name: twice
        when: 'metadata.a.exists(x, metadata.a.exists(y, x + y == "b"))'
        answer: routed
"#;
    let server = Server::serve(NESTED).await;
    let send = |list: Vec<&str>| {
        let mut params = say("x");
        params["message"]["metadata"] = json!({ "a": list });
        params
    };
    let routed = server
        .result("desk", "message/send", send(vec!["", "b"]))
        .await;
    assert_eq!(text_of(&routed["artifacts"][0]), "routed", "{routed}");
    // About 10 KB: four million pairs.
    let hostile = send(vec!["aa"; 2000]);
    let own = server.result("desk", "message/send", hostile).await;
    assert_eq!(text_of(&own["status"]["message"]), "own", "{own}");
    let large = vec!["b"; 30_000];
    let own = server.result("desk", "message/send", send(large)).await;
    assert_eq!(text_of(&own["status"]["message"]), "own", "{own}");
    let log = server.logged();
    assert!(log.contains("more than 200000 steps"), "{log}");
}
