//! Documents of real peers and of the specifications' own examples.
//!
//! `requests/` are decoded and compared with `expected/`, which spells what was understood in 1.0.
//! `results/`, `streams/`, `tasks/` and `pages/` are decoded and encoded again in the same dialect;
//! that must give the same document, or the one in `expected/` where the peer bent the rules.
//! `refused/` must fail at the named field. `BLESS=1` rewrites what is in `expected/`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_types::model::Timestamp;
use switchboard_types::operation::{Operation, SendMessage};
use switchboard_types::wire::{self, jsonrpc};
use switchboard_types::{Dialect, Error, ErrorKind, VersionHeader};

const VERSIONS: [(&str, &str, Dialect); 2] =
    [("v0_3", "", Dialect::V0Json), ("v1_0", "1.0", Dialect::V1)];

fn folder(version: &str, category: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let Ok(entries) = fs::read_dir(root.join(version).join(category)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The expected document beside the folder of `file`, if there is one.
fn expected(file: &Path) -> PathBuf {
    let category = file.parent().unwrap();
    category
        .parent()
        .unwrap()
        .join("expected")
        .join(category.file_name().unwrap())
        .join(file.file_name().unwrap())
}

/// Compares with `expected/`, or with `otherwise` where nothing is expected.
fn check(file: &Path, got: &str, otherwise: Option<&str>) {
    let path = expected(file);
    let same = |text: &str| documents(text) == documents(got);
    if std::env::var_os("BLESS").is_some() && !otherwise.is_some_and(same) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, got).unwrap();
    }
    match fs::read_to_string(&path) {
        Ok(text) => assert_eq!(documents(got), documents(&text), "{}", file.display()),
        Err(_) => assert_eq!(
            documents(got),
            documents(otherwise.unwrap_or_default()),
            "{}",
            file.display()
        ),
    }
}

/// The documents in a text, with moments brought into one form.
fn documents(text: &str) -> Vec<Value> {
    let mut all: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    all.iter_mut().for_each(same_moments);
    all
}

fn same_moments(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(same_moments),
        Value::Object(members) => {
            for (name, member) in members {
                if let (true, Some(text)) = (name == "timestamp", member.as_str()) {
                    *member = Timestamp::parse(text).unwrap().to_string().into();
                }
                same_moments(member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn decode(body: &str, version: &str) -> Result<(Dialect, Operation), Error> {
    let envelope = jsonrpc::read(body.as_bytes()).map_err(|refusal| refusal.error)?;
    let negotiated = jsonrpc::negotiate(&envelope.method, version, VersionHeader::Required);
    let (dialect, method) = negotiated.map_err(|e| e.1)?;
    wire::decode_params(dialect, method, envelope.params)
        .map(|request| (dialect, request.operation))
}

/// What was understood, in the words of 1.0.
fn understood(operation: &Operation) -> Value {
    let mut told = match operation {
        Operation::Send(send) | Operation::Stream(send) => sent(send),
        Operation::Get(get) => json!({"id": get.id.as_str(), "historyLength": get.history_length}),
        Operation::List(list) => json!({
            "contextId": list.context_id.as_ref().map(|id| id.as_str()),
            "pageSize": list.page_size,
            "includeArtifacts": list.include_artifacts,
        }),
        Operation::Cancel(cancel) => json!({"id": cancel.id.as_str()}),
        Operation::Subscribe(subscribe) => json!({"id": subscribe.id.as_str()}),
        other => panic!("no golden has {other:?}"),
    };
    told["method"] = operation.method().name().into();
    told
}

fn sent(send: &SendMessage) -> Value {
    let value = |encode: &dyn Fn(&mut Vec<u8>)| -> Value {
        let mut out = Vec::new();
        encode(&mut out);
        serde_json::from_slice(&out).unwrap()
    };
    let configuration = &send.configuration;
    json!({
        "message": value(&|out| wire::encode_message(Dialect::V1, &send.message, out)),
        "acceptedOutputModes": configuration.accepted_output_modes,
        "historyLength": configuration.history_length,
        "returnImmediately": configuration.return_immediately,
        "push": configuration.push.as_ref().map(|push| {
            value(&|out| wire::encode_push_config(Dialect::V1, push, out))
        }),
        "metadata": send.metadata.as_ref().map(|m| m.as_json().read::<Value>()),
    })
}

#[test]
fn requests_are_understood() {
    for (version, header, dialect) in VERSIONS {
        for file in folder(version, "requests") {
            let body = fs::read_to_string(&file).unwrap();
            let (spoken, operation) = decode(&body, header).unwrap();
            assert_eq!(spoken, dialect, "{}", file.display());
            let told = serde_json::to_string_pretty(&understood(&operation)).unwrap();
            check(&file, &(told + "\n"), None);
        }
    }
}

#[test]
fn bad_requests_are_refused_at_the_bad_field() {
    for (version, header, _) in VERSIONS {
        for file in folder(version, "refused") {
            let golden: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let error = decode(&golden["request"].to_string(), header).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{}", file.display());
            let field = error.violations()[0].field.as_str();
            assert_eq!(field, golden["field"], "{}: {error}", file.display());
        }
    }
}

#[test]
fn answers_come_back_as_they_came() {
    for (version, _, dialect) in VERSIONS {
        for category in ["results", "streams"] {
            for file in folder(version, category) {
                let text = fs::read_to_string(&file).unwrap();
                let mut again = Vec::new();
                for item in documents(&text) {
                    let event = wire::decode_event(dialect, &item.to_string())
                        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                    let last = item["final"] == true;
                    wire::encode_event(dialect, &event, last, &mut again);
                    again.push(b'\n');
                }
                check(&file, std::str::from_utf8(&again).unwrap(), Some(&text));
            }
        }
    }
}

#[test]
fn tasks_and_pages_of_tasks_come_back_as_they_came() {
    let again = |task: &Value, file: &Path| {
        let task = wire::decode_task(Dialect::V1, &task.to_string())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut out = Vec::new();
        wire::encode_task(Dialect::V1, &task, &mut out);
        String::from_utf8(out).unwrap()
    };
    for file in folder("v1_0", "tasks") {
        let text = fs::read_to_string(&file).unwrap();
        check(&file, &again(&documents(&text)[0], &file), Some(&text));
    }
    for file in folder("v1_0", "pages") {
        let page = &documents(&fs::read_to_string(&file).unwrap())[0];
        let tasks = page["tasks"].as_array().unwrap();
        let lines = |each: &dyn Fn(&Value) -> String| -> String {
            tasks.iter().map(|task| each(task) + "\n").collect()
        };
        let as_it_came = lines(&Value::to_string);
        check(&file, &lines(&|task| again(task, &file)), Some(&as_it_came));
    }
}

#[test]
fn errors_of_peers_have_our_numbers_and_are_read_as_our_kinds() {
    for (version, _, dialect) in VERSIONS {
        for file in folder(version, "errors") {
            let golden: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let kind = *ErrorKind::ALL
                .iter()
                .find(|kind| format!("{kind:?}") == golden["kind"])
                .unwrap();
            assert_eq!(
                wire::error_code(dialect, kind),
                golden["error"]["code"],
                "{}",
                file.display()
            );
            let read = wire::decode_error(dialect, Some(200), &golden["error"].to_string());
            assert_eq!(read.kind(), kind, "{}", file.display());
            assert_eq!(read.message(), golden["error"]["message"]);
            if let Some(reason) = golden["error"]["data"][0]["reason"].as_str() {
                assert_eq!(kind.reason(), reason, "{}", file.display());
            }
        }
    }
}
