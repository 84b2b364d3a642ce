//! HTTP+JSON in 0.3 has no member that the .proto file of the release lacks: the parser of the Python SDK 0.3.1, which
//! has exactly that file, reads everything we answer and ask. Java's parser is as strict.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::text;
use switchboard_testkit::Server;
use switchboard_types::model::{Json, Object, Part, PushConfig, TaskId};
use switchboard_types::operation::{CancelTask, Operation, SendMessage};
use switchboard_types::wire::rest::write_request;
use switchboard_types::{Dialect, FileBytes};

use crate::conformance;
use crate::environment::{Environment, printed};

/// How long the parser may take.
const PARSER_TIMEOUT: Duration = Duration::from_secs(30);

/// Documents, each with the message that it must be.
#[derive(Default)]
struct Documents(String);

impl Documents {
    fn add(&mut self, message: &str, json: &Value) {
        let line = json!({"message": message, "json": json});
        self.0.push_str(&format!("{line}\n"));
    }

    /// Has all of them read; what cannot be is told.
    async fn refused(&self) -> String {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &self.0).expect("a file");
        let mut command = Environment::Python031.command("strict");
        command.arg(file.path());
        printed(command, PARSER_TIMEOUT).await
    }
}

/// Everything that a message of 1.0 can say.
fn rich(word: &str) -> Value {
    let metadata = json!({"a": [1, null, {"b": "c"}]});
    json!({
        "messageId": "m", "role": "ROLE_USER", "metadata": metadata, "referenceTaskIds": ["t"],
        "extensions": ["https://example.com/extensions/mood/v1"],
        "parts": [
            {"text": word, "metadata": metadata, "mediaType": "text/plain", "filename": "a.txt"},
            {"raw": "AAH+/w==", "filename": "a.bin", "mediaType": "application/octet-stream", "metadata": metadata},
            {"url": "https://example.com/a.txt", "filename": "a.txt", "mediaType": "text/plain", "metadata": metadata},
            {"data": {"n": 5}, "metadata": metadata, "mediaType": "application/json", "filename": "a.json"},
            {"data": [1, 2], "metadata": metadata},
            {"data": "x"},
        ],
    })
}

struct Rest {
    server: Server,
    documents: Documents,
}

impl Rest {
    async fn send(&self, verb: &str, path: &str, body: Value) -> String {
        let url = self.server.url(&format!("/a2a/peer{path}"));
        let method = verb.parse().expect("a method");
        let mut request = self.server.http.request(method, url);
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.expect("an answer");
        let (status, said) = (answer.status(), answer.text().await.expect("text"));
        assert!(status.is_success(), "{verb} {path}: {status} {said}");
        said
    }

    /// What is answered must be that message.
    async fn ask(&mut self, message: &str, verb: &str, path: &str, body: Value) -> Value {
        let said = self.send(verb, path, body).await;
        let said: Value = serde_json::from_str(&said).expect("JSON");
        self.documents.add(message, &said);
        said
    }

    /// The same for every event of a stream; how many there were.
    async fn stream(&mut self, verb: &str, path: &str, body: Value) -> usize {
        let said = self.send(verb, path, body).await;
        let events: Vec<&str> = said
            .lines()
            .filter_map(|l| l.strip_prefix("data:"))
            .collect();
        for event in &events {
            let event = serde_json::from_str(event).expect("JSON");
            self.documents.add("StreamResponse", &event);
        }
        events.len()
    }

    /// A task made in 1.0 of everything a message can say.
    async fn rich_task(&self, word: &str, immediately: bool) -> String {
        let configuration = json!({"returnImmediately": immediately});
        let params = json!({"message": rich(word), "configuration": configuration});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let url = self.server.url("/a2a/peer");
        let sent = self
            .server
            .http
            .post(url)
            .header("A2A-Version", "1.0")
            .json(&call);
        let answer: Value = sent
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .expect("JSON");
        let id = answer["result"]["task"]["id"].as_str();
        id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
    }
}

fn says(word: &str, blocking: bool) -> Value {
    let message =
        json!({"messageId": format!("m-{word}"), "role": "ROLE_USER", "content": [{"text": word}]});
    json!({"message": message, "configuration": {"blocking": blocking}})
}

