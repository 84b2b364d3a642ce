//! Everything real peers answered over JSON-RPC, read as a client reads it.
//!
//! `answers/*.jsonl` hold one answer a line: the method that was called, the HTTP status, the body, and as `told` what
//! is understood of it. `BLESS=1` rewrites `told`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use switchboard_types::model::{Event, Task};
use switchboard_types::operation::{Method, Response};
use switchboard_types::wire::jsonrpc::{self, Outcome};
use switchboard_types::wire::sse::Reader;
use switchboard_types::{Dialect, Error, wire};

/// The dialect and the operation of a method's name; a name that nobody has is asked for in the dialect it looks like.
fn called(name: &str) -> (Dialect, Option<Method>) {
    let dialect = if name.contains('/') {
        Dialect::V0Json
    } else {
        Dialect::V1
    };
    let mut all = Method::ALL.into_iter();
    let method = all.find(|method| jsonrpc::method_name(dialect, *method) == name);
    (dialect, method)
}

/// An answer in a few words.
fn told(dialect: Dialect, method: Option<Method>, status: u16, body: &str, item: bool) -> String {
    let refused = |error: &Error| format!("{:?}: {error}", error.kind());
    let answer = match jsonrpc::read_answer(body.as_bytes()) {
        Ok(answer) => answer,
        Err(_) => return refused(&wire::decode_error(dialect, Some(status), body)),
    };
    match (answer.outcome, method) {
        (Outcome::Result(result), _) if item => {
            told_of_event(&wire::decode_event(dialect, result.get()).unwrap())
        }
        (Outcome::Result(result), Some(method)) => {
            told_of(&wire::decode_response(dialect, method, result.get()).unwrap())
        }
        (Outcome::Error(error), _) => {
            refused(&wire::decode_error(dialect, Some(status), error.get()))
        }
        (_, _) => refused(&wire::decode_error(dialect, Some(status), body)),
    }
}

fn told_of(response: &Response) -> String {
    match response {
        Response::SentTask(view) | Response::Task(view) => told_of_task(&view.task),
        Response::SentMessage(message) => format!("message {:?}", message.text()),
        Response::Tasks(page) => format!(
            "{} tasks of {}, {} a page, next {:?}",
            page.tasks.len(),
            page.total_size,
            page.page_size,
            page.next_page_token
        ),
        Response::Card(card) => format!("card of {}", card.name),
        Response::PushConfig(_) | Response::PushConfigs(_) | Response::Deleted => {
            panic!("no peer answered {response:?}")
        }
    }
}

fn told_of_task(task: &Task) -> String {
    let artifacts: Vec<String> = task
        .artifacts
        .iter()
        .map(|artifact| {
            let texts = artifact.parts.iter().map(|part| part.as_text());
            let texts: Vec<&str> = texts.map(|text| text.unwrap_or("…")).collect();
            texts.join("|")
        })
        .collect();
    let said = task.status.message.as_ref().map(|message| message.text());
    format!(
        "{} task, said {said:?}, made {artifacts:?}, {} of history",
        task.status.state.name(),
        task.history.len()
    )
}

fn told_of_event(event: &Event) -> String {
    match event {
        Event::Task(task) => told_of_task(task),
        Event::Message(message) => format!("message {:?}", message.text()),
        Event::Status(update) => {
            let said = update.status.message.as_ref().map(|message| message.text());
            format!("{}, said {said:?}", update.status.state.name())
        }
        Event::Artifact(update) => format!(
            "made {:?}, append {}, last {}",
            update
                .artifact
                .parts
                .iter()
                .map(|part| part.as_text().unwrap_or("…"))
                .collect::<Vec<_>>(),
            update.append,
            update.last_chunk
        ),
    }
}

/// What a line of a golden tells.
fn understood(line: &Value) -> Value {
    let (dialect, method) = called(line["method"].as_str().unwrap_or_default());
    let status = u16::try_from(line["status"].as_u64().unwrap()).unwrap();
    if line["stream"] == true {
        let mut reader = Reader::new(1 << 20);
        reader.push(line["body"].as_str().unwrap().as_bytes());
        reader.end();
        let items = reader.map(|frame| told(dialect, method, status, &frame.unwrap().data, true));
        return items.collect::<Vec<String>>().into();
    }
    let body = match &line["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    told(dialect, method, status, &body, false).into()
}

#[test]
fn every_answer_of_a_real_peer_is_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/answers");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        count += lines.len();
        if std::env::var_os("BLESS").is_some() {
            for line in &mut lines {
                line["told"] = understood(line);
            }
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            fs::write(&file, text).unwrap();
        }
        for line in &lines {
            let what = json!([file.file_name().unwrap().to_str(), line["case"]]);
            assert_eq!(understood(line), line["told"], "{what}");
        }
    }
    assert!(count > 200, "only {count} answers");
}
