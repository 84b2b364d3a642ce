//! `send`

use serde_json::Value;

use crate::agent::{Agent, bare, ran};

#[tokio::test]
async fn the_outcome_ends_with_the_three_lines() {
    let agent = Agent::start().await;
    let ran = agent.run(&["send", "hello there"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out
            .contains("Name: answer\nText:\nYou said: hello there\n\n"),
        "{}",
        ran.out
    );
    let last: Vec<&str> = ran.out.lines().rev().take(3).collect();
    assert!(last[2].starts_with("Task: "), "{last:?}");
    assert!(last[1].starts_with("Context: "), "{last:?}");
    assert_eq!(last[0], "State: TASK_STATE_COMPLETED");
    assert!(ran.err.contains("working: Looking"), "{}", ran.err);
}

#[tokio::test]
async fn every_binding_and_version_tells_the_same() {
    let agent = Agent::start().await;
    for version in ["1.0", "0.3"] {
        for binding in ["jsonrpc", "http+json"] {
            let args = [
                "send",
                "same",
                "--a2a-version",
                version,
                "--transport",
                binding,
            ];
            let sent = agent.json(&args).await;
            let task = &sent["task"];
            assert_eq!(
                task["status"]["state"], "TASK_STATE_COMPLETED",
                "{binding} {version}"
            );
            let text = &task["artifacts"][0]["parts"][0]["text"];
            assert_eq!(text, "You said: same", "{binding} {version}");
        }
    }
}

#[tokio::test]
async fn a_stream_is_one_object_a_line_and_ends_with_the_state() {
    let agent = Agent::start().await;
    let ran = agent
        .run(&["send", "--stream", "-o", "json", "hello"])
        .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(events.len() >= 4, "{events:?}");
    assert!(events[0]["task"]["id"].is_string(), "{events:?}");
    let last = &events.last().unwrap()["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(last["taskId"].is_string() && last["contextId"].is_string());

    let text = agent.run(&["send", "--stream", "hello"]).await;
    let lines: Vec<&str> = text.out.lines().rev().take(3).collect();
    assert_eq!(lines[0], "State: TASK_STATE_COMPLETED", "{}", text.out);
    assert!(lines[2].starts_with("Task: "), "{}", text.out);
}

#[tokio::test]
async fn a_question_is_told_with_the_command_that_answers_it() {
    let agent = Agent::start().await;
    let asked = agent.run(&["send", "ask me"]).await;
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert_eq!(asked.field("State"), "TASK_STATE_INPUT_REQUIRED");
    assert!(asked.out.contains("Text:\nWhich one?\n"), "{}", asked.out);
    assert!(
        asked
            .err
            .contains("warning: the task waits: input-required"),
        "{}",
        asked.err
    );
    let task = asked.field("Task");
    let resume = asked.field("Resume");
    let reference = agent.reference();
    assert_eq!(
        resume,
        format!("switchboard send -a {reference} --task-id {task} \"...\"")
    );
    let answered = agent
        .run(&["send", "--task-id", task, "the blue one"])
        .await;
    assert_eq!(answered.field("State"), "TASK_STATE_COMPLETED");
    assert!(
        answered.out.contains("You said the blue one."),
        "{}",
        answered.out
    );
    assert_eq!(answered.field("Task"), task);
}

#[tokio::test]
async fn a_task_that_fails_is_no_failure_of_the_command() {
    let agent = Agent::start().await;
    let ran = agent.run(&["send", "fail please"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.field("State"), "TASK_STATE_FAILED");
    assert!(
        ran.err.contains("warning: the task ended: failed"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn a_bare_answer_is_a_message() {
    let agent = Agent::start().await;
    let sent = agent.json(&["send", "short"]).await;
    let task = sent["task"].is_object();
    let text = if task {
        sent["task"]["status"]["message"]["parts"][0]["text"].clone()
    } else {
        sent["message"]["parts"][0]["text"].clone()
    };
    assert_eq!(text, "Just a word.");
}

#[tokio::test]
async fn without_waiting_there_are_ids_at_once() {
    let agent = Agent::start().await;
    let ran = agent.run(&["send", "--async", "long"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let task = ran.field("Task");
    assert!(
        ran.field("Resume").contains(&format!("--wait {task}")),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn waiting_ends_with_a_timeout_and_the_way_to_go_on() {
    let agent = Agent::start().await;
    let ran = agent
        .run(&["send", "--timeout", "1s", "-o", "json", "long"])
        .await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(error["error"]["code"], "A2ACLI_ERR_TIMEOUT");
    let hint = error["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("switchboard task get -a "), "{hint}");
}

#[tokio::test]
async fn parts_arrive_in_their_order() {
    let agent = Agent::start().await;
    std::fs::write(
        agent.dir.path().join("a.json"),
        r#"{"n": 12345678901234567890}"#,
    )
    .unwrap();
    let args = [
        "send",
        "--text",
        "one",
        "--data",
        "a.json",
        "--text",
        "two",
        "--history",
        "5",
    ];
    let sent = agent.json(&args).await;
    let task = agent
        .json(&[
            "task",
            "get",
            sent["task"]["id"].as_str().unwrap(),
            "--history",
            "5",
        ])
        .await;
    let parts = &task["history"][0]["parts"];
    assert_eq!(parts[0]["text"], "one");
    assert_eq!(parts[1]["data"]["n"].to_string(), "12345678901234567890");
    assert_eq!(parts[2]["text"], "two");
}

#[tokio::test]
async fn what_an_agent_says_does_not_drive_the_terminal() {
    let agent = Agent::start().await;
    // Every run is checked for such characters.
    let ran = agent.run(&["send", "escape"]).await;
    assert!(ran.out.contains(r"red \u001b[31m end"), "{}", ran.out);
}

/// Overrides of the writing direction, what nobody sees, separators of lines, and controls beyond ASCII.
#[tokio::test]
async fn what_an_agent_says_does_not_deceive_the_reader_in_text_or_json() {
    let agent = Agent::start().await;
    let marked = r"a\u202eb\u200bc\u2028d\u2029e\u009b31mf\u2066g\ufeffh";
    let sent = agent.run(&["send", "deceive"]).await;
    assert!(sent.out.contains(marked), "{sent:?}");
    let id = sent.field("Task").to_owned();
    let data = agent.server.data();
    let data = data.to_str().unwrap();
    let raw = "a\u{202e}b\u{200b}c\u{2028}d\u{2029}e\u{9b}31mf\u{2066}g\u{feff}h";
    for command in [
        agent.command(&["task", "get", &id, "-o", "json"]),
        agent.command(&["task", "get", &id]),
        agent.command(&["send", "deceive", "--stream", "-o", "json"]),
        bare(
            &agent.dir,
            &["trace", &id, "--json", "--content", "--data", data],
        ),
        bare(&agent.dir, &["trace", &id, "--data", data]),
    ] {
        let json = command
            .as_std()
            .get_args()
            .any(|arg| arg == "json" || arg == "--json");
        let shown = ran(command).await;
        if json {
            let parsed = shown
                .out
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let texts: Vec<String> = parsed.flat_map(|value| strings(&value)).collect();
            assert!(texts.iter().any(|text| text.contains(raw)), "{shown:?}");
        } else {
            assert!(shown.out.contains(marked), "{shown:?}");
        }
    }
}

/// All strings of a JSON value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn an_agent_behind_a_given_address_is_found_there() {
    let agent = Agent::start().await;
    let mut card = agent.json(&["card", "get"]).await;
    for interface in card["supportedInterfaces"].as_array_mut().unwrap() {
        let url = interface["url"]
            .as_str()
            .unwrap()
            .replace("127.0.0.1", "agent.invalid");
        interface["url"] = url.into();
    }
    let text = card.to_string();
    std::fs::write(agent.dir.path().join("card.json"), text).unwrap();
    let lost = ran(bare(&agent.dir, &["send", "-a", "card.json", "hello"])).await;
    assert_eq!(lost.code, Some(3), "{lost:?}");
    assert!(lost.err.contains("A2ACLI_ERR_UNREACHABLE"), "{}", lost.err);
}

#[tokio::test]
async fn an_id_that_is_refused_makes_no_new_task() {
    let agent = Agent::start().await;
    let ran = agent
        .run(&["send", "--task-id", "no-such-task", "hello", "-o", "json"])
        .await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(error["error"]["code"], "TaskNotFoundError");
    let listed = agent.json(&["task", "list"]).await;
    assert_eq!(listed["totalSize"], 0, "{listed}");
}
