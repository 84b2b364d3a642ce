//! What the server says, as both releases say it: shortened from what was recorded of 0.16.7 and 0.6.39.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_types::Dialect;
use switchboard_types::model::{Content, Event, Part, TaskId};
use switchboard_types::wire::{decode_event, decode_task};

use super::events::{
    Begun, Ending, Heard, Interrupt, Run, State, Step, found, is_old, question, run_of, settled,
};

const NEW: &str = "3999ff0d-548d-4489-8d3f-cd61f815323a:01a1dd07-94f1-74c4-adc4-25ce477b5011";
const OLD: &str = "01a1dd06-c0eb-72a4-ad78-8415d937fbd7";

fn event(json: &Value) -> Event {
    decode_event(Dialect::from_tag("0.3").unwrap(), &json.to_string()).unwrap()
}

fn task(id: &str, state: &str, artifacts: &Value) -> Event {
    let json = json!({"kind": "task", "id": id, "contextId": "c", "status": {"state": state},
        "history": [{"kind": "message", "role": "user", "messageId": "m", "parts": [{"kind": "text", "text": "tail"}]}],
        "artifacts": artifacts});
    let task = decode_task(Dialect::from_tag("0.3").unwrap(), &json.to_string());
    Event::Task(Arc::new(task.unwrap()))
}

fn status(state: &str, text: Option<&str>) -> Event {
    let mut status = json!({"state": state});
    if let Some(text) = text {
        status["message"] = json!({"kind": "message", "role": "agent", "messageId": format!("m-{text}"),
            "parts": [{"kind": "text", "text": text}]});
    }
    event(
        &json!({"taskId": "t", "contextId": "c", "kind": "status-update", "status": status, "final": false}),
    )
}

fn artifact(name: &str, parts: &Value) -> Event {
    event(
        &json!({"taskId": "t", "contextId": "c", "kind": "artifact-update", "append": false, "lastChunk": true,
        "artifact": {"artifactId": "a", "name": name, "parts": parts}}),
    )
}

fn text(text: &str) -> Value {
    json!([{"kind": "text", "text": text}])
}

/// What is heard, in short.
fn heard(events: &[Event]) -> String {
    let mut heard = Heard::default();
    let mut all = Vec::new();
    for event in events {
        let (step, ending) = heard.hear(event);
        all.extend(step.map(|step| match step {
            Step::Task(id) => format!("task {}", run_of(&id)),
            Step::Text(text) => text,
        }));
        all.extend(ending.map(|ending| short(&ending)));
    }
    all.join(", ")
}

fn short(ending: &Ending) -> String {
    match ending {
        Ending::Answer(parts) => format!("answers {}", words(parts)),
        Ending::Asks(asked) => format!("asks {}", words(&question(asked).parts)),
        Ending::Failed(said) => format!("fails {said}"),
        Ending::Canceled => "is canceled".to_owned(),
        Ending::Unsure => "is unsure".to_owned(),
    }
}