#[tokio::test]
async fn all_answers_over_rest_in_0_3_are_messages_of_the_release() {
    let profile = conformance().join("profiles/peers.yaml");
    let mut rest = Rest {
        server: Server::profile(&profile).await,
        documents: Documents::default(),
    };
    for word in ["hello", "msg hi", "fail", "input"] {
        let body = says(word, true);
        rest.ask("SendMessageResponse", "POST", "/v1/message:send", body)
            .await;
    }
    for word in ["stream", "msg hi", "input", "fail"] {
        let events = rest
            .stream("POST", "/v1/message:stream", says(word, true))
            .await;
        assert!(events > 0, "{word}");
    }
    let file = rest.rich_task("file", false).await;
    let task = rest
        .ask("Task", "GET", &format!("/v1/tasks/{file}"), Value::Null)
        .await;
    let made = task["artifacts"][0]["parts"].as_array().map(Vec::len);
    assert_eq!(made, Some(5), "{task}");
    let slow = rest.rich_task("slow", true).await;
    let events = rest
        .stream("GET", &format!("/v1/tasks/{slow}:subscribe"), Value::Null)
        .await;
    assert!(events > 1);
    let long = rest.rich_task("long", true).await;
    let configs = format!("/v1/tasks/{long}/pushNotificationConfigs");
    let hook = json!({
        "id": "mine", "url": "http://127.0.0.1:1/hook", "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"},
    });
    let named = format!("tasks/{long}/pushNotificationConfigs/mine");
    let config = json!({"name": named, "pushNotificationConfig": hook});
    let create = json!({"parent": format!("tasks/{long}"), "configId": "mine", "config": config});
    rest.ask("TaskPushNotificationConfig", "POST", &configs, create)
        .await;
    let one = format!("{configs}/mine");
    rest.ask("TaskPushNotificationConfig", "GET", &one, Value::Null)
        .await;
    let page = "ListTaskPushNotificationConfigResponse";
    rest.ask(page, "GET", &configs, Value::Null).await;
    assert_eq!(rest.send("DELETE", &one, Value::Null).await, "{}");
    rest.ask(
        "Task",
        "POST",
        &format!("/v1/tasks/{long}:cancel"),
        json!({}),
    )
    .await;
    assert_eq!(rest.documents.refused().await, "");
}

#[tokio::test]
async fn all_requests_over_rest_in_0_3_are_messages_of_the_release() {
    let task = TaskId::new("t").expect("an id");
    let metadata = Object::try_from(Json::parse(r#"{"a":1}"#).expect("JSON")).expect("an object");
    let read: Value = rich("file");
    let read = switchboard_types::wire::decode_message(Dialect::V1, &read.to_string());
    let webhook = PushConfig {
        id: None,
        task_id: Some(task.clone()),
        url: "https://example.com/hook".to_owned(),
        token: None,
        authentication: None,
    };
    let mut send = SendMessage {
        message: read.expect("a message"),
        metadata: Some(metadata.clone()),
        ..text("file")
    };
    send.message.parts.push(Part::text("more"));
    send.configuration.push = Some(webhook.clone());
    send.configuration.history_length = Some(3);
    let cancel = CancelTask {
        id: task,
        metadata: Some(metadata),
    };
    let mut documents = Documents::default();
    for files in [FileBytes::Base64, FileBytes::Raw] {
        for (message, operation) in [
            (
                "SendMessageRequest",
                Operation::Send(Box::new(send.clone())),
            ),
            (
                "SendMessageRequest",
                Operation::Stream(Box::new(send.clone())),
            ),
            (
                "CreateTaskPushNotificationConfigRequest",
                Operation::CreatePushConfig(webhook.clone()),
            ),
            ("CancelTaskRequest", Operation::Cancel(cancel.clone())),
        ] {
            let asked = write_request(Dialect::V0Proto(files), &operation, None);
            let body = asked.body.unwrap_or_else(|| b"{}".to_vec());
            let body = serde_json::from_slice(&body).expect("JSON");
            documents.add(message, &body);
        }
    }
    assert_eq!(documents.refused().await, "");
}