fn words(parts: &[Part]) -> String {
    let words = parts.iter().map(|part| match &part.content {
        Content::Text(text) => text.to_string(),
        Content::Raw(bytes) => format!("{} bytes", bytes.len()),
        Content::Url(url) => url.clone(),
        Content::Data(data) => data.as_str().to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stream_of_0_16_has_its_answer_in_an_artifact() {
    let events = [
        task(NEW, "submitted", &json!([])),
        status("working", Some("one")),
        status("working", Some("one ")),
        status("working", Some("one two")),
        artifact("Assistant Response", &text("one two")),
        status("completed", None),
    ];
    let all = heard(&events);
    let begun = "task 01a1dd07-94f1-74c4-adc4-25ce477b5011";
    assert_eq!(all, format!("{begun}, one, one , one two, answers one two"));
}

#[test]
fn a_stream_of_0_6_has_no_answer_to_believe() {
    let events = [
        task(OLD, "submitted", &json!([])),
        status("working", None),
        status("working", Some("one")),
        status("completed", None),
    ];
    assert_eq!(heard(&events), format!("task {OLD}, one, is unsure"));
    // Its questions are told as answers that repeat the message, and its cancels as failures.
    let echo = json!([{"artifactId": "a", "name": "Assistant Response", "parts": text("deploy")}]);
    assert!(heard(&[task(OLD, "completed", &echo)]).ends_with("is unsure"));
    let failed = [
        task(OLD, "submitted", &json!([])),
        status("failed", Some("Error executing assistant: UserInterrupt")),
    ];
    assert!(heard(&failed).ends_with("is unsure"));
}

#[test]
fn a_canceled_run_that_is_told_as_completed_is_not_believed() {
    let events = [
        task(NEW, "submitted", &json!([])),
        artifact("Assistant Response", &text("")),
        status("completed", None),
    ];
    assert!(heard(&events).ends_with("is unsure"));
}

#[test]
fn a_question_is_told_in_its_own_words_and_as_data() {
    let value = json!({"question": "Approve?", "for": "deploy6"});
    let asked = json!([{"kind": "data", "data": {"id": "6669", "value": value}}]);
    let events = [
        task(NEW, "submitted", &json!([])),
        artifact("Interrupt", &asked),
        status("input-required", None),
    ];
    let data = r#"{"interrupts":[{"id":"6669","value":{"question":"Approve?","for":"deploy6"}}]}"#;
    assert!(
        heard(&events).ends_with(&format!("asks Approve? {data}")),
        "{}",
        heard(&events)
    );
    let plain = Interrupt {
        id: None,
        value: json!("which colour?"),
    };
    assert_eq!(question(&[plain]).parts[0], Part::text("which colour?"));
    let odd = Interrupt {
        id: None,
        value: json!([1]),
    };
    assert_eq!(question(&[odd]).parts[0], Part::text("[1]"));
}

#[test]
fn s0_022_answers_are_found_wherever_they_stand() {
    let whole = json!([{"artifactId": "a", "name": "Assistant Response",
        "parts": [{"kind": "text", "text": "hi"}, {"kind": "file", "file": {"bytes": "aGVsbG8=", "mimeType": "image/png"}}]}]);
    assert!(heard(&[task(NEW, "completed", &whole)]).ends_with("answers hi 5 bytes"));
    let bare =
        event(&json!({"kind": "message", "role": "agent", "messageId": "m", "parts": text("hi")}));
    assert_eq!(heard(&[bare]), "answers hi");
    let failed = [
        task(NEW, "submitted", &json!([])),
        status("failed", Some("boom")),
    ];
    assert!(heard(&failed).ends_with("fails boom"));
}

fn run(id: &str, status: &str, kwargs: &Value) -> Run {
    serde_json::from_value(json!({"run_id": id, "status": status, "kwargs": kwargs})).unwrap()
}

#[test]
fn a_run_is_found_by_what_it_was_begun_with() {
    let input = |message: Value| json!({"input": {"messages": [message]}, "command": null});
    let runs = [
        run(
            "5",
            "running",
            &json!({"input": null, "command": {"resume": "blue"}}),
        ),
        run(
            "4",
            "pending",
            &input(json!({"role": "human", "content": "hi", "id": "ours-2"})),
        ),
        run(
            "3",
            "running",
            &input(json!({"role": "human", "content": "hi"})),
        ),
        run(
            "2",
            "success",
            &input(json!({"role": "human", "content": "hi"})),
        ),
        run(
            "1",
            "success",
            &input(json!({"role": "human", "content": "hi", "id": "ours-1"})),
        ),
    ];
    let at =
        |seen: Option<&str>, begun: Begun| found(&runs, seen, &begun).map(|run| run.run_id.clone());
    let message = |id: &str| Begun::Message(id.to_owned(), "hi".to_owned());
    assert_eq!(at(None, message("ours-2")).as_deref(), Some("4"));
    // Old releases keep no ids: it is the text, and newer than what was there before.
    assert_eq!(at(Some("2"), message("ours-9")).as_deref(), Some("3"));
    assert_eq!(at(Some("3"), message("ours-9")), None);
    assert_eq!(
        at(Some("1"), Begun::Resume(json!("blue"))).as_deref(),
        Some("5")
    );
    assert_eq!(at(Some("1"), Begun::Resume(json!("red"))), None);
    let data = [run(
        "6",
        "success",
        &json!({"input": {"n": 7, "m": [1]}, "command": null}),
    )];
    let set = |n: u32| Begun::Data(json!({"n": n}).as_object().unwrap().clone());
    assert!(found(&data, None, &set(7)).is_some() && found(&data, None, &set(8)).is_none());
    assert!(found(&runs[1..], None, &set(7)).is_none());
    assert!(!runs[1].is_old() && runs[2].is_old());
    let old = TaskId::new(OLD).unwrap();
    assert!(is_old(&old) && !is_old(&TaskId::new(NEW).unwrap()));
}

fn state(run: &str, more: &Value) -> State {
    let mut state = json!({"next": [], "tasks": [], "metadata": {"run_id": run}});
    for (key, value) in more.as_object().unwrap() {
        state[key] = value.clone();
    }
    serde_json::from_value(state).unwrap()
}

fn said(kind: &str, id: &str, content: &Value) -> Value {
    json!({"type": kind, "id": id, "content": content})
}

#[test]
fn how_a_run_has_ended_is_told_by_its_thread() {
    let messages = json!({"values": {"messages": [
        said("human", "m1", &json!("hello")),
        said("ai", "a1", &json!("first")),
        said("ai", "a2", &json!("")),
        said("tool", "t1", &json!("secret")),
        said("human", "m2", &json!("again")),
        said("ai", "a3", &json!([{"type": "text", "text": "second"}, {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"}])),
    ]}});
    let ended = |status: &str, more: &Value, id: Option<&str>| {
        short(&settled(
            &run("r", status, &json!({})),
            state("r", more),
            id,
        ))
    };
    assert_eq!(ended("success", &messages, Some("m1")), "answers first");
    assert_eq!(
        ended("success", &messages, Some("m2")),
        "answers second 5 bytes"
    );
    assert_eq!(ended("success", &messages, None), "answers second 5 bytes");
    assert_eq!(
        ended("success", &messages, Some("x")),
        "answers second 5 bytes"
    );
    assert_eq!(ended("interrupted", &messages, None), "is canceled");
    assert_eq!(ended("error", &messages, None), "fails ");
    assert_eq!(ended("timeout", &messages, None), "fails it took too long");
    let structured = json!({"values": {"topic": "cats"}});
    assert_eq!(
        ended("success", &structured, None),
        r#"answers {"topic":"cats"}"#
    );
    assert_eq!(ended("success", &json!({"values": {}}), None), "answers ");
    let asked = json!({"values": {}, "tasks": [{"interrupts": [{"id": "i", "value": "which?"}]}]});
    assert!(ended("success", &asked, None).starts_with("asks which? "));
    // Another run has gone on: what it asks is not asked by this one.
    let later = settled(&run("r", "success", &json!({})), state("s", &asked), None);
    assert_eq!(short(&later), "answers ");
}
